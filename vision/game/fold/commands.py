"""What a supervisor may order, and what it does.

Every order is answered: accepted, or refused with the reason. An order changes what is kept of a
coup, never what was seen of it, so it can be taken back and what was seen since still counts. Must
not know who is logged in: `by` and `role` come with the order.
"""

from __future__ import annotations

from vision.game.commands import (
    AckAlert,
    BurnCard,
    CallInspector,
    CarryCard,
    CloseAlert,
    Command,
    CommentAlert,
    Confirm,
    CorrectCard,
    CoupCommand,
    FreeHand,
    HoldResult,
    MoveCard,
    NewShoe,
    RectifyAlert,
    ResultStands,
    SignIn,
    SignOut,
    TakeArchive,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.transition import Transition
from vision.game.events import Role
from vision.game.fold.alert_commands import acknowledge, call, close, comment, rectify
from vision.game.fold.coup_commands import rule
from vision.game.fold.coups import start_shoe
from vision.game.fold.undo import undo
from vision.game.outputs import Replied

_TABLE_STAFF = frozenset((Role.DEALER, Role.INSPECTOR))
_RULES = frozenset((Role.INSPECTOR,))
_WATCHES = frozenset((Role.INSPECTOR, Role.SURVEILLANCE))

PERMITTED: dict[type[Command], frozenset[Role]] = {
    Confirm: _TABLE_STAFF,
    CorrectCard: _TABLE_STAFF,
    VoidCoup: _RULES,
    ResultStands: _RULES,
    HoldResult: _WATCHES,
    MoveCard: _RULES,
    BurnCard: _RULES,
    CarryCard: _RULES,
    FreeHand: _RULES,
    NewShoe: _RULES,
    UndoLast: _RULES,
    AckAlert: frozenset(Role),
    RectifyAlert: _RULES,
    CloseAlert: _WATCHES,
    CommentAlert: _WATCHES,
    CallInspector: _TABLE_STAFF,
    SignIn: frozenset(Role),
    SignOut: frozenset(Role),
    TakeArchive: _WATCHES,
}


def order(transition: Transition, command: Command) -> None:
    """Carry out an order, or refuse it; say which, and why."""
    why = _refusal(command) or _obey(transition, command)
    name = type(command).__name__
    transition.said.append(
        Replied(transition.at, command.ref, name, command.by, accepted=not why, why=why)
    )


def _refusal(command: Command) -> str:
    """Say why this person may not give this order, "" where they may."""
    allowed = PERMITTED.get(type(command))
    if allowed is None:
        return "no such order is known"
    if not command.by:
        return "an order needs the name of who gives it"
    if command.role not in allowed:
        return f"this is for {' or '.join(sorted(allowed))} to order, not for {command.role}"
    return ""


def _obey(transition: Transition, command: Command) -> str:
    """Do as ordered; say why it cannot be done, "" where it was."""
    if isinstance(command, CoupCommand):
        return rule(transition, command)
    if isinstance(command, AckAlert):
        return acknowledge(transition, command)
    if isinstance(command, RectifyAlert):
        return rectify(transition, command)
    if isinstance(command, CloseAlert):
        return close(transition, command)
    if isinstance(command, CommentAlert):
        return comment(transition, command)
    if isinstance(command, CallInspector):
        return call(transition, command)
    if isinstance(command, SignIn | SignOut | TakeArchive):
        return ""  # that it stands in the log is all there is to it
    if isinstance(command, NewShoe):
        if command.shoe and transition.table.shoe.name == command.shoe:
            return f"shoe {command.shoe} is in use already"
        start_shoe(transition, command.shoe, watch_burn=command.watch_burn)
        return ""
    return undo(transition)
