"""Where a deck prints its signs, and whether a rank and a suit can be seen at all on a snapshot.

A sign is in sight in a corner, where the deck has its indices, or in the pips. Courts have no pips,
and what else they show says nothing: figures differ from deck to deck.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import RANK_LETTERS, SUIT_LETTERS

from ..faces.sprites import Levels, Pack
from ..render.paint import Image, Points

# Size, px, at which faces and what covers them are compared. Larger takes longer, smaller misjudges
# the thin signs of a bridge deck.
GRID = (60, 84)
# Columns and rows of the grid within which a corner's index lies (jumbo ones too), and grey levels
# from which two faces differ there. Found on the sheets of all decks.
_CORNER, _DIFFERENT = (22, 36), 60
# Grid pixels that a box is larger than the signs it was found by: other letters are wider.
_RIM = 1
# A corner has an index if at least this share of the first corner's differences is there too.
_SAME_AS_FIRST = 0.5
# Visible share of a sign's box from which a person names it, and up to which nobody does; between
# lies doubt. Of pips: how many are in sight, as a share of one. Judged by eye on contact sheets.
_ENOUGH, _NOTHING = 0.9, 0.2
# Width in px of a sign, as far as in focus, from which a person tells it, and up to which nobody
# does; the same of the whole card, by the shape of its pips; and by how many there are, which is
# told when their shapes are long lost. Judged by eye on contact sheets.
_SHARP_SIGN, _BLURRED_SIGN = 3.4, 2.2
_SHARP_CARD, _BLURRED_CARD = 22.0, 17.0
_SHARP_COUNT, _BLURRED_COUNT = 17.0, 10.0
# Share of a whole face in sight from which its pips can be counted, and below which not.
_COUNTABLE, _UNCOUNTABLE = 0.85, 0.6
# The pip inside the frame of a court: a box in shares of the card, and the visible share of it from
# which it may be seen.
_COURT_PIP, _GLIMPSED = (0.15, 0.1, 0.45, 0.28), 0.6
_NUMBERS = range(10)  # ranks A to T


class Sight(IntEnum):
    """Whether a sign can be seen: not at all, perhaps, or clearly."""

    NONE, DOUBT, CLEAR = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """Where one deck prints: boxes of rank and suit in each corner with an index, and its pips.

    Boxes are x0, y0, x1, y1 in pixels of the grid; `pips` (10 x H x W) marks those of A to T.
    """

    ranks: tuple[tuple[int, int, int, int], ...]
    suits: tuple[tuple[int, int, int, int], ...]
    pips: NDArray[np.bool_]


@lru_cache(maxsize=16)
def signs_of(pack: Pack) -> Signs:
    """Return where a pack prints its signs, found by comparing its faces."""
    faces = np.stack([
        [_flat(pack.face(rank + suit)) for suit in SUIT_LETTERS] for rank in RANK_LETTERS
    ])  # fmt: skip
    # Two suits of one colour differ by their signs alone. Pips of ace and two lie apart, so that
    # what both have in common are the corners; ranks differ in their letters and their pips.
    by_suit = _differ(faces[:, 0], faces[:, 3]) | _differ(faces[:, 1], faces[:, 2])
    one, two, three = (faces[rank] for rank in range(3))
    by_rank = _differ(two, three) & (_differ(one, two) | _differ(one, three))
    suits = _boxes(by_suit[0] & by_suit[1])
    pips = by_suit[: len(_NUMBERS)].copy()
    for x0, y0, x1, y1 in suits:
        pips[:, y0:y1, x0:x1] = False
    return Signs(_boxes(np.asarray(by_rank.any(axis=0))), suits, pips)


def seen_of(
    pack: Pack, card: int, *, clear: NDArray[np.uint8], sharp_px: float
) -> tuple[Sight, Sight]:
    """Return whether rank and suit of a card (class number) can be seen.

    `clear` (the grid's size) is 1 where nothing covers the face; `sharp_px` is its width in px as
    far as the focus allows.
    """
    signs, (rank, _) = signs_of(pack), divmod(card, len(SUIT_LETTERS))
    whole = float(clear.mean())
    by_index = [
        max((_index(clear, box, sharp_px) for box in boxes), default=Sight.NONE)
        for boxes in (signs.ranks, signs.suits)
    ]
    if rank in _NUMBERS:
        apart = _between(sharp_px, _BLURRED_COUNT, _SHARP_COUNT)
        counted = min(apart, _between(whole, _UNCOUNTABLE, _COUNTABLE))
        pips = signs.pips[rank]
        shown = float((pips & (clear > 0)).sum()) / max(pips.sum() / (rank + 1), 1)
        pip = _between(shown, _NOTHING, _ENOUGH)
    else:
        counted = (
            Sight.DOUBT if min(whole / _UNCOUNTABLE, sharp_px / _BLURRED_CARD) > 1 else Sight.NONE
        )
        pip = Sight.DOUBT if _court_pip(clear) > _GLIMPSED else Sight.NONE
    focus = _between(sharp_px, _BLURRED_CARD, _SHARP_CARD)
    return max(by_index[0], counted), max(by_index[1], min(pip, focus))


def on_grid(clear: NDArray[np.uint8], quad: Points) -> NDArray[np.uint8]:
    """Return a picture's mask of what is clear, brought onto the grid of the card at `quad`."""
    width, height = GRID
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32) - 0.5, corners - 0.5)
    return np.asarray(cv2.warpPerspective(clear, matrix, GRID, flags=cv2.INTER_NEAREST), np.uint8)


def _between(value: float, low: float, high: float) -> Sight:
    return Sight.CLEAR if value >= high else Sight.DOUBT if value > low else Sight.NONE


def _index(clear: NDArray[np.uint8], box: tuple[int, int, int, int], sharp_px: float) -> Sight:
    x0, y0, x1, y1 = box
    shown = _between(float(clear[y0:y1, x0:x1].mean()), _NOTHING, _ENOUGH)
    width = (x1 - x0) / GRID[0] * sharp_px
    focus = min(
        _between(width, _BLURRED_SIGN, _SHARP_SIGN), _between(sharp_px, 12.0, _BLURRED_CARD)
    )
    return min(shown, focus)


def _court_pip(clear: NDArray[np.uint8]) -> float:
    x0, y0, x1, y1 = (round(share * side) for share, side in zip(_COURT_PIP, GRID * 2, strict=True))
    ends = (clear, clear[::-1, ::-1])
    return max(float(end[y0:y1, x0:x1].mean()) for end in ends)


def _flat(levels: Levels) -> Image:
    """Return a face on white paper, of the grid's size."""
    face = cv2.resize(levels[0], GRID, interpolation=cv2.INTER_AREA)
    return np.asarray(face[:, :, :3].astype(np.int16) + (255 - face[:, :, 3:].astype(np.int16)))


def _differ(one: Image, other: Image) -> NDArray[np.bool_]:
    """Return where faces differ in any channel."""
    return np.asarray(np.abs(one - other).max(axis=-1) > _DIFFERENT)


def _boxes(differ: NDArray[np.bool_]) -> tuple[tuple[int, int, int, int], ...]:
    """Return the box of the signs in each corner in which there are any."""
    (wide, tall), (width, height) = _CORNER, GRID
    turns = (differ, differ[::-1, ::-1], differ[:, ::-1], differ[::-1])
    parts = [turn[:tall, :wide] for turn in turns]
    found = []
    for number, part in enumerate(parts):
        if not part.any() or part.sum() < _SAME_AS_FIRST * parts[0].sum():
            continue
        x0, y0, x1, y1 = _bounds(part)
        if number in (1, 2):
            x0, x1 = width - x1, width - x0
        if number in (1, 3):
            y0, y1 = height - y1, height - y0
        found.append((x0, y0, x1, y1))
    return tuple(found)


def _bounds(part: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    tall, wide = part.shape
    return (
        max(int(columns[0]) - _RIM, 0),
        max(int(rows[0]) - _RIM, 0),
        min(int(columns[-1]) + 1 + _RIM, wide),
        min(int(rows[-1]) + 1 + _RIM, tall),
    )
