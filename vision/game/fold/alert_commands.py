"""What people do with alerts: acknowledge, rectify, comment, close; and calling for somebody.

Must not know how alerts are raised or which orders about coups there are.
"""

from __future__ import annotations

from dataclasses import replace

from vision.game.commands import (
    AckAlert,
    AlertCommand,
    CallInspector,
    CloseAlert,
    Command,
    CommentAlert,
    RectifyAlert,
)
from vision.game.coup.alerts import LIVE, OPEN, REMEDIES
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.state import Coup, Table, Told
from vision.game.coup.transition import Transition
from vision.game.events import Role
from vision.game.outputs import Alert, AlertState, AlertTold


def acknowledge(transition: Transition, command: AckAlert) -> str:
    """Note that the alert has been seen, and by whom."""
    alert = _find(transition.table, command.alert)
    if alert is None or alert.state not in LIVE:
        return _no_such(command)
    if command.role is Role.ENGINEER and not KINDS[alert.code].machine:
        return "an engineer acknowledges only what concerns the machine"
    seen = AlertState.ACKNOWLEDGED if alert.state is AlertState.RAISED else alert.state
    changed = replace(
        alert,
        state=seen,
        acknowledged_by=command.by,
        acknowledged_at=transition.at,
        role=command.role,
        changed_at=transition.at,
    )
    _put(transition, changed)
    return ""


def rectify(transition: Transition, command: RectifyAlert) -> str:
    """Note by which remedy what the alert tells of was put right; a result it held goes on."""
    alert = _find(transition.table, command.alert)
    if alert is None or alert.state not in LIVE:
        return _no_such(command)
    if command.remedy not in REMEDIES:
        return f"'{command.remedy}' is no remedy; they are {REMEDIES[0]} to {REMEDIES[-1]}"
    _put(transition, rectified(alert, command, command.remedy))
    return ""


def close(transition: Transition, command: CloseAlert) -> str:
    """Take an alert off the desk; one that still holds a result is to be rectified first."""
    alert = _find(transition.table, command.alert)
    if alert is None or alert.state is AlertState.CLOSED:
        return _no_such(command)
    if alert.state in OPEN and KINDS[alert.code].holds:
        return "it holds a result: rectify it, or let the result stand, first"
    closed = replace(alert, state=AlertState.CLOSED, changed_at=transition.at)
    _put(transition, replace(closed, by=command.by, role=command.role, reason=command.reason))
    return ""


def comment(transition: Transition, command: CommentAlert) -> str:
    """Put somebody's words to an alert that is not closed."""
    alert = _find(transition.table, command.alert)
    if alert is None or alert.state is AlertState.CLOSED:
        return _no_such(command)
    if not command.reason:
        return "a comment needs words: its reason"
    told = replace(alert, by=command.by, role=command.role, reason=command.reason)
    _put(transition, replace(told, changed_at=transition.at))
    return ""


def call(transition: Transition, command: CallInspector) -> str:
    """Raise an alert that calls the inspector; each call is one of its own."""
    said = f" {command.reason}" if command.reason else ""
    text = words_of("CALLED", who=command.by) + said
    transition.note(Fault(f"CALLED:{transition.at}", "CALLED", text))
    return ""


def rectified(alert: Alert, command: Command, remedy: str) -> Alert:
    """Return the alert as put right by that order."""
    return replace(
        alert,
        state=AlertState.RECTIFIED,
        by=command.by,
        role=command.role,
        remedy=remedy,
        reason=command.reason,
        in_time=alert.in_time is not False,
        changed_at=command.at,
    )


def rectify_all(
    transition: Transition, coup: Coup, command: Command, *, remedy: str, key: str = ""
) -> Coup:
    """Rectify the live alerts of a coup, or only the one of that key; return the coup."""
    told = []
    for one in coup.told:
        if one.alert.state in LIVE and key in ("", one.key):
            one = Told(one.key, rectified(one.alert, command, remedy))
            transition.said.append(AlertTold(transition.at, one.alert, first=False))
        told.append(one)
    return coup._replace(told=tuple(told))


def _no_such(command: AlertCommand) -> str:
    return f"no alert {command.alert} is open"


def _coups(table: Table) -> tuple[Coup, ...]:
    return table.done if table.coup is None else (*table.done, table.coup)


def _find(table: Table, name: str) -> Alert | None:
    everywhere = (table.told, table.kept, *(coup.told for coup in _coups(table)))
    for told in everywhere:
        for one in told:
            if one.alert.id == name:
                return one.alert
    return None


def _put(transition: Transition, alert: Alert) -> None:
    """Put the alert in place of the one of its name, tell of it, and weigh its coup anew."""
    transition.said.append(AlertTold(transition.at, alert, first=False))
    table = transition.table
    kept = _swap(table.kept, alert)
    transition.table = table._replace(
        told=_swap(table.told, alert),
        kept=tuple(one for one in kept if one.alert.state is not AlertState.CLOSED),
    )
    for coup in _coups(transition.table):
        told = _swap(coup.told, alert)
        if told != coup.told:
            transition.weigh(coup._replace(told=told), show=False)


def _swap(told: tuple[Told, ...], alert: Alert) -> tuple[Told, ...]:
    return tuple(Told(one.key, alert) if one.alert.id == alert.id else one for one in told)
