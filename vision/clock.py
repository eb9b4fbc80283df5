"""The one clock of a run: Unix time that never goes back and never leaps while a coup is dealt.

It goes by the monotonic clock of the machine and follows the wall clock gently, so that somebody
who sets the wall clock moves no deadline and no order of events. A leap is reported. One of more
than a minute is not followed at all unless a time service keeps the wall clock: on the word of a
clock that nobody keeps, no order is refused and nothing is deleted.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

DAY_MS = 86_400_000  # milliseconds of a day
FOLLOW = 0.1  # at most so much faster or slower than the monotonic clock
LEAP_MS = 250  # domain: an offset beyond this is reported
# Milliseconds: a larger leap is not followed unless the clock is kept. Chosen: people who set a
# clock by hand correct seconds; much smaller, and such a correction would not be taken; much
# larger, and a wrong clock would make orders stale (30 s) before it is doubted.
DOUBTED_MS = 60_000
AGREED_MS = 1000  # below this offset a leap counts as over; people compare clocks to the second


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


class SteadyClock:
    """Unix time in milliseconds; safe to ask from several threads."""

    def __init__(
        self,
        wall_ms: Callable[[], int] = _wall_ms,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at the time of the wall clock."""
        self._wall_ms = wall_ms
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._asked_s = monotonic_s()
        self._wall = wall_ms()
        self._now = float(self._wall)
        self._leapt = 0.0
        self._doubt = 0.0
        self._is_synchronised = False

    def now(self) -> int:
        """Return the time: never less than the last answer."""
        with self._lock:
            self._advance()
            return int(self._now)

    def follow(self, *, synchronised: bool, quiet: bool) -> tuple[int, int, bool]:
        """Take note whether a time service keeps the wall clock; return how it stands to this one.

        How far it has leapt since this was last asked (ms), how far it is ahead (ms), and whether
        it has leapt so far, kept by nobody, that it is not followed. When `quiet`, as nothing is
        dealt, one that is ahead is followed at once.
        """
        with self._lock:
            self._advance()
            self._is_synchronised = synchronised
            self._doubt = 0.0 if synchronised else self._doubt
            if quiet:
                self._now = max(self._now, self._wall - self._doubt)
            leapt, self._leapt = self._leapt, 0.0
            return round(leapt), round(self._wall - self._now), self._doubt != 0.0

    def moments(self) -> tuple[int, ...]:
        """Return the moments that may be now, for what was signed by another clock.

        The first is the time of this clock. The wall clock's is another where it is kept, or ahead:
        set back by somebody, it would make old orders fresh again.
        """
        with self._lock:
            self._advance()
            trusted = self._is_synchronised or self._wall > self._now
            return (int(self._now), self._wall) if trusted else (int(self._now),)

    def not_before(self, at: int) -> None:
        """Go to that time (Unix ms) if it is ahead: a log is never continued in its past."""
        with self._lock:
            self._now = max(self._now, float(at))

    def _advance(self) -> None:
        asked_s, wall = self._monotonic_s(), self._wall_ms()
        passed = max(0.0, 1000 * (asked_s - self._asked_s))
        leap = wall - self._wall - passed
        if abs(leap) > LEAP_MS:
            self._leapt += leap
            self._doubt += leap
        if self._is_synchronised or abs(self._doubt) <= DOUBTED_MS:
            self._doubt = 0.0
        self._asked_s, self._wall = asked_s, wall
        self._now += passed
        most = FOLLOW * passed
        self._now += min(max(wall - self._doubt - self._now, -most), most)


CLOCK = SteadyClock()


def now_ms() -> int:
    """Return Unix time in milliseconds, by the one clock of this run."""
    return CLOCK.now()


UNSYNCHRONISED = 0x0040  # STA_UNSYNC
NANOSECONDS = 0x2000  # STA_NANO
ERROR_STATE = 5  # TIME_ERROR


class _Timex(ctypes.Structure):
    """The kernel's `struct timex`: the first fields by name, the rest as room."""

    _fields_ = (
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )  # fmt: skip


class TimeSync(NamedTuple):
    """The state of the clock; `None` for what the kernel does not know.

    `offset_ms` is what the time service still has to correct; `error_ms` bounds how wrong the clock
    may be, and means something only while it is synchronised.
    """

    synchronised: bool | None = None
    offset_ms: float | None = None
    error_ms: float | None = None


def time_sync() -> TimeSync:
    """Ask the kernel; nothing is known on other systems, or where asking is forbidden."""
    if not sys.platform.startswith("linux"):
        return TimeSync()
    state = _Timex()
    answer = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state))
    if answer < 0:
        return TimeSync()
    if answer == ERROR_STATE or state.status & UNSYNCHRONISED:
        return TimeSync(synchronised=False)
    per_ms = 1e6 if state.status & NANOSECONDS else 1e3
    offset, error = state.offset / per_ms, state.maxerror / 1e3
    return TimeSync(synchronised=True, offset_ms=round(offset, 3), error_ms=round(error, 3))
