"""Orders: who may give which, who must vouch, whether one can be carried out now, what it does.

`ORDERS` is the one table of them. `refusal` asks without giving the order, so that a page can
offer only what would be accepted; `order` asks it first and then carries the order out. Every order
is answered: accepted, or refused with the reason. An order changes what is kept of a coup or an
alert, never what was seen, so it can be taken back and what was seen since still counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from vision.game.commands import (
    AckAlert,
    AlertCommand,
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
    KeepEvidence,
    MoveCard,
    NewShoe,
    RectifyAlert,
    ReleaseEvidence,
    ResultStands,
    SignIn,
    SignOut,
    TakeArchive,
    UndoLast,
    VoidCoup,
)
from vision.game.coup.alerts import OPEN, REMEDIES, AlertEvent, acknowledged, can, rectified, ruled
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.state import Alerts, FaultAlert, Table
from vision.game.coup.transition import Transition
from vision.game.events import Category, Role
from vision.game.fold.coup_commands import coup_refusal, rule, undo, undo_refusal
from vision.game.fold.shoe import start_shoe
from vision.game.outputs import Alert, AlertChanged, AlertState, Replied

_TABLE_STAFF = frozenset((Role.DEALER, Role.INSPECTOR))
_RULES = frozenset((Role.INSPECTOR,))
_WATCHES = frozenset((Role.INSPECTOR, Role.SURVEILLANCE))
_ANYBODY = frozenset(Role)
MAY_VOUCH = _WATCHES  # as the second person for an order that one alone cannot give


class Vouching(Enum):
    """When a second person must vouch for an order."""

    NEVER = "never"
    PAID = "once the wagers of its coup have been paid"
    ALWAYS = "always: one person alone could not take it back"


class OrderRule(NamedTuple):
    """Who may give an order, and when somebody else must vouch for it."""

    roles: frozenset[Role]
    second: Vouching = Vouching.NEVER


ORDERS: dict[type[Command], OrderRule] = {
    Confirm: OrderRule(_TABLE_STAFF),
    CorrectCard: OrderRule(_TABLE_STAFF, Vouching.PAID),
    VoidCoup: OrderRule(_RULES, Vouching.ALWAYS),
    ResultStands: OrderRule(_RULES, Vouching.ALWAYS),
    HoldResult: OrderRule(_WATCHES),
    MoveCard: OrderRule(_RULES, Vouching.PAID),
    BurnCard: OrderRule(_RULES, Vouching.PAID),
    CarryCard: OrderRule(_RULES, Vouching.PAID),
    FreeHand: OrderRule(_RULES),
    NewShoe: OrderRule(_RULES),
    UndoLast: OrderRule(_RULES, Vouching.ALWAYS),
    AckAlert: OrderRule(_ANYBODY),
    RectifyAlert: OrderRule(_RULES),
    CloseAlert: OrderRule(_WATCHES),
    CommentAlert: OrderRule(_WATCHES),
    CallInspector: OrderRule(_TABLE_STAFF),
    SignIn: OrderRule(_ANYBODY),
    SignOut: OrderRule(_ANYBODY),
    TakeArchive: OrderRule(_WATCHES),
    KeepEvidence: OrderRule(_WATCHES),
    ReleaseEvidence: OrderRule(_WATCHES),
}
_ALERT_EVENTS: dict[type[Command], AlertEvent] = {
    AckAlert: AlertEvent.ACKNOWLEDGE,
    RectifyAlert: AlertEvent.RECTIFY,
    CloseAlert: AlertEvent.CLOSE,
    CommentAlert: AlertEvent.COMMENT,
}


def needs_second(table: Table, command: Command) -> bool:
    """Whether one person alone cannot give the order at this table now."""
    second = ORDERS[type(command)].second
    if second is Vouching.PAID and isinstance(command, CoupCommand):
        coup = table.coup_at(command.coup)
        return coup is not None and coup.shown is not None and coup.over_at is not None
    return second is Vouching.ALWAYS


def refusal(table: Table, command: Command) -> str:
    """Return why the order would be refused at this table now, "" where it would be accepted."""
    asked = ORDERS.get(type(command))
    if asked is None:
        return "no such order is known"
    if not command.by:
        return "an order needs the name of who gives it"
    if command.role not in asked.roles:
        return f"this is for {' or '.join(sorted(asked.roles))} to order, not for {command.role}"
    match command:
        case CoupCommand():
            return coup_refusal(table, command)
        case AlertCommand():
            return _alert_refusal(table, command)
        case UndoLast():
            return undo_refusal(table)
        case NewShoe() if command.shoe and table.shoe.name == command.shoe:
            return f"shoe {command.shoe} is in use already"
        case KeepEvidence() | ReleaseEvidence() if not command.reason:
            return "a legal hold needs words: its reason"
        case CallInspector() if _is_called(table):  # each call is filmed: many fill the disk
            return "the inspector is called already; close that alert first"
    return ""


def order(transition: Transition, command: Command) -> None:
    """Carry out an order, or refuse it; report which, and why."""
    why = refusal(transition.table, command)
    if not why:
        _obey(transition, command)
    name = type(command).__name__
    transition.outputs.append(
        Replied(transition.at, command.ref, name, command.by, accepted=not why, why=why)
    )


def _obey(transition: Transition, command: Command) -> None:
    """Do as ordered; of what has no case here, that it stands in the log is all there is to it."""
    match command:
        case CoupCommand():
            rule(transition, command)
        case AlertCommand():
            _change_alert(transition, command)
        case CallInspector():
            _call(transition, command)
        case NewShoe():
            start_shoe(transition, command.shoe, watch_burn=command.watch_burn)
        case UndoLast():
            undo(transition)


# --- alerts ---------------------------------------------------------------------------------------


def _alert_refusal(table: Table, command: AlertCommand) -> str:
    alert = _find(table, command.alert)
    if alert is None or not can(alert, _ALERT_EVENTS[type(command)]):
        return f"no alert {command.alert} is open"
    kind = KINDS[alert.code]
    match command:
        case AckAlert() if command.role is Role.ENGINEER and not kind.machine:
            return "an engineer acknowledges only what concerns the machine"
        case RectifyAlert() if command.remedy not in REMEDIES:
            return f"'{command.remedy}' is no remedy; they are {REMEDIES[0]} to {REMEDIES[-1]}"
        case CloseAlert():
            return _close_refusal(table, alert, command)
        case CommentAlert() if not command.reason:
            return "a comment needs words: its reason"
    return ""


def _close_refusal(table: Table, alert: Alert, command: CloseAlert) -> str:
    holds = KINDS[alert.code].holds
    if holds and alert.state in OPEN and alert.shoe == table.shoe.name:
        return "it holds a result: rectify it, or let the result stand, first"
    if holds and not command.reason:
        return "it held a result, and bets with it: closing it needs words, its reason"
    if command.category is Category.OTHER and not command.reason:
        return "another category needs words: its reason"
    return ""


def _change_alert(transition: Transition, command: AlertCommand) -> None:
    """Change the alert as ordered, report it, and evaluate its coup: a held result may go on."""
    found = _find(transition.table, command.alert)
    if found is None:
        return
    alert = _changed(found, command)
    transition.outputs.append(AlertChanged(transition.at, alert, first=False))
    table = transition.table
    earlier = _with(table.earlier_alerts, alert)
    table.earlier_alerts = tuple(e for e in earlier if e.alert.state is not AlertState.CLOSED)
    table.alerts = _with(table.alerts, alert)
    for coup in transition.table.coups:
        alerts = _with(coup.alerts, alert)
        if alerts != coup.alerts:
            transition.evaluate(coup._replace(alerts=alerts), show=False)


def _changed(alert: Alert, command: AlertCommand) -> Alert:
    match command:
        case AckAlert():
            return acknowledged(alert, command)
        case RectifyAlert():
            return rectified(alert, command, command.remedy)
    return ruled(alert, command, _ALERT_EVENTS[type(command)])


def _find(table: Table, name: str) -> Alert | None:
    return next((alert for alert in _alerts(table) if alert.id == name), None)


def _is_called(table: Table) -> bool:
    return any(alert.code == "CALLED" and alert.state in OPEN for alert in _alerts(table))


def _alerts(table: Table) -> Iterator[Alert]:
    stored = (table.alerts, table.earlier_alerts, *(coup.alerts for coup in table.coups))
    return (tracked.alert for alerts in stored for tracked in alerts)


def _with(alerts: Alerts, alert: Alert) -> Alerts:
    """Return the alerts with the one of that name replaced."""
    return tuple(
        FaultAlert(tracked.key, alert) if tracked.alert.id == alert.id else tracked
        for tracked in alerts
    )


def _call(transition: Transition, command: CallInspector) -> None:
    """Raise an alert that calls the inspector; each call raises its own."""
    words = words_of("CALLED", who=command.by)
    text = f"{words} {command.reason}" if command.reason else words
    transition.add_fault(Fault(f"CALLED:{transition.at}", "CALLED", text))
