"""Faces that are no playing card of the 52: jokers, tarot-like, game, blank and visiting cards.

Negatives for training: the reader must leave them unread.
"""

from __future__ import annotations

import cv2
import numpy as np

from .courts import Color, Court, court_figure
from .faces import Design, Sheet
from .glyphs import Image, Pen, glyph, outline, rounded_mask

# A poker card, mm.
_WIDTH, _HEIGHT = 63.0, 88.0
# BGR.
_BRIGHT: tuple[Color, ...] = ((50, 50, 210), (200, 120, 30), (60, 160, 50), (40, 200, 240))


def foreign_faces(height_px: int = 504) -> dict[str, Image]:
    """Return faces that must not be read as any card, BGRA, by name."""
    faces: dict[str, Image] = {"blank": _card(_sheet(height_px))}
    for number in range(6):
        faces[f"joker-{number}"] = _joker(height_px, number)
    for number in range(6):
        faces[f"tarot-{number}"] = _tarot(height_px, number)
    for number, color in enumerate(_BRIGHT):
        faces[f"game-{number}"] = _game(height_px, str(number + 3), color)
    for number in range(4):
        faces[f"visiting-{number}"] = _visiting(height_px, number)
    return faces


def _sheet(height: int, paper: Color = (252, 252, 252)) -> Sheet:
    return Sheet(Design(paper=paper), height)


def _card(sheet: Sheet) -> Image:
    height, width = sheet.image.shape[:2]
    return np.dstack([sheet.image, rounded_mask(height, width)])


def _words(sheet: Sheet, text: str, at: tuple[float, float], *, size: float, color: Color) -> None:
    """Write text, left end of its baseline at a point in mm, `size` mm high."""
    scale = size * sheet.scale / 22
    corner = (round(at[0] * sheet.scale), round(at[1] * sheet.scale))
    cv2.putText(
        sheet.image,
        text,
        corner,
        cv2.FONT_HERSHEY_TRIPLEX,
        scale,
        color,
        max(1, round(scale * 1.5)),
        cv2.LINE_AA,
    )


def _joker(height: int, number: int) -> Image:
    ink: Color = ((40, 30, 190), (30, 26, 26), (120, 40, 110))[number % 3]
    sheet = _sheet(height)
    for turned in (False, True):
        for position, letter in enumerate("JOKER"):
            mark = _letter(letter, sheet)
            sheet.stamp(mark, (5.0, 8 + 6.2 * position), ink, turned=turned)
    paints = tuple(_BRIGHT[(number + i) % 4] for i in range(3))
    style = ("classic", "modern")[number % 2]
    figure = court_figure(
        "J",
        "s",
        (sheet.px(40), sheet.px(64)),
        Court(style, paints, seed=100 + number),
        ink=(252, 252, 252),
    )
    y, x = round(12 * sheet.scale), round(11.5 * sheet.scale)
    sheet.image[y : y + figure.shape[0], x : x + figure.shape[1]] = figure
    for turn in np.linspace(0, 2 * np.pi, 7)[:-1] + number:
        star = (_WIDTH / 2 + 17 * np.cos(turn), _HEIGHT / 2 + 30 * np.sin(turn))
        sheet.stamp(_star(sheet), star, ink)
    return _card(sheet)


def _letter(letter: str, sheet: Sheet) -> Image:
    """Return the mask of a letter of JOKER."""
    height, width = sheet.px(4.6), sheet.px(3.4)
    pen = Pen(0.15, 0.13)
    if letter in "JK":
        return glyph(letter, height, width, pen)
    mask = np.zeros((height * 4, width * 4), np.uint8)
    paths = {
        "O": ("M50 5 C-8 5 -8 95 50 95 C108 95 108 5 50 5",),
        "E": ("M92 7 L10 7 L10 93 L92 93", "M10 50 L80 50"),
        "R": ("M10 98 L10 7 L55 7 C104 7 104 52 55 52 L10 52", "M52 52 L94 98"),
    }[letter]
    for path in paths:
        points = np.round(outline(path) / 100 * (width * 4, height * 4) * 16).astype(np.int32)
        cv2.polylines(mask, [points], False, 255, round(height * 0.55), cv2.LINE_AA, 4)
    return np.asarray(cv2.resize(mask, (width, height), interpolation=cv2.INTER_AREA))


def _star(sheet: Sheet) -> Image:
    size = sheet.px(5)
    turn = np.arange(10) * np.pi / 5 - np.pi / 2
    radius = np.where(np.arange(10) % 2, 0.2, 0.5)
    points = np.stack([np.cos(turn), np.sin(turn)], axis=1) * radius[:, None] + 0.5
    mask = np.zeros((size * 4, size * 4), np.uint8)
    cv2.fillPoly(mask, [np.round(points * size * 4).astype(np.int32)], 255)
    return np.asarray(cv2.resize(mask, (size, size), interpolation=cv2.INTER_AREA))


def _tarot(height: int, number: int) -> Image:
    sheet = _sheet(height, (190, 225, 240))
    paints = tuple(_BRIGHT[(number + 2 * i) % 4] for i in range(3))
    figure = court_figure(
        "KQJ"[number % 3],
        "h",
        (sheet.px(53), sheet.px(140)),
        Court("ornate", paints, paper=(170, 215, 235), seed=50 + number),
        ink=(170, 215, 235),
    )
    upper = figure[: sheet.px(68)]
    y, x = round(9 * sheet.scale), round(5 * sheet.scale)
    sheet.image[y : y + upper.shape[0], x : x + upper.shape[1]] = upper
    sheet.outline((5, 9, 58, 77), (30, 30, 30), 0.5)
    _words(
        sheet,
        ("IX", "XIV", "VII", "XXI", "III", "XII")[number],
        (26, 7),
        size=4,
        color=(30, 30, 30),
    )
    name = ("THE HERMIT", "THE STAR", "CHARIOT", "THE WORLD", "THE MOON", "JUSTICE")[number]
    _words(sheet, name, (12, 84), size=4, color=(30, 30, 30))
    return _card(sheet)


def _game(height: int, digit: str, color: Color) -> Image:
    sheet = _sheet(height)
    s = sheet.scale
    inner = rounded_mask(*sheet.image.shape[:2], inset=0.04) > 127
    sheet.image[inner] = color
    middle = (round(31.5 * s), round(44 * s))
    cv2.ellipse(
        sheet.image,
        middle,
        (round(19 * s), round(36 * s)),
        25,
        0,
        360,
        (252, 252, 252),
        -1,
        cv2.LINE_AA,
    )
    pen = Pen(0.2, 0.18, slant=0.15)
    sheet.stamp(glyph(digit, sheet.px(34), sheet.px(22), pen), (31.5, 44), color)
    for turned in (False, True):
        sheet.stamp(
            glyph(digit, sheet.px(11), sheet.px(7), pen), (10, 12), (252, 252, 252), turned=turned
        )
    return _card(sheet)


def _visiting(height: int, number: int) -> Image:
    rng = np.random.default_rng(number)
    papers = ((250, 250, 250), (60, 50, 40), (225, 240, 245), (235, 225, 215))
    sheet = _sheet(height, papers[number])
    ink: Color = (240, 240, 240) if number == 1 else (70, 50, 40)
    sheet.outline((8, 10, 20, 22), _BRIGHT[number], 3.0)
    for line in range(6):
        x, y = 8.0, 38.0 + 6 * line
        long = float(rng.uniform(20, 45))
        while x < long:
            step = float(rng.uniform(2, 7))
            sheet.outline((x, y, x + step, y + 0.9), ink, 0.9)
            x += step + 1.8
    _words(sheet, ("Table 12", "Gallery", "Valet", "Bistro")[number], (24, 18), size=5, color=ink)
    return _card(sheet)
