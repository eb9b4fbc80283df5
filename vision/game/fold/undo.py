"""Taking back the last order about a coup of this shoe.

What an order changed goes back to what it was; what was seen since still counts. Must not know
which orders there are, but for a card that was carried over, which made a coup.
"""

from __future__ import annotations

from vision.game.coup.alerts import LIVE, Place, reconcile
from vision.game.coup.state import NO_MARKS, Coup, Marks, Seen, Told, Undo
from vision.game.coup.transition import Transition
from vision.game.fold.cards import recount
from vision.game.outputs import AlertTold


def snapshot(coup: Coup, carried: int | None) -> Undo:
    """Return how a coup stands before an order; `carried`: the card that this one carries over."""
    marks = tuple((seen.order, seen.marks) for seen in coup.cards)
    return Undo(
        coup=coup.number,
        void=coup.void,
        hold=coup.hold,
        stands=coup.stands,
        free=coup.free,
        unseen=coup.unseen,
        marks=marks,
        told=coup.told,
        carried=carried,
    )


def undo(transition: Transition) -> str:
    """Take back the last order about a coup; say why it cannot be done, "" where it was."""
    stack = transition.table.undo
    if not stack:
        return "there is no order to take back"
    last = stack[-1]
    if last.carried is not None and not _uncarry(transition, last):
        return f"too late: another card has followed card {last.carried}, which was carried over"
    transition.table = transition.table._replace(undo=stack[:-1])
    coup = transition.coup_at(last.coup)
    if coup is not None:
        _take_back(transition, coup, last)
    else:
        transition.table = transition.table._replace(free_next=False)
    return ""


def _take_back(transition: Transition, coup: Coup, last: Undo) -> None:
    marks = dict(last.marks)
    faces = [(seen.order, seen.face) for seen in coup.cards]
    cards = tuple(
        seen.marked(_orders_of(marks.get(seen.order, NO_MARKS), seen))
        for seen in coup.cards
        if seen.order > 0 or seen.order in marks
    )
    transition.set_coup(
        coup._replace(
            cards=cards,
            void=last.void,
            hold=last.hold,
            stands=last.stands,
            free=last.free,
            unseen=coup.unseen or last.unseen,
            told=_reopened(transition, coup, last),
        )
    )
    after = {seen.order: seen.face for seen in cards}
    for number, before in faces:
        recount(transition, number, last.coup, (before, after.get(number)))


def _orders_of(before: Marks, seen: Seen) -> Marks:
    """Return the card's marks with what was ordered of it before, and what was seen of it since."""
    return seen.marks._replace(
        keyed=before.keyed, moved=before.moved, fate=before.fate, confirmed=before.confirmed
    )


def _reopened(transition: Transition, coup: Coup, last: Undo) -> tuple[Told, ...]:
    """Return the coup's alerts, those that the order ended as they were before it."""
    before = {one.key: one.alert for one in last.told}
    told = []
    for one in coup.told:
        old = before.get(one.key)
        if old is not None and old.state in LIVE and one.alert.state not in LIVE:
            one = Told(one.key, old)
            transition.said.append(AlertTold(transition.at, old, first=False))
        told.append(one)
    return tuple(told)


def _uncarry(transition: Transition, last: Undo) -> bool:
    """Lay a card that was carried over back with its coup, which goes on; say whether it could be.

    It cannot once another card has followed it.
    """
    table, begun = transition.table, transition.coup
    if begun is None or [seen.order for seen in begun.cards] != [last.carried]:
        return False
    ended = reconcile(
        begun.told, (), Place(transition.shoe.name, begun.number, transition.at, table.alerts)
    )
    transition.said += ended.happened
    coup = table.done[-1]
    # What lapsed as the coup was taken for over has not: it goes on.
    before = {one.key: one for one in last.told}
    told = tuple(before.get(one.key, one) for one in coup.told)
    reopened = (one for one, was in zip(told, coup.told, strict=True) if one != was)
    transition.said += [AlertTold(transition.at, one.alert, first=False) for one in reopened]
    gone = ("passed:", f"extra:{last.carried}")
    noticed = (fault for fault in coup.noticed if not fault.key.startswith(gone))
    transition.table = table._replace(
        done=table.done[:-1],
        free_next=begun.free,
        coup=coup._replace(
            cards=(*coup.cards, *begun.cards),
            over_at=None,
            noticed=tuple(noticed),
            told=told,
        ),
    )
    return True
