"""Indices, pips and card outlines as shapes of our own, drawn without any font.

Shapes are masks, uint8 0 to 255, anti-aliased by drawing them four times too large. Knows
nothing of where on a card a shape goes.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]  # uint8: (h, w, 4) BGRA, (h, w, 3) BGR or (h, w) mask

_OVER = 4
CORNER = 0.037  # corner radius of a card as a part of its height: about 3.2 mm of 88


def rounded_mask(height: int, width: int, *, radius: float = CORNER, inset: float = 0.0) -> Image:
    """Return a mask of a rounded rectangle; radius and inset are parts of the height."""
    r, m = radius * height, inset * height
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
    dx = np.maximum(np.abs(x - width / 2) - (width / 2 - r - m), 0)
    dy = np.maximum(np.abs(y - height / 2) - (height / 2 - r - m), 0)
    edge = r - np.hypot(dx, dy) + 0.5
    return (np.clip(edge, 0, 1) * 255).astype(np.uint8)
