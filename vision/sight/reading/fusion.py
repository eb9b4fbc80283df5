"""Many looks at one card made one opinion, without counting the same picture twice.

Looks at a card that lies still are nearly copies of each other: their errors agree. They are
averaged, and the average counts as at most three independent looks, however many there were;
only a new pose or new light opens a new count. Knows log-probabilities, not pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Card

FACES = len(DECK)
# No single look is trusted further than this, however sure it says it is.
LOOK_ERROR = 2e-4
STILL_LOOKS = 3.0
HALFWAY = 2.0
MOST_LOOKS = 6.0
LEAST_READABLE = 0.5
# What a face with no copy left in the shoe weighs against one copy of another.
NO_COPY = 1e-6


@dataclass(frozen=True, slots=True)
class Opinion:
    """The face believed in, the probability that it is another one, and the next best face."""

    best: Card
    error: float
    second: Card

    @property
    def confidence(self) -> float:
        """The probability (0 to 1) that `best` is right."""
        return 1.0 - self.error


@dataclass(slots=True, eq=False)
class _Still:
    """Looks in one pose and light: their weighted sum, and the sum of their weights."""

    total: NDArray[np.float64] = field(default_factory=lambda: np.zeros(FACES))
    weight: float = 0.0

    def worth(self) -> float:
        """As how many independent looks these count."""
        return STILL_LOOKS * self.weight / (self.weight + HALFWAY)


class Evidence:
    """The evidence on the face of one card."""

    def __init__(self) -> None:
        self._stills: list[_Still] = []
        self.looks = 0

    def add(self, log_p: NDArray[np.floating], readable: float, *, changed: bool) -> None:
        """Take one look: 52 calibrated log-probabilities, and how readable it was (0 to 1).

        `changed` says that pose or light differ from the look before. A look less than half
        readable says nothing.
        """
        if readable < LEAST_READABLE:
            return
        if changed or not self._stills:
            self._stills.append(_Still())
        doubting = np.logaddexp(
            np.asarray(log_p, np.float64) + np.log1p(-LOOK_ERROR), np.log(LOOK_ERROR / FACES)
        )
        still = self._stills[-1]
        still.total += readable * doubting
        still.weight += readable
        self.looks += 1

    def opinion(self, copies_left: NDArray[np.floating]) -> Opinion | None:
        """Return what the looks say, given the copies of each face (52) left in the shoe.

        `None` before the first look that said anything.
        """
        if not self._stills:
            return None
        worth = [still.worth() for still in self._stills]
        scale = min(1.0, MOST_LOOKS / sum(worth))
        belief = np.log(np.maximum(np.asarray(copies_left, np.float64), NO_COPY))
        for still, looks in zip(self._stills, worth, strict=True):
            belief = belief + scale * looks * still.total / still.weight
        best, second = (int(i) for i in np.argsort(-belief)[:2])
        odds = np.exp(belief - belief[best])
        # Summed without the best, so that an error of 1e-12 does not drown in rounding.
        rest = float(np.delete(odds, best).sum())
        return Opinion(DECK[best], rest / (1.0 + rest), DECK[second])
