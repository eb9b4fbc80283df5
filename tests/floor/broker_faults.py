"""Proof a, the brokers: nodes of the cluster are killed, frozen, parted, started again at play.

    python -m tests.floor.broker_faults --tables 8

Eight tables play (events, no pictures); three boards, each at another node first, and a consumer
with a session follow. Printed for each fault: how late the worst message was at the boards and at
the consumer, and what was lost or came twice after `seq`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from typing import Self

import paho.mqtt.client as paho

from tests.chaos.outcome import LimitBrokenError
from tests.chaos.shoe import play
from tests.chaos.table import config_of
from tests.floor.cluster import NAMES, Cluster
from tests.mqtt.mqtt_tools import wait_for
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.board.feed import Feed
from vision.board.table_state import Update
from vision.board.web import TOPICS
from vision.mqtt.endpoint import Endpoint, new_client
from vision.wire.messages import PREFIX

LONGEST_GAP_S = 1.5  # the pause between two coups is played no longer
SHOWN = ("coup/live", "coup/result", "roads", "shoe")
UNCOUNTED = ("status", "health", "cmd/reply")


@dataclass
class Times:
    """When each counted message was written, and when who had it or a newer one of its topic."""

    said: dict[tuple[str, str, int], float] = field(default_factory=dict)
    had: dict[str, dict[tuple[str, str, int], float]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def note(self, who: str, table: str, topic: str, seq: int) -> None:
        """Note that somebody has a message."""
        with self.mutex:
            self.had[who].setdefault((table, topic, seq), time.monotonic())

    def worst(
        self, who: str, since_s: float, until_s: float, topics: tuple[str, ...] = ()
    ) -> float:
        """Return the seconds by which the latest message of that time was late at somebody."""
        with self.mutex:
            reported, had = dict(self.said), dict(self.had[who])
        newest: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
        for (table, topic, seq), at_s in had.items():
            newest[table, topic].append((seq, at_s))
        late = [0.0]
        for (table, topic, seq), at_s in reported.items():
            if since_s <= at_s < until_s and (not topics or topic in topics):
                got = [when for number, when in newest[table, topic] if number >= seq]
                late.append(min(got, default=time.monotonic()) - at_s)
        return max(late)


class Player:
    """A table at play, without a camera."""

    def __init__(self, name: str, folder: Path, cluster: Cluster, times: Times) -> None:
        self.name, self._times = name, times
        hosts = tuple(f"{host}:{port}" for host, port in cluster.addresses)
        turn = int(name) % len(hosts)
        config = config_of(0)
        broker = config.broker.model_copy(update={"host": (*hosts[turn:], *hosts[:turn])})
        config = config.model_copy(update={"table": name, "broker": broker})
        self.journal = Journal(config, Destinations(folder / f"{name}.sqlite"))
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _play(self) -> None:
        events = play(10_000, seed=int(self.name))
        first = next(events)
        self.journal.start(first.at, f"boot{self.name}", ())
        self._take(first)
        before, health_s = first, 0.0
        for event in events:
            due_s = time.monotonic() + min(LONGEST_GAP_S, (event.at - before.at) / 1000)
            while (left_s := due_s - time.monotonic()) > 0:
                if time.monotonic() - health_s > 1:
                    health_s = time.monotonic()
                    self.journal.link.publish_health(event.at, {})
                if self._stopping.wait(min(left_s, 0.25)):
                    return
            before = event
            self._take(event)

    def _take(self, event: object) -> None:
        prefix = PREFIX.format(site="chaos", table=self.name)
        for step in self.journal.take([event]):  # type: ignore[list-item]
            now = time.monotonic()
            with self._times.mutex:
                for message in step.messages:
                    if message.payload:
                        key = (self.name, message.topic.removeprefix(prefix), message.seq)
                        self._times.said.setdefault(key, now)

    def stop(self) -> int:
        """Stop playing; wait until all is sent; return the last number."""
        self._stopping.set()
        self._thread.join()
        wait_for(lambda: self.journal._store.depth() == 0, 60)
        return self.journal.session.stream.seq

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()


class Consumer:
    """A consumer with a session, as the contract asks for one; it goes from node to node."""

    def __init__(self, endpoint: Endpoint, times: Times) -> None:
        self._endpoint, self._times = endpoint, times
        self.seqs: dict[str, set[int]] = defaultdict(set)
        self.results: list[tuple[str, str, int, int]] = []
        self.repeats = 0
        self._last: dict[tuple[str, str], int] = {}
        self._stopping = threading.Event()
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._up.wait(30)

    def _run(self) -> None:
        while not self._stopping.is_set():
            client = new_client(self._endpoint, "floor-consumer", keeps=True)
            client.on_message = lambda _c, _d, message: self._take(message)
            client.on_subscribe = lambda *_: self._up.set()
            client.on_connect = lambda client, *_: client.subscribe("casino/chaos/table/+/#", 1)
            try:
                client.connect(self._endpoint.host, self._endpoint.port, self._endpoint.keepalive_s)
                while client.loop(0.2) == paho.MQTT_ERR_SUCCESS and not self._stopping.is_set():
                    pass
            except OSError:
                pass
            self._endpoint = self._endpoint.turned()
            self._stopping.wait(0.5)

    def _take(self, message: paho.MQTTMessage) -> None:
        _, _, _, table, topic = message.topic.split("/", 4)
        if (
            not message.payload
            or topic.startswith(("cmd/", "replay/", "copy/"))
            or topic in UNCOUNTED
        ):
            if topic == "status":
                self.seqs[table].add(json.loads(message.payload)["seq"])
            return
        content = json.loads(message.payload)
        seq = content["seq"]
        if seq <= self._last.get((table, topic), 0):
            self.repeats += 1
            return
        self._last[table, topic] = seq
        self._times.note("consumer", table, topic, seq)
        self.seqs[table].add(seq)
        if topic == "coup/result":
            key = (table, content["shoe"], content["coup"], content["revision"])
            self.results.append(key)

    def stop(self) -> None:
        """Hang up."""
        self._stopping.set()
        self._thread.join(5)


class Floor:
    """The cluster, tables at play, boards, a consumer."""

    def __init__(self, folder: Path, tables: int) -> None:
        self.times = Times()
        self.cluster = Cluster(folder)
        self._folder, self._tables = folder, tables

    def __enter__(self) -> Self:
        self.cluster.start()
        names = [f"{number}" for number in range(1, self._tables + 1)]
        self.consumer = Consumer(self.cluster.endpoint(), self.times)
        prefixes = {name: PREFIX.format(site="chaos", table=name) for name in names}
        self.boards = []
        for first, node in enumerate(NAMES):
            board = Feed(self.cluster.endpoint(first=first), prefixes, TOPICS)
            board.subscribe(self._noted(f"board {node}"), names)
            board.start()
            self.boards.append(board)
        self.players = [Player(name, self._folder, self.cluster, self.times) for name in names]
        wait_for(lambda: all(not player.journal.link.complaint for player in self.players), 30)
        return self

    def _noted(self, who: str) -> Callable[[Update], None]:
        def note(update: Update) -> None:
            if update.payload is not None and update.topic in SHOWN:
                self.times.note(who, update.table, update.topic, update.payload["seq"])

        return note

    def measured(self, words: str, fault: Callable[[Cluster], None], watch_s: float) -> str:
        """Do something to the cluster; return in words how late messages were until `watch_s`."""
        since_s = time.monotonic()
        fault(self.cluster)
        time.sleep(max(0.0, watch_s - (time.monotonic() - since_s)))
        until_s = time.monotonic() - 5
        late = [self.times.worst(f"board {node}", since_s, until_s, SHOWN) for node in NAMES]
        consumer = self.times.worst("consumer", since_s, until_s)
        return f"{words:34} boards {max(late):5.1f} s   consumer with a session {consumer:5.1f} s"

    def counts(self) -> str:
        """Stop the play; return what was lost and what came twice, LimitBrokenError if anything."""
        last = {player.name: player.stop() for player in self.players}

        def missing() -> dict[str, list[int]]:
            wanted = {name: set(range(1, seq + 1)) for name, seq in last.items()}
            gaps = {name: sorted(wanted[name] - self.consumer.seqs[name]) for name in last}
            return {name: gap for name, gap in gaps.items() if gap}

        deadline = time.monotonic() + 60
        while missing() and time.monotonic() < deadline:
            time.sleep(0.5)
        doubled = len(self.consumer.results) - len(set(self.consumer.results))
        if (lost := missing()) or doubled:
            raise LimitBrokenError(f"lost {lost}, doubled {doubled}", lost=len(lost))
        return (
            f"{sum(last.values())} messages of {len(last)} tables, {len(self.consumer.results)} "
            f"results: lost 0, doubled 0 ({self.consumer.repeats} repeats dropped by seq)"
        )

    def __exit__(self, *_: object) -> None:
        self.consumer.stop()
        for board in self.boards:
            board.stop()
        for player in self.players:
            player.close()
        self.cluster.__exit__()


def broken(
    begin: Callable[[Cluster], None], end: Callable[[Cluster], None], for_s: float = 0.0
) -> Callable[[Cluster], None]:
    """Return what breaks a cluster, and mends it after so many seconds."""

    def do(cluster: Cluster) -> None:
        begin(cluster)
        time.sleep(for_s)
        end(cluster)

    return do


def prove(tables: int, *, only: str = "") -> None:
    """Do all of it, and print the figures."""
    faults = [("none", lambda _cluster: None, 12.0)]
    for name in NAMES:
        kill, start = methodcaller("kill", name), methodcaller("start", name)
        faults.append((f"node {name} killed, back in 15 s", broken(kill, start, 15.0), 40.0))
    for name in NAMES:
        stop, start = methodcaller("stop", name), methodcaller("start", name)
        faults.append((f"node {name} restarted in turn", broken(stop, start), 25.0))
    frozen = broken(methodcaller("freeze", "a"), methodcaller("thaw", "a"), 20.0)
    parted = broken(Cluster.split, Cluster.heal, 20.0)
    faults += [("node a frozen for 20 s", frozen, 40.0), ("node c parted for 20 s", parted, 40.0)]
    with (
        tempfile.TemporaryDirectory(prefix="floor-") as folder,
        Floor(Path(folder), tables) as floor,
    ):
        for words, fault, watch_s in faults:
            if only in words:
                print(floor.measured(words, fault, watch_s), flush=True)
        print(floor.counts(), flush=True)


def main() -> None:
    """Prove it, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--only", default="", help="only faults whose words contain this")
    args = parser.parse_args()
    prove(args.tables, only=args.only)


if __name__ == "__main__":
    main()
