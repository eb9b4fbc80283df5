"""Proof e: the wall clock leaps and drifts; order, deadlines and results stay, and it is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.chaos.consumer import without_run
from tests.chaos.outcome import Done, LimitBrokenError
from tests.chaos.shoe import NOON, play
from tests.chaos.table import config_of
from tests.seen import is_clearing, is_out, later
from tests.table_log import session_of
from vision.app.machine import ClockWatch
from vision.app.run_log import header_of
from vision.clock import SteadyClock
from vision.game.events import CoupSeen, Event, Life, SeenCard, TimePassed
from vision.game.outputs import AlertChanged
from vision.wire.session import TableSession, advance

HOUR_MS = 3_600_000
TICK_MS = 100
PAUSE_MS = 60_000

DAY_MS = 24 * HOUR_MS
LEAPS_MS = {
    "a second": 1000,
    "a minute": 60_000,
    "an hour": HOUR_MS,
    "a day": DAY_MS,
    "40 days": 40 * DAY_MS,
    "a year": 365 * DAY_MS,
    "ten years": 3652 * DAY_MS,
}


def leap(by_ms: int) -> Callable[[int], int]:
    """Return a fault: from 100 s on, the wall clock is wrong by so much."""
    return lambda t: by_ms if t > 100_000 else 0


# What the wall clock is ahead of the true time, so many ms after the beginning.
FAULTS: dict[str, Callable[[int], int]] = {
    **{f"{name} ahead": leap(by_ms) for name, by_ms in LEAPS_MS.items()},
    **{f"{name} back": leap(-by_ms) for name, by_ms in LEAPS_MS.items()},
    "to and fro": lambda t: HOUR_MS * (t // 40_000 % 2),
    "1 % fast": lambda t: t // 100,
    "1 % slow": lambda t: -t // 100,
}


@dataclass
class World:
    """True time since the beginning (ms), and a wall clock that errs."""

    fault: Callable[[int], int]
    passed: int = 0

    def wall_ms(self) -> int:
        """Return what the wall clock says."""
        return NOON + self.passed + self.fault(self.passed)

    def monotonic_s(self) -> float:
        """Return what the monotonic clock says."""
        return self.passed / 1000


@dataclass
class Told:
    """What came of a play: results without their times, alerts raised, times of the log."""

    desk: TableSession
    results: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    noticed_after_ms: int = 0
    times: list[int] = field(default_factory=list)


def played(fault: Callable[[int], int], coups: int) -> Told:
    """Run a play by a steady clock over a wall clock with that fault; one card is lost."""
    world = World(fault)
    clock = SteadyClock(world.wall_ms, world.monotonic_s)
    watch = ClockWatch(clock)
    reported = Told(session_of(header_of(config_of(1))))
    out_at = 0
    for event in with_one_lost(coups):
        for at in ticks(world, clock, event.at - NOON):
            quiet = reported.desk.table.waits_until is None
            _take(reported, [*watch.reports(at, quiet=quiet), *due(reported.desk, at)], world)
        if is_out(event) and "CARD_UNACCOUNTED" not in reported.alerts:
            out_at = world.passed
        _take(reported, [later(event, clock.now() - event.at)], world)
    reported.noticed_after_ms -= out_at
    return reported


def with_one_lost(coups: int) -> Iterator[Event]:
    """Yield the play with the last card of the first coup gone astray, and time to notice it."""
    events = list(play(coups))
    removed = next(e for e in events if isinstance(e, CoupSeen) and is_clearing(e))
    for event in events:
        if isinstance(event, CoupSeen) and event.coup == 1:
            event = _with_lost(event, len(removed.cards))
        yield later(event, PAUSE_MS if event.at >= removed.at else 0)


def _with_lost(seen: CoupSeen, order: int) -> CoupSeen:
    """Return the coup as it is seen where that card never comes to rest."""
    lost = tuple(
        SeenCard(card.order, card.out_at, Life.REMOVED if card.life is Life.REMOVED else Life.OUT)
        if card.order == order
        else card
        for card in seen.cards
    )
    return replace(seen, cards=lost)


def ticks(world: World, clock: SteadyClock, until: int) -> Iterator[int]:
    """Let time pass in small steps; yield the time by the steady clock after each."""
    while world.passed < until:
        world.passed = min(until, world.passed + TICK_MS)
        yield clock.now()


def due(desk: TableSession, at: int) -> list[Event]:
    """Return that time has passed, if the table waits for it."""
    waits = desk.table.waits_until
    return [TimePassed(at)] if waits is not None and waits <= at else []


def _take(reported: Told, events: list[Event], world: World) -> None:
    reported.times += [event.at for event in events]
    for event in events:
        step = advance(reported.desk, event)
        reported.desk = step.session
        for happening in step.outputs:
            if isinstance(happening, AlertChanged) and happening.first:
                reported.alerts.append(happening.alert.code)
                if happening.alert.code == "CARD_UNACCOUNTED":
                    reported.noticed_after_ms = world.passed
        for message in step.messages:
            if message.topic.endswith("coup/result"):
                reported.results.append(_timeless(message.payload))


def _timeless(payload: bytes) -> dict[str, Any]:
    fields = without_run(json.loads(payload))
    del fields["at"]
    return fields


def run(coups: int) -> Done:
    """Let every fault befall the clock; return the figures, a line each; LimitBrokenError."""
    plain = played(lambda _: 0, coups)
    assert "CLOCK" not in plain.alerts
    rows = [
        f"  true: results {len(plain.results)}, lost card noticed after {plain.noticed_after_ms} ms"
    ]
    wrong = late = 0
    for name, fault in FAULTS.items():
        drifted = played(fault, coups)
        reported = differs(drifted, plain, drifts="%" in name)
        in_time = 0.85 < drifted.noticed_after_ms / plain.noticed_after_ms < 1.15
        wrong += bool(reported)
        late += not in_time
        rows.append(
            f"  {name}: {reported or 'same results and alerts, in order'}; lost card noticed after "
            f"{drifted.noticed_after_ms} ms; the leap reported "
            f"{drifted.alerts.count('CLOCK')} times"
        )
    if wrong or late:
        raise LimitBrokenError("\n".join(rows), wrong=wrong, late=late)
    return Done(len(FAULTS), "\n".join(rows))


def differs(reported: Told, plain: Told, *, drifts: bool) -> str:
    """Say what a wrong clock changed, or nothing; a leap is told, a drift is not."""
    if reported.results != plain.results:
        return "OTHER RESULTS"
    if reported.times != sorted(reported.times):
        return "TIME WENT BACK"
    if [code for code in reported.alerts if code != "CLOCK"] != plain.alerts:
        return "OTHER ALERTS"
    return (
        ""
        if ("CLOCK" in reported.alerts) is not drifts
        else "THE LEAP WAS NOT TOLD, OR A DRIFT WAS"
    )
