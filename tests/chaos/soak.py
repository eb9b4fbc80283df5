"""Proof h: more than a day of play, compressed: memory, descriptors and times stay what they were.

The reader is a process of its own, so that the figures are its alone. Also how long a log takes to
open that holds a year.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from multiprocessing.connection import Connection
from pathlib import Path

from tests.chaos.consumer import Consumer
from tests.chaos.kills import some_broker
from tests.chaos.outages import resident_mb
from tests.chaos.outcome import demand_same
from tests.chaos.shoe import COUPS_A_SHOE, NOON, play
from tests.chaos.table import PREFIX, journal_of, undisturbed
from tests.mqtt.mqtt_tools import wait_for
from vision.app.journal import Journal
from vision.game.events import Event, ShoeStarted, TimePassed
from vision.metrics.counters import spread
from vision.storage.log import Entry
from vision.wire.session import session_to_json

MEMORY = Path("/dev/shm")  # so that the figures are the program's, not the disk's
HEAD = "| coups | memory MB | descriptors | p50 ms | p99 ms | log MB |\n|---|---|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Part:
    """The figures after one part of the soak."""

    coups: int
    memory_mb: float
    descriptors: int
    p50_ms: float
    p99_ms: float
    log_mb: float

    def __str__(self) -> str:
        return (
            f"| {self.coups} | {self.memory_mb:.1f} | {self.descriptors} | {self.p50_ms} "
            f"| {self.p99_ms} | {self.log_mb:.1f} |"
        )


def parts(coups: int, most: int = 10) -> Iterator[list[Event]]:
    """Yield the play in at most so many parts, whole shoes each."""
    shoes = 0
    numbered = []
    for event in play(coups):
        shoes += isinstance(event, ShoeStarted)
        numbered.append((shoes, event))
    each = -(-shoes // most)
    for _, part in groupby(numbered, key=lambda pair: (pair[0] - 1) // each):
        yield [event for _, event in part]


def soak(coups: int, port: int, log: Path) -> Iterator[Part]:
    """Play on at one table; yield the figures after each part."""
    dealt = 0
    with journal_of(log, port, max_mb=50.0) as journal:
        journal.start(NOON, "b1", ())
        for events in parts(coups):
            took: list[float] = []
            for event in events:
                began = time.monotonic()
                journal.take([event])
                journal.link.orders(event.at)
                took.append(time.monotonic() - began)
            wait_for(lambda: journal._store.depth() == 0, 120)
            shoes = sum(isinstance(event, ShoeStarted) for event in events)
            dealt = min(coups, dealt + shoes * COUPS_A_SHOE)
            middle = spread(took)
            descriptors = len(list(Path("/proc/self/fd").iterdir()))
            size = log.stat().st_size / 1e6
            yield Part(dealt, resident_mb(), descriptors, middle.p50_ms, middle.p99_ms, size)


def read_on(coups: int, port: int, log: str, link: Connection) -> None:
    """Be the reader: play on, and tell the figures after each part."""
    for part in soak(coups, port, Path(log)):
        link.send(part)


def soaked(coups: int, port: int, log: Path) -> list[Part]:
    """Let a reader play on; return its figures after each part."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    reader = context.Process(target=read_on, args=(coups, port, str(log), there))
    reader.start()
    there.close()
    rows = []
    with contextlib.suppress(EOFError):
        while True:
            rows.append(here.recv())
    reader.join()
    assert reader.exitcode == 0, "the reader ended by itself"
    return rows


def run(coups: int) -> str:
    """Soak; return the table, AssertionError where something has grown."""
    folder = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as name, some_broker(Path(name)) as port:
        consumer = Consumer(port, PREFIX, only="coup/result")
        consumer.await_up()
        rows = soaked(coups, port, Path(name) / "t.sqlite")
        wanted = undisturbed(play(coups))
        wait_for(lambda: len(consumer.results()) >= len(wanted), 60)
        consumer.close()
        demand_same(consumer.results(), wanted, "results")
    first, last = rows[min(1, len(rows) - 1)], rows[-1]
    assert last.memory_mb < first.memory_mb * 1.25 + 10, rows
    assert last.descriptors <= first.descriptors, rows
    assert last.p99_ms < max(2 * first.p99_ms, first.p99_ms + 10), rows
    assert last.log_mb < 60, rows
    days = play_days(coups)
    return "\n".join(
        [
            f"{len(wanted)} results as undisturbed, {days:.1f} days of play",
            "",
            HEAD,
            *map(str, rows),
        ]
    )


def play_days(coups: int) -> float:
    """Return how long the play lasts at the table."""
    *_, last = play(coups)
    return (last.at - NOON) / 86_400_000


def opening(records: int) -> str:
    """Measure how long a log of so many records and one more shoe takes to open."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "t.sqlite"
        events = list(play(COUPS_A_SHOE))
        with journal_of(log, 1, publish=False) as journal:
            fill(journal, records)
        with journal_of(log, 1, publish=False) as journal:
            journal.take(events)
        began, worked = time.monotonic(), time.process_time()
        journal_of(log, 1, publish=False).close()
        took, work = time.monotonic() - began, time.process_time() - worked
        size = log.stat().st_size / 1e6
    assert work < 5
    return (
        f"{records} records and a whole shoe, {size:.0f} MB: "
        f"opened in {took:.2f} s, {work:.2f} s of them work"
    )


def fill(journal: Journal, records: int) -> None:
    """Write so many good records at once, as if they had been played, and a checkpoint."""
    entries = [Entry(TimePassed(NOON - before), ()) for before in range(records, 1, -1)]
    last = Entry(TimePassed(NOON - 1), (), session_to_json(journal.session))
    journal._store.append([*entries, last])
