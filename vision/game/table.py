"""The state of a table: what has been seen of its shoe and its coups, and what was ruled.

Only facts and orders are kept, and what has been told; what they amount to is worked out anew by
`judge` each time, so a correction leaves no trace of the error but the record of it. The types are
named tuples, not dataclasses: several are made at every event, at a third of the cost.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple, TypeVar

from vision.game.cards import Card
from vision.game.events import ResultEntered, Slot
from vision.game.faults import Fault
from vision.game.happenings import Alert, CoupResult
from vision.game.rules import Rules

R = TypeVar("R", bound=tuple[object, ...])


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
    """A card that left the shoe; `order` is 0 and below for one keyed in that nobody saw."""

    order: int
    out_at: int
    placed_at: int | None = None
    slot: Slot | None = None
    card: Card | None = None
    confidence: float = 0.0
    second: Card | None = None
    removed_at: int | None = None
    marks: Marks = NO_MARKS

    @property
    def face(self) -> Card | None:
        """Its face as it counts: keyed in, else read."""
        return self.marks.keyed or self.card

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
    faults that its cards do not show. `shown` is the last result that was not held.
    """

    number: int
    started_at: int
    changed_at: int
    cards: tuple[Seen, ...] = ()
    cleared_at: int | None = None
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

    def is_over(self, at: int, patience_ms: int) -> bool:
        """Whether its cards are gone for good, so that one that leaves the shoe begins the next.

        A hand of fewer than four cards that vanished for a moment was covered, not cleared.
        """
        if self.void or self.over_at is not None:
            return True
        if self.cleared_at is None:
            return False
        return len(self.cards) >= 4 or at >= self.cleared_at + patience_ms

    def find(self, order: int) -> Seen | None:
        """Return the card with that order, if it is of this coup."""
        for seen in self.cards:
            if seen.order == order:
                return seen
        return None

    def with_card(self, seen: Seen) -> Coup:
        """Return the coup with that card in place of the one of the same order."""
        cards = tuple([seen if old.order == seen.order else old for old in self.cards])
        return _put(self, _CARDS, cards)


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
    burning: bool = False
    burned: tuple[Seen, ...] = ()
    burn_due: int | None = None
    last_coup: int | None = None
    counts: tuple[int, ...] = (0,) * 52
    surplus: frozenset[int] = frozenset()
    ended: bool = False
    left: int | None = None
    partial: bool = False


NO_SHOE = Shoe("")


class Undo(NamedTuple):
    """How a coup stood before an order about it: its orders, not what was seen since."""

    coup: int
    void: bool
    hold: bool
    stands: bool
    free: bool
    unseen: bool
    marks: tuple[tuple[int, Marks], ...]
    told: tuple[Told, ...]


class Table(NamedTuple):
    """Everything that is known of a table.

    `done` are this shoe's coups before the running one, coup n at index n - 1. `told` are alerts
    about the shoe and the reader, `kept` those of earlier shoes that nobody closed; `alerts` counts
    all ever raised. A `shoe` without a name is none: nothing has been seen yet. `bets_closed` is
    `None` at a table that never says so.
    """

    rules: Rules
    boot: str = ""
    clock: int = 0
    shoe: Shoe = NO_SHOE
    shoes: int = 0
    coup: Coup | None = None
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

    def with_clock(self, at: int) -> Table:
        """Return the table at that time."""
        return _put(self, _CLOCK, at)

    def with_shoe(self, shoe: Shoe) -> Table:
        """Return the table with that shoe in use."""
        return _put(self, _SHOE, shoe)

    def coup_at(self, number: int) -> Coup | None:
        """Return the coup of this shoe with that number."""
        if self.coup is not None and self.coup.number == number:
            return self.coup
        return self.done[number - 1] if 0 < number <= len(self.done) else None

    def coup_of(self, order: int) -> Coup | None:
        """Return the coup of this shoe in which that card was dealt."""
        coup = self.coup
        if coup is None or not coup.cards or order < coup.cards[0].order:
            index = bisect_right(self.done, order, key=_first_order) - 1
            coup = self.done[index] if index >= 0 else None
        return coup if coup is not None and coup.find(order) is not None else None

    def with_coup(self, coup: Coup) -> Table:
        """Return the table with that coup in place of the one of the same number."""
        if self.coup is not None and self.coup.number == coup.number:
            return _put(self, _COUP, coup)
        index = coup.number - 1
        return self._replace(done=(*self.done[:index], coup, *self.done[index + 1 :]))


_CARDS = Coup._fields.index("cards")
_CLOCK, _SHOE, _COUP = (Table._fields.index(name) for name in ("clock", "shoe", "coup"))


def _put(record: R, place: int, value: object) -> R:
    """Do what `_replace` does, for one field, in a third of the time."""
    return tuple.__new__(type(record), (*record[:place], value, *record[place + 1 :]))


def _first_order(coup: Coup) -> int:
    return min((seen.order for seen in coup.cards if seen.order > 0), default=0)


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
