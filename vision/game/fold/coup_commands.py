"""What an order about a coup does to it.

Each takes the turn, the coup and the order, and answers why it cannot be done, "" where it was. Who
may give an order is settled before. Remedies are named by the house's list, R1 to R12.
"""

from __future__ import annotations

from vision.game.commands import (
    BurnCard,
    CarryCard,
    Confirm,
    CorrectCard,
    CoupCommand,
    FreeHand,
    HoldResult,
    MoveCard,
    ResultStands,
    VoidCoup,
)
from vision.game.coup.fault_table import Fault, slot_name, words_of
from vision.game.coup.state import Coup, Marks, Seen
from vision.game.coup.transition import Transition
from vision.game.events import Role
from vision.game.fold.alert_commands import rectify_all
from vision.game.fold.cards import recount
from vision.game.fold.coups import begin
from vision.game.fold.undo import snapshot


def rule(transition: Transition, command: CoupCommand) -> str:
    """Carry out an order about a coup."""
    coup = transition.coup_at(command.coup)
    if coup is None:
        return _coming(transition, command)
    carried = coup.cards[-1].order if isinstance(command, CarryCard) and coup.cards else None
    before = snapshot(coup, carried)
    why = _rule(transition, coup, command)
    if not why:
        transition.table = transition.table._replace(undo=(*transition.table.undo, before))
    return why


def _coming(transition: Transition, command: CoupCommand) -> str:
    """Make the coming coup a free hand; nothing else can be ordered of a coup not begun."""
    coup = transition.coup
    coming = 1 if coup is None else coup.number + 1
    if not isinstance(command, FreeHand) or command.coup != coming:
        return f"there is no coup {command.coup} in this shoe"
    undo = (*transition.table.undo, snapshot(Coup(coming, transition.at, transition.at), None))
    transition.table = transition.table._replace(free_next=True, undo=undo)
    return ""


def _rule(transition: Transition, coup: Coup, command: CoupCommand) -> str:
    match command:
        case Confirm():
            return _confirm(transition, coup)
        case CorrectCard():
            return _correct(transition, coup, command)
        case VoidCoup():
            coup = rectify_all(transition, coup, command, remedy="R9")
            transition.weigh(coup._replace(void=True))
        case ResultStands():
            return _stand(transition, coup, command)
        case HoldResult():
            transition.weigh(coup._replace(hold=True))
        case FreeHand():
            transition.weigh(coup._replace(free=True))
        case MoveCard():
            return _move(transition, coup, command)
        case _:
            return _dispose(transition, coup, command)
    return ""


def _confirm(transition: Transition, coup: Coup) -> str:
    cards = tuple(
        seen.marked(seen.marks._replace(confirmed=True)) if seen.card else seen
        for seen in coup.cards
    )
    noticed = tuple(fault for fault in coup.noticed if fault.code != "RESTART_CONFIRM")
    transition.weigh(coup._replace(cards=cards, unseen=False, noticed=noticed))
    return ""


def _correct(transition: Transition, coup: Coup, command: CorrectCard) -> str:
    laid = transition.lay(coup)
    seen = laid.in_slot(command.slot)
    if seen is None:
        hand = laid.punto if command.slot.is_punto else laid.banco
        if command.slot // 2 != len(hand):
            return f"there is no card in {slot_name(command.slot, 0)}"
        seen = Seen(-1 - command.slot, transition.at, transition.at, command.slot)
        coup = coup._replace(cards=(*coup.cards, seen))
    if command.role is Role.DEALER and seen.face is not None:
        return "a dealer keys in only what was not read; this is for the inspector to correct"
    faces = (seen.face, command.card)
    seen = seen.marked(seen.marks._replace(keyed=command.card))
    transition.set_coup(coup.with_card(seen))
    transition.say_card("keyed", coup.number, seen)
    recount(transition, seen.order, coup.number, faces)
    return ""


def _stand(transition: Transition, coup: Coup, command: ResultStands) -> str:
    laid = transition.lay(coup)
    if not laid.opened or any(seen.face is None for seen in laid.cards):
        return "not all its cards are known: key them in, or void it"
    coup = rectify_all(transition, coup, command, remedy="R1")
    transition.weigh(coup._replace(stands=True, hold=False, unseen=False, void=False))
    return ""


def _move(transition: Transition, coup: Coup, command: MoveCard) -> str:
    laid = transition.lay(coup)
    seen = laid.in_slot(command.source)
    if seen is None:
        return f"there is no card in {slot_name(command.source, 0)}"
    target = laid.punto if command.target.is_punto else laid.banco
    if command.source.is_punto == command.target.is_punto or len(target) > 2:
        return "a card moves to the other hand, and a hand has three at most"
    coup = coup.with_card(seen.marked(seen.marks._replace(moved=command.target)))
    for key in (f"extra:{seen.order}", "first-four"):
        coup = rectify_all(transition, coup, command, remedy="R7", key=key)
    transition.weigh(coup)
    return ""


def _dispose(transition: Transition, coup: Coup, command: CoupCommand) -> str:
    """Burn the last card of a coup, given where none was due, or begin the next coup with it."""
    laid = transition.lay(coup)
    seen, code = laid.extras[-1] if laid.extras else (None, "")
    if seen is None or not code or seen.marks.fate or seen is not coup.cards[-1]:
        return "its last card was due: there is none to burn or to carry over"
    key = f"extra:{seen.order}"
    if isinstance(command, BurnCard):
        coup = rectify_all(transition, coup, command, remedy="R5", key=key)
        transition.weigh(coup.with_card(seen.marked(seen.marks._replace(fate="burned"))))
        return ""
    if coup is not transition.coup:
        return "a later coup has begun: it is too late to carry a card over"
    coup = rectify_all(transition, coup, command, remedy="R3", key=key)
    done = Fault(key, code, _alert_text(coup, key), order=seen.order, observed=seen.slot)
    transition.set_coup(coup._replace(cards=coup.cards[:-1], noticed=(*coup.noticed, done)))
    text = words_of("EXCESS_CARRIED", card=seen.face or "face down")
    carried = Fault("carried", "EXCESS_CARRIED", text, order=seen.order, card=seen.face)
    fresh = seen._replace(slot=None, placed_at=None).marked(Marks(keyed=seen.marks.keyed))
    transition.weigh(begin(transition, (fresh,), carried))
    transition.say_shoe()
    return ""


def _alert_text(coup: Coup, key: str) -> str:
    return next((one.alert.text for one in coup.told if one.key == key), "")
