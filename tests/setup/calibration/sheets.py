"""Pictures of the marker sheet lying on a drawn table, for the tests of the calibration."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np

from tests.setup.calibration.draw_sheet import ink
from vision.setup.calibration.from_sheet import SIZE_MM
from vision.sight.geometry.plane import Homography, Image, Points

PX_PER_MM = 3
MARGIN_MM = 15
PAPER_MM = (SIZE_MM[0] + 2 * MARGIN_MM, SIZE_MM[1] + 2 * MARGIN_MM)
SIZE = (1280, 720)
# Four points of the drawn table, in the picture and in mm: a camera that leans back a little.
PLANE = Homography.fit(
    [[160, 60], [1120, 60], [1220, 680], [60, 680]], [[0, 0], [1100, 0], [1100, 640], [0, 640]]
)


@cache
def printed() -> Image:
    """Return the sheet with its margin, 3 px a mm."""
    width, height = (side * PX_PER_MM for side in PAPER_MM)
    image = np.full((height, width, 3), 255, np.uint8)
    edge = MARGIN_MM * PX_PER_MM
    image[edge:-edge, edge:-edge][ink(PX_PER_MM)] = 0
    return image


def lying(x: float, y: float, degrees: float) -> Points:
    """Return the corners (4 x 2 px) of the paper on the table, its middle at x, y mm."""
    turn = np.exp(1j * np.radians(degrees))
    corners = np.array([-1 - 1j, 1 - 1j, 1 + 1j, -1 + 1j])
    half = corners.real * PAPER_MM[0] / 2 + 1j * corners.imag * PAPER_MM[1] / 2
    spots = turn * half + complex(x, y)
    return PLANE.to_px(np.stack([spots.real, spots.imag], axis=-1))


def on_table(quad: Points) -> Image:
    """Return a felt with words on it and the sheet lying on a quad (4 x 2 px)."""
    sheet = printed()
    height, width = sheet.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, np.asarray(quad, np.float32) * 2)
    size = (2 * SIZE[0], 2 * SIZE[1])
    paper = cv2.warpPerspective(sheet, matrix, size)
    mask = cv2.warpPerspective(np.full_like(sheet, 255), matrix, size)
    felt = np.full_like(paper, (60, 90, 30))
    for x in range(100, 2400, 420):
        cv2.putText(felt, "PUNTO", (x, 1300), cv2.FONT_HERSHEY_DUPLEX, 2, (200, 220, 220), 4)
    image = cv2.resize(np.where(mask > 0, paper, felt), SIZE, interpolation=cv2.INTER_AREA)
    noise = np.random.default_rng(1).normal(0, 2, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)
