"""Fuse many looks at one card into one opinion, without counting the same picture twice.

Looks at a card that lies still are nearly copies of each other: their errors agree. They are
averaged, and the average counts as at most three independent looks, however many there were; a
new count is begun only by a new pose or new light. Looks at a card whose signs can hardly be seen
share what covers or blurs them: ten of those are one.

A partly covered card is misread with full confidence, so another face by itself does not prove that
the card was switched. It does where the card was read from several looks, was then hidden or
lifted, and lies open, at rest and uncovered for a second, all looks of which agree on another face.
Meanwhile nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Card
from vision.sight.detection.classifier import LEAST_READABLE, Look

FACES = len(DECK)
# The values below were set by judgement with the first reader and confirmed on simulated films.

# The least probability of error that a single look is believed to have, however sure it is, so that
# one look alone never meets the default bound of 1e-5. Lower, and one freak look names a card;
# higher, and clear cards need many looks.
LOOK_ERROR = 2e-4
# As how many independent looks those in one pose and light count at most. Higher, and an error
# that all of them share is taken for certainty; lower, and cards that lie still stay unread.
STILL_LOOKS = 3.0
# After how many looks in one pose (weighted by readability) they count half of that. Lower reads
# sooner, from fewer pictures.
HALFWAY = 2.0
# Up to the first mean readability (0 to 1) all looks count as one, from the second on in full,
# between in proportion. Lower, and what one finger or one blur hides is believed after ten looks;
# higher, and cards that are partly covered stay unread.
HARDLY_SEEN, CLEARLY_SEEN = 0.8, 0.95
# As how many independent looks all poses together count at most, for the same reason.
MOST_LOOKS = 6.0
# What a face with no copy left in the shoe weighs against one copy of another (no unit). At 0 an
# earlier misread would make a true card unreadable; higher, and the count of copies decides little.
NO_COPY = 1e-6


@dataclass(frozen=True, slots=True)
class Opinion:
    """The most probable face, the probability that it is another, and the second best face."""

    best: Card
    error: float
    second: Card

    @property
    def confidence(self) -> float:
        """The probability (0 to 1) that `best` is right."""
        return 1.0 - self.error


@dataclass(slots=True, eq=False)
class _Still:
    """Looks in one pose and light: their weighted sum, the sum of their weights, their number."""

    total: NDArray[np.float64] = field(default_factory=lambda: np.zeros(FACES))
    weight: float = 0.0
    looks: int = 0

    def clearness(self) -> float:
        """Return how far (0 to 1) these looks may confirm each other: not if they share a cover."""
        beyond = self.weight / self.looks - HARDLY_SEEN
        return min(1.0, max(0.0, beyond / (CLEARLY_SEEN - HARDLY_SEEN)))

    def worth(self) -> float:
        """Return as how many independent looks these count."""
        most = 1 + (STILL_LOOKS - 1) * self.clearness()
        return min(most, STILL_LOOKS * self.weight / (self.weight + HALFWAY))


class LookFusion:
    """The looks at the face of one card, fused; `looks` is how many were readable."""

    def __init__(self) -> None:
        self._stills: list[_Still] = []
        self.looks = 0

    def add(self, log_p: NDArray[np.floating], readable: float, *, changed: bool) -> None:
        """Take one look: 52 calibrated log-probabilities, and how readable it was (0 to 1).

        `changed` says that pose or light differ from the look before. A look below LEAST_READABLE
        does not count.
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
        still.looks += 1
        self.looks += 1

    def opinion(self, copies_left: NDArray[np.floating]) -> Opinion | None:
        """Return the opinion of the looks, given the copies of each face (52) left in the shoe.

        `None` before the first look that counts.
        """
        if not self._stills:
            return None
        worth = [still.worth() for still in self._stills]
        most = 1 + (MOST_LOOKS - 1) * max(still.clearness() for still in self._stills)
        scale = min(1.0, most / sum(worth))
        belief = np.log(np.maximum(np.asarray(copies_left, np.float64), NO_COPY))
        for still, looks in zip(self._stills, worth, strict=True):
            belief = belief + scale * looks * still.total / still.weight
        best, second = (int(i) for i in np.argsort(-belief)[:2])
        odds = np.exp(belief - belief[best])
        # Summed without the best, so that an error of 1e-12 does not drown in rounding.
        rest = float(np.delete(odds, best).sum())
        return Opinion(DECK[best], rest / (1.0 + rest), DECK[second])


# --- a switched card ------------------------------------------------------------------------------

# Chosen by judgement; no film of a switched card was used to tune these values.

# For how long, in ms, a card is out of clear sight before its face is checked again. Shorter checks
# cards that the detector missed once, which costs looks; longer overlooks a quick hand.
HIDDEN_MS = 200
# From how many looks a face must have been read, and from how many looks over how many ms the other
# face. Fewer or shorter, and a hand that stays on the card makes a misread a crime; more or longer,
# and a switched card that is soon cleared is told as READ_CONFLICT only.
SURE_LOOKS, SURE_MS = 4, 1000


class FaceLook(NamedTuple):
    """A readable look at a card: its log-probabilities, how readable, and whether pose changed."""

    log_p: NDArray[np.float32]
    readable: float
    changed: bool

    @property
    def face(self) -> Card:
        """The most probable face of this look alone."""
        return DECK[int(np.argmax(self.log_p))]


@dataclass(slots=True, eq=False)
class SwitchCheck:
    """The looks at a card that was read, hidden, and is open again; times in ms.

    `blind`: it was hidden because nothing was seen at all; so another face is no switched card.
    """

    looks_before: int = 0
    blind: bool = False
    hidden_since: int | None = None
    since: int | None = None  # since when the card has been open again; `None`: no check is on
    looks: list[FaceLook] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        """Whether the card's face is being checked."""
        return self.since is not None

    def note(self, at: int, looks: int, *, clear: bool) -> None:
        """Take whether a card that was read from so many looks lies in clear sight."""
        if not clear:
            if self.hidden_since is None:
                self.hidden_since = at
                # A card hidden during the check is not known by what was seen in it.
                if not self.is_on:
                    self.looks_before, self.blind = looks, False
            if at - self.hidden_since >= HIDDEN_MS:
                self.since = None
            return
        if self.hidden_since is not None and at - self.hidden_since >= HIDDEN_MS:
            self.since, self.looks = at, []
        self.hidden_since = None

    def take(self, at: int, look: Look, *, changed: bool) -> bool:
        """Take a look during the check; return whether it was the last that is needed."""
        if look.readable >= LEAST_READABLE:
            self.looks.append(FaceLook(look.log_p, look.readable, changed or not self.looks))
        enough = len(self.looks) >= SURE_LOOKS
        return enough and self.since is not None and at - self.since >= SURE_MS

    def end(self) -> LookFusion | None:
        """End the check; return its looks fused, `None` if they or those before prove nothing."""
        self.since = None
        known = self.blind or self.looks_before >= SURE_LOOKS
        if not known or len({seen.face for seen in self.looks}) > 1:
            return None
        fusion = LookFusion()
        for seen in self.looks:
            fusion.add(seen.log_p, seen.readable, changed=seen.changed)
        return fusion
