"""The work on one event: a table on its way from before the event to after it.

Mutable, but made by `step` and gone when it answers: from outside, `step` is a pure function.
What the handlers of events share is here: weighing a coup anew, telling what changed, letting
deadlines pass. Must not know which events there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from vision.game.commands import Command
from vision.game.coup.alerts import BEFORE_NEXT_COUP, Place, pass_deadlines, reconcile
from vision.game.coup.fault_finding import FaultContext, find
from vision.game.coup.fault_table import Fault
from vision.game.coup.layout import Laid, lay
from vision.game.coup.results import PUBLIC, Telling, entered_faults, live, publish
from vision.game.coup.state import Coup, Seen, Table
from vision.game.outputs import (
    CardSeen,
    CoupsChanged,
    Deadline,
    Ignored,
    Output,
    ShoeChanged,
    StatusChanged,
)


class Transition:
    """A table, the moment (Unix ms), whose order it is if it is one, and what has been said.

    `clock`, `shoe` and `coup` are the table's; they are put together again when `table` is asked
    for, since they change at every event.
    """

    __slots__ = ("_table", "actor", "at", "clock", "coup", "rules", "said", "shoe")

    def __init__(self, table: Table, at: int, actor: Command | None = None) -> None:
        self.at = at
        self.actor = actor
        self.said: list[Output] = []
        self.rules = table.rules
        self._table = table
        self.clock, self.shoe, self.coup = table.clock, table.shoe, table.coup

    @property
    def table(self) -> Table:
        """The table as it now stands."""
        table, shoe, coup = self._table, self.shoe, self.coup
        if table.coup is not coup or table.shoe is not shoe or table.clock != self.clock:
            table = self._table = table.with_running(self.clock, shoe, coup)
        return table

    @table.setter
    def table(self, table: Table) -> None:
        self._table = table
        self.clock, self.shoe, self.coup = table.clock, table.shoe, table.coup

    def ignore(self, event: object, why: str) -> None:
        """Say that an event made no sense."""
        self.said.append(Ignored(self.at, type(event).__name__, why))

    def say_card(self, event: str, coup: int, seen: Seen) -> None:
        """Tell surveillance what one card did."""
        self.said.append(
            CardSeen(
                self.at,
                event,
                self.shoe.name,
                coup,
                seen.order,
                seen.place,
                seen.face,
                seen.confidence,
                seen.second,
            )
        )

    def say_status(self, state: str, why: str = "") -> None:
        """Tell whether the reader can see."""
        self.said.append(StatusChanged(self.at, state, self.table.boot, why))

    def say_shoe(self) -> None:
        """Tell how the shoe stands."""
        table, shoe = self.table, self.shoe
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

    def set_coup(self, coup: Coup) -> None:
        """Put the coup in place of the one of the same number."""
        if self.coup is not None and self.coup.number == coup.number:
            self.coup = coup
        else:
            self.table = self.table.with_done(coup)

    def coup_at(self, number: int) -> Coup | None:
        """Return the coup of this shoe with that number."""
        if self.coup is not None and self.coup.number == number:
            return self.coup
        done = self._table.done
        return done[number - 1] if 0 < number <= len(done) else None

    def lay(self, coup: Coup) -> Laid:
        """Lay the coup out by the rules of this table."""
        return lay(coup, self.rules)

    def weigh(self, coup: Coup, *, show: bool = True, late: bool = True) -> Coup:
        """Weigh the coup anew: its faults, its result; tell what changed; return it, put in place.

        `show`: tell how a running coup lies, too. `late`: time limits that passed when the coup was
        over have passed for faults found after that as well.
        """
        at, rules, name = self.at, self.rules, self.shoe.name
        laid = lay(coup, rules)
        faults = find(FaultContext(coup, laid, rules, at, self.shoe.surplus))
        if coup.entered is not None:
            faults += entered_faults(coup, laid)
        if faults or coup.told:
            coup = self._reconcile(coup, faults, late=late)
        over = coup.is_over(at, rules.removed_after_ms)
        coup, result = publish(coup, laid, faults, Telling(name, at, over, self.actor))
        complete = laid.complete and all(seen.face is not None for seen in laid.cards)
        if complete != coup.complete:
            coup = coup._replace(complete=complete)
        self.set_coup(coup)
        if show and coup.over_at is None:
            self.said.append(live(coup, laid, name, at))
        if result is not None:
            self.said.append(result)
            self._say_coups()
        return coup

    def _reconcile(self, coup: Coup, faults: tuple[Fault, ...], *, late: bool) -> Coup:
        """Bring the alerts of a coup in line with its faults."""
        table, at = self.table, self.at
        after = reconcile(coup.told, faults, Place(self.shoe.name, coup.number, at, table.alerts))
        self.table = table._replace(alerts=after.raised)
        self.said += after.happened
        told = after.told
        if late and coup.over_at is not None:
            told, passed = pass_deadlines(told, BEFORE_NEXT_COUP, at)
            self.said += passed
        return coup._replace(told=told)

    def _say_coups(self) -> None:
        """Tell the list of this shoe's coups."""
        done = self._table.done
        coups = done if self.coup is None else (*done, self.coup)
        results = [coup.result for coup in coups]
        shown = tuple([one for one in results if one is not None and one.state in PUBLIC])
        self.said.append(CoupsChanged(self.at, self.shoe.name, shown))

    def notices(self, key: str) -> bool:
        """Whether a fault of the shoe or the reader is found under that key."""
        noticed = self._table.noticed
        return bool(noticed) and any(fault.key == key for fault in noticed)

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
        told = self._table.told
        if told:
            told, happened = pass_deadlines(told, deadlines, self.at)
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
