"""What the sight of a reader that follows has seen and the reader that speaks has not told yet.

Both readers watch the same table, and number its cards and coups from the same shoe. At a takeover
the coups are compared: what only this reader has seen is told, what the other told stands, and
where they differ nobody is believed: the coup is in doubt until a person rules. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vision.game.coup.state import DealtCard, Table
from vision.game.events import (
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Noticed,
    SeenCard,
    ViewBack,
    ViewLost,
)
from vision.game.fold.step import step

# Milliseconds for which the counts of two readers may differ: one sees a card some pictures before
# the other, and a record takes its time. Longer takes another count for the same, shorter gives up
# a good one.
APART_MS = 2_000
DIFFER = "Two readers saw a card differently."


class OwnSight:
    """What one sight has seen of the running shoe; `at` is when it last saw something."""

    def __init__(self) -> None:
        self.at = 0
        self._count = (0, 0)  # the last coup, the last card
        self._coups: dict[int, CoupSeen] = {}
        self._others: list[Noticed] = []
        self._blind: ViewLost | None = None
        self._cut: CutCardOut | None = None

    def begin(self, table: Table) -> None:
        """Begin to count where the table stands: a new shoe, or the count of the other reader."""
        self._count = _count_of(table)
        self._coups.clear()
        self._others.clear()
        self._cut = None

    def note(self, events: Iterable[Event], table: Table) -> None:
        """Take note of what was seen; coups before the running one are forgotten."""
        for event in events:
            self.at = event.at
            match event:
                case CoupSeen():
                    last = max((card.order for card in event.cards), default=0)
                    self._count = max(self._count[0], event.coup), max(self._count[1], last)
                    self._coups[event.coup] = event
                case ViewLost() | ViewBack():
                    self._blind = event if isinstance(event, ViewLost) else None
                case CutCardOut():
                    self._cut = event
                case Noticed():
                    self._others.append(event)
        self._coups = {n: seen for n, seen in self._coups.items() if n >= table.shoe.sight}
        self._others = [event for event in self._others if event.at > table.clock - APART_MS]

    def counts_as(self, table: Table, at: int) -> bool:
        """Whether this sight has counted the same cards as the table at `at` (ms), or may still."""
        return self._count == _count_of(table) or at - max(self.at, table.clock) <= APART_MS

    def unsaid(self, table: Table) -> Iterator[Event]:
        """Yield what only this sight has seen, in the order of time."""
        if self._blind is not None and table.blind_since is None:
            yield self._blind
        if self._cut is not None and table.shoe.last_coup is None:
            yield self._cut
        late = [event for event in self._others if event.at > table.clock]
        inherited = table.next_order
        for event in sorted((*self._coups.values(), *late), key=lambda event: event.at):
            for said in news(table, event, inherited):
                yield said
                table = step(table, said)[0]


def _count_of(table: Table) -> tuple[int, int]:
    return table.shoe.sight, table.shoe.last


def news(table: Table, event: Event, inherited: int) -> Iterator[Event]:
    """Yield what an event of this reader's sight adds to the table, if it adds anything.

    Cards below the order `inherited` were told by another reader: what it told of one stands. Where
    this reader has seen one otherwise, the coup is in doubt; where it has not seen one, it is not
    sure of the coup.
    """
    at = max(event.at, table.clock)
    if not isinstance(event, CoupSeen):
        yield replace(event, at=at)
        return
    said = replace(_merged(table, event, inherited), at=at)
    after = step(table, said)[0]
    if (after.coup, after.done, after.shoe) != (table.coup, table.done, table.shoe):
        yield said


def _merged(table: Table, event: CoupSeen, inherited: int) -> CoupSeen:
    """Return a coup as seen here, with what another reader told of it."""
    shoe, coup = table.shoe, table.coup_of_sight(event.coup)
    burned = shoe.burned if event.coup == shoe.burn_sight else ()
    dealt = () if coup is None else (c for c in coup.cards if c.order not in (coup.carried, 0))
    known = {c.order: c for c in (*burned, *dealt) if 0 < c.order < inherited}
    late = event.at < table.clock
    cards = {card.order: card for card in event.cards}
    merged = [
        _with_told(card, known[order], late=late) if order in known else card
        for order, card in cards.items()
    ]
    missing = [
        _with_told(SeenCard(order, card.out_at, Life.OUT), card, late=True)
        for order, card in known.items()
        if order not in cards
    ]
    if missing:
        merged = sorted((*merged, *missing), key=lambda card: card.order)
    differ = any(_contradicts(cards[n], told) for n, told in known.items() if n in cards)
    return replace(
        event,
        cards=tuple(merged),
        sure=event.sure and not missing,
        doubt=event.doubt or (DIFFER if differ else ""),
    )


def _with_told(seen: SeenCard, told: DealtCard, *, late: bool) -> SeenCard:
    """Return a card as seen, but for what was told of it; `late`: told after it was seen so."""
    life = seen.life
    if late and told.placed_at is not None and life is Life.OUT:
        life = Life.LYING
    if late and told.removed_at is not None and life is not Life.RETURNED:
        life = Life.REMOVED
    seen = replace(seen, out_at=told.out_at, life=life, face_up=seen.face_up or told.face_up)
    if told.slot is not None:
        seen = replace(seen, slot=told.slot)
    if told.card is None:
        return replace(seen, declined=seen.declined or told.marks.declined)
    return replace(
        seen, card=told.card, confidence=told.confidence, second=told.second, declined=False
    )


def _contradicts(seen: SeenCard, told: DealtCard) -> bool:
    """Whether a card was seen in another slot, or with another face, than was told."""
    return (None not in (seen.slot, told.slot) and seen.slot != told.slot) or (
        None not in (seen.card, told.card) and seen.card != told.card
    )
