"""The table plane as a small picture seen from straight above, cut out of the camera's picture.

The way of each cell is worked out once; a lens costs nothing more. Knows nothing of cards.
"""

from __future__ import annotations

import cv2
import numpy as np

from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Homography


class Overhead:
    """`size` (width, height) cells of `cell_mm`, the first one's corner at `origin` (2,) mm."""

    def __init__(
        self, plane: Homography, origin: Points, cell_mm: float, size: tuple[int, int]
    ) -> None:
        self._size = size
        width, height = size
        self._maps = None
        if plane.lens is None:
            grid = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
            pixels = plane.to_px(grid * cell_mm + origin)
            self._matrix = cv2.getPerspectiveTransform(pixels, grid - np.float32(0.5))
            return
        cells = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1) + 0.5
        pixels = plane.to_px(cells * cell_mm + origin)
        x, y = (np.ascontiguousarray(pixels[:, :, i]) for i in (0, 1))
        self._maps = cv2.convertMaps(x, y, cv2.CV_16SC2)

    def __call__(self, image: Image) -> Image:
        """Return the picture of the plane (height x width x 3); the edge is drawn on outside."""
        if self._maps is None:
            above = cv2.warpPerspective(
                image, self._matrix, self._size, borderMode=cv2.BORDER_REPLICATE
            )
        else:
            whole, parts = self._maps
            above = cv2.remap(
                image, whole, parts, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
            )
        return np.asarray(above, np.uint8)
