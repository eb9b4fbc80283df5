"""A disk that takes long to write is said before it becomes a disk that does not write.

It times what it is wrapped around and knows nothing of what that does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from vision.game.events import Event, Noticed
from vision.metrics.counters import Durations

SLOW_S = 1.0
GOOD_IN_A_ROW = 20


class SlowDisk:
    """Times writes, and says when they have become slow and when they no longer are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = 0.0
        self._slow_s = 0.0
        self._good = 0
        self._told = False
        self.writes = Durations(1000)

    def __enter__(self) -> None:
        self._began_s = self._clock()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        took_s = self._clock() - self._began_s
        self.writes.add(took_s)
        self._good = self._good + 1 if took_s < SLOW_S else 0
        if took_s >= SLOW_S:
            self._slow_s = took_s

    def news(self, at: int) -> tuple[Event, ...]:
        """Return what is to be said now, at Unix time `at` (ms)."""
        if self._slow_s and not self._told:
            self._told = True
            return (Noticed(at, "LOG", detail=f"The disk is slow: {self._slow_s:.1f} s a write."),)
        if self._told and self._good >= GOOD_IN_A_ROW:
            self._told, self._slow_s = False, 0.0
            return (Noticed(at, "LOG", over=True),)
        return ()
