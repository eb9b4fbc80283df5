"""The state of a table: what has been seen of its shoe and its coups, and what was ruled.

Only facts and orders are kept, and what has been told; what they amount to is worked out anew by
`judge` each time, so a correction leaves no trace of the error but the record of it. The types are
named tuples, not dataclasses: several are made at every event, at a third of the cost. What changes
at every event stands first in them, and has a method of its own that is three times as fast as
`_replace`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from vision.game.cards import Card
from vision.game.coup.fault_table import Fault
from vision.game.events import ResultEntered, Slot
from vision.game.outputs import Alert, CoupResult
from vision.game.rules import Rules

_make = tuple.__new__


class Marks(NamedTuple):
    """What is rarely so of a card: orders about it, and doubts.

    `fate`: "burned" or "carried". `declined`: its face lies open and was not read. `early`: exposed
    before its time. `clash`: a different earlier reading. `switched`: read so after the result.
    """

    keyed: Card | None = None
    moved: Slot | None = None
    fate: str = ""
    confirmed: bool = False
    declined: bool = False
    early: bool = False
    clash: Card | None = None
    switched: Card | None = None


NO_MARKS = Marks()


class Seen(NamedTuple):
    """A card that left the shoe; `order` is 0 and below for one keyed in that nobody saw.

    `card` is its face as read, `face` as it counts: keyed in, else read.
    """

    order: int
    out_at: int
    placed_at: int | None = None
    slot: Slot | None = None
    removed_at: int | None = None
    card: Card | None = None
    confidence: float = 0.0
    second: Card | None = None
    face: Card | None = None
    marks: Marks = NO_MARKS

    def at_rest(self, at: int, slot: Slot | None) -> Seen:
        """Return the card as lying there since `at`."""
        return _make(Seen, (self[0], self[1], at, slot, None, *self[5:]))

    def read_as(self, card: Card, confidence: float, second: Card | None) -> Seen:
        """Return the card with that face read."""
        face = self.marks.keyed or card
        return _make(Seen, (*self[:5], card, confidence, second, face, self[9]))

    def marked(self, marks: Marks) -> Seen:
        """Return the card with those marks, the same one where they have not changed."""
        if marks == self.marks:
            return self
        return self._replace(marks=marks, face=marks.keyed or self.card)

    @property
    def place(self) -> Slot | None:
        """Its slot as it counts: where it was ordered to be, else where it lies."""
        return self.slot if self.marks.moved is None else self.marks.moved


class Told(NamedTuple):
    """An alert and the key of the fault that it is about."""

    key: str
    alert: Alert


class Coup(NamedTuple):
    """One round: its cards in the order in which they left the shoe, and what was ordered of it.

    `changed_at`: when a card was last out, at rest or read. `cleared_at`: when no card lay any
    more. `over_at`: when the next coup began. `unseen`: the view was lost during it. `noticed` are
    faults that its cards do not show. `shown` is the last result that was not held. `first` is the
    order of its first card, or of the next to leave the shoe where nobody saw its cards.
    """

    number: int
    started_at: int
    changed_at: int
    cleared_at: int | None = None
    cards: tuple[Seen, ...] = ()
    over_at: int | None = None
    unseen: bool = False
    void: bool = False
    hold: bool = False
    stands: bool = False
    free: bool = False
    entered: ResultEntered | None = None
    noticed: tuple[Fault, ...] = ()
    told: tuple[Told, ...] = ()
    result: CoupResult | None = None
    shown: CoupResult | None = None
    complete: bool = False
    first: int = 0

    def is_over(self, at: int, patience_ms: int) -> bool:
        """Whether its cards are gone for good, so that one that leaves the shoe begins the next.

        One that nobody saw is. A hand of fewer than four cards that vanished for a moment was
        covered, not cleared.
        """
        if self.void or self.over_at is not None or not self.cards:
            return True
        if self.cleared_at is None:
            return False
        return len(self.cards) >= 4 or at >= self.cleared_at + patience_ms

    def place_of(self, order: int) -> int | None:
        """Return at which place of `cards` the card with that order is."""
        for place, seen in enumerate(self.cards):
            if seen.order == order:
                return place
        return None

    def with_card(self, seen: Seen) -> Coup:
        """Return the coup with that card in place of the one of the same order."""
        return self.with_cards([seen if old.order == seen.order else old for old in self.cards])

    def with_cards(self, cards: Iterable[Seen]) -> Coup:
        """Return the coup with those cards."""
        return _make(Coup, (*self[:4], tuple(cards), *self[5:]))

    def changed(self, at: int, cleared_at: int | None, cards: Iterable[Seen]) -> Coup:
        """Return the running coup with those cards, of which one changed at that time."""
        return _make(Coup, (self[0], self[1], at, cleared_at, tuple(cards), *self[5:]))


class Shoe(NamedTuple):
    """The run of cards in use.

    `last` is the highest order seen, `out` how many left in view, `counts` how many of each face
    were read, `surplus` the orders of cards of which there should not be so many. `burning`: cards
    that leave are burn cards; `burn_due` is how many there should be, the first included.
    `last_coup` is the last to be dealt, once the cut card has been seen. `partial`: cards of it may
    have left unseen.
    """

    name: str
    last: int = 0
    out: int = 0
    ended: bool = False
    counts: tuple[int, ...] = (0,) * 52
    surplus: frozenset[int] = frozenset()
    burning: bool = False
    burned: tuple[Seen, ...] = ()
    burn_due: int | None = None
    last_coup: int | None = None
    left: int | None = None
    partial: bool = False

    def with_card_out(self, order: int) -> Shoe:
        """Return the shoe after that card left it."""
        return _make(Shoe, (self[0], order, self[2] + 1, False, *self[4:]))

    def with_counts(self, counts: tuple[int, ...], surplus: frozenset[int]) -> Shoe:
        """Return the shoe with so many of each face read."""
        return _make(Shoe, (*self[:4], counts, surplus, *self[6:]))


NO_SHOE = Shoe("")


class Undo(NamedTuple):
    """How a coup stood before an order about it: its orders, not what was seen since.

    `carried` is the card that the order made the first of the next coup, if it did.
    """

    coup: int
    void: bool
    hold: bool
    stands: bool
    free: bool
    unseen: bool
    marks: tuple[tuple[int, Marks], ...]
    told: tuple[Told, ...]
    carried: int | None = None


class Table(NamedTuple):
    """Everything that is known of a table.

    `done` are this shoe's coups before the running one, coup n at index n - 1. `told` are alerts
    about the shoe and the reader, `kept` those of earlier shoes that nobody closed; `alerts` counts
    all ever raised. A `shoe` without a name is none: nothing has been seen yet. `bets_closed` is
    `None` at a table that never says so.
    """

    rules: Rules
    clock: int = 0
    shoe: Shoe = NO_SHOE
    coup: Coup | None = None
    boot: str = ""
    shoes: int = 0
    done: tuple[Coup, ...] = ()
    noticed: tuple[Fault, ...] = ()
    told: tuple[Told, ...] = ()
    kept: tuple[Told, ...] = ()
    alerts: int = 0
    blind_since: int | None = None
    bets_closed: bool | None = None
    free_next: bool = False
    undo: tuple[Undo, ...] = ()

    @property
    def next_order(self) -> int:
        """The order of the next card to leave the shoe, for a reader that starts again."""
        return self.shoe.last + 1

    @property
    def waits_until(self) -> int | None:
        """The next time (Unix ms) at which `TimePassed` would change anything, if any."""
        if self.coup is None:
            return None
        return min((at for at in waits(self.coup, self.rules) if at > self.clock), default=None)

    def with_running(self, clock: int, shoe: Shoe, coup: Coup | None) -> Table:
        """Return the table at that time, with that shoe in use and that coup running."""
        return _make(Table, (self[0], clock, shoe, coup, *self[4:]))

    def coup_of(self, order: int) -> Coup | None:
        """Return the coup of this shoe in which that card was dealt."""
        coup = self.coup
        if coup is None or coup.place_of(order) is None:
            index = bisect_right(self.done, order, key=_first) - 1
            coup = self.done[index] if index >= 0 else None
        return coup if coup is not None and coup.place_of(order) is not None else None

    def with_done(self, coup: Coup) -> Table:
        """Return the table with that coup in place of the earlier one of the same number."""
        index = coup.number - 1
        return self._replace(done=(*self.done[:index], coup, *self.done[index + 1 :]))


def _first(coup: Coup) -> int:
    return coup.first


def waits(coup: Coup, rules: Rules) -> tuple[int, ...]:
    """Return the times (Unix ms) at which something may be said of the coup, past ones too."""
    if coup.void or coup.over_at is not None:
        return ()
    times = [coup.changed_at + rules.due_after_ms, coup.changed_at + rules.unread_after_ms]
    for seen in coup.cards:
        if seen.placed_at is None:
            times.append(seen.out_at + rules.unaccounted_after_ms)
        if seen.removed_at is not None and not coup.complete:
            times.append(seen.removed_at + rules.removed_after_ms)
    return tuple(times) if not coup.complete else tuple(times[2:])


def new_table(rules: Rules | None = None) -> Table:
    """Return a table at which nothing has happened yet, under these rules (or the usual ones)."""
    return Table(rules=rules or Rules())
