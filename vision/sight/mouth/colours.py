"""Tell the cut card by its colours, which no card before it had.

All cards of a shoe have one back, all draws the same hands, so their colours are soon known. What
a patch shows that it does not show at rest is compared with them, in boxes of the colour cube.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Boxes along each side of the colour cube. Fewer, and red cards are as orange ones; more, and the
# shadow of a hand is a new colour.
SIDE = 12
# A cell of a patch that differs from the one at rest by so much in any colour (0 to 1) shows
# something else. Less is noise and shadow, more loses cards on cloth of nearly their colour.
CHANGED = 0.1
# Fewer cells than these say nothing of a picture: a finger at its edge. A card wholly out has 900.
LEAST_CELLS = 60
# Cards that must have left before a colour can be new, and the share (0 to 1) that is kept of what
# is known when one more leaves. Fewer, and a hand that turns is new; kept longer, old light stays.
LEAST_CARDS, KEPT = 3, 0.9
# A colour is known if it made up at least this share (0 to 1) of what changed, over all cards. The
# rims of fingers are less.
KNOWN = 0.0005
Cells = NDArray[np.intp]


def changed_cells(now: NDArray[np.float32], rest: NDArray[np.float32]) -> Cells:
    """Return the box of the colour cube of every cell that has changed; patches 3 x H x W."""
    differs = np.abs(now - rest).max(axis=0) > CHANGED
    boxes = np.minimum((now[:, differs] * SIDE).astype(np.intp), SIDE - 1)
    return np.asarray((boxes[0] * SIDE + boxes[1]) * SIDE + boxes[2], np.intp)


class KnownColours:
    """The colours of the cards that left, with the hands that drew them."""

    def __init__(self) -> None:
        self._share = np.zeros((SIDE, SIDE, SIDE))
        self._cards = 0

    def learn(self, pictures: list[Cells]) -> None:
        """Take in the pictures of a card on its way out."""
        cells = _together(pictures)
        if len(cells) < LEAST_CELLS:
            return
        counts = np.bincount(cells, minlength=SIDE**3).reshape(self._share.shape)
        self._share = KEPT * self._share + (1 - KEPT) * counts / len(cells)
        self._cards += 1

    def novelty(self, pictures: list[Cells]) -> float | None:
        """Return the share (0 to 1) of what is seen that has new colours, None if unknown yet."""
        cells = _together(pictures)
        if self._cards < LEAST_CARDS or len(cells) < LEAST_CELLS:
            return None
        known = _widened(self._share)[cells] >= KNOWN
        return 1 - float(known.mean())


def _together(pictures: list[Cells]) -> Cells:
    enough = [cells for cells in pictures if len(cells) >= LEAST_CELLS]
    return np.concatenate(enough) if enough else np.zeros(0, np.intp)


def _widened(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest share of each box and its neighbours, flat: light is never quite even."""
    padded = np.pad(share, 1)
    around = [
        padded[x : x + SIDE, y : y + SIDE, z : z + SIDE]
        for x in range(3)
        for y in range(3)
        for z in range(3)
    ]
    return np.asarray(np.max(around, axis=0)).ravel()
