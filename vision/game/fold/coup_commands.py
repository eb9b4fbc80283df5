"""Orders about a coup: whether one can be carried out now, what it does, and taking it back.

`coup_refusal` and `undo_refusal` answer the first, `rule` and `undo` do the rest. Who may give an
order is settled before. Remedies are named by the house's list, R1 to R12.
"""

from __future__ import annotations

from vision.game.commands import (
    BurnCard,
    CarryCard,
    Command,
    Confirm,
    CorrectCard,
    CoupCommand,
    FreeHand,
    HoldResult,
    MoveCard,
    ResultStands,
    VoidCoup,
)
from vision.game.coup.alerts import LIVE, rectified
from vision.game.coup.fault_finding import of_sight
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.results import is_doubted
from vision.game.coup.state import (
    NO_MARKS,
    Alerts,
    Coup,
    DealtCard,
    FaultAlert,
    HandLayout,
    Marks,
    Table,
    Undo,
    lay_out,
)
from vision.game.coup.transition import Transition, changes, recount
from vision.game.events import Role
from vision.game.fold.shoe import begin, count_behind_cut
from vision.game.outputs import AlertChanged

# --- whether it can be done -----------------------------------------------------------------------


def coup_refusal(table: Table, command: CoupCommand) -> str:
    """Return why the order cannot be carried out now, "" where it can."""
    coup = table.coup_at(command.coup)
    if coup is None:
        if isinstance(command, FreeHand) and command.coup == _coming(table):
            return ""
        return f"there is no coup {command.coup} in this shoe"
    layout = lay_out(coup.cards, table.rules)
    match command:
        case CorrectCard():
            return _correction_refusal(layout, command)
        case MoveCard():
            return _move_refusal(layout, command)
        case ResultStands() if not layout.opened or any(c.face is None for c in layout.cards):
            return "not all its cards are known: key them in, or void it"
        case BurnCard() | CarryCard() if not _is_excess(coup, layout):
            return "its last card was due: there is none to burn or to carry over"
        case CarryCard() if table.coup is None or coup.number != table.coup.number:
            return "a later coup has begun: it is too late to carry a card over"
    return ""


def _coming(table: Table) -> int:
    return 1 if table.coup is None else table.coup.number + 1


def _correction_refusal(layout: HandLayout, command: CorrectCard) -> str:
    card = layout.in_slot(command.slot)
    if card is None and command.slot // 2 != len(layout.hand_of(command.slot)):
        return f"there is no card in {command.slot.title}"
    if command.role is Role.DEALER and card is not None and card.face is not None:
        return "a dealer keys in only what was not read; this is for the inspector to correct"
    return ""


def _move_refusal(layout: HandLayout, command: MoveCard) -> str:
    if layout.in_slot(command.source) is None:
        return f"there is no card in {command.source.title}"
    same_hand = command.source.is_punto == command.target.is_punto
    if same_hand or len(layout.hand_of(command.target)) > 2:
        return "a card moves to the other hand, and a hand has three at most"
    return ""


def _is_excess(coup: Coup, layout: HandLayout) -> bool:
    """Whether the coup's last card was dealt where none was due, and is still in it."""
    if not layout.extras:
        return False
    card, code = layout.extras[-1]
    return bool(code) and not card.marks.fate and card.order == coup.cards[-1].order


# --- what it does ---------------------------------------------------------------------------------


def rule(transition: Transition, command: CoupCommand) -> None:
    """Carry out an order about a coup that `coup_refusal` does not refuse."""
    coup = transition.table.coup_at(command.coup)
    if coup is None:
        coming = Coup(_coming(transition.table), transition.at, transition.at)
        transition.table.free_next = True
        before = _snapshot(coming, carried=None)
    else:
        carried = coup.cards[-1].order if isinstance(command, CarryCard) else None
        before = _snapshot(coup, carried=carried)
        _rule(transition, coup, command)
    transition.table.undo = (*transition.table.undo, before)


def _rule(transition: Transition, coup: Coup, command: CoupCommand) -> None:
    match command:
        case Confirm():
            _confirm(transition, coup, command)
        case CorrectCard():
            _correct(transition, coup, command)
        case VoidCoup():
            coup = _rectify(transition, coup, command, remedy="R9")
            transition.evaluate(coup._replace(void=True))
        case ResultStands():
            before = coup
            coup = _rectify(transition, coup, command, remedy="R1")
            if is_doubted(before):
                # What was not alleged for a doubt is so now, and stands with the rest.
                coup = transition.with_alerts(coup)
                coup = _rectify(transition, coup, command, remedy="R1")
            transition.evaluate(coup._replace(stands=True, hold=False, unseen=False, void=False))
        case HoldResult():
            transition.evaluate(coup._replace(hold=True))
        case FreeHand():
            transition.evaluate(coup._replace(free=True))
        case MoveCard():
            _move(transition, coup, command)
        case BurnCard():
            _burn(transition, coup, command)
        case CarryCard():
            _carry(transition, coup, command)


def _confirm(transition: Transition, coup: Coup, command: Command) -> None:
    cards = tuple(
        card.marked(card.marks._replace(confirmed=True)) if card.card else card
        for card in coup.cards
    )
    for fault in of_sight(coup):
        if fault.code in ("REVIEW", "RESTART_CONFIRM"):
            coup = _rectify(transition, coup, command, remedy="", key=fault.key)
    transition.evaluate(coup._replace(cards=cards, unseen=False))


def _correct(transition: Transition, coup: Coup, command: CorrectCard) -> None:
    card = transition.lay_out(coup.cards).in_slot(command.slot)
    if card is None:
        at = transition.at
        card = DealtCard(order=-1 - command.slot, out_at=at, placed_at=at, slot=command.slot)
        coup = coup._replace(cards=(*coup.cards, card))
    before = coup.cards
    card = card.marked(card.marks._replace(keyed=command.card))
    coup = coup.with_card(card)
    transition.table.set_coup(coup)
    transition.report_card("keyed", coup.number, card)
    recount(transition, coup, changes(before, coup.cards))


def _move(transition: Transition, coup: Coup, command: MoveCard) -> None:
    card = transition.lay_out(coup.cards).in_slot(command.source)
    if card is None:
        return
    coup = coup.with_card(card.marked(card.marks._replace(moved=command.target)))
    for key in (f"extra:{card.order}", "first-four"):
        coup = _rectify(transition, coup, command, remedy="R7", key=key)
    transition.evaluate(coup)


def _burn(transition: Transition, coup: Coup, command: BurnCard) -> None:
    card = coup.cards[-1]
    coup = _rectify(transition, coup, command, remedy="R5", key=f"extra:{card.order}")
    transition.evaluate(coup.with_card(card.marked(card.marks._replace(fate="burned"))))


def _carry(transition: Transition, coup: Coup, command: CarryCard) -> None:
    """Begin the next coup with the last card of this one, dealt where none was due."""
    card, code = transition.lay_out(coup.cards).extras[-1]
    key = f"extra:{card.order}"
    coup = _rectify(transition, coup, command, remedy="R3", key=key)
    text = next((each.alert.text for each in coup.alerts if each.key == key), "")
    done = Fault(key, code, text, order=card.order, observed=card.slot)
    coup = coup.with_card(card.marked(card.marks._replace(fate="carried")))
    transition.table.set_coup(coup._replace(noticed=(*coup.noticed, done)))
    text = words_of("EXCESS_CARRIED", card=card.face or "face down")
    carried = Fault("carried", "EXCESS_CARRIED", text, order=card.order, card=card.face)
    fresh = card._replace(slot=None, placed_at=None).marked(Marks(keyed=card.marks.keyed))
    transition.evaluate(begin(transition, (fresh,), carried)._replace(carried=card.order))
    transition.report_shoe()


def _rectify(
    transition: Transition, coup: Coup, command: Command, *, remedy: str, key: str = ""
) -> Coup:
    """Rectify the live alerts of a coup, or only the alert of that key; return the coup."""
    alerts = []
    for tracked in coup.alerts:
        if tracked.alert.state in LIVE and key in ("", tracked.key):
            tracked = FaultAlert(tracked.key, rectified(tracked.alert, command, remedy))
            transition.outputs.append(AlertChanged(transition.at, tracked.alert, first=False))
        alerts.append(tracked)
    return coup._replace(alerts=tuple(alerts))


# --- taking it back -------------------------------------------------------------------------------


def _snapshot(coup: Coup, *, carried: int | None) -> Undo:
    """Return how a coup stands before an order; `carried`: the card that the order carries over."""
    return Undo(
        coup=coup.number,
        void=coup.void,
        hold=coup.hold,
        stands=coup.stands,
        free=coup.free,
        unseen=coup.unseen,
        marks=tuple((card.order, card.marks) for card in coup.cards),
        alerts=coup.alerts,
        carried=carried,
    )


def undo_refusal(table: Table) -> str:
    """Return why the last order about a coup cannot be taken back, "" where it can."""
    if not table.undo:
        return "there is no order to take back"
    carried = table.undo[-1].carried
    begun = () if table.coup is None else tuple(card.order for card in table.coup.cards)
    if carried is not None and begun != (carried,):
        return f"too late: another card has followed card {carried}, which was carried over"
    return ""


def undo(transition: Transition) -> None:
    """Take back the last order about a coup, which `undo_refusal` does not refuse.

    What the order changed goes back to what it was; what was seen since still counts.
    """
    stack = transition.table.undo
    last = stack[-1]
    if last.carried is not None and transition.table.coup is not None:
        _uncarry(transition, last, transition.table.coup)
    transition.table.undo = stack[:-1]
    coup = transition.table.coup_at(last.coup)
    if coup is not None:
        _take_back(transition, coup, last)
    else:
        transition.table.free_next = False


def _take_back(transition: Transition, coup: Coup, last: Undo) -> None:
    marks = dict(last.marks)
    cards = tuple(
        card.marked(_with_orders_of(marks.get(card.order, NO_MARKS), card))
        for card in coup.cards
        if card.order > 0 or card.order in marks
    )
    before = coup.cards
    coup = coup._replace(
        cards=cards,
        void=last.void,
        hold=last.hold,
        stands=last.stands,
        free=last.free,
        unseen=coup.unseen or last.unseen,
        alerts=_reopened(transition, coup, last),
    )
    transition.table.set_coup(coup)
    recount(transition, coup, changes(before, cards))


def _with_orders_of(before: Marks, card: DealtCard) -> Marks:
    """Return the card's marks with what was ordered of it before, and what was seen of it since."""
    return card.marks._replace(
        keyed=before.keyed, moved=before.moved, fate=before.fate, confirmed=before.confirmed
    )


def _reopened(transition: Transition, coup: Coup, last: Undo) -> Alerts:
    """Return the coup's alerts; those that the order ended are as they were before it."""
    before = {tracked.key: tracked.alert for tracked in last.alerts}
    alerts = []
    for tracked in coup.alerts:
        old = before.get(tracked.key)
        if old is not None and old.state in LIVE and tracked.alert.state not in LIVE:
            tracked = FaultAlert(tracked.key, old)
            transition.outputs.append(AlertChanged(transition.at, old, first=False))
        alerts.append(tracked)
    return tuple(alerts)


def _uncarry(transition: Transition, last: Undo, begun: Coup) -> None:
    """Give a card that was carried over back to its coup, which goes on."""
    transition.end_alerts(begun)
    table = transition.table
    coup = table.done[-1]
    # What lapsed when the coup was taken as over has not lapsed: it goes on.
    before = {tracked.key: tracked for tracked in last.alerts}
    alerts = tuple(before.get(tracked.key, tracked) for tracked in coup.alerts)
    transition.outputs += [
        AlertChanged(transition.at, tracked.alert, first=False)
        for tracked, was in zip(alerts, coup.alerts, strict=True)
        if tracked != was
    ]
    noticed = tuple(fault for fault in coup.noticed if fault.key != f"extra:{last.carried}")
    cards = (*(card for card in coup.cards if card.order != last.carried), *begun.cards)
    table.done, table.free_next = table.done[:-1], begun.free
    table.coup = coup._replace(cards=cards, over_at=None, noticed=noticed, alerts=alerts)
    count_behind_cut(transition)
