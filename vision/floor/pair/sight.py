"""What the sight of a reader that follows has seen and the reader that speaks has not told yet.

Both readers watch the same table, and number its cards from the same shoe. At a takeover the cards
of the running coup are compared: what only this reader has seen is told, what both have seen is
not told twice, and where they differ nobody is believed: the coup goes to review. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vision.game.coup.state import DealtCard, Table
from vision.game.events import (
    CardFound,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    CutCardOut,
    Event,
    Noticed,
    ViewBack,
    ViewLost,
)
from vision.game.fold.step import step

OfCard = CardOut | CardFound | CardPlaced | CardRead | CardRemoved | CardWithdrawn
# Milliseconds for which the counts of two readers may differ: one sees a card some pictures before
# the other, and a record takes its time. Longer takes another count for the same, shorter gives up
# a good one.
APART_MS = 2_000


class OwnSight:
    """What one sight has seen of the running shoe, by card; `at` is when it last saw something."""

    def __init__(self) -> None:
        self.at = 0
        self._last = 0
        self._cards: dict[int, list[OfCard]] = {}
        self._others: list[Event] = []
        self._blind: ViewLost | None = None
        self._cut: CutCardOut | None = None

    def begin(self, next_order: int) -> None:
        """Begin to count at that card: a new shoe, or the count of the other reader."""
        self._last = next_order - 1
        self._cards.clear()
        self._others.clear()
        self._cut = None

    def note(self, events: Iterable[Event], table: Table) -> None:
        """Take note of what was seen; cards of earlier coups are forgotten."""
        for event in events:
            self.at = event.at
            match event:
                case CardOut() | CardFound():
                    self._last = max(self._last, event.order)
                    self._cards.setdefault(event.order, []).append(event)
                case CardPlaced() | CardRead() | CardRemoved() | CardWithdrawn():
                    self._cards.setdefault(event.order, []).append(event)
                case ViewLost() | ViewBack():
                    self._blind = event if isinstance(event, ViewLost) else None
                case CutCardOut():
                    self._cut = event
                case Noticed():
                    self._others.append(event)
        first = _running_from(table)
        for order in [order for order in self._cards if order < first]:
            del self._cards[order]
        self._others = [event for event in self._others if event.at > table.clock - APART_MS]

    def counts_as(self, table: Table, at: int) -> bool:
        """Whether this sight has counted the same cards as the table at `at` (ms), or may still."""
        same = self._last == table.shoe.last
        return same or at - max(self.at, table.clock) <= APART_MS

    def unsaid(self, table: Table) -> Iterator[Event]:
        """Yield what only this sight has seen, in the order of time; doubts come last."""
        if self._blind is not None and table.blind_since is None:
            yield self._blind
        if self._cut is not None and table.shoe.last_coup is None:
            yield self._cut
        seen = [event for events in self._cards.values() for event in events]
        late = [event for event in self._others if event.at > table.clock]
        for event in sorted((*seen, *late), key=lambda event: event.at):
            if isinstance(event, OfCard) and not self._is_latest(event):
                continue
            for said in news(table, event, inherited=table.next_order):
                yield said
                table = step(table, said)[0]

    def _is_latest(self, event: OfCard) -> bool:
        """Whether no later event of the same kind is of that card."""
        same = [other for other in self._cards[event.order] if type(other) is type(event)]
        return same[-1] is event


def news(table: Table, event: Event, inherited: int) -> Iterator[Event]:
    """Yield what an event of this reader's sight adds to the table: itself, a doubt, or nothing.

    Cards below the order `inherited` were told by another reader before: a second reading of them
    never replaces the first, it casts doubt on it.
    """
    match event:
        case CardOut() | CardFound():
            is_new = event.order >= table.next_order
        case CardPlaced() | CardRead() | CardRemoved():
            card = card_of(table, event.order)
            if card is not None and event.order < inherited and _contradicts(card, event):
                detail = "two readers saw this card differently."
                yield Noticed(event.at, "REVIEW", event.order, detail=detail)
                return
            is_new = card is None or not _is_known(card, event)
        case _:
            is_new = True
    if is_new:
        yield replace(event, at=max(event.at, table.clock))


def card_of(table: Table, order: int) -> DealtCard | None:
    """Return a card of the shoe's coups or of its burn, `None` where no such card is known."""
    coup = table.coup_of(order)
    cards = (*table.shoe.burned, *(coup.cards if coup is not None else ()))
    return next((card for card in cards if card.order == order), None)


def _is_known(card: DealtCard, event: CardPlaced | CardRead | CardRemoved) -> bool:
    match event:
        case CardPlaced():
            return card.placed_at is not None and card.slot == event.slot
        case CardRead():
            return card.card is not None and card.card == event.card
        case CardRemoved():
            return card.removed_at is not None


def _contradicts(card: DealtCard, event: CardPlaced | CardRead | CardRemoved) -> bool:
    match event:
        case CardPlaced():
            return card.slot is not None and event.slot is not None and card.slot != event.slot
        case CardRead():
            return card.card is not None and event.card is not None and card.card != event.card
    return False


def _running_from(table: Table) -> int:
    """Return the order of the first card of the running coup, or of the next card."""
    coup = table.coup
    if coup is None or not coup.cards:
        return table.next_order
    return min(card.order for card in coup.cards)
