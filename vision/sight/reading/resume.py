"""What lay on the table when the reader last saw it, so that after a start no card comes out twice.

Filled from the log; emptied as cards are found again. Knows no rules of the game: whether a table
that was cleared meanwhile is as it should be is for whoever fills it to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vision.game.cards import Card
from vision.game.events import CardRemoved, Event, Noticed, Slot

PATIENCE_MS = 6000


@dataclass(frozen=True, slots=True)
class Lying:
    """A card that was out: its order, its place if it had come to rest, its face if it was read."""

    order: int
    slot: Slot | None
    card: Card | None


class ResumeState:
    """The cards that are to be found again, for PATIENCE_MS from the first look on."""

    def __init__(self, lying: Iterable[Lying] = (), *, may_clear: bool = False) -> None:
        """Expect these cards; with `may_clear` they may have been taken away meanwhile."""
        self._lying = list(lying)
        self._may_clear = may_clear
        self._until: int | None = None
        self._found = 0
        self.active = True

    def claim(self, slot: Slot | None) -> Lying | None:
        """Return which card it is that lies there: the one of that place, else one on its way."""
        for wanted in (slot, None):
            for card in self._lying:
                if card.slot is wanted:
                    self._lying.remove(card)
                    return card
        self._found += 1
        return None

    def settle(self, at: int) -> list[Event]:
        """Say, once it has been long enough at `at` (ms), what is gone and what is new."""
        if self._until is None:
            self._until = at + PATIENCE_MS
        if at < self._until:
            return []
        self.active = False
        gone = [CardRemoved(at, card.order) for card in self._lying]
        if not self._found and (self._may_clear or not gone):
            return [*gone]
        detail = f"{len(gone)} gone, {self._found} new."
        return [Noticed(at, "RESTART_CONFIRM", detail=detail), *gone]
