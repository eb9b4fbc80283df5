"""The cards that lay on the table before a restart, so that none of them comes out a second time.

`ResumeState` is filled from the log and emptied as the cards are found again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vision.game.cards import Card
from vision.game.events import CardRemoved, Event, Noticed, Slot

# For how long after the first look, in ms, the cards may be found again. Chosen by judgement.
# Shorter, and cards under a hand are reported as gone; longer, and the supervisor is asked for
# confirmation later.
PATIENCE_MS = 6000


@dataclass(frozen=True, slots=True)
class ExpectedCard:
    """A card that was out: its order, its slot if it had come to rest, its face if it was read."""

    order: int
    slot: Slot | None
    card: Card | None


class ResumeState:
    """The cards to be found again within PATIENCE_MS of the first look; then not `active`."""

    def __init__(self, expected: Iterable[ExpectedCard] = (), *, may_clear: bool = False) -> None:
        """Expect these cards; with `may_clear` they may have been taken away meanwhile."""
        self._expected = list(expected)
        self._may_clear = may_clear
        self._until: int | None = None
        self._found = 0
        self.active = True

    def claim(self, slot: Slot | None) -> ExpectedCard | None:
        """Return the card expected in a slot, or else one that had not come to rest."""
        for wanted in (slot, None):
            for card in self._expected:
                if card.slot is wanted:
                    self._expected.remove(card)
                    return card
        self._found += 1
        return None

    def settle(self, at: int) -> list[Event]:
        """Return, once the time is over at `at` (ms), the cards gone and a notice if any differ."""
        if self._until is None:
            self._until = at + PATIENCE_MS
        if at < self._until:
            return []
        self.active = False
        gone = [CardRemoved(at, card.order) for card in self._expected]
        if not self._found and (self._may_clear or not gone):
            return [*gone]
        detail = f"{len(gone)} gone, {self._found} new."
        return [Noticed(at, "RESTART_CONFIRM", detail=detail), *gone]
