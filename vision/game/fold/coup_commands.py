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
from vision.game.coup.transition import Turn
from vision.game.events import Role
from vision.game.fold.alert_commands import rectify_all
from vision.game.fold.cards import recount
from vision.game.fold.coups import begin
from vision.game.fold.undo import snapshot


def rule(turn: Turn, command: CoupCommand) -> str:
    """Carry out an order about a coup."""
    coup = turn.coup_at(command.coup)
    if coup is None:
        return _coming(turn, command)
    carried = coup.cards[-1].order if isinstance(command, CarryCard) and coup.cards else None
    before = snapshot(coup, carried)
    why = _rule(turn, coup, command)
    if not why:
        turn.table = turn.table._replace(undo=(*turn.table.undo, before))
    return why


def _coming(turn: Turn, command: CoupCommand) -> str:
    """Make the coming coup a free hand; nothing else can be ordered of a coup not begun."""
    coup = turn.coup
    coming = 1 if coup is None else coup.number + 1
    if not isinstance(command, FreeHand) or command.coup != coming:
        return f"there is no coup {command.coup} in this shoe"
    undo = (*turn.table.undo, snapshot(Coup(coming, turn.at, turn.at), None))
    turn.table = turn.table._replace(free_next=True, undo=undo)
    return ""


def _rule(turn: Turn, coup: Coup, command: CoupCommand) -> str:
    match command:
        case Confirm():
            return _confirm(turn, coup)
        case CorrectCard():
            return _correct(turn, coup, command)
        case VoidCoup():
            coup = rectify_all(turn, coup, command, remedy="R9")
            turn.weigh(coup._replace(void=True))
        case ResultStands():
            return _stand(turn, coup, command)
        case HoldResult():
            turn.weigh(coup._replace(hold=True))
        case FreeHand():
            turn.weigh(coup._replace(free=True))
        case MoveCard():
            return _move(turn, coup, command)
        case _:
            return _dispose(turn, coup, command)
    return ""


def _confirm(turn: Turn, coup: Coup) -> str:
    cards = tuple(
        seen.marked(seen.marks._replace(confirmed=True)) if seen.card else seen
        for seen in coup.cards
    )
    noticed = tuple(fault for fault in coup.noticed if fault.code != "RESTART_CONFIRM")
    turn.weigh(coup._replace(cards=cards, unseen=False, noticed=noticed))
    return ""


def _correct(turn: Turn, coup: Coup, command: CorrectCard) -> str:
    laid = turn.lay(coup)
    seen = laid.in_slot(command.slot)
    if seen is None:
        hand = laid.punto if command.slot.is_punto else laid.banco
        if command.slot // 2 != len(hand):
            return f"there is no card in {slot_name(command.slot, 0)}"
        seen = Seen(-1 - command.slot, turn.at, turn.at, command.slot)
        coup = coup._replace(cards=(*coup.cards, seen))
    if command.role is Role.DEALER and seen.face is not None:
        return "a dealer keys in only what was not read; this is for the inspector to correct"
    faces = (seen.face, command.card)
    seen = seen.marked(seen.marks._replace(keyed=command.card))
    turn.set_coup(coup.with_card(seen))
    turn.say_card("keyed", coup.number, seen)
    recount(turn, seen.order, coup.number, faces)
    return ""


def _stand(turn: Turn, coup: Coup, command: ResultStands) -> str:
    laid = turn.lay(coup)
    if not laid.opened or any(seen.face is None for seen in laid.cards):
        return "not all its cards are known: key them in, or void it"
    coup = rectify_all(turn, coup, command, remedy="R1")
    turn.weigh(coup._replace(stands=True, hold=False, unseen=False, void=False))
    return ""


def _move(turn: Turn, coup: Coup, command: MoveCard) -> str:
    laid = turn.lay(coup)
    seen = laid.in_slot(command.source)
    if seen is None:
        return f"there is no card in {slot_name(command.source, 0)}"
    target = laid.punto if command.target.is_punto else laid.banco
    if command.source.is_punto == command.target.is_punto or len(target) > 2:
        return "a card moves to the other hand, and a hand has three at most"
    coup = coup.with_card(seen.marked(seen.marks._replace(moved=command.target)))
    for key in (f"extra:{seen.order}", "first-four"):
        coup = rectify_all(turn, coup, command, remedy="R7", key=key)
    turn.weigh(coup)
    return ""


def _dispose(turn: Turn, coup: Coup, command: CoupCommand) -> str:
    """Burn the last card of a coup, given where none was due, or begin the next coup with it."""
    laid = turn.lay(coup)
    seen, code = laid.extras[-1] if laid.extras else (None, "")
    if seen is None or not code or seen.marks.fate or seen is not coup.cards[-1]:
        return "its last card was due: there is none to burn or to carry over"
    key = f"extra:{seen.order}"
    if isinstance(command, BurnCard):
        coup = rectify_all(turn, coup, command, remedy="R5", key=key)
        turn.weigh(coup.with_card(seen.marked(seen.marks._replace(fate="burned"))))
        return ""
    if coup is not turn.coup:
        return "a later coup has begun: it is too late to carry a card over"
    coup = rectify_all(turn, coup, command, remedy="R3", key=key)
    done = Fault(key, code, _alert_text(coup, key), order=seen.order, observed=seen.slot)
    turn.set_coup(coup._replace(cards=coup.cards[:-1], noticed=(*coup.noticed, done)))
    text = words_of("EXCESS_CARRIED", card=seen.face or "face down")
    carried = Fault("carried", "EXCESS_CARRIED", text, order=seen.order, card=seen.face)
    fresh = seen._replace(slot=None, placed_at=None).marked(Marks(keyed=seen.marks.keyed))
    turn.weigh(begin(turn, (fresh,), carried))
    turn.say_shoe()
    return ""


def _alert_text(coup: Coup, key: str) -> str:
    return next((one.alert.text for one in coup.told if one.key == key), "")
