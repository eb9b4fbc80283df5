"""The table plane and card rectangles keep to the millimetre what the picture shows."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.game.events import Slot
from vision.sight.geometry.plane import (
    Homography,
    Pose,
    TableView,
    box_around,
    card_rectangle,
    distance_inside,
    fit_rectangle,
    polygon,
    rectify,
    shared_area,
)

TABLE = [[0, 0], [1400, 0], [1400, 800], [0, 800]]
TILTED = [[330, 120], [1600, 140], [1860, 1010], [60, 990]]

poses = st.builds(
    Pose, st.floats(80, 1320), st.floats(80, 720), st.floats(0, 180, exclude_max=True)
)


def square(x: float, y: float, side: float) -> np.ndarray:
    """Return a square by its upper left corner."""
    return polygon([[x, y], [x + side, y], [x + side, y + side], [x, y + side]])


@pytest.fixture(scope="module")
def view() -> TableView:
    """Return a tilted view with two slots, a mouth and a discard area."""
    slots = {Slot.PUNTO_1: square(200, 300, 120), Slot.PUNTO_2: square(330, 300, 120)}
    return TableView(
        Homography.fit(TILTED, TABLE), slots, square(1100, 50, 150), square(50, 50, 140)
    )


def test_homography_takes_points_there_and_back() -> None:
    """Pixels taken to the table and back are the same pixels."""
    plane = Homography.fit(TILTED, TABLE)
    assert np.allclose(plane.to_mm(TILTED), TABLE, atol=1e-2)
    assert np.allclose(plane.to_px(plane.to_mm([700.0, 500.0])), [700, 500], atol=1e-2)


@pytest.mark.parametrize(
    ("px", "mm"),
    [(TILTED[:3], TABLE[:3]), (TILTED, TABLE[:3]), ([[0, 0], [1, 0], [2, 0], [3, 0]], TABLE)],
    ids=["three pairs", "unequal numbers", "on one line"],
)
def test_homography_refuses_points_that_fix_no_plane(
    px: list[list[int]], mm: list[list[int]]
) -> None:
    """Too few, unpaired or collinear points are an error in words."""
    with pytest.raises(ValueError, match=r"points|pairs"):
        Homography.fit(px, mm)


@given(poses)
def test_rectangle_fit_returns_the_pose_it_was_drawn_from(pose: Pose) -> None:
    """A true card rectangle, from either first side, gives back its pose without misfit."""
    for start in (0, 1, 2):
        found, misfit = fit_rectangle(np.roll(card_rectangle(pose), start, axis=0))
        assert found.distance(pose) < 0.01
        assert found.turn(pose) < 0.1
        assert misfit < 0.01


@given(poses)
def test_locate_undoes_the_box_around_a_card_in_perspective(pose: Pose) -> None:
    """From the oriented box of a tilted card its pose is found within 2 mm and 3 degrees."""
    view = TableView(Homography.fit(TILTED, TABLE), {}, square(0, 0, 50))
    found, _ = view.locate(box_around(view.quad_px(pose)))
    assert found.distance(pose) < 2.0
    assert found.turn(pose) < 3.0


@given(poses)
def test_locate_takes_four_true_corners_as_they_are(pose: Pose) -> None:
    """Corners that form no box in the picture are the card's own."""
    view = TableView(Homography.fit(TILTED, TABLE), {}, square(0, 0, 50))
    found, _ = view.locate(view.quad_px(pose))
    assert found.distance(pose) < 2.0
    assert found.turn(pose) < 3.0


def test_slot_of_card_by_centre_by_share_and_nowhere(view: TableView) -> None:
    """A centre inside decides; else a third of the card inside; else no slot."""
    assert view.slot_of(Pose(260, 360, 90)) is Slot.PUNTO_1
    assert view.slot_of(Pose(195, 360, 90)) is Slot.PUNTO_1
    assert view.slot_of(Pose(150, 360, 90)) is None


def test_polygon_measures() -> None:
    """Depth and common area are exact on squares; a line is not a polygon."""
    assert distance_inside((5, 5), square(0, 0, 10)) == pytest.approx(5)
    assert shared_area(square(0, 0, 10), square(5, 5, 10)) == pytest.approx(25)
    with pytest.raises(ValueError, match="no area"):
        polygon([[0, 0], [5, 5], [9, 9]])


@given(
    st.floats(0, 6.3),
    st.floats(0.2, 2),
    st.floats(-1.5, 1.5),
    st.tuples(st.floats(-300, 300), st.floats(-300, 300)),
)
def test_shared_area_of_cards_in_a_row_is_what_they_share(
    angle: float, longer: float, along: float, corner: tuple[float, float]
) -> None:
    """The area shared by two cards of a column is exact, though their edges lie on one line."""
    down = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([down[1], -down[0]])
    first, second = (
        np.array([begin, begin + across * 100, begin + across * 100 + down * length,
                  begin + down * length], np.float32)
        for begin, length in ((np.array(corner), 140), (corner + down * 140 * along, 140 * longer))
    )  # fmt: skip
    shared = max(0.0, min(1.0, along + longer) - max(0.0, along)) * 140 * 100
    assert shared_area(first, second) == pytest.approx(shared, abs=1)
    assert shared_area(second, first) == pytest.approx(shared, abs=1)


@pytest.mark.parametrize("scale", [1, 3], ids=["same size", "three times as large"])
def test_rectify_brings_a_card_upright(scale: int) -> None:
    """The corner of the quad that comes first lands at the upper left, unmirrored."""
    image = np.zeros((500, 500, 3), np.uint8)
    card = np.zeros((88 * scale, 63 * scale, 3), np.uint8)
    card[: 20 * scale, : 10 * scale] = 255
    image[40 : 40 + 63 * scale, 30 : 30 + 88 * scale] = cv2.rotate(card, cv2.ROTATE_90_CLOCKWISE)
    right, lower = 30 + 88 * scale, 40 + 63 * scale
    corners = [[right, 40], [right, lower], [30, lower], [30, 40]]
    quad = np.array(corners, np.float32) - 0.5
    crop = rectify(image, quad, (63, 88))
    assert crop.shape == (88, 63, 3)
    assert crop[2:18, 2:8].min() == 255
    assert crop[24:, :].max() == 0
    assert crop[:, 14:].max() == 0
