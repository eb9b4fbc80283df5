"""What a whole picture stands on: one surface, or two with an edge between them."""

from __future__ import annotations

import cv2
import numpy as np

from .paint import Image, Points, shadow
from .surfaces import background

Rng = np.random.Generator


def ground(rng: Rng, shape: tuple[int, int], *, split: str = "train") -> Image:
    """Return (height, width) of a surface, at times with a second one, higher or lower, beside."""
    image = np.ascontiguousarray(background(rng, shape, split=split))
    if rng.random() < 0.22:
        other = background(rng, shape, split=split)
        region = _region(rng, shape)
        mask = np.zeros(shape, np.uint8)
        cv2.fillPoly(mask, [np.round(region * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
        if rng.random() < 0.7:
            soft = rng.uniform(0.5, 0.03 * max(shape))
            shadow(image, region, soft=soft, strength=rng.uniform(0.2, 0.8))
        cv2.copyTo(other, mask, image)
    return image


def strand(rng: Rng, extent: tuple[float, float]) -> Points:
    """Return the outline (n, 2) of a cable, a cord or a strap across +-extent, in its unit.

    Its width is a small share of a card's, for an extent in mm.
    """
    start, end = rng.uniform(-1.4, 1.4, (2, 2)) * extent
    bends = (rng.uniform(-0.5, 0.5, (2, 2)) + np.array([[0.33], [0.67]])) * (end - start) + start
    share = np.linspace(0, 1, 24)[:, None]
    rest = 1 - share
    path = (
        rest**3 * start
        + 3 * rest**2 * share * bends[0]
        + 3 * rest * share**2 * bends[1]
        + share**3 * end
    )
    along = np.gradient(path, axis=0)
    across = along[:, ::-1] * (-1, 1) / np.maximum(np.linalg.norm(along, axis=1), 1e-6)[:, None]
    half = across * rng.choice([1.5, 2.5, 4.0, 9.0])
    outline: Points = np.concatenate([path + half, (path - half)[::-1]])
    return outline


def _region(rng: Rng, shape: tuple[int, int]) -> Points:
    """Return a half plane or a turned rectangle (4, 2) px that meets the picture."""
    height, width = shape
    middle = rng.uniform(0.1, 0.9, 2) * (width, height)
    angle = rng.normal(0, 0.1) if rng.random() < 0.5 else rng.uniform(0, 2 * np.pi)
    angle += rng.integers(4) * np.pi / 2
    cos, sin = np.cos(angle), np.sin(angle)
    reach = 3.0 * max(shape)
    deep = reach if rng.random() < 0.7 else rng.uniform(0.15, 0.6) * max(shape)
    corners = np.array([[0, -reach], [deep, -reach], [deep, reach], [0, reach]])
    region: Points = (corners @ np.array([[cos, sin], [-sin, cos]]) + middle).astype(np.float32)
    return region
