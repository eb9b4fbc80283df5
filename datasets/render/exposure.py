"""What light and camera do to a finished picture: light fields, glare, noise, blur, compression.

Points are continuous pixels, as in `paint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]  # uint8: (h, w, 3) BGR, (h, w, 4) BGRA or (h, w) mask

Pair = Sequence[float] | NDArray[Any]

# Fractional bits of the coordinates that OpenCV draws at.
_SHIFT = 4
# Side of the stored noise, px; larger pictures repeat it.
_NOISE_PX = 800


def lit(image: Image, field: NDArray[np.float32], *, lift: float = 0.0) -> Image:
    """Return the picture times a light field, plus `lift` grey levels of veil.

    `field` is (h, w, 3) of any resolution, 1 = unchanged; it is stretched over the picture.
    """
    height, width = image.shape[:2]
    full = cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR)
    product = cv2.multiply(image, full, dtype=cv2.CV_32F)
    return cv2.convertScaleAbs(product, beta=lift)


def glare(image: Image, centre: Pair, radii: Pair, strength: float) -> None:
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

    `chroma` is the colour share 0 to 1 (by halves); `grain` 1 to 3 px is the size of the grain.
    """
    bank = _noise(grain, round(2 * chroma))
    height, width = image.shape[:2]
    y, x = (int(v) for v in rng.integers(0, 384, 2))
    if max(height, width) > _NOISE_PX - 384:
        bank = np.tile(bank, (height // _NOISE_PX + 2, width // _NOISE_PX + 2, 1))
    part = bank[y : y + height, x : x + width] * np.float32(sigma)
    return cv2.add(image, part, dtype=cv2.CV_8U)


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


@lru_cache(maxsize=9)
def _noise(grain: int, chroma: int) -> NDArray[np.float32]:
    """Return a bank of unit noise of a grain size, its colour share `chroma` in halves."""
    rng = np.random.default_rng([grain, chroma])
    shape = (_NOISE_PX, _NOISE_PX)
    grey = rng.standard_normal((*shape, 1), np.float32) * np.sqrt(1 - (chroma / 2) ** 2)
    bank = grey + rng.standard_normal((*shape, 3), np.float32) * (chroma / 2)
    if grain > 1:
        bank = cv2.GaussianBlur(bank, (0, 0), 0.4 * grain)
    unit: NDArray[np.float32] = (bank / bank.std()).astype(np.float32)
    return unit
