"""How a lens bends the picture: points as seen to points as a perfect lens would show them.

The model is Brown and Conrady's with OpenCV's names (k1, k2, p1, p2). Only points are mapped;
pictures stay as they are. Knows nothing of tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.sight.geometry.frame import Points

PRECISE = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-5)


@dataclass(frozen=True, slots=True)
class Lens:
    """A lens: `focal_px` and `centre_px` give k1, k2, p1 and p2 their unit and their middle."""

    focal_px: float
    centre_px: tuple[float, float]
    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0

    def bend(self, points: ArrayLike) -> NDArray[np.float64]:
        """Take points of a perfect picture (n x 2, or one point; pixels) to where they are seen."""
        arm = (np.asarray(points, np.float64) - self.centre_px) / self.focal_px
        x, y = arm[..., 0], arm[..., 1]
        r2 = x * x + y * y
        radial = 1 + r2 * (self.k1 + r2 * self.k2)
        seen_x = x * radial + 2 * self.p1 * x * y + self.p2 * (r2 + 2 * x * x)
        seen_y = y * radial + 2 * self.p2 * x * y + self.p1 * (r2 + 2 * y * y)
        return np.stack([seen_x, seen_y], axis=-1) * self.focal_px + self.centre_px

    def straighten(self, points: ArrayLike) -> Points:
        """Take points as seen (n x 2, or one point; pixels) to those of a perfect picture."""
        seen = np.asarray(points, np.float64)
        matrix = np.array(
            [
                [self.focal_px, 0, self.centre_px[0]],
                [0, self.focal_px, self.centre_px[1]],
                [0, 0, 1],
            ]
        )
        factors = np.array([self.k1, self.k2, self.p1, self.p2])
        flat = seen.reshape(-1, 1, 2)
        straight = cv2.undistortImagePoints(flat, matrix, factors, None, PRECISE)
        return np.asarray(straight, np.float32).reshape(seen.shape)

    def folds(self, size: tuple[int, int]) -> bool:
        """Whether the model breaks down within a picture (width, height): two points seen as one.

        True means that the figures describe no lens, but a fit that went astray.
        """
        reach = max(
            np.hypot(x - self.centre_px[0], y - self.centre_px[1])
            for x in (0, size[0])
            for y in (0, size[1])
        )
        # The seen distance must still grow where the picture's corner is seen.
        r = np.linspace(0, 2 * reach / self.focal_px, 200)
        seen = r * (1 + self.k1 * r**2 + self.k2 * r**4)
        grows = np.diff(seen) > 0
        last = len(r) - 1 if grows.all() else int(np.argmin(grows))
        return bool(seen[last] * self.focal_px < reach)
