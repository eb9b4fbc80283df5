"""Plane and lens are found to a tenth of a millimetre, and how sure they are is said honestly."""

from __future__ import annotations

import numpy as np
import pytest

from vision.config.editor import plane_section
from vision.setup.calibration.solver import Thing, fit, in_frame, rigid, upright
from vision.sight.geometry.plane import Homography, Lens, Pose, card_rectangle

SIZE = (1920, 1080)
GRID = np.stack(np.meshgrid(np.arange(5) * 30.0, np.arange(7) * 30.0), -1).reshape(-1, 2)
CARD = np.array(card_rectangle(Pose(0, 0, 90)), np.float64)
SLOTS = np.array([[216, 262], [312, 262], [394, 262], [686, 262], [768, 262], [864, 262.0]])
CAMERAS = {
    "straight down": (0.0, 0.0),
    "tilted": (20.0, 0.0),
    "tilted far, barrel": (35.0, -0.25),
    "cushion": (10.0, 0.1),
}


def camera(tilt: float, k1: float) -> Homography:
    """Return the true plane of a camera leaning back by so many degrees, 1.6 px a mm."""
    focal, lean = 1.3 * SIZE[0], np.radians(tilt)
    there = np.array([[focal, 0, 0], [0, focal * np.cos(lean), 0], [0, -np.sin(lean), focal / 1.6]])
    centred = np.array([[1, 0, -600], [0, 1, -337], [0, 0, 1.0]])
    matrix = np.array([[1, 0, 960], [0, 1, 540], [0, 0, 1.0]]) @ there @ centred
    lens = Lens(focal, (960, 540), k1) if k1 else None
    return Homography(np.linalg.inv(matrix), lens)


def sheets(true: Homography, count: int, *, noise_px: float = 0.15, seed: int = 1) -> list[Thing]:
    """Return the sheet's corners as seen at so many places of the table."""
    rng = np.random.default_rng(seed)
    things = []
    for i in range(count):
        pose = rng.uniform([170, 170], [1030, 500])
        turn = np.exp(1j * rng.uniform(0, 2 * np.pi))
        flat = ((GRID - GRID.mean(axis=0)) @ np.array([1, 1j])) * turn
        seen = true.to_px(np.stack([flat.real, flat.imag], -1) + pose)
        things.append(Thing(GRID, seen + rng.normal(0, noise_px, seen.shape), f"picture {i}"))
    return things


def off_mm(found: Homography, true: Homography) -> np.ndarray:
    """Return how far off the slots are, once the frames are laid on one another."""
    seen = found.to_mm(true.to_px(SLOTS))
    return np.linalg.norm(rigid(seen, SLOTS).apply(seen) - SLOTS, axis=1)


@pytest.mark.parametrize(("tilt", "k1"), CAMERAS.values(), ids=CAMERAS)
def test_plane_from_six_sheets_is_exact(tilt: float, k1: float) -> None:
    """Six pictures of the sheet give the slots within a quarter millimetre, lens or not."""
    true = camera(tilt, k1)
    found = fit(sheets(true, 6), SIZE)
    assert off_mm(found.plane, true).max() < 0.25
    assert (found.plane.lens is None) == (k1 == 0)
    assert found.misfit_mm.max() < 0.3


@pytest.mark.parametrize(("tilt", "k1"), CAMERAS.values(), ids=CAMERAS)
def test_plane_from_cards_alone_is_exact(tilt: float, k1: float) -> None:
    """Four coups' cards in their slots, edges found to a third of a pixel, give 1.5 mm or less."""
    true, rng = camera(tilt, k1), np.random.default_rng(4)
    things = []
    for x, y in np.repeat(SLOTS, 4, axis=0) + rng.normal(0, 6, (24, 2)):
        seen = true.to_px(card_rectangle(Pose(x, y, rng.normal(90, 4))))
        things.append(Thing(CARD, seen + rng.normal(0, 0.3, seen.shape)))
    found = fit(things, SIZE, lenses=1)
    assert off_mm(found.plane, true).max() < 1.5


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("k1", [0.0, -0.25])
def test_uncertainty_is_honest(count: int, k1: float) -> None:
    """Over many trials the true error is about what was said, never three times as much."""
    true = camera(15.0, k1)
    ratios = []
    for seed in range(6):
        found = fit(sheets(true, count, seed=seed), SIZE, lenses=1)
        said = found.uncertainty_mm(true.to_px(SLOTS))
        ratios.append(np.sqrt((off_mm(found.plane, true) ** 2).mean() / (said**2).mean()))
    assert float(np.median(ratios)) < 2.0
    assert float(np.mean(ratios)) > 0.1


def test_uncertainty_falls_with_more_pictures() -> None:
    """One sheet far from the slots is worth little; six are worth much."""
    true = camera(10.0, 0.0)
    pixels = true.to_px(SLOTS)
    one, six = (fit(sheets(true, n), SIZE, lenses=1).uncertainty_mm(pixels).max() for n in (1, 6))
    assert six < 0.3 * one


def test_sheet_that_does_not_lie_flat_stands_out() -> None:
    """A sheet held above the table misfits; the others betray it."""
    true = camera(20.0, 0.0)
    things = sheets(true, 5)
    middle = things[3].seen_px.mean(axis=0)
    slant = 1 + 0.25 * (things[3].seen_px[:, :1] - middle[0]) / 1000
    things[3] = Thing(GRID, middle + (things[3].seen_px - middle) * slant)
    found = fit(things, SIZE)
    assert int(found.misfit_mm.argmax()) == 3
    assert found.misfit_mm[3] > 1.0


def test_points_on_one_line_fit_no_plane() -> None:
    """A single row of points is refused in words."""
    row = np.array([[0, 0], [30, 0], [60, 0], [90, 0.0]])
    with pytest.raises(ValueError, match="one line"):
        fit([Thing(row, row * 2 + 100)], SIZE)


def test_frames_are_upright_and_aligned() -> None:
    """A plane's own frame has x right and y down as seen; another is met exactly."""
    true = camera(15.0, -0.1)
    turned = in_frame(true, rigid([[0, 0], [100, 0]], [[500, 700], [500, 800]]))
    own = upright(turned, SIZE)
    left, right, below = own.to_mm([[860, 540], [1060, 540], [860, 740]])
    assert right[0] > left[0]
    assert abs(right[1] - left[1]) < 0.01 * (right[0] - left[0])
    assert below[1] > left[1]
    assert own.to_mm([[0, 0], [1920, 0], [0, 1080]]).min() >= -1.0
    assert off_mm(own, true).max() < 0.05


def test_four_points_give_the_plane_back() -> None:
    """What the table file holds is the plane, to a twentieth of a millimetre."""
    true = camera(25.0, -0.2)
    section = plane_section(true, SIZE)
    again = Homography.fit(section["image_px"], section["table_mm"], true.lens)
    spots = true.to_px(SLOTS)
    assert np.abs(again.to_mm(spots) - SLOTS).max() < 0.05
