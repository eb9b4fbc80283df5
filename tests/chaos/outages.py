"""Proof b: whatever befalls the broker and the wire to it, nothing is lost and nothing doubled."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.consumer import Consumer
from tests.chaos.outcome import LimitBrokenError, demand_same
from tests.chaos.proxy import Proxy
from tests.chaos.shoe import play
from tests.chaos.table import PREFIX, journal_of, undisturbed
from tests.mqtt.mqtt_tools import Mosquitto, wait_for
from vision.app.journal import Journal
from vision.app.order_intake import RANGES_EACH
from vision.game.events import Event

OPEN = ("listener PORT 127.0.0.1", "allow_anonymous true", "max_queued_messages 0")
SHUT = ("listener PORT 127.0.0.1", "allow_anonymous false")
LASTING = ("persistence true", "autosave_interval 1", "autosave_on_changes true")
GROWTH_MB = 24.0

Outage = Callable[[], str]


@dataclass
class House:
    """A table, its broker and a consumer, with a play of which a part is fed at a time."""

    broker: Mosquitto
    journal: Journal
    consumer: Consumer
    events: list[Event]
    fed: int = 0

    def feed(self, share: float) -> None:
        """Let the play go on up to that share of it (0 to 1)."""
        until = round(share * len(self.events))
        for event in self.events[self.fed : until]:
            self.journal.take([event])
        self.fed = until

    def settle(self, seconds: float = 90.0) -> float:
        """Wait until the outbox is empty and the consumer has all; return messages a second."""
        wait_for(lambda: self.journal.link.complaint == "", seconds)
        began, waiting = time.monotonic(), self.journal._store.depth()
        wait_for(lambda: self.journal._store.depth() == 0, seconds)
        rate = waiting / max(time.monotonic() - began, 0.001)
        asked = 0.0
        deadline = time.monotonic() + seconds
        while missing := self.consumer.missing(self.journal.session.stream.seq):
            if time.monotonic() > deadline:
                raise LimitBrokenError(f"{len(missing)} never came", lost=len(missing))
            self.journal.link.orders(self.events[self.fed - 1].at)
            if time.monotonic() - asked > 3.0:
                asked = time.monotonic()
                for first, last in spans(missing):
                    self.consumer.ask(first, last)
            time.sleep(0.02)
        return rate


def spans(numbers: Iterable[int], most: int = 500) -> Iterator[tuple[int, int]]:
    """Yield ranges that hold the numbers (rising), of at most so many each, four at most.

    What lies between was taken already and is dropped as a repeat: results overtake pictures, so
    single numbers are missing all over, and a reader lets four requests of a sender wait.
    """
    found = deque(numbers)
    for _ in range(RANGES_EACH):
        if not found:
            return
        first = last = found.popleft()
        while found and found[0] < first + most:
            last = found.popleft()
        yield first, last


@contextmanager
def house(coups: int, *lines: str, behind: Callable[[int], Proxy] | None = None) -> Iterator[House]:
    """Open a table at a fresh broker, with a quarter of the play told already."""
    with tempfile.TemporaryDirectory() as name, Mosquitto(Path(name), *(lines or OPEN)) as broker:
        port = broker.port if behind is None else behind(broker.port).port
        consumer = Consumer(broker.port, PREFIX)
        consumer.await_up()
        events = list(play(coups))
        with journal_of(Path(name) / "t.sqlite", port) as journal:
            journal.start(events[0].at, "b1", ())
            found = House(broker, journal, consumer, events)
            found.feed(0.25)
            found.settle()
            yield found
            found.feed(1.0)
            found.settle()
            consumer.close()
            demand_same(consumer.results(), undisturbed(events), "results")
            demand_same(consumer.of("card"), undisturbed(events, "card"), "cards")


def away(coups: int) -> str:
    """Take the broker away while the table plays on; look at memory, and at the rate after."""
    with house(coups) as table:
        table.broker.stop(in_order=True)
        wait_for(lambda: table.journal.link.complaint != "", 30)
        before = resident_mb()
        table.feed(0.9)
        waiting, grown = table.journal._store.depth(), resident_mb() - before
        assert grown < GROWTH_MB, f"grew by {grown:.0f} MB"
        table.broker.start()
        rate = table.settle()
    return f"{waiting} messages waited, memory {grown:+.1f} MB, caught up at {rate:.0f} a second"


def restarted(coups: int, *, lasting: bool) -> str:
    """Restart the broker three times, with its persistence or without."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)  # started by root, mosquitto becomes a user of its own
        lines = (*OPEN, *LASTING, f"persistence_location {name}/") if lasting else OPEN
        with house(coups, *lines) as table:
            for share in (0.4, 0.6, 0.8):
                table.feed(share - 0.1)
                table.broker.stop(in_order=lasting)
                table.broker.start()
                table.feed(share)
            table.settle()
            asked = len(table.consumer.replayed)
            late = Consumer(table.broker.port, PREFIX)
            standing = {"status", "shoe", "coup/live", "coup/result", "roads"}
            wait_for(lambda: standing <= {topic for topic, _ in late.taken}, 30)
            late.close()
    return f"3 restarts, {asked} messages asked for again, all retained topics there"


def refused(coups: int) -> str:
    """Let the broker turn the reader away for a while."""
    with house(coups) as table:
        table.broker.stop()
        table.broker.configure(*SHUT)
        table.broker.start()
        table.feed(0.6)
        wait_for(lambda: "refused us" in table.journal.link.complaint, 60)
        reported = table.journal.link.complaint.split(":")[2].split(";")[0].strip()
        table.broker.stop()
        table.broker.configure(*OPEN)
        table.broker.start()
        rate = table.settle()
    return f"said '{reported}', caught up at {rate:.0f} a second"


def _proxied(proxies: list[Proxy], port: int) -> Proxy:
    """Put a proxy before a port and return it."""
    proxies.append(Proxy(port))
    return proxies[-1]


def slow(coups: int, bytes_per_s: int = 100_000) -> str:
    """Make the wire slow."""
    proxies: list[Proxy] = []
    with house(coups, behind=lambda port: _proxied(proxies, port)) as table:
        proxies[0].bytes_per_s = bytes_per_s
        table.feed(0.5)
        rate = table.settle(300)
        proxies[0].bytes_per_s = 0
    proxies[0].close()
    return f"at {bytes_per_s // 1000} kB a second caught up at {rate:.0f} messages a second"


def half_open(coups: int) -> str:
    """Let the wire go dead without a word."""
    proxies: list[Proxy] = []
    with house(coups, behind=lambda port: _proxied(proxies, port)) as table:
        connections = proxies[0].accepted
        proxies[0].frozen.set()
        table.feed(0.5)
        time.sleep(0.5)
        proxies[0].frozen.clear()
        began = time.monotonic()
        wait_for(lambda: proxies[0].accepted > connections, 60)
        noticed = time.monotonic() - began
        table.settle()
    proxies[0].close()
    return f"dead wire given up after {noticed:.0f} s"


def resident_mb() -> float:
    """Return how much memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6
