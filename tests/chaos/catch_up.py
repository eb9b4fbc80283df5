"""How much later a live result is while the table's messages are sent again: `main` prints it.

    python -m tests.chaos.catch_up

A desk has asked for 3,000 messages with pictures, over a wire of 2 MB/s between reader and broker;
meanwhile coups are dealt. The same coups over the same wire without a desk are the comparison.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from pathlib import Path
from typing import Self, cast

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.chaos.outcome import LimitBrokenError
from tests.chaos.proxy import Proxy
from tests.chaos.shoe import NOON, play
from tests.chaos.table import PREFIX, config_of
from tests.mqtt.mqtt_tools import Mosquitto, wait_for
from tests.seen import is_read
from vision.access.users import Credential, User, Users, save_users
from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.clock import now_ms
from vision.record.facts import EvidenceKept, Medium
from vision.wire.commands import RANGE_LIMIT
from vision.wire.messages import Message

WIRE = 2_000_000  # bytes a second
SIZE = 40_000  # bytes of a picture
MESSAGES = 3_000  # asked for again, of which half are pictures
FRAME_S = 0.033
# Seconds that a result may be later: deploy/resilience.md promises it, people hardly notice it.
MOST_LATER_S = 0.3


class Pictures:
    """In place of an evidence recorder: pictures of one size, and none of what happens now."""

    def evidence_of(self, _shelf: object, _outputs: object) -> list[EvidenceKept]:
        """Keep nothing."""
        return []

    @property
    def store(self) -> Self:
        """The pictures, as if from the disk."""
        return self

    def newest(self) -> int:
        """Return the time of the newest picture: there is none on the disk."""
        return 0

    def filled(self, message: Message) -> Message:
        """Return the message as it is sent."""
        level = message.topic.split("/")[-2]
        return message._replace(payload=bytes(SIZE)) if level == "evidence" else message


class Watcher:
    """A client that notes when each result arrives, and asks for old messages."""

    def __init__(self, port: int) -> None:
        self.at_s: dict[tuple[str, int], float] = {}
        self.again = 0
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id="watcher")
        self._client.on_message = self._take
        self._client.connect("127.0.0.1", port)
        self._client.subscribe([(PREFIX + "coup/result", 1), (PREFIX + "replay/#", 0)])
        self._client.loop_start()

    def _take(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        if "/replay/" in message.topic:
            self.again += 1
            return
        payload = json.loads(message.payload)
        self.at_s.setdefault((payload["shoe"], payload["coup"]), time.monotonic())

    def ask(self, credential: Credential) -> None:
        """Ask for all old messages, signed."""
        for first in range(1, MESSAGES, RANGE_LIMIT):
            fields = {"first": first, "last": first + RANGE_LIMIT - 1, "by": "desk"}
            fields |= {"ref": secrets.token_hex(8)}
            signed = credential.sign(f"{PREFIX}cmd/replay", fields, now_ms())
            self._client.publish(f"{PREFIX}cmd/replay", json.dumps(signed), 1)

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()
        self._client.loop_stop()


def journal_at(port: int, folder: Path, credential: Credential) -> Journal:
    """Open a journal that knows the desk's key; its log has MESSAGES messages, half pictures."""
    desk = User(roles=("dealer",), key=credential.public, may_act_for=True)
    save_users(folder / "users.json", Users(users={"desk": desk}))
    config = config_of(port)
    orders = config.orders.model_copy(update={"users": str(folder / "users.json")})
    config = config.model_copy(update={"orders": orders})
    recorder = cast(EvidenceRecorder, Pictures())
    journal = Journal(config, Destinations(folder / "t.sqlite"), recorder)
    old = (
        EvidenceKept(NOON + n, f"s0-1-c{n}", Medium.STILL, "s0", 1, f"{n:064x}", SIZE, n)
        for n in range(MESSAGES // 2)
    )
    journal.take(old)
    return journal


def delays(coups: int, *, asked: bool) -> tuple[list[float], int]:
    """Return the seconds from each result to its arrival, and how much was sent again meanwhile."""
    credential = Credential.new("desk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = ("listener PORT 127.0.0.1", "allow_anonymous true", "max_queued_messages 0")
        with (
            Mosquitto(folder, *lines) as server,
            Proxy(server.port) as wire,
            journal_at(wire.port, folder, credential) as journal,
        ):
            journal.start(NOON, "b1", ())
            wait_for(lambda: journal._store.depth() == 0, 120)
            wire.bytes_per_s = WIRE
            watcher = Watcher(server.port)
            time.sleep(0.3)
            if asked:
                watcher.ask(credential)
                wait_for(lambda: journal.link.orders(now_ms()) or watcher.again > 20, 30)
            said_s = dealt(journal, coups)
            wait_for(lambda: len(watcher.at_s) >= len(said_s), 120)
            watcher.close()
            found = [watcher.at_s[coup] - at_s for coup, at_s in said_s.items()]
            return found, watcher.again


def dealt(journal: Journal, coups: int) -> dict[tuple[str, int], float]:
    """Deal the coups, a frame between two cards; return when each result was said."""
    said_s: dict[tuple[str, int], float] = {}
    for event in play(coups):
        steps = journal.take([event])
        for step in steps:
            for message in step.messages:
                if message.topic == PREFIX + "coup/result":
                    payload = json.loads(message.payload)
                    said_s.setdefault((payload["shoe"], payload["coup"]), time.monotonic())
        if is_read(event):
            journal.link.orders(now_ms())
            time.sleep(FRAME_S)
    return said_s


def run(coups: int = 40) -> str:
    """Measure both; AssertionError when a result is later than it may be."""
    alone, _ = delays(coups, asked=False)
    beside, again = delays(coups, asked=True)
    later_s = max(beside) - max(alone)
    words = (
        f"{coups} results: alone {median(alone):.3f} s, worst {max(alone):.3f} s; while {again} of "
        f"{MESSAGES} messages were sent again {median(beside):.3f} s, worst {max(beside):.3f} s; "
        f"at most {later_s:.3f} s later"
    )
    assert again > 100, words
    if later_s > MOST_LATER_S:
        late = sum(value > max(alone) + MOST_LATER_S for value in beside)
        raise LimitBrokenError(words, late=late)
    return words


def median(values: list[float]) -> float:
    """Return the one in the middle."""
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    print(run())
