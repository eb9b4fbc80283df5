"""Card backs and cut cards of our own drawing.

Knows nothing of faces or decks; every drawing follows from its name alone.
"""

from __future__ import annotations

import cv2
import numpy as np

from datasets.glyphs import Image, rounded_mask

BACKS: dict[str, tuple[str, tuple[int, int, int], str]] = {
    "diamonds-red": ("diamonds", (40, 30, 170), "train"),
    "diamonds-blue": ("diamonds", (140, 60, 20), "train"),
    "solid-navy": ("solid", (90, 40, 20), "train"),
    "diamonds-green": ("diamonds", (70, 110, 20), "test"),
}


def back_names(split: str | None = None) -> tuple[str, ...]:
    """Return the names of the backs of a split ("train" or "test"), or of all."""
    return tuple(name for name, row in BACKS.items() if split in (None, row[2]))


def load_back(name: str, height_px: int = 504) -> Image:
    """Return a card back, BGRA, of that height and poker proportions."""
    pattern, color, _ = BACKS[name]
    height, width = height_px, round(height_px * 63 / 88)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) / height * 88
    tile = np.abs((x % 6) - 3) + np.abs((y % 6) - 3)
    ink = (tile > 2.2) if pattern == "diamonds" else np.ones_like(x, dtype=bool)
    margin = 4.0
    inside = (x > margin) & (x < 63 - margin) & (y > margin) & (y < 88 - margin)
    face = np.full((height, width, 3), 250, np.uint8)
    face[ink & inside] = color
    face = cv2.GaussianBlur(face, (0, 0), height / 1000)
    return np.dstack([face, rounded_mask(height, width)])


def cut_card(height_px: int = 504, *, color: tuple[int, int, int] = (30, 210, 240)) -> Image:
    """Return a plain plastic cut card, BGRA, of that height and BGR colour."""
    height, width = height_px, round(height_px * 63 / 88)
    face = np.full((height, width, 3), color, np.uint8)
    return np.dstack([face, rounded_mask(height, width)])
