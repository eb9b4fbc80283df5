"""The bars of the set-up page: light, focus, size of a card."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.setup.calibration.laid import CARDS, PLANE, good
from vision.game.events import Slot
from vision.sight.geometry.plane import Homography, Image, TableView
from vision.sight.quality.view import gauges

PICTURE = good()


def view_of(share: float) -> TableView:
    """Return the view of the table in a picture made smaller by a share."""
    corners = np.array([[0, 0], [1280, 0], [1280, 720], [0, 720]], np.float32)
    plane = Homography.fit(corners * share, PLANE.to_mm(corners))
    dot = np.array([[0, 0], [60, 0], [60, 90], [0, 90]], np.float32)
    slots = {slot: dot + np.array(CARDS[slot.name][:2], np.float32) for slot in Slot}
    return TableView(plane, slots, dot)


@pytest.mark.parametrize(
    ("picture", "bad"),
    [
        (PICTURE, []),
        (cv2.GaussianBlur(PICTURE, (0, 0), 5), ["focus"]),
        (PICTURE // 4, ["light"]),
        (np.minimum(PICTURE, 75) + np.uint8(180), ["light"]),
        (cv2.resize(PICTURE, (480, 270), interpolation=cv2.INTER_AREA), ["card width in pixels"]),
    ],
    ids=["good", "blurred", "dark", "dazzled", "far"],
)
def test_each_fault_of_a_camera_is_one_bar(picture: Image, bad: list[str]) -> None:
    """What is wrong is told by its own bar, with a cure; a good picture has none."""
    found = gauges(np.asarray(picture, np.uint8), view_of(picture.shape[1] / 1280))
    assert [one.name for one in found if not one.good] == bad
    assert all(one.cure in str(one) for one in found if not one.good)
