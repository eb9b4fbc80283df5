"""Faults of the machine that a table must hear of: its disk, its clock, its broker, intruders."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from statistics import median_high
from typing import NamedTuple

from vision.clock import AGREED_MS, DOUBTED_MS, SteadyClock, time_sync
from vision.game.events import Condition, Event
from vision.mqtt.lanes import SetAside

# Seconds that a write may take. Chosen: a healthy disk syncs in tens of milliseconds, and people
# notice a second. Lower reports every hiccup, higher reports a dying disk too late.
SLOW_S = 1.0
GOOD_IN_A_ROW = 20  # quick writes, about one coup's, before a slow disk counts as mended
# Refused orders, or failed log-ins, within so many milliseconds that are a burst. People who err
# make fewer; chosen, not measured. Lower disturbs a table for nothing, higher hides guessing.
BURST = 10
BURST_MS = 300_000
# Seconds over which it is judged whether the reader keeps up. A coup's dealing takes as long: less
# takes a moment for an overload, more reports one when its coup is over.
OVERLOAD_S = 10.0
# Share of the looks it should have that makes an overload, and age of the middle picture, in
# seconds, that does: a tenth fewer looks were seen to cost no card, and a fifth of a second is the
# age that no picture should have. Stricter reports what harms nobody, laxer hides late results.
ENOUGH_PICTURES = 0.9
LATE_S = 0.2
# Share of the time that looking takes where the machine is at its limit. Where it waits for
# pictures most of the time, they come in bursts, and the network or the camera is slow. Higher
# misses an overload with pauses, lower blames the machine for a network.
BUSY = 0.6
# Seconds for which a picture that was set aside is reported, so that people see it. Shorter makes
# an alert a picture, longer hides that the next ones are taken.
REFUSED_S = 60.0
UNSERVED = (
    " No time service keeps it, so the reader goes on by its own clock: set it right (chrony, "
    "systemd-timesyncd), or restart the reader to take it as it is."
)


class SlowDisk:
    """Judges writes; its condition holds from a slow one until many in a row were quick."""

    def __init__(self) -> None:
        self._slow = Condition("LOG")
        self._slow_s = 0.0
        self._good = 0

    def reports(self, at: int, writes_s: Iterable[float]) -> tuple[Event, ...]:
        """Return the report of a disk that became slow or is quick again, at `at` (Unix ms).

        `writes_s` is how long each write since the last call took, also one that failed.
        """
        for took_s in writes_s:
            self._good = self._good + 1 if took_s < SLOW_S else 0
            self._slow_s = took_s if took_s >= SLOW_S else self._slow_s
        if self._slow.reason is not None and self._good >= GOOD_IN_A_ROW:
            self._slow_s = 0.0
        words = f"The disk is slow: {self._slow_s:.1f} s a write."
        return self._slow.take(words if self._slow_s else None, at)


class Burst:
    """Reports when something that should be rare comes often, and again when it has stopped."""

    def __init__(self, code: str, what: str) -> None:
        """Watch what is called `what` in the plural, to be reported as the fault `code`."""
        self._condition = Condition(code)
        self._what = what
        self._times: deque[int] = deque(maxlen=BURST)

    def note(self, times: int, at: int) -> None:
        """Note that it came so many times, at `at` (Unix ms)."""
        self._times.extend([at] * min(times, BURST))

    def reports(self, at: int) -> tuple[Event, ...]:
        """Return the report where a burst began, or where none came for as long as it takes."""
        while self._times and at - self._times[0] >= BURST_MS:
            self._times.popleft()
        if len(self._times) == BURST:
            return self._condition.take(f"{BURST} {self._what} or more within minutes.", at)
        return () if self._times else self._condition.take(None, at)


class ClockWatch:
    """Reports each leap of the wall clock, and that it agrees with the clock of the run again."""

    def __init__(
        self,
        clock: SteadyClock,
        is_synchronised: Callable[[], bool] = lambda: time_sync().synchronised is True,
    ) -> None:
        """Watch the clock; `is_synchronised` tells whether a time service keeps the wall clock."""
        self._clock = clock
        self._is_synchronised = is_synchronised
        self._leapt = Condition("CLOCK")

    def reports(self, at: int, *, quiet: bool) -> tuple[Event, ...]:
        """Return the reports at `at` (Unix ms); `quiet`: the table waits for nothing.

        A wall clock that is ahead is followed at once when the table is quiet, one that is behind
        bit by bit; one that is far off and that nobody keeps is not followed.
        """
        leapt, ahead, is_doubted = self._clock.follow(
            synchronised=self._is_synchronised(), quiet=quiet
        )
        if leapt:
            words = f"The clock of this machine leapt by {leapt / 1000:+.1f} s."
            return self._leapt.report(words + (UNSERVED if is_doubted else ""), at)
        if abs(ahead) < AGREED_MS:
            return self._leapt.take(None, at)
        words = f"The table's log is {-ahead / 1000:.0f} s ahead of this machine's clock."
        is_behind = ahead < -DOUBTED_MS and self._leapt.reason is None
        return self._leapt.take(words if is_behind else self._leapt.reason, at)


class PictureLoad(NamedTuple):
    """A picture that was looked at, how old it was, how long that took, and those skipped."""

    skipped: int
    age_s: float
    took_s: float


class OverloadWatch:
    """Reports when pictures are taken less often, or later, than this table needs."""

    def __init__(self, looks_per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Want so many looks a second where the camera gives as many; times by that clock."""
        self._wanted_per_s = looks_per_s
        self._clock = clock
        self.condition = Condition("OVERLOAD")
        self._resumed = False
        self._begin()

    def pause(self) -> None:
        """Note that the source gives no picture, which says nothing of the machine.

        Nor does the next picture: what came meanwhile was not missed by the machine.
        """
        self._begin()
        self._resumed = True

    def reports(self, at: int, taken: Sequence[PictureLoad]) -> tuple[Event, ...]:
        """Return the report, at `at` (Unix ms), of an overload that began or is over.

        `taken` are the pictures since the last call or pause.
        """
        self._taken += taken[1:] if self._resumed else taken
        self._resumed = self._resumed and not taken
        seconds = self._clock() - self._began_s
        if seconds < OVERLOAD_S or not self._taken:
            return ()
        reason = self._judged(seconds)
        self._begin()
        return self.condition.take(reason, at)

    def _begin(self) -> None:
        self._began_s = self._clock()
        self._taken: list[PictureLoad] = []

    def _judged(self, seconds: float) -> str | None:
        skipped = sum(picture.skipped for picture in self._taken)
        taken, given = len(self._taken) / seconds, (len(self._taken) + skipped) / seconds
        age_s = median_high(picture.age_s for picture in self._taken)
        is_busy = sum(picture.took_s for picture in self._taken) >= BUSY * seconds
        if is_busy and taken < ENOUGH_PICTURES * min(self._wanted_per_s, given) and skipped:
            found = f"{taken:.0f} pictures a second are looked at of {given:.0f} that come"
        elif age_s > LATE_S:
            found = f"pictures are {age_s:.1f} s old when they are looked at"
        else:
            return None
        return (
            f"The machine is too slow: {found}. Take tables or other programs off it, or lower "
            "[models] looks_per_s."
        )


class LinkWatch:
    """Reports messages that do not get through, and pictures that the broker does not take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Time the reports by that clock, in seconds."""
        self._clock = clock
        self._link = Condition("LINK")
        self._refused = ""
        self._refused_s = 0.0

    def reports(self, at: int, fault: str, refused: Sequence[SetAside]) -> tuple[Event, ...]:
        """Return the reports at `at` (Unix ms): `fault` in words or "", pictures set aside now."""
        now_s = self._clock()
        if refused:
            self._refused_s = now_s
            last = refused[-1]
            self._refused = (
                f"The broker does not take {last.topic} ({last.size / 1e6:.1f} MB): it stays on "
                "the table's disk. Raise the broker's limit and [broker] max_message_kb, or lower "
                "[evidence] clip_fps, before_s and after_s."
            )
            return self._link.report(self._refused, at)
        if self._refused and now_s - self._refused_s > REFUSED_S:
            self._refused = ""
        return self._link.take(fault or self._refused or None, at)
