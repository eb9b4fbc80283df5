"""A lens is undone to a hundredth of a pixel, and no lens costs nothing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.sight.geometry.plane import Homography, Lens, Overhead

SIZE = (1920, 1080)
PIXELS = [[330, 120], [1600, 140], [1860, 1010], [60, 990]]
TABLE = [[0, 0], [1400, 0], [1400, 800], [0, 800]]
LENSES = [
    Lens(1500.0, (960.0, 540.0), k1=-0.25),
    Lens(1500.0, (960.0, 540.0), k1=0.1),
    Lens(1400.0, (950.0, 550.0), k1=-0.2, k2=0.05, p1=0.001, p2=-0.002),
]


@pytest.mark.parametrize("lens", LENSES, ids=["barrel", "cushion", "askew"])
def test_lens_is_undone_all_over_the_picture(lens: Lens) -> None:
    """What is bent and straightened again lies where it lay, corners included."""
    seen = np.stack(np.meshgrid(np.linspace(0, 1920, 13), np.linspace(0, 1080, 9)), -1)
    assert np.abs(lens.bend(lens.straighten(seen)) - seen).max() < 0.01
    assert lens.straighten(seen[0, 0]).shape == (2,)


def test_lens_bends_as_opencv_does() -> None:
    """The names mean what they mean to OpenCV, whose figures people have at hand."""
    lens = LENSES[2]
    matrix = np.array([[1400.0, 0, 950], [0, 1400, 550], [0, 0, 1]])
    space = np.array([[0.3, -0.2, 1.0], [-0.5, 0.3, 1.0]])
    factors = np.array([lens.k1, lens.k2, lens.p1, lens.p2])
    there, _ = cv2.projectPoints(space, np.zeros(3), np.zeros(3), matrix, factors)
    straight = space[:, :2] * 1400 + (950, 550)
    assert np.allclose(lens.bend(straight), there[:, 0], atol=1e-6)


def test_fold_of_a_lens_that_is_none() -> None:
    """A strong barrel whose picture turns back on itself is recognised."""
    assert not any(lens.folds(SIZE) for lens in LENSES)
    assert Lens(1000.0, (960.0, 540.0), k1=-0.6).folds(SIZE)


@pytest.mark.parametrize("lens", LENSES, ids=["barrel", "cushion", "askew"])
def test_plane_behind_a_lens_goes_there_and_back(lens: Lens) -> None:
    """Millimetres survive the way to the picture and back within a hundredth."""
    plane = Homography.fit(PIXELS, TABLE, lens)
    assert np.allclose(plane.to_mm(PIXELS), TABLE, atol=0.02)
    spots = np.array([[200.0, 300.0], [700.0, 400.0], [1300.0, 700.0]])
    assert np.allclose(plane.to_mm(plane.to_px(spots)), spots, atol=0.02)


@pytest.mark.parametrize("lens", [None, LENSES[0]], ids=["no lens", "barrel"])
def test_overhead_shows_a_spot_where_it_lies(lens: Lens | None) -> None:
    """A dot painted on the table appears in the cell of its position."""
    plane = Homography.fit(PIXELS, TABLE, lens)
    image = np.zeros((1080, 1920, 3), np.uint8)
    spot = np.array([802.5, 402.5])
    x, y = np.round(plane.to_px(spot)).astype(int)
    cv2.circle(image, (int(x), int(y)), 3, (255, 255, 255), -1)
    above = Overhead(plane, np.array([200.0, 100.0], np.float32), 5.0, (200, 120))(image)
    row, column = np.unravel_index(above[:, :, 0].argmax(), above.shape[:2])
    assert abs(int(row) - 60) <= 1
    assert abs(int(column) - 120) <= 1
