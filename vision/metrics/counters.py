"""Count what a reader does: frames, cards, latencies, and its share of the processor."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from vision.clock import time_sync

RECENT = 20_000  # durations kept for p50 and p99: 20 minutes at 15 frames a second
WINDOW = 10  # calls of `health`, one a second, over which the rates are taken; fewer make them jump


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle and the tail of some durations, in milliseconds; zero when there were none."""

    p50_ms: float
    p99_ms: float
    count: int


class Durations:
    """The most recent durations of one kind."""

    def __init__(self, keep: int = RECENT) -> None:
        self._seconds = np.zeros(keep)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Record one duration, in the place of the oldest where there is no room."""
        self._seconds[self._count % len(self._seconds)] = seconds
        self._count += 1

    def spread(self) -> Spread:
        """Return p50 and p99 by the nearest rank: found, not sorted, as it is asked each second."""
        count = min(self._count, len(self._seconds))
        if not count:
            return Spread(0.0, 0.0, 0)
        ranks = [max(0, math.ceil(share * count) - 1) for share in (0.50, 0.99)]
        middle, tail = np.partition(self._seconds[:count], ranks)[ranks].tolist()
        return Spread(round(1000 * middle, 2), round(1000 * tail, 2), count)


class SightCounts(Protocol):
    """What sight counts itself, and is read from it when it is asked for."""

    @property
    def looked(self) -> int:
        """Frames looked at closely."""

    @property
    def outages(self) -> int:
        """How often the camera was lost."""

    @property
    def blind(self) -> bool:
        """Whether nothing that was seen can be relied on."""

    @property
    def canary_failures(self) -> int:
        """How often the test picture was misread."""

    @property
    def canary_complaint(self) -> str | None:
        """How the test picture was misread last, `None` when it was read right."""


@dataclass(slots=True)
class Metrics:
    """The counts of one run; `frame` and `event` are durations in seconds.

    `age` is how old frames were when they were looked at, `skipped` counts those of a live source
    for which there was no time, `damaged` those that were not whole.
    """

    sight: SightCounts
    frames: int = 0
    skipped: int = 0
    damaged: int = 0
    cards_out: int = 0
    cards_read: int = 0
    cards_unread: int = 0
    frame: Durations = field(default_factory=Durations)
    event: Durations = field(default_factory=Durations)
    age: Durations = field(default_factory=Durations)
    _began_s: float = field(default_factory=time.monotonic)
    _began_cpu_s: float = field(default_factory=time.process_time)
    _marks: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def take_frame(self, *, skipped: int, damaged: int, age_s: float) -> None:
        """Count a frame, and those before it that were skipped or damaged."""
        self.frames += 1
        self.skipped += skipped
        self.damaged += damaged
        self.age.add(age_s)

    def wall_s(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began_s

    def fps(self) -> float:
        """Return the frames per second over the run."""
        return round(self.frames / max(self.wall_s(), 1e-6), 1)

    def _rates(self) -> dict[str, object]:
        """Return frames that came in, were looked at closely and were gated, a second, of late."""
        now = (time.monotonic(), self.frames, self.sight.looked, self.skipped, self.damaged)
        first = self._marks[0] if self._marks else (self._began_s, 0, 0, 0, 0)
        self._marks.append(now)
        seconds = max(now[0] - first[0], 1e-6)
        came = now[1] - first[1]
        looked = min(now[2] - first[2], came)  # sight may be some frames ahead of the log
        each = {"fps_in": came, "fps_looked": looked, "fps_gated": came - looked}
        each |= {"fps_skipped": now[3] - first[3], "fps_damaged": now[4] - first[4]}
        return {name: round(count / seconds, 1) for name, count in each.items()}

    def abstained(self) -> float:
        """Return the share of cards whose reading was declined, 0 while none was seen."""
        return round(self.cards_unread / max(self.cards_read + self.cards_unread, 1), 4)

    def cpu_share(self) -> float:
        """Return the processor time of this process over the run, 1.0 for one whole core."""
        return round((time.process_time() - self._began_cpu_s) / max(self.wall_s(), 1e-6), 2)

    def health(self) -> dict[str, object]:
        """Return the figures of the topic `health`; the journal adds those of the outbox."""
        frame, event, age = self.frame.spread(), self.event.spread(), self.age.spread()
        return {
            "fps": self.fps(),
            "frames": self.frames,
            "looked": self.sight.looked,
            "cards_out": self.cards_out,
            "cards_read": self.cards_read,
            "cards_unread": self.cards_unread,
            "abstained": self.abstained(),
            "outages": self.sight.outages,
            "blind": self.sight.blind,
            "canary": {
                "failures": self.sight.canary_failures,
                "complaint": self.sight.canary_complaint,
            },
            "clock": time_sync().values(),
            **self._rates(),
            "frame_ms": {"p50": frame.p50_ms, "p99": frame.p99_ms},
            "event_ms": {"p50": event.p50_ms, "p99": event.p99_ms},
            "age_ms": {"p50": age.p50_ms, "p99": age.p99_ms},
            "cpu_share": self.cpu_share(),
        }

    def summary(self) -> str:
        """Return the closing lines of a run, for people."""
        frame, event = self.frame.spread(), self.event.spread()
        return (
            f"{self.frames} frames in {self.wall_s():.1f} s: {self.fps():g} a second, "
            f"{self.sight.looked} looked at closely; {self.cpu_share():.0%} of one core\n"
            f"a frame took {frame.p50_ms:g} ms (p50), {frame.p99_ms:g} ms (p99)\n"
            f"from frame to durable message {event.p50_ms:g} ms (p50), {event.p99_ms:g} ms (p99), "
            f"{event.count} times\n"
            f"{self.cards_out} cards out, {self.cards_read} read, {self.cards_unread} declined"
        )
