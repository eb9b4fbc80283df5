"""What is printed on a gaming table: lines, boxes, arcs, words, numbers and suits.

Drawn through a view, so that print lies in the table's plane.
"""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from .camera import View
from .clutter import FONTS, colour, suit_outline
from .paint import Image, Points, fill, lay, pyramid

Rng = np.random.Generator
_WORDS = (
    "PUNTO", "BANCO", "EGALITE", "TIE", "PLAYER", "BANKER", "PAIR", "BACCARAT", "INSURANCE",
    "BLACKJACK PAYS 3 TO 2", "POKER", "CASINO", "NO MORE BETS", "DRAGON", "1", "2", "3", "5", "6",
    "7", "8", "9", "10", "11 TO 1", "8 TO 1", "A", "K", "Q", "J", "ANTE", "ROYAL",
)  # fmt: skip


def print_layout(rng: Rng, image: Image, view: View, *, extent_mm: tuple[float, float]) -> None:
    """Print a random table layout within +-extent (mm) of the origin, in place."""
    ink = tuple(rng.choice([[235, 240, 240], [60, 200, 235], [40, 40, 200], [20, 20, 20]]))
    ink = ink if rng.random() < 0.75 else colour(rng)
    faint = rng.uniform(0.25, 1.0)
    for _ in range(int(rng.integers(2, 9))):
        middle = rng.uniform(-1, 1, 2) * extent_mm
        turn = 0.0 if rng.random() < 0.7 else rng.uniform(-np.pi, np.pi)
        kind = rng.integers(5)
        if kind == 0:
            _frames(rng, image, view, middle=middle, ink=ink)
        elif kind == 1:
            _arc(rng, image, view, middle=middle, ink=ink)
        elif kind == 2:
            size = rng.uniform(20, 160)
            outline = suit_outline(int(rng.integers(1, 4))) * size + middle
            red = (40.0, 30.0, float(rng.uniform(140, 230)))
            tone = ink if rng.random() < 0.5 else red
            fill(image, view.project(outline), tone, opacity=faint)
        else:
            tall = rng.uniform(12, 130)
            print_word(rng, image, view, middle=middle, turn=turn, tall=tall, ink=(*ink, faint))


def print_word(
    rng: Rng, image: Image, view: View, *, middle: Points, turn: float, tall: float,
    ink: tuple[float, ...],
) -> None:  # fmt: skip
    """Print a word of a layout, `tall` mm high, in place; `ink` is BGR and an opacity 0 to 1."""
    levels = _word(int(rng.integers(len(_WORDS))), int(rng.choice(FONTS)))
    wide = tall * levels[0].shape[1] / levels[0].shape[0]
    quad = view.project(turned((wide, tall), middle, turn))
    tint = np.diag([c / 255 * ink[3] for c in ink[:3]] + [ink[3]]).astype(np.float32)
    lay(image, levels, quad, tint=tint)


def turned(size: tuple[float, float], middle: Points, angle: float) -> Points:
    """Return the corners (4, 2) of a rectangle turned clockwise by `angle` radians as seen."""
    half = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * size
    cos, sin = np.cos(angle), np.sin(angle)
    corners: Points = half @ np.array([[cos, sin], [-sin, cos]]) + middle
    return corners


def _frames(rng: Rng, image: Image, view: View, *, middle: Points, ink: tuple[float, ...]) -> None:
    """Print a row of boxes, often about as large as a card."""
    size = rng.uniform(50, 130), rng.uniform(70, 180)
    gap = rng.uniform(1.05, 1.5)
    if rng.random() < 0.3:
        size = size[0] * 3, size[1]
    for number in range(int(rng.integers(1, 5))):
        corners = turned(size, middle + np.array([number * size[0] * gap, 0]), 0.0)
        dense = np.concatenate([
            np.linspace(corners[k], corners[(k + 1) % 4], 6, endpoint=False) for k in range(4)
        ])  # fmt: skip
        _polyline(rng, image, view.project(dense), ink=ink, closed=True)


def _arc(rng: Rng, image: Image, view: View, *, middle: Points, ink: tuple[float, ...]) -> None:
    """Print an arc, a circle or a long straight line."""
    radius = float(rng.choice([rng.uniform(40, 120), rng.uniform(300, 3000)]))
    start, sweep = rng.uniform(0, 2 * np.pi), rng.choice([2 * np.pi, rng.uniform(0.3, 3)])
    if radius > 300:
        middle = middle - radius * np.array([np.cos(start), np.sin(start)])
        start, sweep = start - 900 / radius, 1800 / radius
    at = start + np.linspace(0, sweep, 40)
    points = middle + radius * np.stack([np.cos(at), np.sin(at)], axis=1)
    _polyline(rng, image, view.project(points), ink=ink, closed=False)


def _polyline(
    rng: Rng, image: Image, points: Points, *, ink: tuple[float, ...], closed: bool
) -> None:
    thickness = int(rng.choice([1, 1, 1, 2, 2, 3, 5]))
    fixed = np.round(np.clip(points, -3000, 3000) * 16).astype(np.int32)
    cv2.polylines(image, [fixed], closed, [float(c) for c in ink], thickness, cv2.LINE_AA, 4)


@lru_cache(maxsize=256)
def _word(which: int, font: int) -> tuple[Image, ...]:
    """Return the pyramid of a printed word in white."""
    text = _WORDS[which]
    (width, height), below = cv2.getTextSize(text, font, 2.0, 4)
    mask = np.zeros((height + below + 8, width + 8), np.uint8)
    cv2.putText(mask, text, (4, height + 4), font, 2.0, 255, 4, cv2.LINE_AA)
    return pyramid(np.dstack([np.full((*mask.shape, 3), 255, np.uint8), mask]))
