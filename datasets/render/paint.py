"""Brush strokes of every rendering: cards laid on a picture, filled shapes, shadows.

Points are continuous pixels: pixel (i, j) covers [i, i+1) x [j, j+1), so they scale with the
picture. Never mirrors a card.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .exposure import Image, Pair, blurred, glare, jpeg, lit, motion_blurred, noisy

__all__ = [
    "Footprint", "Image", "Points", "blurred", "fill", "glare", "inks", "jpeg", "lay", "level_for",
    "lit", "motion_blurred", "noisy", "paste", "pyramid", "shadow",
]  # fmt: skip

Points = NDArray[Any]  # float (n, 2) px
Footprint = tuple[int, int, int, int, Image]

# Each level of a pyramid is smaller than the one before by this factor.
_STEP = 2**-0.5
# Coordinates are cut off here: OpenCV overflows beyond.
_FAR = 1 << 28
# Fractional bits of the coordinates that OpenCV draws at.
_SHIFT = 4
# Widest blur of a shadow, px: the time of a blur grows with its width.
_SOFTEST = 80.0


def pyramid(card: Image, *, smallest: int = 8) -> tuple[Image, ...]:
    """Return premultiplied BGRA levels of a BGRA card, each 0.71 of the one before.

    Each is filtered from a larger one, so that `lay` never aliases; ends at `smallest` px of width.
    """
    alpha = cv2.cvtColor(card[:, :, 3], cv2.COLOR_GRAY2BGRA)
    full: Image = cv2.multiply(card, alpha, scale=1 / 255)
    full[:, :, 3] = card[:, :, 3]
    height, width = full.shape[:2]
    near = (round(width * _STEP), round(height * _STEP))
    levels: list[Image] = [full, cv2.resize(full, near, interpolation=cv2.INTER_LINEAR)]
    while levels[-2].shape[1] >= 2 * smallest:
        height, width = levels[-2].shape[:2]
        half = (round(width / 2), round(height / 2))
        levels.append(cv2.resize(levels[-2], half, interpolation=cv2.INTER_AREA))
    return tuple(levels)


def level_for(levels: Sequence[Image], quad: Points) -> Image:
    """Return the smallest level that still has the resolution of the quad's nearer edges."""
    wide = max(_length(quad, 0, 1), _length(quad, 3, 2))
    tall = max(_length(quad, 1, 2), _length(quad, 0, 3))
    for level in reversed(levels):
        if level.shape[1] >= wide and level.shape[0] >= tall:
            return level
    return levels[0]


def lay(
    image: Image,
    levels: Sequence[Image],
    quad: Points,
    *,
    tint: NDArray[Any] | None = None,
    bow: float = 0.0,
) -> Footprint | None:
    """Draw a card pyramid on the picture, in place.

    Returns the window x0, y0, x1, y1 it touched and its opacity there, None outside the picture.

    `quad` is (4, 2) px clockwise as seen, point 0 the top left corner of the upright card.
    `tint` (4, 4) maps its premultiplied BGRA colours, see `inks`. `bow` bends the card about its
    short axis: the sag of the long edges as a share of the card's width (corners stay).
    """
    level = level_for(levels, quad)
    window = _window(image, quad, margin=2 + round(abs(bow) * _length(quad, 0, 1)))
    if window is None:
        return None
    x0, y0, x1, y1 = window
    height, width = level.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    target = (quad - (x0, y0)).astype(np.float32)
    matrix = cv2.getPerspectiveTransform(corners - 0.5, target - 0.5)
    size = (x1 - x0, y1 - y0)
    if bow:
        patch = _bowed(level, matrix, size, bow)
    else:
        patch = cv2.warpPerspective(level, matrix, size, flags=cv2.INTER_LINEAR)
    if tint is not None:
        patch = cv2.transform(patch, tint)
    _blend(image[y0:y1, x0:x1], patch)
    return x0, y0, x1, y1, patch[:, :, 3]


def inks(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the (4, 4) tint of premultiplied BGRA from a (3, 4) map of plain BGR."""
    tint = np.eye(4, dtype=np.float32)
    tint[:3, :3] = matrix[:, :3]
    tint[:3, 3] = matrix[:, 3] / 255
    return tint


def paste(image: Image, patch: Image, x: int, y: int) -> None:
    """Blend a premultiplied BGRA patch with its top left pixel at (x, y); parts outside are cut."""
    height, width = patch.shape[:2]
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + width, image.shape[1]), min(y + height, image.shape[0])
    if x1 > x0 and y1 > y0:
        _blend(image[y0:y1, x0:x1], patch[y0 - y : y1 - y, x0 - x : x1 - x])


def fill(image: Image, polygon: Points, colour: Sequence[float], *, opacity: float = 1.0) -> None:
    """Fill a polygon (n, 2) px, anti-aliased, with a BGR colour 0-255, in place."""
    window = _window(image, polygon, margin=1)
    if window is None:
        return
    mask = _mask(polygon, window)
    part = _part(image, window)
    inverse = cv2.bitwise_not(cv2.convertScaleAbs(mask, alpha=opacity))
    ink = cv2.merge([cv2.convertScaleAbs(mask, alpha=opacity * c / 255) for c in colour])
    kept = cv2.multiply(part, cv2.merge([inverse] * 3), scale=1 / 255)
    cv2.add(kept, ink, dst=part)


def shadow(
    image: Image, polygon: Points, *, soft: float, strength: float, offset: Pair = (0, 0)
) -> None:
    """Darken what lies under a polygon (n, 2) px moved by `offset` px, in place.

    `soft` is the width of the half-shade in px; `strength` 0 to 1 is how dark it gets.
    """
    # Next to a horizon a millimetre is any number of pixels; so soft a shade is none to be seen.
    soft = min(soft, _SOFTEST)
    moved = (polygon + np.asarray(offset, np.float32)).astype(np.float32)
    window = _window(image, moved, margin=2 + round(2 * soft))
    if window is None:
        return
    mask = _mask(moved, window)
    if soft >= 0.4:
        box = (round(2 * soft) | 1,) * 2
        mask = cv2.blur(cv2.blur(mask, box), box)
    keep = cv2.bitwise_not(cv2.convertScaleAbs(mask, alpha=strength))
    part = _part(image, window)
    cv2.multiply(part, cv2.merge([keep] * 3), dst=part, scale=1 / 255)


def _length(quad: Points, a: int, b: int) -> float:
    return float(np.hypot(*(quad[a] - quad[b])))


def _window(image: Image, points: Points, *, margin: int) -> tuple[int, int, int, int] | None:
    """Return the pixel window (x0, y0, x1, y1) of the points inside the picture, if any."""
    low = np.floor(points.min(axis=0)).astype(int) - margin
    high = np.ceil(points.max(axis=0)).astype(int) + margin
    x0, y0 = max(int(low[0]), 0), max(int(low[1]), 0)
    x1, y1 = min(int(high[0]), image.shape[1]), min(int(high[1]), image.shape[0])
    return (x0, y0, x1, y1) if x1 > x0 and y1 > y0 else None


def _part(image: Image, window: tuple[int, int, int, int]) -> Image:
    x0, y0, x1, y1 = window
    return image[y0:y1, x0:x1]


def _mask(polygon: Points, window: tuple[int, int, int, int]) -> Image:
    x0, y0, x1, y1 = window
    mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
    local = np.round((polygon - (x0 + 0.5, y0 + 0.5)) * (1 << _SHIFT))
    # What goes on towards the horizon is cut off long before whole numbers end.
    within = local.clip(-_FAR, _FAR).astype(np.int32)
    cv2.fillPoly(mask, [within], 255, cv2.LINE_AA, _SHIFT)
    return mask


def _blend(part: Image, patch: Image) -> None:
    """Put a premultiplied BGRA patch over a part of a picture, in place."""
    inverse = cv2.bitwise_not(patch[:, :, 3])
    kept = cv2.multiply(part, cv2.merge([inverse] * 3), scale=1 / 255)
    ink = cv2.cvtColor(patch, cv2.COLOR_BGRA2BGR)
    cv2.add(kept, ink, dst=part)


def _bowed(level: Image, matrix: NDArray[Any], size: tuple[int, int], bow: float) -> Image:
    """Return the warped level with its long edges bowed sideways by `bow` card widths."""
    height, width = level.shape[:2]
    x, y = np.meshgrid(np.arange(size[0], dtype=np.float32), np.arange(size[1], dtype=np.float32))
    back = np.linalg.inv(matrix).astype(np.float32)
    w = back[2, 0] * x + back[2, 1] * y + back[2, 2]
    u = (back[0, 0] * x + back[0, 1] * y + back[0, 2]) / w
    v = (back[1, 0] * x + back[1, 1] * y + back[1, 2]) / w
    share = np.clip((v + 0.5) / height, 0, 1)
    u -= np.float32(bow * width) * 4 * share * (1 - share)
    return cv2.remap(level, u, v, cv2.INTER_LINEAR)
