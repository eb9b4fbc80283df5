"""The work on one event: a table on its way from before the event to after it.

Mutable, but made by `step` and gone when it answers: from outside, `step` is a pure function.
What the handlers of events share is here: weighing a coup anew, telling what changed, letting
deadlines pass. Must not know which events there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from vision.game.alerts import BEFORE_NEXT_COUP, Place, pass_deadlines, reconcile
from vision.game.events import Command
from vision.game.faults import Fault
from vision.game.findings import find
from vision.game.hands import Laid, lay
from vision.game.happenings import (
    CardSeen,
    CoupsChanged,
    Deadline,
    Happening,
    Ignored,
    ShoeChanged,
    StatusChanged,
)
from vision.game.moment import Moment
from vision.game.results import PUBLIC, Telling, entered_faults, live, publish
from vision.game.table import Coup, Seen, Shoe, Table


class Turn:
    """A table, the moment (Unix ms), whose order it is if it is one, and what has been said."""

    __slots__ = ("actor", "at", "said", "table")

    def __init__(self, table: Table, at: int, actor: Command | None = None) -> None:
        self.table = table
        self.at = at
        self.actor = actor
        self.said: list[Happening] = []

    def ignore(self, event: object, why: str) -> None:
        """Say that an event made no sense."""
        self.said.append(Ignored(self.at, type(event).__name__, why))

    def say_card(self, event: str, coup: int, seen: Seen) -> None:
        """Tell surveillance what one card did."""
        self.said.append(
            CardSeen(
                at=self.at,
                event=event,
                shoe=self.table.shoe.name,
                coup=coup,
                order=seen.order,
                slot=seen.place,
                card=seen.face,
                confidence=seen.confidence,
                second=seen.second,
            )
        )

    def say_status(self, state: str, why: str = "") -> None:
        """Tell whether the reader can see."""
        self.said.append(StatusChanged(self.at, state, self.table.boot, why))

    def say_shoe(self) -> None:
        """Tell how the shoe stands."""
        table, shoe = self.table, self.table.shoe
        coups = len(table.done) + (table.coup is not None)
        unseen = None if shoe.left is None else table.rules.cards - shoe.out - shoe.left
        self.said.append(
            ShoeChanged(
                at=self.at,
                shoe=shoe.name,
                decks=table.rules.decks,
                out=shoe.out,
                missed=shoe.last - shoe.out,
                coups=coups,
                burned=len(shoe.burned),
                burn_due=shoe.burn_due,
                cut_seen=shoe.last_coup is not None,
                last_hand=shoe.last_coup is not None and coups >= shoe.last_coup,
                ended=shoe.ended,
                left=shoe.left,
                unseen=unseen,
            )
        )

    def set_shoe(self, shoe: Shoe) -> None:
        """Put the shoe in place of the one before."""
        self.table = self.table.with_shoe(shoe)

    def set_coup(self, coup: Coup) -> None:
        """Put the coup in place of the one of the same number."""
        self.table = self.table.with_coup(coup)

    def lay(self, coup: Coup) -> Laid:
        """Lay the coup out by the rules of this table."""
        return lay(coup, self.table.rules)

    def weigh(self, coup: Coup, *, show: bool = True, late: bool = True) -> Coup:
        """Weigh the coup anew: its faults, its result; tell what changed; return it, put in place.

        `show`: tell how a running coup lies, too. `late`: time limits that passed when the coup was
        over have passed for faults found after that as well.
        """
        table, at = self.table, self.at
        shoe = table.shoe
        name = shoe.name
        laid = lay(coup, table.rules)
        faults = find(Moment(coup, laid, table.rules, at, shoe.surplus)) + entered_faults(
            coup, laid
        )
        if faults or coup.told:
            after = reconcile(coup.told, faults, Place(name, coup.number, at, table.alerts))
            coup = coup._replace(told=after.told)
            table = table._replace(alerts=after.raised)
            self.said += after.happened
            if late and coup.over_at is not None:
                told, passed = pass_deadlines(coup.told, BEFORE_NEXT_COUP, at)
                coup = coup._replace(told=told)
                self.said += passed
        over = coup.is_over(at, table.rules.removed_after_ms)
        coup, result = publish(coup, laid, faults, Telling(name, at, over, self.actor))
        complete = laid.complete and all(seen.face is not None for seen in laid.cards)
        if complete != coup.complete:
            coup = coup._replace(complete=complete)
        self.table = table.with_coup(coup)
        if show and coup.over_at is None:
            self.said.append(live(coup, laid, name, at))
        if result is not None:
            self.said.append(result)
            self.say_coups()
        return coup

    def say_coups(self) -> None:
        """Tell the list of this shoe's coups."""
        table = self.table
        coups = table.done if table.coup is None else (*table.done, table.coup)
        results = (coup.result for coup in coups)
        told = tuple(one for one in results if one is not None and one.state in PUBLIC)
        self.said.append(CoupsChanged(self.at, table.shoe.name, told))

    def note(self, fault: Fault) -> None:
        """Find a fault of the shoe or the reader, until it is dropped."""
        kept = without(self.table.noticed, fault.key)
        self.table = self.table._replace(noticed=(*kept, fault))
        self.weigh_table()

    def drop(self, key: str, ended: str) -> bool:
        """Drop such a fault, giving the reason; say whether there was one."""
        noticed = self.table.noticed
        kept = without(noticed, key)
        self.table = self.table._replace(noticed=kept)
        self.weigh_table(ended)
        return len(kept) != len(noticed)

    def weigh_table(self, ended: str = "no longer so") -> None:
        """Bring the alerts about shoe and reader in line with their faults."""
        table = self.table
        coup = 0 if table.coup is None else table.coup.number
        place = Place(table.shoe.name, coup, self.at, table.alerts, ended)
        after = reconcile(table.told, table.noticed, place)
        self.table = table._replace(told=after.told, alerts=after.raised)
        self.said += after.happened

    def pass_table(self, deadlines: tuple[Deadline, ...]) -> None:
        """Let time limits of alerts about shoe and reader pass."""
        told, happened = pass_deadlines(self.table.told, deadlines, self.at)
        if happened:
            self.table = self.table._replace(told=told)
            self.said += happened

    def pass_coup(self, coup: Coup, deadlines: tuple[Deadline, ...]) -> Coup:
        """Let time limits of a coup's alerts pass; return it, put in place."""
        if not coup.told:
            return coup
        told, happened = pass_deadlines(coup.told, deadlines, self.at)
        if not happened:
            return coup
        self.said += happened
        coup = coup._replace(told=told)
        self.set_coup(coup)
        return coup


def without(faults: Iterable[Fault], key: str) -> tuple[Fault, ...]:
    """Return the faults but the one of that key."""
    return tuple(fault for fault in faults if fault.key != key)
