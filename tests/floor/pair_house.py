"""Two readers of one table without a camera, as processes that can be killed, frozen and parted."""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Self

import paho.mqtt.client as paho

from tests.chaos.consumer import Consumer
from tests.chaos.proxy import Proxy
from tests.chaos.shoe import play
from tests.chaos.table import PREFIX, config_of
from tests.floor.cluster import HERE, NATS_SERVER
from tests.mqtt.mqtt_tools import free_port, wait_for
from vision.app.run_log import Destinations
from vision.config.table import StandbySection, TableConfig
from vision.floor.pair import lease as lease_module
from vision.floor.pair.house_store import AwayError, HouseAccount, HouseStore
from vision.floor.pair.journal import OwnSight, PairJournal, unpublished_part
from vision.floor.pair.shared_log import FencedError
from vision.game.events import Event, ShoeStarted
from vision.wire.form import Term

ENDLESS = 100_000  # coups
LONGEST_GAP_S = 1.5  # the pause between two coups is played no longer
LONGEST_S = 10_000.0  # of a proof
NEAR_S = 5.0
TURN_S = 0.02
START_S = 60.0  # until a reader that was started follows, on a machine that does much else
FENCED = 3  # the exit code of a reader that another has taken over from


def paced() -> Iterator[tuple[float, Event]]:
    """Yield the play, each event with the seconds after the beginning at which it happens."""
    due_s, before = 0.0, None
    for event in play(ENDLESS):
        gap_s = 0.0 if before is None else (event.at - before.at) / 1000
        due_s += min(gap_s, LONGEST_GAP_S)
        before = event
        yield due_s, event


@dataclass(frozen=True)
class Seat:
    """What a reader is told: its name, its log, where broker and store are, when the play began.

    It sees everything `lag_s` late; its monotonic clock runs at `clock_rate`.
    """

    name: str
    log: str
    mqtt: int
    nats: int
    began: float
    lag_s: float = 0.0
    clock_rate: float = 1.0
    lease_s: float = 1.2


def settings(seat: Seat) -> TableConfig:
    """Return the settings of the table as that reader has them."""
    section = StandbySection(
        servers=(f"{HERE}:{seat.nats}",), node=seat.name, lease_s=seat.lease_s, replicas=1
    )
    return config_of(seat.mqtt).model_copy(update={"standby": section})


def sit(seat: Seat, wire: Connection) -> None:
    """Be a reader: follow or speak, until told to stop; exit code 3 when fenced off."""
    faulthandler.dump_traceback_later(START_S / 2)  # says where one hangs that is not ready in time
    if seat.clock_rate != 1.0:
        slow = type("Slow", (), {"monotonic": lambda: time.monotonic() * seat.clock_rate})
        setattr(lease_module, "time", slow)  # noqa: B010  # of the module, for both readers
    house = HouseStore(HouseAccount((f"nats://{HERE}:{seat.nats}",), "chaos.1", replicas=1))
    house.open()
    journal = PairJournal(settings(seat), Destinations(Path(seat.log)), house)
    try:
        _attend(journal, seat, wire)
        journal.stop(journal.table.clock)
        wait_for(lambda: journal._store.depth() == 0 or not journal.has_taken_over, 20)
    except FencedError:
        journal.close()
        os._exit(FENCED)
    journal.close()
    house.close()


def _attend(journal: PairJournal, seat: Seat, wire: Connection) -> None:
    own, inherited = OwnSight(), 0
    began = seat.began
    now_s = time.time() - began - seat.lag_s if began else -1.0
    coming = itertools.dropwhile(lambda pair: pair[0] <= now_s, paced())
    due_s, event = next(coming)
    own.begin(journal.table)
    shoes = journal.table.shoes
    wire.send("ready")
    faulthandler.cancel_dump_traceback_later()
    while True:
        if wire.poll(TURN_S):
            word = wire.recv()
            if word == "stop":
                return
            began = word
        seen = []
        while began and due_s <= time.time() - began - seat.lag_s:
            seen.append(event)
            due_s, event = next(coming)
        if journal.has_taken_over:
            journal.flush()
            for one in seen:
                journal.take(list(unpublished_part(journal.table, one, inherited)))
            continue
        own.note(seen, journal.table)
        journal.follow()
        table = journal.table
        if table.shoes != shoes:
            shoes = table.shoes
            own.begin(table)
        at = seen[-1].at if seen else table.clock
        if journal.lease.granted:
            with contextlib.suppress(AwayError):
                journal.take_over(at, (), "", own)
                inherited = journal.table.next_order
                wire.send(journal.lease.granted)


class PairConsumer(Consumer):
    """A consumer that notes when each term was first heard, and what came of an older one."""

    def __init__(self, port: int, prefix: str) -> None:
        self.first_heard: dict[int, float] = {}
        self.outdated = 0
        self._term = Term()
        super().__init__(port, prefix)

    def _on_message(self, client: object, data: object, message: paho.MQTTMessage) -> None:
        if message.payload:
            payload = json.loads(message.payload)
            term = payload.get("term", 0)
            self.first_heard.setdefault(term, time.monotonic())
            counted = message.topic != f"{PREFIX}health" and payload.get("counted") is not False
            if not self._term.admits(term, payload.get("seq", 0), counted=counted):
                self.outdated += 1
                return
        super()._on_message(client, data, message)


@dataclass
class Reader:
    """A running reader, and the wires that it hangs on."""

    seat: Seat
    wires: tuple[Proxy, Proxy]
    process: ForkServerProcess | None = None
    pipe: Connection | None = None
    words: list[object] = field(default_factory=list)

    def said(self, word: str) -> bool:
        """Whether it has said that since it was started."""
        self._hear()
        return word in self.words

    @property
    def term(self) -> int:
        """The term in which it speaks, 0 while it follows or when it has ended."""
        self._hear()
        terms = [word for word in self.words if isinstance(word, int)]
        assert self.process is not None
        return max(terms, default=0) if self.process.is_alive() else 0

    def _hear(self) -> None:
        assert self.pipe is not None
        with contextlib.suppress(EOFError, OSError):
            while self.pipe.poll():
                self.words.append(self.pipe.recv())


class PairHouse:
    """A nats-server with MQTT, two readers, a consumer."""

    def __init__(self, folder: Path, *, slow: bool = False) -> None:
        """Prepare; with `slow` the clock of reader a runs at half its rate."""
        self.folder = folder
        self.mqtt, self.nats = free_port(), free_port()
        self._server: subprocess.Popen[bytes] | None = None
        self._slow = slow
        self.began = 0.0
        self.unasked = 0  # takeovers that nobody caused but the load of the machine
        self._changes = [
            due_s
            for due_s, event in itertools.takewhile(lambda pair: pair[0] < LONGEST_S, paced())
            if isinstance(event, ShoeStarted)
        ]
        self.readers: dict[str, Reader] = {}

    def __enter__(self) -> Self:
        conf = self.folder / "nats.conf"
        conf.write_text(
            f'server_name: one\nlisten: "{HERE}:{self.nats}"\nmax_payload: 5000000\n'
            f'jetstream {{ store_dir: "{self.folder}/store" }}\n'
            f'mqtt {{ listen: "{HERE}:{self.mqtt}", max_ack_pending: 5000 }}\n'
        )
        with (self.folder / "nats.log").open("wb") as log:
            self._server = subprocess.Popen(
                [str(NATS_SERVER), "-c", str(conf)], stdout=log, stderr=log
            )
        wait_for(self._answers, 20)
        self.consumer = PairConsumer(self.mqtt, PREFIX)
        self.consumer.await_up()
        for name, lag_s in (("a", 0.0), ("b", 0.15)):
            wires = (Proxy(self.mqtt), Proxy(self.nats))
            rate = 0.5 if self._slow and name == "a" else 1.0
            log_path = str(self.folder / f"{name}.sqlite")
            seat = Seat(name, log_path, wires[0].port, wires[1].port, 0.0, lag_s, rate)
            self.readers[name] = Reader(seat, wires)
        for reader in self.readers.values():
            self.launch(reader)
            wait_for(lambda reader=reader: reader.said("ready"), START_S)  # type: ignore[misc]
        self.speaker()
        self.began = time.time() + 1
        for reader in self.readers.values():
            assert reader.pipe is not None
            reader.pipe.send(self.began)
            reader.seat = replace(reader.seat, began=self.began)
        return self

    def pass_shoe_change(self) -> None:
        """Wait while a shoe is changed: by a person, who does it again if it was not taken."""
        while any(abs(time.time() - self.began - due_s) < NEAR_S for due_s in self._changes):
            time.sleep(TURN_S)

    def _answers(self) -> bool:
        import socket

        with contextlib.suppress(OSError), socket.create_connection((HERE, self.mqtt), 1):
            return True
        return False

    def launch(self, reader: Reader) -> None:
        """Start a reader."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.floor.pair_house"])
        here, there = context.Pipe()
        reader.process = context.Process(target=sit, args=(reader.seat, there), daemon=True)
        reader.process.start()
        there.close()
        reader.pipe, reader.words = here, []

    def relaunch(self, reader: Reader) -> None:
        """Start a reader again, as a service does, and wait until it follows."""
        self.launch(reader)
        wait_for(lambda: reader.said("ready"), START_S)

    def speaker(self) -> tuple[Reader, Reader]:
        """Return who speaks, and the other, which follows; wait for it.

        A reader that was fenced off because the machine was too busy is started again.
        """
        while True:
            a, b = sorted(self.readers.values(), key=lambda reader: reader.term, reverse=True)
            assert b.process is not None
            if b.process.exitcode is not None:
                assert b.process.exitcode == FENCED, f"reader {b.seat.name} ended by itself"
                self.unasked += 1
                self.relaunch(b)
            elif a.term and not b.term and b.said("ready"):
                return a, b
            time.sleep(TURN_S)

    def await_takeover(self, other: Reader, since_s: float) -> float:
        """Wait until the other speaks; return the seconds from then to its first message."""
        wait_for(lambda: other.term in self.consumer.first_heard and other.term, 60)
        return self.consumer.first_heard[other.term] - since_s

    def stop(self) -> None:
        """End the play: both readers stop in order."""
        speaks, follows = self.speaker()
        for reader in (follows, speaks):
            assert reader.pipe is not None
            assert reader.process is not None
            with contextlib.suppress(OSError):
                reader.pipe.send("stop")
            reader.process.join(60)

    def __exit__(self, *_: object) -> None:
        for reader in self.readers.values():
            if reader.process is not None and reader.process.is_alive():
                os.kill(reader.process.pid or 0, signal.SIGCONT)
                reader.process.kill()
            for proxy in reader.wires:
                proxy.close()
        self.consumer.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()


def kill(house: PairHouse, speaker: Reader, other: Reader) -> float:
    """Kill who speaks; return the seconds until the other's first message."""
    assert speaker.process is not None
    since_s = time.monotonic()
    speaker.process.kill()
    took_s = house.await_takeover(other, since_s)
    speaker.process.join()
    return took_s


def freeze(house: PairHouse, speaker: Reader, other: Reader) -> float:
    """Freeze who speaks, and wake it when the other has taken over: it must be fenced off."""
    assert speaker.process is not None
    since_s = time.monotonic()
    os.kill(speaker.process.pid or 0, signal.SIGSTOP)
    took_s = house.await_takeover(other, since_s)
    os.kill(speaker.process.pid or 0, signal.SIGCONT)
    _await_fenced(speaker)
    return took_s


def split(house: PairHouse, speaker: Reader, other: Reader) -> float:
    """Part who speaks from broker and store; when they are joined again it must be fenced off."""
    since_s = time.monotonic()
    for proxy in speaker.wires:
        proxy.frozen.set()
    took_s = house.await_takeover(other, since_s)
    for proxy in speaker.wires:
        proxy.frozen.clear()
        proxy.cut()
    _await_fenced(speaker)
    return took_s


def _await_fenced(reader: Reader) -> None:
    assert reader.process is not None
    reader.process.join(60)
    assert reader.process.exitcode == FENCED, f"not fenced off: {reader.process.exitcode}"
