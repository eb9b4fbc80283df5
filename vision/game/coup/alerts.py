"""The life of an alert: raised, acknowledged, rectified or lapsed, closed.

`ALERT_LIFE` is the whole of it. An incident is one alert, and what follows from it (a time limit
that passes, the same fault in the next coups) changes that alert: `reconcile` compares the faults
now found with the alerts there are, `pass_deadlines` lets time limits pass, and orders come through
`acknowledged`, `rectified` and `ruled`.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from vision.game.commands import CloseAlert, Command
from vision.game.coup.fault_table import KINDS, Fault
from vision.game.coup.state import Alerts, FaultAlert
from vision.game.events import Role
from vision.game.outputs import Alert, AlertChanged, AlertState, Deadline, Severity

RAISED, ACKNOWLEDGED = AlertState.RAISED, AlertState.ACKNOWLEDGED
RECTIFIED, LAPSED, CLOSED = AlertState.RECTIFIED, AlertState.LAPSED, AlertState.CLOSED


class AlertEvent(StrEnum):
    """What can happen to an alert."""

    ACKNOWLEDGE = "acknowledge"
    RECTIFY = "rectify"
    COMMENT = "comment"
    CLOSE = "close"
    FAULT_GONE = "fault gone"
    FAULT_FOUND = "fault found again"
    DEADLINE_MET = "last deadline kept"
    DEADLINE_MISSED = "last deadline missed"


# Of an alert whose fault is there.
_STANDING = {
    AlertEvent.RECTIFY: RECTIFIED,
    AlertEvent.CLOSE: CLOSED,
    AlertEvent.FAULT_GONE: RECTIFIED,
}
# {state: {event: state after it}}; an event that has no entry cannot happen in that state.
ALERT_LIFE: dict[AlertState, dict[AlertEvent, AlertState]] = {
    # The fault is there, and nobody has answered.
    RAISED: {
        **_STANDING,
        AlertEvent.ACKNOWLEDGE: ACKNOWLEDGED,
        AlertEvent.COMMENT: RAISED,
        AlertEvent.DEADLINE_MISSED: LAPSED,
    },
    # Somebody has seen it; one acknowledged by management keeps its last deadline and stays open.
    ACKNOWLEDGED: {
        **_STANDING,
        AlertEvent.ACKNOWLEDGE: ACKNOWLEDGED,
        AlertEvent.COMMENT: ACKNOWLEDGED,
        AlertEvent.DEADLINE_MET: ACKNOWLEDGED,
        AlertEvent.DEADLINE_MISSED: LAPSED,
    },
    # Its last deadline passed with the fault there: the coup is deemed valid; it can be put right.
    LAPSED: {**_STANDING, AlertEvent.ACKNOWLEDGE: LAPSED, AlertEvent.COMMENT: LAPSED},
    # Put right, by the table or by order; the same fault, found again, raises it again.
    RECTIFIED: {
        AlertEvent.COMMENT: RECTIFIED,
        AlertEvent.CLOSE: CLOSED,
        AlertEvent.FAULT_FOUND: RAISED,
    },
    # Off the desk; a fault that has grown graver since raises it again.
    CLOSED: {AlertEvent.FAULT_FOUND: RAISED},
}


def can(alert: Alert, event: AlertEvent) -> bool:
    """Whether that can happen to the alert in its state."""
    return event in ALERT_LIFE[alert.state]


OPEN = tuple(state for state, life in ALERT_LIFE.items() if AlertEvent.DEADLINE_MISSED in life)
LIVE = tuple(state for state, life in ALERT_LIFE.items() if AlertEvent.FAULT_GONE in life)
# "rectified or brought to the attention of management" (sheets 0 to 2)
MANAGEMENT = (Role.INSPECTOR, Role.SURVEILLANCE)
BEFORE_NEXT_COUP = (Deadline.NEXT_CARD, Deadline.SETTLEMENT, Deadline.NEXT_COUP)
REMEDIES = tuple(f"R{number}" for number in range(1, 13))  # the house's list of remedies
_LOUDNESS = tuple(Severity)


class AlertContext(NamedTuple):
    """Where and when faults are compared with alerts; `raised`: how many alerts there ever were.

    `gone` is the reason given where the fault of an alert is there no longer.
    """

    shoe: str
    coup: int
    at: int
    raised: int
    gone: str = "no longer so"


def reconcile(
    alerts: Alerts, faults: tuple[Fault, ...], context: AlertContext
) -> tuple[Alerts, list[AlertChanged], int]:
    """Bring the alerts in line with the faults now found.

    Return them, what to publish of it, and how many there ever were.
    """
    before = {tracked.key: tracked.alert for tracked in alerts}
    wanted = {fault.key: fault for fault in faults}
    changes: list[AlertChanged] = []
    raised = context.raised
    after: dict[str, Alert] = {}
    for key, alert in before.items():
        fault = wanted.get(key)
        after[key] = _end(alert, context) if fault is None else _update(alert, fault, context)
        if after[key] is not alert:
            # One that people have seen in the meantime is not raised again.
            again = after[key].code != alert.code and after[key].state is RAISED
            changes.append(AlertChanged(context.at, after[key], first=again))
    for key, fault in wanted.items():
        if key not in before:
            raised += 1
            after[key] = _raise(fault, f"a{raised}", context)
            changes.append(AlertChanged(context.at, after[key], first=True))
    return tuple(FaultAlert(key, alert) for key, alert in after.items()), changes, raised


def _raise(fault: Fault, name: str, context: AlertContext) -> Alert:
    kind = fault.kind
    return Alert(
        id=name,
        code=fault.code,
        severity=kind.severity(fault.grade),
        state=RAISED,
        text=f"Check card. {fault.text}" if fault.check_card else fault.text,
        shoe=context.shoe,
        coup=context.coup,
        raised_at=context.at,
        deadline=fault.deadlines[0],
        audience=kind.audience(fault.grade),
        order=fault.order,
        slot=fault.slot,
        expected=fault.expected,
        observed=fault.observed,
        exposed=fault.exposed,
        card=fault.card,
        second=fault.second,
        confidence=fault.confidence,
        check_card=fault.check_card,
        changed_at=context.at,
        odds=fault.odds,
        count=fault.count,
    )


def _end(alert: Alert, context: AlertContext) -> Alert:
    """Rectify an alert whose fault is there no longer."""
    if not can(alert, AlertEvent.FAULT_GONE):
        return alert
    return replace(
        alert,
        state=ALERT_LIFE[alert.state][AlertEvent.FAULT_GONE],
        reason=context.gone,
        in_time=alert.in_time is not False,
        changed_at=context.at,
    )


def _update(alert: Alert, fault: Fault, context: AlertContext) -> Alert:
    """Return the alert with the facts as they are now, the same object where none has changed."""
    fresh = _raise(fault, alert.id, context)
    if can(alert, AlertEvent.FAULT_FOUND):
        # What a person has decided stands, unless it is another fault now or a graver one.
        is_louder = _LOUDNESS.index(fresh.severity) > _LOUDNESS.index(alert.severity)
        if alert.by and alert.code == fresh.code and not is_louder:
            return alert
        state = ALERT_LIFE[alert.state][AlertEvent.FAULT_FOUND]
        return replace(fresh, state=state, raised_at=alert.raised_at)
    deadline = alert.deadline if alert.deadline in fault.deadlines else fresh.deadline
    fresh = replace(
        fresh,
        state=alert.state,
        coup=alert.coup,
        raised_at=alert.raised_at,
        deadline=deadline,
        deadline_at=alert.deadline_at,
        in_time=alert.in_time,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_at=alert.acknowledged_at,
        by=alert.by,
        role=alert.role,
    )
    fresh = overdue(fresh)
    same = (alert.code, alert.severity, alert.text) == (fresh.code, fresh.severity, fresh.text)
    if same and alert.observed == fresh.observed and alert.deadline is deadline:
        return alert
    return fresh


def overdue(alert: Alert) -> Alert:
    """Return the alert in the words and severity of a fault not put right before the next coup.

    One that was found only after that is as grave as it is: nobody let its time pass.
    """
    is_late = alert.deadline_at is not None and alert.raised_at < alert.deadline_at
    limits = KINDS[alert.code].deadlines
    if alert.state is not LAPSED or not is_late or Deadline.NEXT_COUP not in limits:
        return alert
    text = f"{alert.text} Not resolved before coup {alert.coup + 1}."
    return replace(alert, severity=Severity.CRITICAL, text=text)


def pass_deadlines(
    alerts: Alerts, passed: tuple[Deadline, ...], at: int
) -> tuple[Alerts, tuple[AlertChanged, ...]]:
    """Let the named time limits pass; an alert past its last one lapses.

    One brought to management's attention before does not: it stays open until it is ruled on.
    """
    after: list[FaultAlert] = []
    changes: list[AlertChanged] = []
    for tracked in alerts:
        alert = tracked.alert
        if alert.state in OPEN and alert.deadline in passed and alert.deadline_at is None:
            changed = _pass(alert, passed, at)
            changes.append(AlertChanged(at, changed, first=False))
            tracked = FaultAlert(tracked.key, changed)
        after.append(tracked)
    return tuple(after), tuple(changes)


def _pass(alert: Alert, passed: tuple[Deadline, ...], at: int) -> Alert:
    deadlines = KINDS[alert.code].deadlines
    later = deadlines[deadlines.index(alert.deadline) + 1 :]
    remaining = [deadline for deadline in later if deadline not in passed]
    if remaining:
        return replace(alert, deadline=remaining[0], changed_at=at)
    in_time = can(alert, AlertEvent.DEADLINE_MET) and alert.role in MANAGEMENT
    event = AlertEvent.DEADLINE_MET if in_time else AlertEvent.DEADLINE_MISSED
    state = ALERT_LIFE[alert.state][event]
    passed_by = replace(alert, state=state, deadline_at=at, in_time=in_time, changed_at=at)
    return overdue(passed_by)


# --- orders ---------------------------------------------------------------------------------------


def acknowledged(alert: Alert, command: Command) -> Alert:
    """Return the alert as seen by that person."""
    return replace(
        alert,
        state=ALERT_LIFE[alert.state][AlertEvent.ACKNOWLEDGE],
        acknowledged_by=command.by,
        acknowledged_at=command.at,
        role=command.role,
        changed_at=command.at,
    )


def rectified(alert: Alert, command: Command, remedy: str) -> Alert:
    """Return the alert as put right by that order."""
    return replace(
        alert,
        state=ALERT_LIFE[alert.state][AlertEvent.RECTIFY],
        by=command.by,
        role=command.role,
        remedy=remedy,
        reason=command.reason,
        in_time=alert.in_time is not False,
        changed_at=command.at,
    )


def ruled(alert: Alert, command: Command, event: AlertEvent) -> Alert:
    """Return the alert with that person's words, after a comment or closed."""
    return replace(
        alert,
        state=ALERT_LIFE[alert.state][event],
        category=command.category if isinstance(command, CloseAlert) else alert.category,
        by=command.by,
        role=command.role,
        reason=command.reason,
        changed_at=command.at,
    )
