"""What only sight or the machine can know: a fault of the card, coup, shoe or reader it is about.

Of a card that is still in the shoe a fault is kept with the table's until the card is out, and then
goes to its coup.
"""

from __future__ import annotations

from dataclasses import replace

from vision.game.coup.alerts import OPEN
from vision.game.coup.doubts import REVIEW
from vision.game.coup.fault_table import KINDS, Fault, card_name, words_of
from vision.game.coup.state import Coup
from vision.game.coup.transition import Transition, without
from vision.game.editions import Edition
from vision.game.events import Noticed
from vision.game.fold.amendments import withdraw
from vision.game.fold.cards import is_early

BEFORE = "before its time"
RETURNED, EXPOSED, EARLY = "RETURNED_TO_SHOE", "EXPOSED_IN_SHOE", "EXPOSED_EARLY"


def noticed(transition: Transition, event: Noticed) -> None:
    """Take in what was noticed, or that it has ended."""
    kind = KINDS.get(event.code)
    if kind is None or not kind.noticed:
        transition.ignore(event, f"'{event.code}' is no fault that is noticed")
        return
    order = _order(transition, event)
    coup = None if kind.machine else _coup(transition, event, order)
    key = f"{event.code}:{order or ''}"
    fault = Fault(key, event.code, _text(event), order=order, slot=event.slot)
    if coup is not None:
        _notice_of_coup(transition, coup, event, fault)
    elif event.over:
        transition.drop_fault(key, "over")
    else:
        ahead = order is not None and order > transition.shoe.last
        transition.add_fault(fault, _coming(transition) if ahead else None)


def _order(transition: Transition, event: Noticed) -> int | None:
    """Return the card it is about; a face in the mouth between two coups is the next card's."""
    if event.order is not None or event.code != EXPOSED:
        return event.order
    return None if _coming(transition) is None else transition.table.next_order


def _coming(transition: Transition) -> int | None:
    """Return the number of the coup that the next card begins, `None` if it goes to this one."""
    coup = transition.coup
    if transition.table.edition is Edition.FIRST:
        return None  # a table then took it as a matter of the shoe
    if coup is None:
        return 1
    over = coup.complete or coup.is_over(transition.at, transition.rules.removed_after_ms)
    return coup.number + 1 if over else None


def _coup(transition: Transition, event: Noticed, order: int | None) -> Coup | None:
    """Return the coup that it is about, if any."""
    table = transition.table
    if order is not None:
        return table.coup_of(order) or _coup_of_returned(transition, order)
    if event.code == REVIEW and event.over:
        found = [coup for coup in table.coups if any(f.key == "REVIEW:" for f in coup.noticed)]
        return found[-1] if found else table.coup
    return table.coup


def _coup_of_returned(transition: Transition, order: int) -> Coup | None:
    """Return the coup out of which that card was taken again."""
    return next((coup for coup in transition.table.coups if order in coup.back), None)


def _notice_of_coup(transition: Transition, coup: Coup, event: Noticed, fault: Fault) -> None:
    if event.over:
        # A doubt that came after a ruling has the same key and the time at which it came.
        left = (old for old in coup.noticed if old.key.split("@")[0] != fault.key)
        transition.evaluate(coup._replace(noticed=tuple(left)))
        return
    if fault.code == EARLY and transition.table.edition is not Edition.FIRST:
        _notice_early(transition, coup, event)
        return
    doubt = fault.kind.of_reader and fault.kind.holds
    if doubt and transition.table.edition is not Edition.FIRST:
        fault = _after_rulings(coup, fault, event.at)
    coup = coup._replace(noticed=(*without(coup.noticed, fault.key), fault))
    returned = fault.code == RETURNED and fault.order is not None
    if returned and fault.order is not None and coup.index_of(fault.order) is not None:
        withdraw(transition, coup, fault.order)
    else:
        transition.evaluate(coup)


def _notice_early(transition: Transition, coup: Coup, event: Noticed) -> None:
    """Take a face that showed on its way like one that was read there, but for its name."""
    card = next((card for card in coup.cards if card.order == event.order), None)
    if card is None or not is_early(transition.rules, coup, card):
        transition.ignore(event, "a face may lie open by now")
        return
    transition.evaluate(coup.with_card(card.marked(card.marks._replace(early=True))))


def _after_rulings(coup: Coup, fault: Fault, at: int) -> Fault:
    """Return the doubt as another one where a person has ruled on the one before it."""
    ruled = any(
        tracked.key == fault.key and tracked.alert.by and tracked.alert.state not in OPEN
        for tracked in coup.alerts
    )
    return replace(fault, key=f"{fault.key}@{at}") if ruled else fault


def _text(event: Noticed) -> str:
    name = card_name(event.slot, event.order or 0)
    about = "this coup" if event.order is None and event.slot is None else f"card {name}"
    facts = {"card": "one face", "now": "another", "other": "another", "about": about}
    text = words_of(event.code, slot=name, order=event.order, before=BEFORE, **facts)
    return f"{text} {event.detail}" if event.detail else text
