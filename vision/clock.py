"""The one clock of a run: Unix time that never goes back and never leaps while a coup is dealt.

It goes by the monotonic clock of the machine and follows the wall clock gently, so that somebody
who sets the wall clock moves no deadline and no order of events; a leap of the wall clock is
reported.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FOLLOW = 0.1  # at most so much faster or slower than the monotonic clock
LEAP_MS = 250  # domain: an offset beyond this is reported
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

    def now(self) -> int:
        """Return the time: never less than the last answer."""
        with self._lock:
            self._advance()
            return int(self._now)

    def leap_ms(self) -> int:
        """Return how far the wall clock has leapt since this was last asked; 0 if it has not."""
        with self._lock:
            self._advance()
            leapt, self._leapt = self._leapt, 0.0
            return round(leapt)

    @property
    def offset_ms(self) -> int:
        """How far the wall clock is ahead of this one."""
        with self._lock:
            self._advance()
            return round(self._wall - self._now)

    def catch_up(self) -> None:
        """Go to the time of the wall clock if that is ahead; for moments when nothing is dealt."""
        with self._lock:
            self._advance()
            self._now = max(self._now, float(self._wall))

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
        self._asked_s, self._wall = asked_s, wall
        self._now += passed
        most = FOLLOW * passed
        self._now += min(max(wall - self._now, -most), most)


CLOCK = SteadyClock()


def now_ms() -> int:
    """Return Unix time in milliseconds, by the one clock of this run."""
    return CLOCK.now()
