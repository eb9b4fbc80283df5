"""Card faces of our own: a design is a handful of numbers, and every card follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK

from .courts import Color, Court, court_figure
from .fonts import font_mark
from .glyphs import Image, Pen, glyph, pip, rounded_mask

# Inks of the suits, BGR.
_BLACK: Color = (26, 22, 22)
_RED: Color = (38, 24, 200)
TWO_COLORS = {"c": _BLACK, "d": _RED, "h": _RED, "s": _BLACK}
FOUR_COLORS: dict[str, Color] = {"c": (50, 120, 10), "d": (190, 90, 10), "h": _RED, "s": _BLACK}

# Pips of the upper half as (column -1 0 1, row 0 top to 1 middle); the lower half is the same
# turned, but for those on the middle line and the seventh.
_LEFT_RIGHT = ((-1.0, 0.0), (1.0, 0.0))
_ROW3 = ((-1.0, 2 / 3), (1.0, 2 / 3))
_MIDDLE = ((-1.0, 1.0), (1.0, 1.0))
PIP_PLACES: dict[str, tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]] = {
    "A": ((), ((0.0, 1.0),)),
    "2": (((0.0, 0.0),), ()),
    "3": (((0.0, 0.0),), ((0.0, 1.0),)),
    "4": (_LEFT_RIGHT, ()),
    "5": (_LEFT_RIGHT, ((0.0, 1.0),)),
    "6": (_LEFT_RIGHT, _MIDDLE),
    "7": (_LEFT_RIGHT, (*_MIDDLE, (0.0, 0.5))),
    "8": ((*_LEFT_RIGHT, (0.0, 0.5)), _MIDDLE),
    "9": (_LEFT_RIGHT + _ROW3, ((0.0, 1.0),)),
    "T": ((*_LEFT_RIGHT, *_ROW3, (0.0, 1 / 3)), ()),
}  # (upper half, turned for the lower), (drawn once, upright)


@dataclass(frozen=True, slots=True)
class Design:
    """All that sets one deck apart from another; lengths in mm unless noted."""

    size: tuple[float, float] = (63.0, 88.0)
    pen: Pen = field(default_factory=Pen)
    font: str = ""  # path of the font of the indices; "" for the pen's glyphs
    index: tuple[float, float] = (9.0, 6.5)  # height and width of a rank
    index_at: tuple[float, float] = (5.4, 4.5)  # middle from the left edge, top from the top edge
    index_suit: float = 6.0  # height of the suit by the rank
    gap: float = 1.3
    beside: bool = False  # suit to the right of the rank, not below it
    corners: int = 2
    pip: float = 12.5
    pip_family: str = "round"
    columns: float = 0.21  # outer pips from the middle, part of the width
    rows: float = 0.31  # top pips from the middle, part of the height
    ace: float = 20.0
    spade_ace: float = 36.0
    lone_pip: bool = False  # two to ten have one pip in the middle, as an ace has
    inks: tuple[tuple[str, Color], ...] = tuple(TWO_COLORS.items())
    paper: Color = (255, 255, 255)
    court: Court = field(default_factory=Court)
    court_height: float = 74.0
    frame: float = 0.35  # line round the courts; 0 for none
    frame_color: Color = (120, 60, 20)
    border: float = 0.0  # line round every face, this far from the edge
    panel: float = 0.0  # line round the pips, this far from the upper and lower edge


class Sheet:
    """One card being drawn, BGR; lengths come in mm."""

    def __init__(self, design: Design, height: int, *, image: Image | None = None) -> None:
        self.design = design
        self.scale = height / design.size[1]
        self.width = round(design.size[0] * self.scale)
        blank = np.full((height, self.width, 3), design.paper, np.uint8)
        self.image: Image = blank if image is None else image

    def px(self, mm: float) -> int:
        """Return a length in whole pixels, at least 2."""
        return max(2, round(mm * self.scale))

    def stamp(
        self, mask: Image, centre: tuple[float, float], color: Color, *, turned: bool = False
    ) -> None:
        """Ink a mask with its middle at a point in mm; turned: at the point seen upside down."""
        image = self.image[::-1, ::-1] if turned else self.image
        h, w = mask.shape
        x0 = round(centre[0] * self.scale - w / 2)
        y0 = round(centre[1] * self.scale - h / 2)
        cx, cy = max(0, -x0), max(0, -y0)
        spot = image[y0 + cy : y0 + h, x0 + cx : x0 + w]
        cut = mask[cy : cy + spot.shape[0], cx : cx + spot.shape[1], None]
        alpha = cut.astype(np.float32) / 255
        spot[:] = np.round(spot * (1 - alpha) + np.array(color, np.float32) * alpha)

    def outline(self, box: tuple[float, float, float, float], color: Color, line: float) -> None:
        """Draw a rectangle x0, y0, x1, y1 in mm."""
        x0, y0, x1, y1 = (round((v * self.scale - 0.5) * 16) for v in box)
        cv2.rectangle(
            self.image, (x0, y0), (x1, y1), color, max(1, round(line * self.scale)), cv2.LINE_AA, 4
        )


def index_span(design: Design) -> tuple[float, float]:
    """Return where the corner index ends, mm from the left edge and from the top edge."""
    height, width = design.index
    left = max(design.index_at[0] - width / 2, 1.2)
    suit = design.index_suit
    if design.beside:
        return left + width + design.gap + suit, design.index_at[1] + max(height, suit)
    return left + max(width, suit * 0.9), design.index_at[1] + height + design.gap + suit


def draw_face(card: str, design: Design, height: int = 504) -> Image:
    """Return one face, BGRA with rounded transparent corners, `height` pixels high.

    `card` is rank and suit as in `As`, `Td`.
    """
    rank, suit = card[0], card[1]
    sheet = Sheet(design, height)
    ink = dict(design.inks)[suit]
    w, h = design.size
    if design.border:
        b = design.border
        sheet.outline((b, b, w - b, h - b), design.frame_color, 0.3)
    if rank in PIP_PLACES:
        _pips(sheet, rank, suit, ink)
    else:
        _court(sheet, rank, suit, ink)
    stamp_indices(sheet, suit, mark=index_mark(sheet, rank), halo=rank in "JQK")
    return np.dstack([sheet.image, rounded_mask(height, sheet.width)])


def draw_deck(design: Design, height: int = 504) -> NDArray[Any]:
    """Return all 52 faces in card order, uint8 (52, height, width, 4) BGRA."""
    return np.stack([draw_face(str(card), design, height) for card in DECK])


def _pips(sheet: Sheet, rank: str, suit: str, ink: Color) -> None:
    d = sheet.design
    w, h = d.size
    right, bottom = index_span(d)
    if d.panel:
        # Beside the index, or below one that is broad.
        x, y = (0.25 * w, max(d.panel, bottom + 0.5)) if d.beside else (right + 0.5, d.panel)
        sheet.outline((x, y, w - x, h - y), ink, 0.3)
    if rank == "A" or d.lone_pip:
        engraved = rank == "A" and suit == "s"
        size = d.spade_ace if engraved else d.ace
        if not engraved and not d.beside:
            size = min(size, (w - 2 * right) * 1.05)
        size = min(size, w * 0.62)
        sheet.stamp(
            pip(suit, sheet.px(size), sheet.px(size * 0.9), d.pip_family), (w / 2, h / 2), ink
        )
        if engraved and size > 25:
            _ornament(sheet, size)
        return
    top = d.rows * h
    size, dx = d.pip, d.columns * w
    if d.beside:
        top = min(top, h / 2 - bottom - size / 2 - 0.5)
    else:
        dx = min(dx, w / 2 - right - size * 0.46 - 0.4)
        size = min(size, dx * 1.25)
    size = min(size, top * 0.62) if rank in "9T" else min(size, top * 0.9)
    mask = pip(suit, sheet.px(size), sheet.px(size * 0.9), d.pip_family)
    twice, once = PIP_PLACES[rank]
    for x, y in twice:
        at = (w / 2 + x * dx, h / 2 - top * (1 - y))
        sheet.stamp(mask, at, ink)
        sheet.stamp(mask, at, ink, turned=True)
    for x, y in once:
        sheet.stamp(mask, (w / 2 + x * dx, h / 2 - top * (1 - y)), ink)


def _ornament(sheet: Sheet, size: float) -> None:
    """Engrave the ace of spades: an inner line and a small spade."""
    d = sheet.design
    middle = (d.size[0] / 2, d.size[1] / 2 - size * 0.01)
    for part, color in ((0.70, d.paper), (0.64, dict(d.inks)["s"]), (0.30, d.paper)):
        mask = pip("s", sheet.px(size * part), sheet.px(size * part * 0.9), d.pip_family)
        sheet.stamp(mask, middle, color)


def _court(sheet: Sheet, rank: str, suit: str, ink: Color) -> None:
    d = sheet.design
    w, h = d.size
    left = min(max(index_span(d)[0] + 0.9, w * 0.13), w * 0.24)
    top = (h - d.court_height) / 2
    size = (sheet.px(w - 2 * left), sheet.px(d.court_height))
    figure = court_figure(rank, suit, size, d.court, ink=ink)
    y, x = round(top * sheet.scale), round(left * sheet.scale)
    sheet.image[y : y + figure.shape[0], x : x + figure.shape[1]] = figure
    if d.frame:
        for grow in (0.0, 1.1) if d.frame > 0.45 else (0.0,):
            sheet.outline(
                (left - grow, top - grow, w - left + grow, h - top + grow),
                d.frame_color,
                min(d.frame, 0.45),
            )


def index_mark(sheet: Sheet, rank: str) -> Image:
    """Return the mask of the design's own index for a rank."""
    height, width = sheet.design.index
    if sheet.design.font:
        return font_mark(rank, sheet.design.font, sheet.px(height), sheet.px(width))
    squeeze = 0.86 if rank == "T" else 1.0  # a ten must not run into the pips
    return glyph(rank, sheet.px(height), sheet.px(width * squeeze), sheet.design.pen)


def stamp_indices(sheet: Sheet, suit: str, *, mark: Image, halo: bool) -> None:
    """Stamp rank (a mask) and suit in all corners of the design, on a halo of paper or not."""
    d = sheet.design
    w, ink = d.size[0], dict(d.inks)[suit]
    small = pip(suit, sheet.px(d.index_suit), sheet.px(d.index_suit * 0.9), d.pip_family)
    wide, high = mark.shape[1] / sheet.scale, mark.shape[0] / sheet.scale
    x, y = max(d.index_at[0], wide / 2 + 1.1), d.index_at[1] + high / 2
    if d.beside:
        suit_at = (x + (wide + d.index_suit * 0.9) / 2 + d.gap, y)
    else:
        suit_at = (x, d.index_at[1] + high + d.gap + d.index_suit / 2)
    pieces = [(mark, (x, y), ink), (small, suit_at, ink)]
    if halo:
        nib = np.ones((sheet.px(1.4), sheet.px(1.4)), np.uint8)
        around = [(cv2.dilate(np.pad(m, sheet.px(0.7)), nib), at, d.paper) for m, at, _ in pieces]
        pieces = around + pieces
    for turned in (False, True):
        for mirrored in (False, True)[: d.corners // 2]:
            for mask, (cx, cy), color in pieces:
                sheet.stamp(mask, (w - cx if mirrored else cx, cy), color, turned=turned)
