"""What the table is told of the clock: that it leapt, and that all is well again."""

from __future__ import annotations

from vision.clock import AGREED_MS, SteadyClock
from vision.game.events import Event, Noticed


class ClockWatch:
    """Turns leaps of the wall clock into events of the table."""

    def __init__(self, clock: SteadyClock) -> None:
        self._clock = clock
        self._told = False

    def news(self, at: int, *, quiet: bool) -> tuple[Event, ...]:
        """Return what is to be said at `at` (Unix ms); `quiet`: the table waits for nothing.

        A wall clock that is ahead is followed at once when the table is quiet, one that is behind
        bit by bit.
        """
        leap = self._clock.leap_ms()
        if quiet:
            self._clock.catch_up()
        agreed = abs(self._clock.offset_ms) < AGREED_MS
        if leap:
            self._told = True
            detail = f"The clock of this machine leapt by {leap / 1000:+.1f} s."
            return (Noticed(at, "CLOCK", detail=detail),)
        if self._told and agreed:
            self._told = False
            return (Noticed(at, "CLOCK", over=True),)
        return ()
