"""Aces of spades as makers print them: one large engraved spade, scrolls, a name, small print.

Nearly every real deck has one and no two are alike, so they are drawn at random over the ace of any
design: filled, lined or hollow spades, up to half the card high, in one ink or two, free, in a
frame or in a wreath, with straight or bent lettering. The corners keep the design's indices.
"""

from __future__ import annotations

import cv2
import numpy as np

from ..render.clutter import suit_outline
from .glyphs import Image

Rng = np.random.Generator
# Index of spades among the suits.
SPADE = 3
# How often the ornaments have an ink of their own: red, gold, blue, as a few makers print it.
_SECOND_INK = 0.3
# How often a frame, a wreath, scrolls beside the spade, lettering, and of this how often bent.
_FRAMED, _WREATHED, _SCROLLED, _LETTERED, _BENT = 0.2, 0.15, 0.35, 0.75, 0.3
# How much paper shows in the spade's ground: fine engraving is grey from where a camera stands; at
# 1 the spade is hollow, its outline alone in ink.
_GROUNDS = (0.0, 0.0, 0.15, 0.35, 0.6, 1.0)
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
# Height of the largest letters, as a share of the middle: a short name would fill it. Capitals of
# OpenCV's fonts are 22 px high at a scale of 1.
_TALLEST = 0.09
_FONTS = (cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_COMPLEX)


def ornate_ace(face: Image, rng: Rng) -> Image:
    """Return the face (BGRA) of an ace of spades with another middle; indices stay."""
    ace = face.copy()
    height, width = ace.shape[:2]
    paper = np.median(ace[height // 8 : height // 5, width // 3 : 2 * width // 3, :3], axis=(0, 1))
    ink = np.full(3, rng.uniform(0, 60)) + rng.uniform(0, 25, 3)
    second = rng.choice([[30, 30, 190], [60, 160, 200], [170, 80, 20]]) + rng.uniform(-20, 20, 3)
    accent = np.clip(second, 0, 255) if rng.random() < _SECOND_INK else ink
    # Jumbo indices reach far in, but not down to the middle.
    for top, left in ((0.2, 0.29), (0.36, 0.17)):
        part = _inner(ace, top, left)
        part[:, :, :3] = paper
    middle = _inner(ace, 0.2, 0.17)
    centre, reach = _place(rng, middle)
    _surround(middle, rng, accent, reach=reach)
    _engrave(middle, rng, paper, (ink, accent), centre=centre, reach=reach)
    if rng.random() < _LETTERED:
        (_letter_bent if rng.random() < _BENT else _letter)(middle, rng, ink)
    return ace


def _inner(face: Image, top: float, left: float) -> Image:
    """Return the part of a face that leaves out shares of it above, below, left and right."""
    height, width = face.shape[:2]
    y, x = round(top * height), round(left * width)
    return face[y : height - y, x : width - x]


def _place(rng: Rng, part: Image) -> tuple[Image, float]:
    """Return where the spade's middle lies, and its width, in px."""
    height, width = part.shape[:2]
    reach = rng.uniform(0.55, 1.0) * width
    return np.array([width / 2, height * rng.uniform(0.45, 0.55)]), float(reach)


def _tone(colour: Image) -> list[float]:
    return [*(float(c) for c in colour), 255.0]


def _surround(part: Image, rng: Rng, ink: Image, *, reach: float) -> None:
    """Draw what lies round the spade, if anything: a frame, a wreath, scrolls to either side."""
    height, width = part.shape[:2]
    at, tone = (width // 2, height // 2), _tone(ink)
    if rng.random() < _FRAMED:
        for inset in rng.uniform(0.03, 0.12, int(rng.integers(1, 3))) * width:
            x, y = round(inset) + 1, round(inset * rng.uniform(1, 2)) + 1
            if rng.random() < 0.5:
                cv2.rectangle(part, (x, y), (width - x - 1, height - y - 1), tone, 1, cv2.LINE_AA)
            else:
                axes = (width // 2 - x, height // 2 - y)
                cv2.ellipse(part, at, axes, 0, 0, 360, tone, 1, cv2.LINE_AA)
    if rng.random() < _WREATHED:
        ring = min(0.5 * width, 0.62 * reach) * rng.uniform(0.85, 1.0)
        leaf = (max(1, round(ring * rng.uniform(0.08, 0.16))), max(1, round(ring * 0.05)))
        for turn in np.arange(0, 360, rng.uniform(9, 20)):
            way = np.radians(turn)
            spot = (int(at[0] + ring * np.cos(way)), int(at[1] + ring * np.sin(way)))
            lean = turn + 90 + rng.choice([-35, 35])
            cv2.ellipse(part, spot, leaf, lean, 0, 360, tone, -1, cv2.LINE_AA)
    for _ in range(int(rng.integers(2, 7)) if rng.random() < _SCROLLED else 0):
        _scroll(part, rng, tone)


def _scroll(part: Image, rng: Rng, tone: list[float]) -> None:
    """Draw a line that winds up, and its mirror image."""
    height, width = part.shape[:2]
    way = np.linspace(0, rng.uniform(2, 9), 40) + rng.uniform(0, 6)
    radius = np.linspace(rng.uniform(0.08, 0.3), 0.02, 40) * width
    x = width * rng.uniform(0.05, 0.4) + radius * np.cos(way)
    y = height * rng.uniform(0.1, 0.9) + radius * np.sin(way)
    for side in (x, width - x):
        points = np.round(np.stack([side, y], axis=1) * 16).astype(np.int32)
        cv2.polylines(part, [points], False, tone, int(rng.choice([1, 1, 2])), cv2.LINE_AA, 4)


def _engrave(
    part: Image, rng: Rng, paper: Image, tones: tuple[Image, Image], *, centre: Image, reach: float
) -> None:
    """Draw a spade with patterns in it, alike on its left and right; `tones` are its inks."""
    ink, accent = tones
    shape = suit_outline(SPADE) * [reach * rng.uniform(0.8, 1.05), reach]
    outline = np.round(shape + centre).astype(np.int32)
    layer = np.empty((*part.shape[:2], 3), np.uint8)
    ground = float(rng.choice(_GROUNDS))
    layer[:] = ink + (paper - ink) * ground
    for _ in range(int(rng.integers(2, 9))):
        line = paper if ground < 0.5 and rng.random() < 0.75 else accent
        _pattern(layer, rng, line, centre, reach)
    mask = np.zeros(part.shape[:2], np.uint8)
    cv2.fillPoly(mask, [outline], 255, cv2.LINE_AA)
    share = mask[:, :, None] / np.float32(255)
    part[:, :, :3] = (part[:, :, :3] * (1 - share) + layer * share).astype(np.uint8)
    if ground > 0.5 or rng.random() < 0.6:
        # A hollow spade has a strong outline: it is all there is of it.
        thick = max(1, round(reach * rng.uniform(0.02 if ground > 0.5 else 0.005, 0.04)))
        cv2.polylines(part, [outline], True, _tone(ink), thick, cv2.LINE_AA)


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
            _print(target, text, font, share=share, size=size, colour=_tone(ink))
        if upright is None:
            half = part.shape[0] // 2
            part[half:] = stamp[::-1, ::-1][half:]


def _print(
    part: Image, text: str, font: int, *, share: float, size: float, colour: list[float]
) -> None:
    height, width = part.shape[:2]
    (wide, _), _ = cv2.getTextSize(text, font, 1.0, 1)
    scale = min(size * width / wide, _TALLEST * height / 22)
    at = (int((width - scale * wide) / 2), int(share * height))
    cv2.putText(part, text, at, font, scale, colour, 1, cv2.LINE_AA)


def _letter_bent(part: Image, rng: Rng, ink: Image) -> None:
    """Print lines along a circle round the middle: a name above, at times small print below."""
    height, width = part.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float32)
    x, y = x - width / 2, y - height / 2
    radius = min(0.47 * width, 0.4 * height) * rng.uniform(0.85, 1.0)
    lines = [(_NAMES, 1), (_SMALL, -1)]
    for texts, up in lines if rng.random() < 0.6 else lines[:1]:
        font = _FONTS[int(rng.integers(len(_FONTS)))]
        text = texts[int(rng.integers(len(texts)))]
        (wide, tall), below = cv2.getTextSize(text, font, 1.0, 1)
        strip = np.zeros((tall + below + 2, wide + 2), np.uint8)
        cv2.putText(strip, text, (1, tall + 1), font, 1.0, 255, 1, cv2.LINE_AA)
        # Pixels of the strip for one of the card, so that the line fills a share of the circle.
        scale = wide / (rng.uniform(0.25, 0.42) * 2 * np.pi * radius)
        along = np.arctan2(x, -up * y) * radius * scale + wide / 2
        across = (radius - np.hypot(x, y)) * scale * up + tall / 2
        mark = cv2.remap(strip, along, across, cv2.INTER_AREA)
        share = mark[:, :, None] / np.float32(255)
        part[:, :, :3] = (part[:, :, :3] * (1 - share) + ink * share).astype(np.uint8)
