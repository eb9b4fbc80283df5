"""A reader's voice for the tests of the boards: what a table says, through a real broker.

`Voice` says single messages; `Reader` folds events with the program's own rules and says what they
come to, as a reader does.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.table_log import header, session_of
from vision.access.command_gate import Gate, Ordered, Policy, check_vouched
from vision.clock import now_ms
from vision.config.table import TableConfig, load
from vision.game.cards import parse_cards, points_of
from vision.game.commands import Command
from vision.game.events import Event
from vision.game.fold.commands import needs_second
from vision.game.outputs import Replied
from vision.wire.commands import (
    UNANSWERED,
    Fields,
    RefusedError,
    again,
    order_fields,
    read_command,
    ref_of,
)
from vision.wire.messages import LEVELS, Message, answer
from vision.wire.session import advance

SITE = "house"
EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


def wait_for(true: Callable[[], object], seconds: float = 15.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


class Link:
    """A connection to the broker that tells, as its last will, that it is gone."""

    def __init__(self, port: int, table: str) -> None:
        self.table = table
        self.prefix = prefix = f"casino/{SITE}/table/{table}/"
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"reader-{id(self):x}",
            reconnect_on_failure=False,
        )
        gone = json.dumps({"state": "offline", "boot": "b", "seq": 0})
        self.client.will_set(prefix + "status", gone, 1, retain=True)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def publish(self, topic: str, data: bytes | str, *, retain: bool = True) -> None:
        """Publish and wait until the broker has it."""
        self.client.publish(topic, data, 1, retain).wait_for_publish(5)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Report that the reader runs, at once and twice a second."""
        over = threading.Event()

        def beat() -> None:
            while True:
                self.client.publish(self.prefix + "health", json.dumps({"fps": 30}), 1, retain=True)
                if over.wait(0.5):
                    return

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(5)

    def hang_up(self, *, in_order: bool = True) -> None:
        """Leave the broker, in order or as a crash does."""
        if in_order:
            self.client.disconnect()
        else:
            cast(socket.socket, self.client.socket()).shutdown(socket.SHUT_RDWR)
        self.client.loop_stop()


class Voice(Link):
    """Says single messages of a table."""

    def __init__(self, port: int, table: str = "7") -> None:
        super().__init__(port, table)
        self.seq = 0

    def say(self, topic: str, content: dict[str, Any] | None, *, retain: bool = True) -> None:
        """Say one message with the next number."""
        self.seq += 1
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        frame = {"schema": 1, "table": self.table, "boot": "b", "seq": self.seq, "at": at}
        data = json.dumps({**frame, **content}) if content is not None else ""
        self.publish(self.prefix + topic, data, retain=retain)

    def online(self) -> None:
        """Say that the table is seen, and that a shoe is in use."""
        self.say("status", {"state": "online"})
        shoe = {"shoe": "s1", "decks": 8, "cut_card_seen": False, "last_hand": False}
        self.say("shoe", {**shoe, "ended": False})

    def live(self, coup: int, punto: str, banco: str, *, expected: tuple[str, ...] = ()) -> None:
        """Say how the running coup stands."""
        hands = {"punto": hand(punto), "banco": hand(banco)}
        self.say("coup/live", {"shoe": "s1", "coup": coup, **hands, "expected": expected,
                               "complete": not expected, "free": False})  # fmt: skip

    def result(self, coup: int, punto: str, banco: str, **changes: object) -> None:
        """Say what a coup came to."""
        hands = {"punto": hand(punto), "banco": hand(banco)}
        result = {"revision": 0, "state": "final", "why": "", "winner": winner(punto, banco)}
        self.say("coup/result", {"shoe": "s1", "coup": coup, **hands, **result, **changes})

    def alive(self) -> None:
        """Say that the reader runs."""
        self.say("health", {"fps": 30})


class Reader(Link):
    """Folds events as the program does, says what they come to, and obeys signed orders."""

    def __init__(
        self,
        port: int,
        table: str = "7",
        users: Path | None = None,
        second_person: Policy = "never",
    ) -> None:
        self._second_person = second_person
        begun = session_of({**header(), "site": SITE, "table": table})
        self.desk = begun._replace(stream=begun.stream._replace(boot="voice"))
        super().__init__(port, table)
        self.published: list[Message] = []
        self._shown: dict[str, bytes] = {}
        self.events: list[Event] = []
        self._gate = Gate(self.prefix + "cmd/", users, 30_000)
        self._inbox: SimpleQueue[paho.MQTTMessage | None] = SimpleQueue()
        self._mutex = threading.RLock()
        self.client.on_message = lambda _client, _data, message: self._inbox.put(message)
        self.client.subscribe(self.prefix + "cmd/+", 1)
        self._thread = threading.Thread(target=self._obey, daemon=True)
        self._thread.start()

    def take(self, *events: Event) -> None:
        """Take events, and publish everything that is said of them."""
        with self._mutex:
            for event in events:
                self.events.append(event)
                step = advance(self.desk, event)
                self.desk = step.session
                for message in step.messages:
                    self._say(message)

    def play(self, events: Iterable[Event]) -> None:
        """Take a whole play."""
        self.take(*events)

    def show(self, topic: str, data: bytes) -> None:
        """Publish a picture."""
        self._shown[self.prefix + topic] = data
        self.publish(self.prefix + topic, data, retain=False)

    def alive(self) -> None:
        """Say that the reader runs."""
        self.publish(self.prefix + "health", json.dumps({"fps": 30}))

    def hang_up(self, *, in_order: bool = True) -> None:
        """Leave the broker, and obey no more."""
        self._inbox.put(None)
        self._thread.join(5)
        super().hang_up(in_order=in_order)

    def _say(self, message: Message) -> None:
        self.published.append(message)
        self.publish(message.topic, self._filled(message), retain=message.retain)

    def _filled(self, message: Message) -> bytes:
        """Return what is sent: the picture for which a message stands, empty where none is there.

        As the evidence folder does. A desk that asked for what it missed gets a picture too.
        """
        if message.topic.split("/")[-2] not in LEVELS.values():
            return message.payload
        return self._shown.get(message.topic, b"")

    def _obey(self) -> None:
        while (message := self._inbox.get()) is not None:
            name = message.topic.removeprefix(self.prefix + "cmd/")
            if name == "replay":
                self._repeat(json.loads(message.payload))
            elif name != "reply":
                self._order(name, bytes(message.payload))

    def _repeat(self, asked: dict[str, Any]) -> None:
        for message in self.published:
            if asked["first"] <= message.seq <= asked["last"]:
                published = again(message, self.prefix)
                self.publish(published.topic, self._filled(message), retain=False)

    def _order(self, name: str, payload: bytes) -> None:
        with self._mutex:
            at = max(now_ms(), self.desk.table.clock)
            fields: Fields = {}
            try:
                fields = order_fields(payload)
                self._gate.admit(self._gate.verify(name, fields))
                event = read_command(name, fields, at)
                if isinstance(event, Command) and needs_second(self.desk.table, event):
                    ordered = Ordered(event, name, fields)
                    check_vouched(ordered, self._second_person, self._gate.users)
                self.take(event)
                if isinstance(event, UNANSWERED):
                    reply = Replied(at, fields["ref"], name, fields["key"], accepted=True, why="")
                    message = answer(self.desk.stream, reply)
                    self.publish(message.topic, message.payload, retain=False)
            except RefusedError as error:
                reply = Replied(at, ref_of(fields), name, "", accepted=False, why=str(error))
                message = answer(self.desk.stream, reply)
                self.publish(message.topic, message.payload, retain=False)


def table_config(port: int, table: str = "7", **board: object) -> TableConfig:
    """Return the settings of a table whose boards are served on a free port."""
    config = load(EXAMPLE)
    broker = config.broker.model_copy(update={"kind": "embedded", "port": port})
    served = config.board.model_copy(update={"port": 0, **board})
    names = {"site": SITE, "table": table, "profile": "punto-banco"}
    return config.model_copy(update={**names, "broker": broker, "board": served})


def hand(cards: str) -> dict[str, Any]:
    """Return a hand as the messages have it; `?` is a card that is not shown."""
    faces = [None if word == "?" else word for word in cards.split()]
    known = parse_cards(" ".join(face for face in faces if face))
    points = points_of(known) if len(known) == len(faces) > 1 else None
    natural = points is not None and points >= 8 and len(faces) == 2
    pair = len(known) >= 2 and known[0].rank == known[1].rank
    return {"cards": faces, "points": points, "natural": natural, "pair": pair}


def winner(punto: str, banco: str) -> str:
    """Return who wins with these hands."""
    ours, theirs = points_of(parse_cards(punto)), points_of(parse_cards(banco))
    return "egalite" if ours == theirs else "punto" if ours > theirs else "banco"
