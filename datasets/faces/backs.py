"""Card backs and cut cards of our own drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from vision.errors import ConfigurationError

from .courts import Color
from .glyphs import Image, Points, pip, rounded_mask

# Colours are BGR.
CUT_COLORS: dict[str, Color] = {
    "yellow": (30, 205, 240),
    "red": (40, 30, 190),
    "green": (60, 140, 30),
    "black": (35, 32, 32),
    "blue": (170, 80, 20),
    "white": (240, 240, 240),
}
# A poker card, mm; then the inks of the backs, BGR.
_WIDTH, _HEIGHT = 63.0, 88.0
_RED, _BLUE, _GREEN, _BLACK = (40, 28, 165), (140, 62, 22), (70, 100, 20), (45, 40, 40)
_PLUM, _TEAL, _ORANGE, _GOLD = (110, 30, 90), (120, 110, 10), (30, 100, 220), (60, 160, 200)


@dataclass(frozen=True, slots=True)
class Back:
    """A back: pattern of PATTERNS, ink and second ink in BGR, white margin in mm."""

    pattern: str
    ink: Color
    paper: Color = (250, 250, 250)
    margin: float = 4.5
    split: str = "train"


# Each gives where the ink goes, from millimetres off the middle of the card.
PATTERNS: dict[str, Callable[[Points, Points], Points]] = {
    "lattice": lambda x, y: (np.abs((x + y) % 5 - 2.5) < 1.6) & (np.abs((x - y) % 5 - 2.5) < 1.6),
    "diamonds": lambda x, y: np.abs(x % 6 - 3) + np.abs(y % 8 - 4) * 0.75 > 2.2,
    "scroll": lambda x, y: (
        np.sin(x * 0.9 + 2.2 * np.sin(y * 0.55)) * np.cos(y * 0.9 + 2.2 * np.sin(x * 0.55)) > -0.1
    ),
    "solid": lambda x, y: np.ones_like(x + y, dtype=bool),
    "rings": lambda x, y: np.sin(np.hypot(x, y * 0.8) * 2.2) > -0.3,
    "crosshatch": lambda x, y: ((x + y) % 2.4 > 0.8) & ((x - y) % 2.4 > 0.8),
    "waves": lambda x, y: np.sin(y * 1.6 + 1.5 * np.sin(x * 0.7)) > -0.2,
    "rosette": lambda x, y: (
        np.cos(12 * np.arctan2(y, x) + np.hypot(x, y) * 0.5) + np.cos(np.hypot(x, y) * 1.1) > -0.35
    ),
    "bricks": lambda x, y: (y % 4 > 0.6) & ((x + 4 * ((y // 4) % 2)) % 8 > 0.6),
    "dots": lambda x, y: np.hypot(x % 4 - 2, y % 4 - 2) > 1.1,
    "stripes": lambda x, y: (x + y) % 6 > 2.2,
    "checks": lambda x, y: (x // 3 + y // 3) % 2 > 0.5,
    "frames": lambda x, y: np.maximum(np.abs(x) + 12.5, np.abs(y)) % 4 > 1.2,
    "weave": lambda x, y: np.where((x // 5 + y // 5) % 2 > 0.5, x % 1.6 > 0.6, y % 1.6 > 0.6),
}
# `margin` is the white border, mm.
BACKS: dict[str, Back] = {
    "lattice-red": Back("lattice", _RED),
    "lattice-blue": Back("lattice", _BLUE),
    "diamonds-red": Back("diamonds", _RED),
    "diamonds-black": Back("diamonds", _BLACK, margin=0),
    "scroll-blue": Back("scroll", _BLUE),
    "scroll-plum": Back("scroll", _PLUM, margin=3.0),
    "solid-navy": Back("solid", (90, 40, 20)),
    "solid-red": Back("solid", _RED, margin=6.0),
    "rings-teal": Back("rings", _TEAL),
    "rings-red": Back("rings", _RED, margin=0),
    "crosshatch-blue": Back("crosshatch", _BLUE),
    "crosshatch-green": Back("crosshatch", _GREEN),
    "waves-orange": Back("waves", _ORANGE, margin=3.0),
    "waves-blue": Back("waves", _BLUE, margin=0),
    "rosette-red": Back("rosette", _RED),
    "rosette-green": Back("rosette", _GREEN, margin=5.5),
    "bricks-plum": Back("bricks", _PLUM),
    "dots-black": Back("dots", _BLACK, (190, 215, 225)),
    "stripes-red": Back("stripes", _RED, margin=0),
    "checks-blue": Back("checks", _BLUE),
    "casino-red": Back("casino", _RED),
    "casino-blue": Back("casino", _BLUE, margin=3.0),
    "casino-black": Back("casino", _BLACK, _GOLD, margin=2.5),
    "frames-blue": Back("frames", _BLUE, split="test"),
    "weave-red": Back("weave", _RED, split="test"),
    "casino-teal": Back("casino", _TEAL, (235, 245, 250), split="test"),
}


def back_names(split: str | None = None) -> tuple[str, ...]:
    """Return the names of the backs of a split ("train" or "test"), or of all."""
    return tuple(name for name, back in BACKS.items() if split in (None, back.split))


def load_back(name: str, height_px: int = 504) -> Image:
    """Return a card back by name, BGRA, of that height and poker proportions.

    Raises ConfigurationError where there is no such back.
    """
    if name not in BACKS:
        raise ConfigurationError(f"no card back '{name}'; there are: {', '.join(BACKS)}")
    back = BACKS[name]
    height, width = 2 * height_px, 2 * round(height_px * _WIDTH / _HEIGHT)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) * (_HEIGHT / height)
    x, y = x - _WIDTH / 2, y - _HEIGHT / 2
    ground = PATTERNS["crosshatch" if back.pattern == "casino" else back.pattern](x, y)
    depth = np.minimum(_WIDTH / 2 - np.abs(x), _HEIGHT / 2 - np.abs(y)) - back.margin
    ink = (depth > 0) & (ground | ((depth < 1.8) & (depth > 0.7)))
    face = np.where(ink[..., None], back.ink, back.paper).astype(np.uint8)
    if back.pattern == "casino":
        _logo(face, x, y, back)
    small = cv2.resize(face, (width // 2, height_px), interpolation=cv2.INTER_AREA)
    return np.dstack([small, rounded_mask(height_px, width // 2)])


def _logo(face: Image, x: Points, y: Points, back: Back) -> None:
    """Lay a medal with a spade, the same from both ends, in the middle, in place."""
    face[np.hypot(x, y * 0.8) < 19] = back.paper
    face[np.hypot(x, y * 0.8) < 17.5] = back.ink
    scale = face.shape[0] / _HEIGHT
    mask = pip("s", round(15 * scale), round(14 * scale))
    h, w = mask.shape
    left = face.shape[1] // 2 - w // 2
    for view in (face, face[::-1, ::-1]):
        spot = view[face.shape[0] // 2 - h - 2 : face.shape[0] // 2 - 2, left : left + w]
        spot[mask > 127] = back.paper


def cut_card(height_px: int = 504, *, color: str | Color = "yellow") -> Image:
    """Return a plain plastic cut card, BGRA; `color` is a name of CUT_COLORS or BGR."""
    bgr = CUT_COLORS[color] if isinstance(color, str) else color
    width = round(height_px * _WIDTH / _HEIGHT)
    face = np.full((height_px, width, 3), bgr, np.uint8)
    return np.dstack([face, rounded_mask(height_px, width)])
