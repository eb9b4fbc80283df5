"""Evidence through kills: what an alert names is on the disk, whole, and was heard before it."""

from __future__ import annotations

import hashlib
import io
import json
import math
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

import vision.files
from tests.chaos.kills import some_broker
from tests.chaos.outcome import Done, LimitBrokenError, rounds
from tests.chaos.shoe import play
from tests.chaos.table import PREFIX, config_of, filmed
from tests.mqtt.mqtt_tools import wait_for
from tests.seen import is_read
from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.config.table import EvidenceSection
from vision.files import DRAFT
from vision.game.events import CoupSeen, Event, Noticed
from vision.sight.geometry.plane import Frame, Image
from vision.storage.evidence import folder_of
from vision.storage.log import MESSAGES, messages_from
from vision.storage.sqlite import reading
from vision.wire.messages import Message

CODE = "EXPOSED_IN_SHOE"
ALERT_EVERY = 3
KEPT = EvidenceSection(before_s=1.0, after_s=1.0)
SIZE = (640, 480)
WRITING_S = 0.02  # so that kills fall within it
AT_WORK_S = (0.0, 0.5)
WITHIN_S = 60.0


def faulty(coups: int) -> Iterator[Event]:
    """Yield the play with a card exposed in the shoe after every third."""
    for event in play(coups):
        yield event
        if isinstance(event, CoupSeen) and is_read(event):
            order = event.cards[-1].order
            if order % ALERT_EVERY == 0:
                yield Noticed(event.at + 100, CODE, detail=f"After card {order}.")


def picture(at: int) -> Image:
    """Return what the camera shows at a moment: noise, so that files have a size."""
    small = np.random.default_rng(at).integers(0, 255, (SIZE[1] // 4, SIZE[0] // 4, 3), np.uint8)
    return np.ascontiguousarray(small.repeat(4, 0).repeat(4, 1))


class Halting(io.FileIO):
    """A file on a disk that takes its time: a write is done in halves."""

    def write(self, content: Any) -> int:
        """Write one half, and the other a moment later."""
        half = len(content) // 2
        written = super().write(content[:half])
        time.sleep(WRITING_S)
        return written + super().write(content[half:])


def slow_pictures() -> None:
    """Let every file that is written whole, as pictures are, take its time."""

    def opened(path: Path, mode: str, **keys: Any) -> Any:
        return Halting(path, mode.removesuffix("b"), **keys)

    vision.files.open = opened  # type: ignore[attr-defined]


def live(log: str, port: int, coups: int, ready: Connection) -> None:
    """Be the reader with its witness: go on where the log ends, to the end of the play."""
    slow_pictures()
    config = filmed(config_of(port), SIZE, KEPT)
    recorder = EvidenceRecorder(config, Path(log))
    journal = Journal(config, Destinations(Path(log)), recorder)
    clock = journal.table.clock
    journal.start(clock, f"b{time.time_ns()}", ())
    ready.send(True)
    for event in faulty(coups):
        if event.at > clock:
            recorder.look(Frame(picture(event.at), event.at, 0))
            journal.take([*recorder.ended(event.at), event, *recorder.reports(event.at)])
    wait_for(lambda: journal._store.depth() == 0, WITHIN_S)
    journal.close()


@dataclass
class Disk:
    """What a log and its folder of evidence hold, looked at after each kill; only what is new."""

    log: Path
    seq: int = 0
    alerts: int = 0
    parts: int = 0
    told: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    whole: set[Path] = field(default_factory=set)

    def inspect(self) -> None:
        """Find every file whole under its name, and for every alert what it names."""
        folder = folder_of(self.log)
        files = {path for path in folder.glob("*/*") if not path.name.endswith(DRAFT)}
        self.parts = max(self.parts, len(list(folder.glob(f"*/*{DRAFT}"))))
        for path in files - self.whole:
            assert path.name.split(".")[-2] == digest(path)[:12], f"half written: {path.name}"
        self.whole |= files
        for message in self._messages():
            self._weigh(message.topic.removeprefix(PREFIX), json.loads(message.payload or b"{}"))
            self.seq = message.seq

    def _messages(self) -> list[Message]:
        with reading(self.log) as db:
            rows = db.execute(f"{MESSAGES} WHERE seq > ? ORDER BY seq", (self.seq,))
            return messages_from(rows, self.log)

    def _weigh(self, topic: str, content: dict[str, Any]) -> None:
        if topic == "evidence":
            self.told.setdefault(content["topic"], []).append(content)
        if topic == "alert" and content["code"] == CODE:
            self.alerts += 1
            kinds = {name.split("/")[0] for name in content["evidence"]}
            assert kinds == {"evidence", "clip"}, f"{content['id']} lacks evidence: {kinds}"
            for kept in (one for name in content["evidence"] for one in self.told[name]):
                found = folder_of(self.log).glob(f"*/{kept['id']}.{kept['sha256'][:12]}.*")
                assert kept["sha256"] in map(digest, found), f"not on the disk: {kept['topic']}"


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Ear:
    """A consumer that looks, as each alert comes, whether it has what the alert names."""

    def __init__(self, port: int) -> None:
        self.pictures: dict[str, set[str]] = {}
        self.announced: dict[str, str] = {}
        self.alerts: set[str] = set()
        self.early: set[str] = set()
        self._up = threading.Event()
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id="chaos-ear", clean_session=False
        )
        self._client.on_connect = lambda client, *_: client.subscribe(f"{PREFIX}#", 1)
        self._client.on_subscribe = lambda *_: self._up.set()
        self._client.on_message = self._on_message
        self._client.connect("127.0.0.1", port, 5)
        self._client.loop_start()
        assert self._up.wait(20)

    def _on_message(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        topic = message.topic.removeprefix(PREFIX)
        if topic.startswith(("evidence/", "clip/")):
            sha256 = hashlib.sha256(message.payload).hexdigest()
            self.pictures.setdefault(topic, set()).add(sha256)
        elif topic == "evidence":
            content = json.loads(message.payload)
            self.announced[content["topic"]] = content["sha256"]
        elif topic == "alert":
            self._hear(json.loads(message.payload))

    def _hear(self, alert: dict[str, Any]) -> None:
        if alert["code"] != CODE or alert["id"] in self.alerts:
            return
        self.alerts.add(alert["id"])
        for name in alert["evidence"]:
            if self.announced.get(name) not in self.pictures.get(name, ()):
                self.early.add(alert["id"])

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()
        self._client.loop_stop()


def run(times: int, seconds: float = math.inf, seed: int = 1) -> Done:
    """Kill the reader so many times, or until the time is over, while it keeps evidence."""
    coups = times
    draw = random.Random(seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.chaos.proofs"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, some_broker(Path(name)) as port:
        disk, ear = Disk(Path(name) / "t.sqlite"), Ear(port)
        killed = 0
        for pause_s in chain((draw.uniform(*AT_WORK_S) for _ in rounds(times, seconds)), [300]):
            here, there = context.Pipe()
            child = context.Process(target=live, args=(str(disk.log), port, coups, there))
            child.start()
            assert here.poll(WITHIN_S), "the reader did not start"
            child.join(pause_s)
            assert child.exitcode in {None, 0}, "the reader ended by itself"
            killed += child.exitcode is None
            child.kill()
            child.join()
            disk.inspect()
        assert child.exitcode == 0, "the reader did not come to the end"
        wait_for(lambda: len(ear.alerts) >= disk.alerts, WITHIN_S)
        ear.close()
    lost = sum(isinstance(event, Noticed) for event in faulty(coups)) - disk.alerts
    if lost or ear.early:
        words = f"{lost} alerts lost, {len(ear.early)} heard before what they name"
        raise LimitBrokenError(words, lost=lost, wrong=len(ear.early))
    words = (
        f"killed {killed} times while {len(disk.whole)} pictures and clips were kept, up to "
        f"{disk.parts} left in part; all whole under their names; {disk.alerts} alerts, each with "
        f"all that it names on the disk, and heard after it; {time.monotonic() - began:.0f} s"
    )
    return Done(killed, words)
