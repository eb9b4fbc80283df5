"""A moved camera is measured in millimetres; hands, cards and lamps are not taken for motion."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from vision.app.pipeline import limits_of
from vision.config.table import WatchSection
from vision.game.events import Event, Noticed, Slot
from vision.sight.geometry.plane import Frame, Homography, Image, TableView, polygon
from vision.sight.quality.camera_position import CameraPosition, ReferenceLayout

SIZE = (1280, 720)
CORNERS = [[0, 0], [1280, 0], [1280, 720], [0, 720]]
MM_PER_PX = 0.9
EVERY_MS = 10_000
LIMITS = limits_of(WatchSection())[1]
VIEW = TableView(
    Homography.fit(CORNERS, np.array(CORNERS) * MM_PER_PX),
    {
        slot: polygon(np.add([[0, 0], [90, 0], [90, 110], [0, 110]], (150 + 140 * i, 260)))
        for i, slot in enumerate(Slot)
    },
    polygon([[1000, 60], [1100, 60], [1100, 160], [1000, 160]]),
)


def table(seed: int = 1) -> Image:
    """Return a felt with printed slots and words."""
    rng = np.random.default_rng(seed)
    image = np.full((SIZE[1], SIZE[0], 3), (60, 90, 30), np.uint8)
    ink = (190, 220, 230)
    for area in VIEW.slots.values():
        cv2.polylines(image, [(area / MM_PER_PX).astype(np.int32)], True, ink, 2, cv2.LINE_AA)
    for x in range(60, 1200, 190):
        for y, word in ((120, "PUNTO"), (520, "EGALITE"), (600, "BANCO"), (680, "1-1")):
            place = (x + int(rng.integers(-30, 30)), y)
            cv2.putText(image, word, place, cv2.FONT_HERSHEY_DUPLEX, 0.8, ink, 2, cv2.LINE_AA)
    noise = rng.normal(0, 3, image.shape)
    return np.clip(cv2.GaussianBlur(image, (0, 0), 0.8) + noise, 0, 255).astype(np.uint8)


def moved(image: Image, way_px: tuple[float, float], seed: int = 2) -> Image:
    """Return a picture taken after the camera was pushed, with noise of its own."""
    matrix = np.array([[1, 0, way_px[0]], [0, 1, way_px[1]]], np.float64)
    there = cv2.warpAffine(image, matrix, SIZE, borderMode=cv2.BORDER_REPLICATE)
    noise = np.random.default_rng(seed).normal(0, 3, image.shape)
    return np.clip(there + noise, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("way_mm", [0.0, 1.0, 5.0, 20.0, 150.0])
def test_shift_is_measured_within_half_a_millimetre(way_mm: float) -> None:
    """From nothing to a knock of 15 cm, at every slot."""
    way = np.array([0.6, -0.8]) * way_mm
    shift = ReferenceLayout(table(), VIEW).shift(moved(table(), tuple(way / MM_PER_PX)))
    assert shift is not None
    assert len(shift) == len(VIEW.slots)
    assert np.hypot(*(shift - way).T).max() < 0.5


def test_arm_cards_and_dimmed_lamps_are_no_motion() -> None:
    """A third of the table covered and half the light gone: still not moved."""
    image = moved(table(), (0, 0))
    cv2.line(image, (600, -50), (350, 380), (70, 100, 150), 110)
    for i in range(6):
        x = 170 + 155 * i
        cv2.rectangle(image, (x, 300), (x + 70, 398), (240, 240, 240), -1)
        cv2.putText(image, "9", (x + 20, 370), cv2.FONT_HERSHEY_DUPLEX, 2, (20, 20, 200), 3)
    lamp = np.linspace(0.35, 0.9, SIZE[0])[None, :, None]
    shift = ReferenceLayout(table(), VIEW).shift((image * lamp).astype(np.uint8))
    assert shift is not None
    assert np.hypot(*shift.T).max() < 0.5


def test_moved_table_behind_an_arm_is_measured() -> None:
    """What is covered does not hide a push of the camera."""
    image = moved(table(), (0, 9))
    cv2.line(image, (600, -50), (350, 380), (70, 100, 150), 110)
    shift = ReferenceLayout(table(), VIEW).shift(image)
    assert shift is not None
    assert np.hypot(*shift.T).max() == pytest.approx(9 * MM_PER_PX, abs=0.5)


@pytest.mark.parametrize(
    "picture",
    [
        np.full((SIZE[1], SIZE[0], 3), 90, np.uint8),
        np.random.default_rng(3).integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8),
        table()[:360],
    ],
    ids=["blank", "another scene", "another size"],
)
def test_no_shift_is_claimed_where_nothing_agrees(picture: Image) -> None:
    """Where the layout is not to be seen, nothing is claimed."""
    assert ReferenceLayout(table(), VIEW).shift(picture) is None


def test_layout_without_print_claims_nothing() -> None:
    """A bare felt has no features to follow."""
    felt = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
    assert ReferenceLayout(felt, VIEW).shift(table()) is None


# --- limits and events ---------------------------------------------------------------------------


def shown(position: CameraPosition, way_mm: float, start: int, looks: int) -> list[Event]:
    """Show the table moved by so much for some looks."""
    image = moved(table(), (way_mm / MM_PER_PX, 0.0))
    frames = [Frame(image, start + i * EVERY_MS, i) for i in range(looks)]
    return [event for frame in frames for event in position.look(frame)]


@pytest.mark.parametrize("layout", [table(), None], ids=["calibrated", "first picture"])
def test_camera_moved_by_5_mm_is_reported_and_its_end(layout: Image | None) -> None:
    """A push is reported in millimetres after two looks that agree, and its end when put right."""
    position = CameraPosition(VIEW, LIMITS, layout)
    assert shown(position, 0.0, 0, 4) == []
    (event,) = shown(position, 5.0, 100_000, 4)
    assert isinstance(event, Noticed)
    assert event.code == "CAMERA_MOVED"
    assert event.detail.startswith(("By 5.", "By 4.")), event.detail
    assert position.blind is None
    (end,) = shown(position, 0.0, 200_000, 4)
    assert isinstance(end, Noticed)
    assert end.over


def test_camera_moved_too_far_makes_blind() -> None:
    """From 2 cm on nothing is read where the slots were."""
    position = CameraPosition(VIEW, LIMITS, table())
    shown(position, 30.0, 0, 3)
    assert position.blind is not None
    assert "30 mm" in position.blind
    shown(position, 0.0, 100_000, 3)
    assert position.blind is None


def test_camera_position_is_not_measured_where_it_is_switched_off() -> None:
    """With `moved_mm` 0 nothing is measured."""
    position = CameraPosition(VIEW, replace(LIMITS, moved_mm=0.0), table())
    assert shown(position, 30.0, 0, 4) == []
    assert position.blind is None


def test_hand_over_the_layout_claims_nothing() -> None:
    """Where the layout cannot be compared, no motion is claimed."""
    position = CameraPosition(VIEW, LIMITS, table())
    hidden = np.asarray(cv2.GaussianBlur(table(), (0, 0), 40), np.uint8)
    assert [position.look(Frame(hidden, i * EVERY_MS, i)) for i in range(4)] == [()] * 4
