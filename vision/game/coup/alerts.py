"""The life of an alert: raised, acknowledged, rectified or lapsed, closed.

A fault is told once and its alert updated after that: what `findings` finds is compared with what
was told. Time limits pass here. Must not know how a fault is found or what a result is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from vision.game.coup.fault_table import KINDS, Fault
from vision.game.coup.state import Told
from vision.game.events import Role
from vision.game.outputs import Alert, AlertState, AlertTold, Deadline, Severity

OPEN = (AlertState.RAISED, AlertState.ACKNOWLEDGED)
LIVE = (*OPEN, AlertState.LAPSED)
# "rectified or brought to the attention of management" (sheets 0 to 2)
MANAGEMENT = (Role.INSPECTOR, Role.SURVEILLANCE)
BEFORE_NEXT_COUP = (Deadline.NEXT_CARD, Deadline.SETTLEMENT, Deadline.NEXT_COUP)
REMEDIES = tuple(f"R{number}" for number in range(1, 13))
_LOUDNESS = tuple(Severity)


class Place(NamedTuple):
    """Where and when faults are compared; `raised` alerts there ever were before.

    `ended` is the reason given where an alert's fault is there no longer.
    """

    shoe: str
    coup: int
    at: int
    raised: int
    ended: str = "no longer so"


class Outcome(NamedTuple):
    """What became of the alerts: those now told, what to say of them, how many were ever raised."""

    told: tuple[Told, ...]
    happened: tuple[AlertTold, ...]
    raised: int


def reconcile(told: tuple[Told, ...], faults: tuple[Fault, ...], place: Place) -> Outcome:
    """Bring the alerts in line with the faults now found."""
    known = {one.key: one.alert for one in told}
    wanted = {fault.key: fault for fault in faults}
    happened: list[AlertTold] = []
    raised = place.raised
    now: dict[str, Alert] = {}
    for key, alert in known.items():
        changed = _end(alert, place) if key not in wanted else _renew(alert, wanted[key], place)
        now[key] = changed
        if changed is not alert:
            fresh = changed.code != alert.code
            happened.append(AlertTold(place.at, changed, first=fresh))
    for key, fault in wanted.items():
        if key not in known:
            raised += 1
            now[key] = _raise(fault, f"a{raised}", place)
            happened.append(AlertTold(place.at, now[key], first=True))
    return Outcome(tuple(Told(key, alert) for key, alert in now.items()), tuple(happened), raised)


def _raise(fault: Fault, name: str, place: Place) -> Alert:
    kind = fault.kind
    return Alert(
        id=name,
        code=fault.code,
        severity=kind.severity(fault.grade),
        state=AlertState.RAISED,
        text=_text(fault),
        shoe=place.shoe,
        coup=place.coup,
        raised_at=place.at,
        deadline=kind.deadlines[0],
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
        changed_at=place.at,
    )


def _text(fault: Fault) -> str:
    return f"Check card. {fault.text}" if fault.check_card else fault.text


def _end(alert: Alert, place: Place) -> Alert:
    """Rectify an alert whose fault is there no longer."""
    if alert.state not in LIVE:
        return alert
    return replace(
        alert,
        state=AlertState.RECTIFIED,
        reason=place.ended,
        in_time=alert.in_time is not False,
        changed_at=place.at,
    )


def _renew(alert: Alert, fault: Fault, place: Place) -> Alert:
    """Return the alert with the facts as they are now, the same one where they have not changed."""
    kind = fault.kind
    fresh = _raise(fault, alert.id, place)
    same = (alert.code, alert.severity, alert.text) == (fresh.code, fresh.severity, fresh.text)
    if alert.state not in LIVE:
        ruled = bool(alert.by)
        if ruled and alert.code == fresh.code and not _louder(fresh, alert):
            return alert
        return replace(fresh, raised_at=alert.raised_at)
    if same and alert.observed == fresh.observed:
        return alert
    kept = alert.deadline if alert.deadline in kind.deadlines else kind.deadlines[0]
    return replace(
        fresh,
        state=alert.state,
        raised_at=alert.raised_at,
        deadline=kept,
        deadline_at=alert.deadline_at,
        in_time=alert.in_time,
        acknowledged_by=alert.acknowledged_by,
        acknowledged_at=alert.acknowledged_at,
        by=alert.by,
        role=alert.role,
    )


def _louder(one: Alert, other: Alert) -> bool:
    return _LOUDNESS.index(one.severity) > _LOUDNESS.index(other.severity)


def pass_deadlines(
    told: tuple[Told, ...], passed: tuple[Deadline, ...], at: int
) -> tuple[tuple[Told, ...], tuple[AlertTold, ...]]:
    """Let the named time limits pass; an alert past its last one lapses.

    One brought to management's attention before does not: it stays open until it is ruled on.
    """
    after: list[Told] = []
    happened: list[AlertTold] = []
    for one in told:
        alert = one.alert
        if alert.state in OPEN and alert.deadline in passed and alert.deadline_at is None:
            alert = _pass(alert, passed, at)
            happened.append(AlertTold(at, alert, first=False))
        after.append(Told(one.key, alert))
    return tuple(after), tuple(happened)


def _pass(alert: Alert, passed: tuple[Deadline, ...], at: int) -> Alert:
    deadlines = KINDS[alert.code].deadlines
    later = deadlines[deadlines.index(alert.deadline) + 1 :]
    remaining = [deadline for deadline in later if deadline not in passed]
    if remaining:
        return replace(alert, deadline=remaining[0], changed_at=at)
    in_time = alert.state is AlertState.ACKNOWLEDGED and alert.role in MANAGEMENT
    state = alert.state if in_time else AlertState.LAPSED
    return replace(alert, state=state, deadline_at=at, in_time=in_time, changed_at=at)


def is_holding(told: tuple[Told, ...]) -> bool:
    """Whether an alert is open that keeps a result back."""
    return any(one.alert.state in OPEN and KINDS[one.alert.code].holds for one in told)
