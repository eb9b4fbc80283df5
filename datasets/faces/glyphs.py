"""Indices, pips and card outlines as shapes of our own, drawn without any font.

Shapes are masks, uint8 0 to 255, anti-aliased by drawing them too large. An index is a skeleton of
strokes drawn with a pen that may be wider than high, which gives thick and thin strokes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]  # uint8: (h, w, 4) BGRA, (h, w, 3) BGR or (h, w) mask
Points = NDArray[Any]  # float (n, 2)

CORNER = 0.037  # corner radius of a card as a part of its height: about 3.2 mm of 88
# Shapes are drawn this many times too large, then made smaller; and fractional bits of the
# coordinates that OpenCV draws at.
_OVER = 4
_SHIFT = 4

# Strokes in a box of 100 x 100, y down, in the notation of SVG paths (M L C, absolute).
_SIX = "M88 14 C70 -9 1 -8 1 58 C1 114 99 114 99 68 C99 26 12 28 2 62"
_BOWL = "C76 46 99 50 99 73 C99 109 6 109 1 78"
STROKES: dict[str, tuple[str, ...]] = {
    "A": ("M0 100 L50 0 L100 100", "M17 66 L83 66"),
    "2": ("M4 27 C4 -9 97 -9 97 28 C97 54 40 66 1 100 L99 100",),
    "3": ("M4 21 C12 -8 95 -8 93 24 C91 43 66 46 42 46 " + _BOWL,),
    "3flat": ("M4 0 L92 0 L42 43 " + _BOWL,),
    "4": ("M74 100 L74 0 L0 70 L100 70",),
    "5": ("M90 0 L17 0 L10 46 C28 30 99 28 99 67 C99 110 12 108 1 80",),
    "6": (_SIX,),
    "7": ("M1 0 L99 0 C62 38 42 68 37 100",),
    "8": (
        "M50 47 C-7 45 -7 0 50 0 C107 0 107 45 50 47",
        "M50 47 C-18 49 -18 100 50 100 C118 100 118 49 50 47",
    ),
    "T": ("M0 20 L20 0 L20 100", "M73 0 C39 0 39 100 73 100 C107 100 107 0 73 0"),
    "J": ("M76 0 L76 68 C76 112 4 110 1 72",),
    "Q": ("M50 0 C-16 0 -16 100 50 100 C116 100 116 0 50 0", "M52 68 L98 100"),
    "K": ("M5 0 L5 100", "M94 0 L5 64", "M34 43 L99 100"),
}
SERIFS: dict[str, tuple[str, ...]] = {
    "A": ("M-12 100 L18 100", "M82 100 L112 100"),
    "4": ("M54 100 L94 100",),
    "5": ("M90 0 L90 8",),
    "7": ("M1 0 L1 16",),
    "T": ("M2 100 L38 100",),
    "J": ("M48 0 L104 0",),
    "K": ("M-9 0 L20 0", "M-9 100 L20 100", "M78 0 L108 0", "M82 100 L112 100"),
}
# Other forms that printers give an index: a hand has one of them or the one above.
FORMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "A": (("M0 100 L42 0 L58 0 L100 100", "M14 70 L86 70"),),
    "4": (("M26 0 L6 62 L100 62", "M70 34 L70 100"),),
    "6": (("M80 0 C40 20 2 50 2 69 C2 111 98 111 98 68 C98 30 30 28 6 58",),),
    "7": (("M1 0 L99 0 L34 100",),),
    "T": (("M12 0 L12 100", "M68 0 C34 0 34 100 68 100 C102 100 102 0 68 0"),),
    "J": (
        ("M82 0 L82 74 C82 108 34 106 6 96",),
        ("M34 0 L86 0 L86 70 C86 110 16 110 6 78",),
        ("M62 0 L62 76 C62 104 22 104 0 92",),
    ),
    "Q": (("M50 0 C-16 0 -16 100 50 100 C116 100 116 0 50 0", "M58 82 L84 112"),),
    "K": (("M5 0 L5 100", "M94 0 L5 56", "M30 42 L99 100"),),
}
# How far a hand moves the points of a stroke, as a share of the box in hundredths (deviation).
_UNSTEADY = 2.5
_STEM = "C46 88 40 96 29 100 L71 100 C60 96 54 88 53 72 "
PIPS: dict[str, dict[str, str]] = {
    "round": {
        "h": "M50 100 C32 72 0 54 0 26 C0 9 12 0 26 0 C38 0 47 8 50 20 "
        "C53 8 62 0 74 0 C88 0 100 9 100 26 C100 54 68 72 50 100",
        "s": "M50 0 C38 24 0 42 0 66 C0 91 36 92 47 72 "
        + _STEM
        + "C64 92 100 91 100 66 C100 42 62 24 50 0",
        "d": "M50 0 C60 20 75 36 91 50 C75 64 60 80 50 100 C40 80 25 64 9 50 C25 36 40 20 50 0",
    },
    "plain": {
        "h": "M50 98 C40 82 4 58 3 30 C2 10 16 2 28 2 C40 2 48 12 50 22 "
        "C52 12 60 2 72 2 C84 2 98 10 97 30 C96 58 60 82 50 98",
        "s": "M50 0 C44 14 6 38 5 62 C4 84 40 90 48 68 L44 100 L56 100 L52 68 "
        "C60 90 96 84 95 62 C94 38 56 14 50 0",
        "d": "M50 0 L88 50 L50 100 L12 50 L50 0",
    },
}
_CLUBS = {"round": (23.5, 77.0, 62.0), "plain": (22.0, 75.0, 60.0)}  # radius, x, y of the leaves


@dataclass(frozen=True, slots=True)
class Pen:
    """How indices are drawn: widths as parts of the glyph's height, slant as x per y."""

    across: float = 0.14  # thickness of upright strokes
    along: float = 0.14  # thickness of level strokes
    serifs: bool = False
    square: bool = False
    slant: float = 0.0
    flat_three: bool = False
    hand: int = 0  # whose hand draws: 0 the strokes as they stand, a number bends them at random


@cache
def outline(path: str) -> Points:
    """Return points along a path of M, L and C steps, float (n, 2) in the path's own units."""
    points: list[NDArray[Any]] = []
    for command, rest in re.findall(r"([MLC])([^MLC]*)", path):
        xy = np.array([float(n) for n in rest.split()]).reshape(-1, 2)
        if command == "C":
            t = np.linspace(0, 1, 17)[1:, None]
            a, b, c, d = points[-1], *xy
            points.extend(
                (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
            )
        else:
            points.extend(xy)
    return np.array(points)


def fill(mask: Image, polygon: Points, *, color: Any = 255) -> None:
    """Fill a polygon given in pixels of the picture, in place."""
    fixed = np.round(polygon * 2**_SHIFT).astype(np.int32)
    cv2.fillPoly(mask, [fixed], color, lineType=cv2.LINE_AA, shift=_SHIFT)


def rounded_mask(height: int, width: int, *, radius: float = CORNER, inset: float = 0.0) -> Image:
    """Return a mask of a rounded rectangle; radius and inset are parts of the height."""
    r, m = radius * height, inset * height
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
    dx = np.maximum(np.abs(x - width / 2) - (width / 2 - r - m), 0)
    dy = np.maximum(np.abs(y - height / 2) - (height / 2 - r - m), 0)
    edge = r - np.hypot(dx, dy) + 0.5
    mask: Image = (np.clip(edge, 0, 1) * 255).astype(np.uint8)
    return mask


@cache
def pip(suit: str, height: int, width: int, family: str = "round") -> Image:
    """Return the mask of a suit (`c d h s`) that fills height x width pixels.

    A family is `round` or `plain`, or one of these with a number (`round-7`): bent at random.
    """
    base, _, number = family.partition("-")
    rng = np.random.default_rng(int(number)) if number else None
    size = np.array([width, height], np.float64) * _OVER
    big = np.zeros((height * _OVER, width * _OVER), np.uint8)
    if suit == "c":
        _club(big, size, base, rng)
    else:
        fill(big, outline(PIPS[base][suit]) / 100 * size)
    if rng is not None:
        big = _bent(big, rng)
    return np.asarray(cv2.resize(big, (width, height), interpolation=cv2.INTER_AREA))


def _club(big: Image, size: NDArray[Any], family: str, rng: np.random.Generator | None) -> None:
    radius, x, y = _CLUBS[family]
    web = 0.0
    if rng is not None:
        # Leaves from small and apart to large and grown together.
        radius, x, y = (float(rng.uniform(*of)) for of in ((20, 26), (72, 79), (57, 69)))
        web = float(rng.uniform(0, 10)) if rng.random() < 0.4 else 0.0
    turn = np.linspace(0, 2 * np.pi, 49)[:, None]
    circle = np.hstack([np.cos(turn), np.sin(turn)]) * radius
    for centre in ((50, radius), (100 - x, y), (x, y)):
        fill(big, (circle + centre) / 100 * size)
    fill(big, outline("M42 34 L58 34 L66 66 L34 66 L42 34") / 100 * size)
    if web:
        grown = np.array([[50 - web, 26], [50 + web, 26], [50 + 2 * web, y], [50 - 2 * web, y]])
        fill(big, grown / 100 * size)
    stem = "M47 60 " + _STEM + "L53 60" if family == "round" else "M48 60 L43 100 L57 100 L52 60"
    fill(big, outline(stem) / 100 * size)


def _bent(mask: Image, rng: np.random.Generator) -> Image:
    """Return the mask heavier or lighter, its middle higher or lower, bulging or drawn in."""
    height, width = mask.shape
    power, bulge = rng.uniform(0.85, 1.18), rng.uniform(0, 0.16)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    # A little smaller, for what is made heavier to stay whole.
    down, across = (0.5 + 1.06 * ((v + 0.5) / n - 0.5) for v, n in ((y, height), (x, width)))
    down = np.where(down < 0, -1, np.abs(down) ** np.float32(power)).astype(np.float32)
    across = 0.5 + (across - 0.5) * (1 + np.float32(bulge) * np.sin(np.pi * down))
    bent = cv2.remap(mask, across * width - 0.5, down * height - 0.5, cv2.INTER_LINEAR)
    reach = round(float(rng.uniform(-0.035, 0.025)) * width)
    kernel = np.ones((2 * abs(reach) + 1,) * 2, np.uint8)
    change = cv2.dilate if reach > 0 else cv2.erode
    return np.asarray(change(bent, kernel), np.uint8)


@cache
def glyph(rank: str, height: int, width: int, pen: Pen) -> Image:
    """Return the mask of an index (`A 2-9 T J Q K`, T drawn as 10), about height x width pixels.

    Serifs and slant may widen the mask; a ten is two fifths wider.
    """
    if rank == "9":
        return np.ascontiguousarray(glyph("6", height, width, pen)[::-1, ::-1])
    lines = [outline(stroke) / 100 for stroke in _strokes(rank, pen)]
    wider, thinner = (1.4, 0.82) if rank == "T" else (1.0, 1.0)
    box = np.array([width * wider, height], np.float64)
    nib = np.array([pen.across * thinner, pen.along]) * height
    lines = [line * (box - nib) + nib / 2 for line in lines]
    lines = [line + np.outer((height / 2 - line[:, 1]) * pen.slant, (1, 0)) for line in lines]
    return _stroke(lines, nib, height, square=pen.square)


def _strokes(rank: str, pen: Pen) -> tuple[str, ...]:
    """Return the paths that the pen draws an index with."""
    key = "3flat" if rank == "3" and pen.flat_three else rank
    strokes = STROKES[key]
    rng = np.random.default_rng([pen.hand, ord(rank)]) if pen.hand else None
    if rng is not None:
        forms = (strokes, *FORMS.get(key, ()))
        strokes = forms[int(rng.integers(len(forms)))]
    if pen.serifs:
        strokes += SERIFS.get(rank, ())
    if rng is None:
        return strokes
    return tuple(
        re.sub(r"-?\d+", lambda found: f"{int(found[0]) + rng.normal(0, _UNSTEADY):.1f}", stroke)
        for stroke in strokes
    )


def _stroke(lines: list[Points], nib: NDArray[Any], height: int, *, square: bool) -> Image:
    """Draw lines with a nib of (width, height) px, in a mask just wide enough."""
    left = min(float(line[:, 0].min()) for line in lines) - nib[0] / 2
    right = max(float(line[:, 0].max()) for line in lines) + nib[0] / 2
    width = int(np.ceil(right - left)) + 1
    lines = [(line - (left, 0)) * _OVER for line in lines]
    across, along = np.maximum(np.round(nib * _OVER), 1).astype(int)
    if square:
        big = np.zeros((height * _OVER, width * _OVER), np.uint8)
        _polylines(big, lines, 1)
        kernel = np.ones((along, across), np.uint8)
        big = np.asarray(cv2.dilate(big, kernel))
    else:  # a round nib in a picture stretched upwards is a flat nib in the end
        stretch = across / along
        big = np.zeros((round(height * _OVER * stretch), width * _OVER), np.uint8)
        _polylines(big, [line * (1, stretch) for line in lines], int(across))
    return np.asarray(cv2.resize(big, (width, height), interpolation=cv2.INTER_AREA))


def _polylines(mask: Image, lines: list[Points], thickness: int) -> None:
    fixed = [np.round(line * 2**_SHIFT).astype(np.int32) for line in lines]
    cv2.polylines(mask, fixed, False, 255, thickness, cv2.LINE_8, _SHIFT)
