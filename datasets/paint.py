"""Brush strokes of every rendering: cards laid on a picture, shadows, light, glare, camera faults.

Points are continuous pixels: pixel (i, j) covers [i, i+1) x [j, j+1), so they scale with the
picture. Must not know what a table, a hand of cards or a label is. Never mirrors a card.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]  # uint8: (h, w, 3) BGR, (h, w, 4) BGRA or (h, w) mask
Points = NDArray[Any]  # float (n, 2) px

_STEP = 2**-0.5
_SHIFT = 4
_noise_banks: dict[int, NDArray[np.float32]] = {}


def pyramid(card: Image, *, smallest: int = 8) -> tuple[Image, ...]:
    """Return premultiplied BGRA levels of a BGRA card, each 0.71 of the one before.

    Area filtered from the first, so that `lay` never aliases; ends at `smallest` px of width.
    """
    alpha = cv2.cvtColor(card[:, :, 3], cv2.COLOR_GRAY2BGRA)
    full: Image = cv2.multiply(card, alpha, scale=1 / 255)
    full[:, :, 3] = card[:, :, 3]
    height, width = full.shape[:2]
    levels: list[Image] = [full]
    scale = _STEP
    while width * scale >= smallest:
        size = (round(width * scale), round(height * scale))
        levels.append(cv2.resize(full, size, interpolation=cv2.INTER_AREA))
        scale *= _STEP
    return tuple(levels)


def level_for(levels: Sequence[Image], quad: Points) -> Image:
    """Return the smallest level that still has the resolution of the quad's nearer edges."""
    wide = max(_length(quad, 0, 1), _length(quad, 3, 2))
    tall = max(_length(quad, 1, 2), _length(quad, 0, 3))
    for level in reversed(levels):
        if level.shape[1] >= wide and level.shape[0] >= tall:
            return level
    return levels[0]


Footprint = tuple[int, int, int, int, Image]


def lay(
    image: Image, levels: Sequence[Image], quad: Points, *, shade: float = 1.0, bow: float = 0.0
) -> Footprint | None:
    """Draw a card pyramid on the picture, in place.

    Returns the window x0, y0, x1, y1 it touched and its opacity there, None outside the picture.

    `quad` is (4, 2) px clockwise as seen, point 0 the top left corner of the upright card.
    `shade` multiplies its colours; `bow` bends the card about its short axis: the height of the
    long edges' middle as a share of the card's width (corners stay where they are).
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
    _blend(image[y0:y1, x0:x1], patch, shade)
    return x0, y0, x1, y1, patch[:, :, 3]


def paste(image: Image, patch: Image, x: int, y: int) -> None:
    """Blend a premultiplied BGRA patch with its top left pixel at (x, y); parts outside are cut."""
    height, width = patch.shape[:2]
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + width, image.shape[1]), min(y + height, image.shape[0])
    if x1 > x0 and y1 > y0:
        _blend(image[y0:y1, x0:x1], patch[y0 - y : y1 - y, x0 - x : x1 - x], 1.0)


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
    image: Image, polygon: Points, *, soft: float, strength: float, offset: Sequence[float] = (0, 0)
) -> None:
    """Darken what lies under a polygon (n, 2) px moved by `offset` px, in place.

    `soft` is the width of the half-shade in px; `strength` 0 to 1 is how dark it gets.
    """
    moved = (polygon + np.asarray(offset, np.float32)).astype(np.float32)
    window = _window(image, moved, margin=2 + round(2 * soft))
    if window is None:
        return
    mask = _mask(moved, window)
    if soft >= 0.4:
        mask = cv2.GaussianBlur(mask, (0, 0), float(soft))
    keep = cv2.bitwise_not(cv2.convertScaleAbs(mask, alpha=strength))
    part = _part(image, window)
    cv2.multiply(part, cv2.merge([keep] * 3), dst=part, scale=1 / 255)


def lit(image: Image, field: NDArray[np.float32], *, lift: float = 0.0) -> Image:
    """Return the picture times a light field, plus `lift` grey levels of veil.

    `field` is (h, w, 3) of any resolution, 1 = unchanged; it is stretched over the picture.
    """
    height, width = image.shape[:2]
    full = cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR)
    product = cv2.multiply(image, full, dtype=cv2.CV_32F)
    return cv2.convertScaleAbs(product, beta=lift)


def glare(image: Image, centre: Sequence[float], radii: Sequence[float], strength: float) -> None:
    """Add a soft white patch (an ellipse, radii in px) of `strength` 0 to 1, in place."""
    cx, cy = centre
    rx, ry = radii
    x0, x1 = max(int(cx - 2 * rx), 0), min(int(cx + 2 * rx) + 1, image.shape[1])
    y0, y1 = max(int(cy - 2 * ry), 0), min(int(cy + 2 * ry) + 1, image.shape[0])
    if x1 <= x0 or y1 <= y0:
        return
    across = np.exp(-2 * ((np.arange(x0, x1, dtype=np.float32) - cx) / rx) ** 2)
    down = np.exp(-2 * ((np.arange(y0, y1, dtype=np.float32) - cy) / ry) ** 2)
    spot = (255 * strength * down[:, None] * across[None, :]).astype(np.uint8)
    part = image[y0:y1, x0:x1]
    cv2.add(part, cv2.merge([spot] * 3), dst=part)


def noisy(
    image: Image, rng: np.random.Generator, *, sigma: float, chroma: float = 0.5, grain: int = 1
) -> Image:
    """Return the picture with sensor noise of `sigma` grey levels.

    `chroma` is the colour share 0 to 1; `grain` 1 to 3 px is the size of the grain.
    """
    bank = _noise(grain)
    height, width = image.shape[:2]
    y, x = (int(v) for v in rng.integers(0, 512, 2))
    if max(height, width) > 512:
        bank = np.tile(bank, (height // 1024 + 2, width // 1024 + 2, 1))
    part = bank[y : y + height, x : x + width]
    coloured = part[:, :, :3] * np.float32(sigma * chroma)
    coloured += part[:, :, 3:] * np.float32(sigma * (1 - chroma * chroma) ** 0.5)
    return cv2.add(image, coloured, dtype=cv2.CV_8U)


def motion_blurred(image: Image, *, length: float, angle: float) -> Image:
    """Return the picture smeared over `length` px in the direction `angle` (radians)."""
    if length < 1.0:
        return image
    size = int(np.ceil(length)) | 1
    kernel = np.zeros((size + 2, size + 2), np.uint8)
    middle = (size + 1) / 2
    reach = np.array([np.cos(angle), np.sin(angle)]) * length / 2
    ends = np.round((np.array([-reach, reach]) + middle) * (1 << _SHIFT)).astype(int)
    first, last = (tuple(int(v) for v in end) for end in ends)
    cv2.line(kernel, first, last, 255, 1, cv2.LINE_AA, _SHIFT)
    return cv2.filter2D(image, -1, kernel.astype(np.float32) / kernel.sum())


def blurred(image: Image, sigma: float) -> Image:
    """Return the picture out of focus by a Gaussian of `sigma` px."""
    return cv2.GaussianBlur(image, (0, 0), sigma) if sigma >= 0.25 else image


def jpeg(image: Image, quality: int) -> Image:
    """Return the picture after JPEG compression of `quality` 1 to 100."""
    _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)


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
    local = np.round((polygon - (x0 + 0.5, y0 + 0.5)) * (1 << _SHIFT)).astype(np.int32)
    cv2.fillPoly(mask, [local], 255, cv2.LINE_AA, _SHIFT)
    return mask


def _blend(part: Image, patch: Image, shade: float) -> None:
    """Put a premultiplied BGRA patch over a part of a picture, in place."""
    inverse = cv2.bitwise_not(patch[:, :, 3])
    kept = cv2.multiply(part, cv2.merge([inverse] * 3), scale=1 / 255)
    ink = cv2.cvtColor(patch, cv2.COLOR_BGRA2BGR)
    cv2.addWeighted(kept, 1.0, ink, shade, 0.0, dst=part)


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


def _noise(grain: int) -> NDArray[np.float32]:
    """Return the (1024, 1024, 4) bank of unit noise of a grain size, made once per process."""
    if grain not in _noise_banks:
        bank = np.random.default_rng(grain).standard_normal((1024, 1024, 4), np.float32)
        if grain > 1:
            soft = cv2.GaussianBlur(bank, (0, 0), 0.4 * grain)
            bank = (soft / soft.std()).astype(np.float32)
        _noise_banks[grain] = bank
    return _noise_banks[grain]
