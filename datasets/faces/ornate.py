"""Aces of spades as makers print them: one large engraved spade, a name, a line of small print.

Nearly every real deck has one and no two are alike, so they are drawn at random over the ace of any
design.
"""

from __future__ import annotations

import cv2
import numpy as np

from ..render.clutter import suit_outline
from .glyphs import Image

Rng = np.random.Generator
# Index of spades among the suits.
SPADE = 3
_NAMES = (
    "MERIDIAN",
    "HARBOUR",
    "LINEN",
    "CASINO",
    "ROYAL",
    "CLUB",
    "No. 808",
    "AIR",
    "SPECIAL",
    "STAR",
)
_SMALL = ("PLAYING CARD CO.", "MADE BY HAND", "FINEST QUALITY", "EST. 1881", "REGISTERED", "A 4127")
_FONTS = (cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_COMPLEX)


def ornate_ace(face: Image, rng: Rng) -> Image:
    """Return the face (BGRA) of an ace of spades with another middle; indices stay."""
    ace = face.copy()
    height, width = ace.shape[:2]
    paper = np.median(ace[height // 8 : height // 5, width // 3 : 2 * width // 3, :3], axis=(0, 1))
    ink = np.full(3, rng.uniform(0, 60)) + rng.uniform(0, 25, 3)
    # Jumbo indices reach far in, but not down to the middle.
    for top, left in ((0.2, 0.29), (0.36, 0.17)):
        part = _inner(ace, top, left)
        part[:, :, :3] = paper
    middle = _inner(ace, 0.2, 0.17)
    _engrave(middle, rng, paper, ink)
    if rng.random() < 0.75:
        _letter(middle, rng, ink)
    return ace


def _inner(face: Image, top: float, left: float) -> Image:
    """Return the part of a face that leaves out shares of it above, below, left and right."""
    height, width = face.shape[:2]
    y, x = round(top * height), round(left * width)
    return face[y : height - y, x : width - x]


def _engrave(part: Image, rng: Rng, paper: Image, ink: Image) -> None:
    """Draw a spade with patterns in it, alike on its left and right."""
    height, width = part.shape[:2]
    reach = rng.uniform(0.5, 0.95) * width
    centre = np.array([width / 2, height * rng.uniform(0.45, 0.55)])
    shape = suit_outline(SPADE) * [reach * rng.uniform(0.8, 1.05), reach]
    outline = np.round(shape + centre).astype(np.int32)
    layer = np.empty((*part.shape[:2], 3), np.uint8)
    # Fine engraving is grey from where a camera stands.
    layer[:] = ink + (paper - ink) * rng.choice([0.0, 0.0, 0.15, 0.35])
    for _ in range(int(rng.integers(2, 9))):
        _pattern(layer, rng, paper if rng.random() < 0.75 else ink, centre, reach)
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillPoly(mask, [outline], 255, cv2.LINE_AA)
    share = mask[:, :, None] / np.float32(255)
    part[:, :, :3] = (part[:, :, :3] * (1 - share) + layer * share).astype(np.uint8)
    if rng.random() < 0.6:
        thick = max(1, round(reach * rng.uniform(0.005, 0.03)))
        colour = [float(c) for c in ink]
        cv2.polylines(part, [outline], True, [*colour, 255.0], thick, cv2.LINE_AA)


def _pattern(layer: Image, rng: Rng, colour: Image, centre: Image, reach: float) -> None:
    """Draw one ornament and its mirror image."""
    tint = [float(c) for c in colour]
    thick = int(rng.choice([-1, 1, 1, 2])) if reach > 60 else 1
    way, away = rng.uniform(-np.pi, np.pi), rng.uniform(0, 0.35) * reach
    axes = tuple(int(v) for v in np.maximum(1, rng.uniform(0.02, 0.2, 2) * reach))
    turn, style = rng.uniform(0, 180), int(rng.integers(3))
    for side in (-1, 1):
        x = centre[0] + side * away * np.cos(way)
        at = (int(x), int(centre[1] + away * np.sin(way)))
        if style == 0:
            cv2.ellipse(layer, at, axes, side * turn, 0, 360, tint, thick, cv2.LINE_AA)
        elif style == 1:
            small = suit_outline(SPADE) * reach * float(axes[0] / reach + 0.15) + at
            cv2.polylines(layer, [np.round(small).astype(np.int32)], True, tint, 1, cv2.LINE_AA)
        else:
            for step in range(-3, 4):
                end = (int(at[0] + side * axes[0] * 2), int(at[1] + step * axes[1]))
                cv2.line(layer, at, end, tint, 1, cv2.LINE_AA)


def _letter(part: Image, rng: Rng, ink: Image) -> None:
    """Print a name and a line of small print above the spade, below it, or both."""
    colour = [*(float(c) for c in ink), 255.0]
    upright = part if rng.random() < 0.5 else None
    font = _FONTS[int(rng.integers(len(_FONTS)))]
    for text, share, size in (
        (_NAMES[int(rng.integers(len(_NAMES)))], rng.uniform(0.1, 0.14), rng.uniform(0.3, 0.7)),
        (_SMALL[int(rng.integers(len(_SMALL)))], rng.uniform(0.17, 0.22), rng.uniform(0.3, 0.6)),
    ):
        if rng.random() < 0.25:
            continue
        stamp = np.array(part[::-1, ::-1])
        for target in (part, stamp):
            _print(target, text, font, share=share, size=size, colour=colour)
        if upright is None:
            half = part.shape[0] // 2
            part[half:] = stamp[::-1, ::-1][half:]


def _print(
    part: Image, text: str, font: int, *, share: float, size: float, colour: list[float]
) -> None:
    height, width = part.shape[:2]
    (wide, _), _ = cv2.getTextSize(text, font, 1.0, 1)
    scale = size * width / wide
    at = (int((width - scale * wide) / 2), int(share * height))
    cv2.putText(part, text, at, font, scale, colour, 1, cv2.LINE_AA)
