"""What a watcher of the shoe's mouth should say of one instant, from where the cards then are.

Lengths are in mm along the exit, counted from the lip: where the shoe ends and the table begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

# What a mouth shows of which the shoe hides the next card, beside the kinds of cards; and one of
# which nobody could say what it shows, but no cut card: an arm that was never asked of looked like
# one on two clean coups.
HIDDEN, NO_CUT = 3, 4
# A card is seen to be out when its front edge has come so far from where it rested, mm, and wholly
# out when its rear edge is so far beyond the lip. In between nothing is asked of the network:
# nobody could say. Chosen by judgement, two cells of a patch; narrower teaches it to guess.
SEEN_MM = (1.5, 6.0)
CLEAR_MM = (-4.0, 3.0)
# A card in the mouth lies within so many mm of its middle, across; one farther off is passing by.
BESIDE_MM = 40.0
# Two drawn as one are seen to be two if an edge of the second stands out by so much, mm: three
# cells. What lies flush looks like one card in a patch, so nothing is asked.
APART_MM = 7.5
# Share of a card's area (0 to 1) that must be within the patch to be seen, and below which it is
# gone. In between nothing is asked.
IN_PATCH = (0.12, 0.3)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a watcher should say; -1 or nan where nobody could."""

    phase: int  # 0 nothing out, 1 partly out, 2 wholly out
    shift: float  # of the card that is out, in depths of a card
    kind: int
    hand: int
    together: int

    def without_cut(self) -> Answer:
        """Return the answer where no cut card is in sight: what shows, if not known, is none."""
        return replace(self, kind=NO_CUT) if self.kind == -1 else self


@dataclass(frozen=True, slots=True)
class Placed:
    """A card near the mouth: its `front` and `rear` edge, its middle across, what it shows.

    `in_patch` is the share of it within the patch; `drawn`: it comes out of the shoe; `follows`: it
    is the second of two drawn as one; `under`: and lies beneath the first.
    """

    front: float
    rear: float
    beside: float
    in_patch: float
    kind: int
    drawn: bool = True
    follows: bool = False
    under: bool = False

    @property
    def is_leaving(self) -> bool:
        """Whether it comes out of the mouth and is not clear of it yet."""
        return self.drawn and self.rear < CLEAR_MM[1] and abs(self.beside) < BESIDE_MM

    def shift(self, depth: float) -> float:
        """Return how far it has come, in depths of a card: 1 when it is just wholly out."""
        if self.rear >= 0:
            return 1 + self.rear / depth
        return max(self.front, 0.0) / (self.front - self.rear)


@dataclass(frozen=True, slots=True)
class Mouth:
    """A mouth between draws: `depth` of a card along the exit, mm; what the next card shows.

    In the picture of the mouth at rest the next card `waits` so many mm out of the lip.
    """

    depth: float
    rest_kind: int
    waits: float = 0.0


def answer(cards: Sequence[Placed], mouth: Mouth, *, hand: bool) -> Answer:
    """Return what a watcher should say of cards that are not at rest in the shoe."""
    leads = [card for card in cards if not card.follows]
    second = next((card for card in cards if card.follows), None)
    if second is not None and all(card.in_patch < IN_PATCH[0] for card in leads):
        # The first of two was taken away: what stays is a card like any other.
        leads, second = [*leads, second], None
    first = next((card for card in leads if card.is_leaving), None)
    seen = [card for card in leads if not card.is_leaving]
    card = max(seen, key=lambda card: card.in_patch, default=None)
    is_out = card is not None and card.in_patch > IN_PATCH[1]
    # A card that was drawn and is still before the shoe is out, though the next one waits there.
    if first is not None and not (is_out and first.front - mouth.waits < SEEN_MM[1]):
        return _of_leaving(first, second, mouth, hand=hand)
    if card is not None and is_out:
        kind, two = _shows(card, second)
        return Answer(2, card.shift(mouth.depth), kind, int(hand), two)
    unsure = card is not None and card.in_patch > IN_PATCH[0]
    # A hand hides more or less of the next card: nobody could say what that shows.
    return Answer(-1 if unsure else 0, np.nan, -1 if hand else mouth.rest_kind, int(hand), 0)


def _of_leaving(card: Placed, second: Placed | None, mouth: Mouth, *, hand: bool) -> Answer:
    come = card.front - mouth.waits
    phase = 1
    if come < SEEN_MM[1]:
        # The next card on its way to where it waits is none that leaves: told as partly out, it
        # hid for 0.3 s that the one before it had left.
        phase = 0 if come < SEEN_MM[0] else -1
    elif card.rear > CLEAR_MM[0]:
        phase = -1
    kind, two = _shows(card, second)
    if phase < 1:
        kind, two = -1 if hand else kind, -1
    return Answer(phase, card.shift(mouth.depth), kind, int(hand), two)


def _shows(first: Placed, second: Placed | None) -> tuple[int, int]:
    """Return which kind a card shows, and 1 where a second shows beside or behind it.

    Either is -1 where nobody could say.
    """
    if second is None:
        return first.kind, 0
    kind = first.kind if second.under or second.kind == first.kind else -1
    if second.in_patch < IN_PATCH[0]:
        return kind, -1
    beside = abs(first.beside - second.beside)
    behind = abs(first.front - second.front)
    # What lies beneath shows behind the first only once that one's rear edge is out of the lip,
    # what lies on it once its own front edge is.
    hidden = (first.rear if second.under else second.front) < APART_MM
    return kind, 1 if max(beside, 0.0 if hidden else behind) > APART_MM else -1
