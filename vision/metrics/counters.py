"""Count what a reader does: frames, cards, latencies, and its share of the processor."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Protocol
from urllib.request import urlopen

import numpy as np
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from vision.clock import time_sync
from vision.errors import OutsideError

RECENT = 20_000  # durations kept for p50 and p99: 20 minutes at 15 frames a second
WINDOW = 10  # calls of `health`, one a second, over which the rates are taken; fewer make them jump


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle and the tail of some durations, in milliseconds; zero when there were none."""

    p50_ms: float
    p99_ms: float
    count: int


def durations(keep: int = RECENT) -> deque[float]:
    """Return room for the most recent durations of one kind, in seconds."""
    return deque(maxlen=keep)


def spread(seconds: Collection[float]) -> Spread:
    """Return p50 and p99 by the nearest rank: found, not sorted, as it is asked each second."""
    count = len(seconds)
    if not count:
        return Spread(0.0, 0.0, 0)
    ranks = [max(0, math.ceil(share * count) - 1) for share in (0.50, 0.99)]
    middle, tail = np.partition(np.fromiter(seconds, float, count), ranks)[ranks].tolist()
    return Spread(round(1000 * middle, 2), round(1000 * tail, 2), count)


@dataclass(slots=True)
class SightCounts:
    """What sight counts itself: frames looked at closely, lost cameras, misread test pictures.

    `blind`: nothing that is seen can be relied on; `canary_complaint` is how the test picture was
    misread last, `None` where it was read right.
    """

    looked: int = 0
    outages: int = 0
    blind: bool = False
    canary_failures: int = 0
    canary_complaint: str | None = None


@dataclass(slots=True)
class Metrics:
    """The counts of one run; `frame` and `event` are durations in seconds.

    `age` is how old frames were when they were looked at, `skipped` counts those of a live source
    for which there was no time, `damaged` those that were not whole.
    """

    sight: Callable[[], SightCounts]
    frames: int = 0
    skipped: int = 0
    damaged: int = 0
    cards_out: int = 0
    cards_read: int = 0
    cards_unread: int = 0
    frame: deque[float] = field(default_factory=durations)
    event: deque[float] = field(default_factory=durations)
    age: deque[float] = field(default_factory=durations)
    _began_s: float = field(default_factory=time.monotonic)
    _began_cpu_s: float = field(default_factory=time.process_time)
    _marks: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=WINDOW))

    def wall_s(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began_s

    def fps(self) -> float:
        """Return the frames per second over the run."""
        return round(self.frames / max(self.wall_s(), 1e-6), 1)

    def _rates(self) -> dict[str, object]:
        """Return frames that came in, were looked at closely and were gated, a second, of late."""
        now = (time.monotonic(), self.frames, self.sight().looked, self.skipped, self.damaged)
        first = self._marks[0] if self._marks else (self._began_s, 0, 0, 0, 0)
        self._marks.append(now)
        seconds = max(now[0] - first[0], 1e-6)
        came = now[1] - first[1]
        looked = min(now[2] - first[2], came)  # sight may be some frames ahead of the log
        each = {"fps_in": came, "fps_looked": looked, "fps_gated": came - looked}
        each |= {"fps_skipped": now[3] - first[3], "fps_damaged": now[4] - first[4]}
        return {name: round(count / seconds, 1) for name, count in each.items()}

    def cpu_share(self) -> float:
        """Return the processor time of this process over the run, 1.0 for one whole core."""
        return round((time.process_time() - self._began_cpu_s) / max(self.wall_s(), 1e-6), 2)

    def health(self) -> dict[str, object]:
        """Return the figures of the topic `health`; the journal adds those of the outbox."""
        frame, event, age = map(spread, (self.frame, self.event, self.age))
        sight, named = self.sight(), self.cards_read + self.cards_unread
        return {
            "fps": self.fps(),
            "frames": self.frames,
            "looked": sight.looked,
            "cards_out": self.cards_out,
            "cards_read": self.cards_read,
            "cards_unread": self.cards_unread,
            "abstained": round(self.cards_unread / max(named, 1), 4),
            "outages": sight.outages,
            "blind": sight.blind,
            "canary": {"failures": sight.canary_failures, "complaint": sight.canary_complaint},
            "clock": time_sync()._asdict(),
            **self._rates(),
            "frame_ms": {"p50": frame.p50_ms, "p99": frame.p99_ms},
            "event_ms": {"p50": event.p50_ms, "p99": event.p99_ms},
            "age_ms": {"p50": age.p50_ms, "p99": age.p99_ms},
            "cpu_share": self.cpu_share(),
        }

    def summary(self) -> str:
        """Return the closing lines of a run, for people."""
        frame, event = spread(self.frame), spread(self.event)
        return (
            f"{self.frames} frames in {self.wall_s():.1f} s: {self.fps():g} a second, "
            f"{self.sight().looked} looked at closely; {self.cpu_share():.0%} of one core\n"
            f"a frame took {frame.p50_ms:g} ms (p50), {frame.p99_ms:g} ms (p99)\n"
            f"from frame to durable message {event.p50_ms:g} ms (p50), {event.p99_ms:g} ms (p99), "
            f"{event.count} times\n"
            f"{self.cards_out} cards out, {self.cards_read} read, {self.cards_unread} declined"
        )


log = logging.getLogger(__name__)

ASK_S = 3.0  # seconds until `check` gives up on a reader on the same machine
ANSWER_LIMIT = 1024 * 1024  # bytes; a longer answer is not a reader's
PREFIX = "shoe_reader_"
# What only ever rises; all else is a gauge.
COUNTERS = {
    "frames", "looked", "cards_out", "cards_read", "cards_unread", "outages", "orders_refused",
    "canary_failures",
}  # fmt: skip


class Reader(Protocol):
    """Holds the figures last published as `health`, and when that was by the monotonic clock."""

    health: dict[str, object]
    health_at_s: float


@contextmanager
def serve_figures(
    reader: Reader, host: str, port: int | None, labels: Mapping[str, str]
) -> Iterator[int | None]:
    """Serve the figures of a reader during the block, which is given the port: 0 takes a free one.

    Without a port nothing is served. A taken port is logged: the reader does its work all the same.
    """
    registry = CollectorRegistry()
    registry.register(_Figures(reader, labels))
    with ExitStack() as closing:
        if port is not None:
            try:
                server, thread = start_http_server(port, host, registry)
            except OSError as error:
                log.warning(
                    "no figures for Prometheus: cannot listen on %s port %s: %s; choose another "
                    "[metrics] port",
                    host,
                    port,
                    error.strerror,
                )
            else:
                port = server.server_port
                for end in (thread.join, server.server_close, server.shutdown):  # the last first
                    closing.callback(end)
        yield port


@dataclass(eq=False)  # a registry knows it by its identity
class _Figures(Collector):
    """Makes metric families of the figures of `health`."""

    reader: Reader
    labels: Mapping[str, str]

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield every number; unknown values and texts are left out."""
        age_s = round(time.monotonic() - self.reader.health_at_s, 3)
        for name, value in flat({**self.reader.health, "health_age_s": age_s}):
            kind = CounterMetricFamily if name in COUNTERS else GaugeMetricFamily
            family = kind(PREFIX + name, name.replace("_", " "), labels=list(self.labels))
            family.add_metric(list(self.labels.values()), value)
            yield family


def flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number within, its name that of the way to it; true is 1, false is 0."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}_")
        elif isinstance(value, bool | int | float):
            yield prefix + key, float(value)


def ask(host: str, port: int) -> dict[str, float]:
    """Return the figures that a running reader serves, by name; OutsideError when none does."""
    try:
        with urlopen(f"http://{host}:{port}/metrics", timeout=ASK_S) as answer:
            text = answer.read(ANSWER_LIMIT).decode()
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError, HTTPException) as error:
        raise OutsideError(
            f"no figures from {host} port {port}: {error}; is the reader running, and is this its "
            "[metrics] host and port?"
        ) from error
    return {
        sample.name.removeprefix(PREFIX).removesuffix("_total"): sample.value
        for family in families
        for sample in family.samples
    }
