"""Decide which of a table's unsent messages goes next: results first, pictures on their own.

A table has two connections to its broker, and each is fed from lanes, first come, first served
within a lane. The **live** connection takes results and what else the public may know, then alerts,
then all other messages. The **bulk** connection takes the pictures that prove alerts, then the
pictures of cards, then what consumers have asked for again. So neither a large picture nor a long
replay stands in the way of a result.

An alert waits until the pictures that it names are with the broker, because the contract has them
come first; but not for pictures that do not get through.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from vision.wire.commands import COPY, PUBLIC, REPLAY
from vision.wire.messages import PICTURES, Message

# Messages that may be sent and not yet acknowledged on a connection: enough to fill a slow line,
# few enough that little is sent twice after a lost one; paho keeps as many in flight.
IN_FLIGHT = 20
# Bytes of pictures in flight, unless a single one is larger: a quarter of a second at 2 MB/s, so
# that the picture of an alert does not wait long behind others. Chosen, not measured; less leaves a
# fast line idle between acknowledgements.
BULK_BYTES = 512 * 1024
# Unsent messages read from the store at a time; more only takes more memory for a moment.
READ_AT_ONCE = 500
# Times that a picture alone in flight may end the connection before it is set aside. One could be
# an accident of the network; more keeps other pictures waiting longer.
TRIES_ALONE = 2

ANNOUNCED = "evidence"  # the topic that says what a picture is


class Outbox(Protocol):
    """What the publisher needs of the store."""

    def pending(self, after: int, limit: int) -> list[Message]:
        """Return unacknowledged messages after `after`, in order of `seq`."""

    def retained(self) -> list[Message]:
        """Return the acknowledged latest of every retained topic."""

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Forget messages that the broker has acknowledged."""


class Replayed(Protocol):
    """What consumers have asked for again."""

    def next(self) -> Message | None:
        """Return the next message that is due, if any."""

    def put_back(self, messages: Sequence[Message]) -> None:
        """Take messages back that did not reach the broker, oldest first."""


class Load(NamedTuple):
    """What a connection has in flight."""

    messages: int
    size: int


class Parcel(NamedTuple):
    """A message as the outbox has it, and the payload that is sent."""

    message: Message
    payload: bytes


class SetAside(NamedTuple):
    """A picture that the broker does not take: its topic below the prefix, and its bytes."""

    topic: str
    size: int


class Lane(Enum):
    """The lanes of both connections."""

    RESULTS = auto()
    ALERTS = auto()
    REST = auto()
    PROOFS = auto()
    STILLS = auto()


LIVE = (Lane.RESULTS, Lane.ALERTS, Lane.REST)
BULK = (Lane.PROOFS, Lane.STILLS)  # nobody waits for the end of a replay

# Turns a message of the outbox into what is sent: a picture is read from its file only then.
Fill = Callable[[Message], Message]


class Lanes:
    """The unsent messages by lane; safe to use from the threads of both connections.

    Only numbers are held in memory; a message is read again when it is sent.
    """

    def __init__(self, outbox: Outbox, prefix: str) -> None:
        """Order the outbox of the table whose topics begin with `prefix`."""
        self._outbox = outbox
        self._prefix = prefix
        self._mutex = threading.Lock()
        self._read_to = 0
        self._lanes: dict[Lane, deque[int]] = {lane: deque() for lane in Lane}
        self._lane_of: dict[int, Lane] = {}
        self._shown_by: dict[int, str] = {}  # what a picture, or its announcement, shows
        self._awaited: tuple[int, frozenset[str]] = (0, frozenset())

    def topic(self, message: Message) -> str:
        """Return the topic of a message below the table's prefix."""
        return message.topic.removeprefix(self._prefix)

    def read(self) -> None:
        """Take note of the messages that are new in the outbox; OutsideError when it fails."""
        with self._mutex:
            while found := self._outbox.pending(self._read_to, READ_AT_ONCE):
                for message in found:
                    self._sort(message)
                self._read_to = found[-1].seq

    def next(self, lane: Lane) -> Message | None:
        """Take the next message out of a lane, if it has any."""
        with self._mutex:
            queue = self._lanes[lane]
            while queue:
                message = self._load(queue.popleft())
                if message is not None:
                    return message
            return None

    def awaits_pictures(self) -> bool:
        """Whether the next alert names pictures that are not yet with the broker.

        Those are moved before all other pictures.
        """
        with self._mutex:
            queue = self._lanes[Lane.ALERTS]
            if not queue:
                return False
            if self._awaited[0] != queue[0]:
                self._awaited = queue[0], self._named(queue[0])
                self._promote(*self._awaited)
            return bool(self._unsent(*self._awaited))

    def acknowledge(self, seqs: Sequence[int]) -> None:
        """Forget messages that the broker has acknowledged."""
        self._outbox.acknowledge(seqs)
        with self._mutex:
            for seq in seqs:
                self._lane_of.pop(seq, None)
                self._shown_by.pop(seq, None)

    def put_back(self, seqs: Iterable[int]) -> None:
        """Put messages that did not reach the broker at the beginning of their lanes again."""
        with self._mutex:
            for seq in sorted(seqs, reverse=True):
                if seq in self._lane_of:
                    self._lanes[self._lane_of[seq]].appendleft(seq)

    def is_empty(self, lanes: Iterable[Lane]) -> bool:
        """Whether nothing of these lanes waits to be sent; OutsideError when the outbox fails."""
        self.read()
        with self._mutex:
            return not any(self._lanes[lane] for lane in lanes)

    def _sort(self, message: Message) -> None:
        topic, lane = self.topic(message), Lane.REST
        if topic in PUBLIC:
            lane = Lane.RESULTS
        elif topic == "alert" or topic.startswith("alert/"):
            lane = Lane.ALERTS
        elif topic == ANNOUNCED or topic.startswith(PICTURES):
            # A picture stands in the outbox with the content of its announcement.
            content = json.loads(message.payload)
            lane = Lane.PROOFS if content["alert"] else Lane.STILLS
            self._shown_by[message.seq] = content["topic"]
        self._lanes[lane].append(message.seq)
        self._lane_of[message.seq] = lane

    def _load(self, seq: int) -> Message | None:
        found = self._outbox.pending(seq - 1, 1)
        return found[0] if found and found[0].seq == seq else None

    def _named(self, seq: int) -> frozenset[str]:
        """Return the pictures an alert names as it is raised; what follows it awaits no others."""
        message = self._load(seq)
        if message is None or self.topic(message) != "alert":
            return frozenset()
        return frozenset(json.loads(message.payload).get("evidence", ()))

    def _unsent(self, alert: int, topics: frozenset[str]) -> list[int]:
        """Return the pictures that an alert names and the broker has not acknowledged."""
        shown = self._shown_by.items() if topics else ()
        return [seq for seq, topic in shown if seq < alert and topic in topics]

    def _promote(self, alert: int, topics: frozenset[str]) -> None:
        stills = self._lanes[Lane.STILLS]
        for seq in self._unsent(alert, topics):
            if seq in stills:
                stills.remove(seq)
                self._lanes[Lane.PROOFS].append(seq)
                self._lane_of[seq] = Lane.PROOFS


class MessageSource:
    """What a connection sends: nothing by itself; nobody waits for it, and none of it is stored."""

    def next(self, _load: Load) -> Parcel | None:
        """Return what is to be sent next beside what is in flight, `None` for nothing now."""
        return None

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Take note of what the broker has."""

    def lost(self, messages: Sequence[Message]) -> None:
        """Take back what was in flight when the connection ended, oldest first."""

    def is_idle(self) -> bool:
        """Whether nothing waits."""
        return True


class _LaneSource(MessageSource):
    """What one connection sends of the lanes, and puts back when it did not arrive."""

    def __init__(self, lanes: Lanes, own: Sequence[Lane]) -> None:
        self._lanes = lanes
        self._own = own

    def acknowledge(self, messages: Sequence[Message]) -> None:
        self._lanes.acknowledge([message.seq for message in messages])

    def lost(self, messages: Sequence[Message]) -> None:
        self._lanes.put_back(message.seq for message in messages)

    def is_idle(self) -> bool:
        return self._lanes.is_empty(self._own)


class LiveSource(_LaneSource):
    """What the live connection sends; `is_stuck` says that pictures do not get out."""

    def __init__(self, lanes: Lanes, is_stuck: Callable[[], bool]) -> None:
        super().__init__(lanes, LIVE)
        self._is_stuck = is_stuck

    def next(self, load: Load) -> Parcel | None:
        """Return the next message, or alert whose pictures have come first."""
        if load.messages >= IN_FLIGHT:
            return None
        self._lanes.read()
        for lane in LIVE:
            if lane is Lane.ALERTS and self._lanes.awaits_pictures() and not self._is_stuck():
                continue
            message = self._lanes.next(lane)
            if message is not None:
                return Parcel(message, message.payload)
        return None


class BulkSource(_LaneSource):
    """What the bulk connection sends: pictures, then what is asked for again.

    A picture larger than `most_bytes`, or that alone in flight has ended the connection TRIES_ALONE
    times, is set aside: its announcement goes out with its hash, it stays on the disk, and in its
    place goes an empty payload.
    """

    def __init__(
        self, lanes: Lanes, fill: Fill | None, replayed: Replayed | None, most_bytes: int
    ) -> None:
        super().__init__(lanes, BULK)
        self._fill = fill
        self._replayed = replayed
        self._most_bytes = most_bytes
        self._strikes: dict[int, int] = {}
        self.set_aside: deque[SetAside] = deque()

    def next(self, load: Load) -> Parcel | None:
        """Return the next picture, or message that was asked for again."""
        most = 1 if self._strikes else IN_FLIGHT
        if load.messages >= most or load.size >= BULK_BYTES:
            return None
        self._lanes.read()
        for lane in BULK:
            message = self._lanes.next(lane)
            if message is not None:
                return Parcel(message, self._payload(message))
        again = None if self._replayed is None else self._replayed.next()
        return None if again is None else Parcel(again, self._payload(again))

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Forget what the broker has; what was asked for again it had before."""
        for message in messages:
            self._strikes.pop(message.seq, None)
        if own := [message for message in messages if not self._is_again(message)]:
            super().acknowledge(own)

    def lost(self, messages: Sequence[Message]) -> None:
        """Take back what was in flight when the connection ended, and suspect its pictures."""
        for message in messages:
            if self._is_picture(message):
                alone = len(messages) == 1
                self._strikes[message.seq] = self._strikes.get(message.seq, 0) + alone
        if self._replayed is not None:
            self._replayed.put_back([m for m in messages if self._is_again(m)])
        super().lost([m for m in messages if not self._is_again(m)])

    def _payload(self, message: Message) -> bytes:
        """Return what is sent of a message: of a picture that is set aside, nothing."""
        payload = (message if self._fill is None else self._fill(message)).payload
        if not payload or not self._is_picture(message):
            return payload
        if len(payload) <= self._most_bytes and self._strikes.get(message.seq, 0) < TRIES_ALONE:
            return payload
        self.set_aside.append(SetAside(self._lanes.topic(message), len(payload)))
        return b""

    def _is_again(self, message: Message) -> bool:
        return self._lanes.topic(message).startswith(f"{REPLAY}/")

    def _is_picture(self, message: Message) -> bool:
        topic = self._lanes.topic(message)
        if self._is_again(message):
            topic = topic.split("/", 2)[2]
        return topic.startswith(PICTURES)


def copy_of(message: Message, prefix: str) -> Message:
    """Return the copy of a message of the table whose topics begin with `prefix`."""
    topic = message.topic.removeprefix(prefix)
    return message._replace(topic=f"{prefix}{COPY}/{topic}", qos=0, retain=False)


class CopySource(MessageSource):
    """What one connection for copies sends: each public message once, while `is_stuck`.

    A cluster that elects a leader (nats-server 2.9: 4 to 9 s) takes no message of QoS 1, and until
    then nothing behind it on the same connection. Copies go over connections of their own to other
    nodes, at QoS 0 and not retained, under topics of their own: who must have everything ignores
    them, and displays take what is newer than what they have.
    """

    def __init__(self, outbox: Outbox, prefix: str, is_stuck: Callable[[], bool]) -> None:
        self._outbox = outbox
        self._prefix = prefix
        self._is_stuck = is_stuck
        self._read_to = 0

    def next(self, load: Load) -> Parcel | None:
        """Return the next copy, `None` where messages get through or all have been copied."""
        if load.messages >= IN_FLIGHT or not self._is_stuck():
            return None
        while found := self._outbox.pending(self._read_to, IN_FLIGHT):
            for message in found:
                self._read_to = message.seq
                if message.topic.removeprefix(self._prefix) in PUBLIC:
                    return Parcel(copy_of(message, self._prefix), message.payload)
        return None
