"""How far apart each pair of cards of an enrolled deck reads, and which pairs are too close.

The margin of a pair is the log-odds between its two cards that the looks at a card lying still come
to. Below ln(1 / bound) such a card could never be read at that bound of error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.sight.geometry.frame import Image
from vision.sight.reading.fusion import FACES, STILL_LOOKS

# A poor look: the one that this share of the looks at a card lying free are worse than. Chosen;
# smaller, one poor view refuses a deck that can be read, larger, a deck is armed that reads badly.
POOR = 0.25
# The picture of pairs: size of a card, px (half larger than its crop), and pairs in a row.
SHOWN_PX = (144, 204)
COLUMNS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cards and their margin: the log-odds that a still card's looks come to, the worse way."""

    first: Card
    second: Card
    margin: float

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


def margins(log_p: NDArray[np.floating], cards: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 52 x 52 margins of a card (row) against each other one, from N looks.

    `log_p` is N x 52, `cards` (N,) the truth. A margin is a poor look's log-odds, times the
    independent looks that a still card may count as; infinite on the diagonal and in rows of cards
    without looks.
    """
    found = np.full((FACES, FACES), np.inf)
    for card in np.unique(cards):
        rows = np.asarray(log_p[cards == card], np.float64)
        gaps = rows[:, [card]] - rows
        found[card] = STILL_LOOKS * np.quantile(gaps, POOR, axis=0)
        found[card, card] = np.inf
    return found


def closest(found: NDArray[np.float64], count: int) -> tuple[Pair, ...]:
    """Return the pairs of cards with the least margins, the closest first."""
    both = np.minimum(found, found.T)
    first, second = np.triu_indices(FACES, 1)
    order = np.argsort(both[first, second])[:count]
    return tuple(
        Pair(Card.of(int(a)), Card.of(int(b)), float(both[a, b]))
        for a, b in zip(first[order], second[order], strict=True)
    )


def too_alike(found: NDArray[np.float64], bound: float) -> tuple[Pair, ...]:
    """Return the pairs between which a still card could not be read at an error of `bound`."""
    least = -math.log(bound)
    return tuple(pair for pair in closest(found, FACES * FACES) if pair.margin < least)


def sheet(pairs: Sequence[Pair], faces: NDArray[np.uint8], bound: float) -> Image:
    """Return a picture of pairs side by side, each with its margin and the margin it needs."""
    width, height = SHOWN_PX
    cell_w, cell_h = 2 * width + 36, height + 52
    rows = max(1, -(-len(pairs) // COLUMNS))
    picture = np.full((rows * cell_h, COLUMNS * cell_w, 3), 64, np.uint8)
    for number, pair in enumerate(pairs):
        x, y = number % COLUMNS * cell_w + 12, number // COLUMNS * cell_h + 40
        for side, card in enumerate((pair.first, pair.second)):
            shown = cv2.resize(faces[card.index], SHOWN_PX, interpolation=cv2.INTER_CUBIC)
            left = x + side * (width + 8)
            picture[y : y + height, left : left + width] = shown
        short = pair.margin < -math.log(bound)
        words = f"{pair.first} {pair.second}  {pair.margin:.1f} of {-math.log(bound):.1f}"
        colour = (90, 90, 255) if short else (235, 235, 235)
        cv2.putText(picture, words, (x, y - 12), cv2.FONT_HERSHEY_SIMPLEX, 0.62, colour, 1, 16)
    return picture
