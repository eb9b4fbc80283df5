"""The bars of the set-up page: light, focus, size of a card."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.setup.calibration.sheets import lying, on_table
from vision.config.table import ViewSection
from vision.setup.calibration.places import template
from vision.sight.geometry.plane import Image
from vision.sight.quality.view import gauges

PICTURE = on_table(lying(500, 300, 0))


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
    height, width = picture.shape[:2]
    view = ViewSection.model_validate(template((width, height))).table_view()
    found = gauges(np.asarray(picture, np.uint8), view)
    assert [one.name for one in found if not one.good] == bad
    assert all(one.cure in str(one) for one in found if not one.good)
