"""Publish a table's messages to the broker until they are acknowledged, and receive its commands.

One thread owns the connection; callers and paho's network thread only put notes into its queue.
Each connection is a new client and begins with the oldest unacknowledged message of the outbox, so
that nothing depends on paho's own queue of unsent messages, which a restart would lose.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from queue import Empty, Full, Queue, SimpleQueue
from typing import Protocol

import paho.mqtt.client as paho
from paho.mqtt.reasoncodes import ReasonCode

from vision.errors import OutsideError
from vision.mqtt.endpoint import (
    KEEPALIVE_S,
    Endpoint,
    explain_error,
    explain_refusal,
    new_client,
)
from vision.wire.commands import PAYLOAD_LIMIT
from vision.wire.messages import Message

# Messages that may be sent and not yet acknowledged: enough to fill a slow line, few enough that
# little is sent twice after a lost connection. 20 is also what paho keeps in flight.
IN_FLIGHT = 20
# Seconds before the next try to connect: the first pause, doubled up to the last one. Longer, and
# the boards come back late; shorter, and a broker that is down is hammered.
FIRST_DELAY_S = 0.25
LAST_DELAY_S = 5.0
# Commands that may wait to be read; the reader takes all with each frame, so only a flood fills it,
# and is dropped with a warning.
INBOX_SIZE = 200
# Seconds that stopping takes at most beyond the draining.
JOIN_S = 10.0
# Seconds of the shortest wait for a note while draining.
LEAST_WAIT_S = 0.01

log = logging.getLogger(__name__)


# Turns a message of the outbox into what is sent: a picture is read from its file only then.
Fill = Callable[[Message], Message]


def as_it_is(message: Message) -> Message:
    """Return the message as it stands in the outbox."""
    return message


class Outbox(Protocol):
    """What the publisher needs of the store."""

    def pending(self, after: int, limit: int) -> list[Message]:
        """Return unacknowledged messages after `after`, in order of `seq`."""

    def retained(self) -> list[Message]:
        """Return the acknowledged latest of every retained topic."""

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Forget messages that the broker has acknowledged."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command as received: the last level of its topic, and its bytes."""

    name: str
    payload: bytes


class _Note(Enum):
    WAKE = auto()
    CONNECTED = auto()
    GONE = auto()


@dataclass(slots=True)
class _Session:
    """One connection: its queue of notes, the messages in flight, and the last `seq` handed over.

    `in_flight` has the `seq` of each message by paho's number of it.
    """

    client: paho.Client
    queue: SimpleQueue[_Note | int | Message] = field(default_factory=SimpleQueue)
    in_flight: dict[int, int] = field(default_factory=dict)
    cursor: int = 0
    up: bool = False


class Publisher:
    """Sends a table's messages to one broker, for as long as it takes."""

    def __init__(
        self,
        endpoint: Endpoint,
        outbox: Outbox,
        *,
        will: Message,
        commands: str,
        fill: Fill = as_it_is,
    ) -> None:
        """Prepare; nothing is sent before `start`.

        `will` is the message that the broker sends when we vanish; `commands` is a topic prefix
        (`.../cmd/`) whose next level names the command.
        """
        self._fill = fill
        self._endpoint = endpoint
        self._outbox = outbox
        self._will = will
        self._commands = commands
        self._inbox: Queue[Request] = Queue(INBOX_SIZE)
        self._session: _Session | None = None
        self._stopping = threading.Event()
        self._drain_until = 0.0
        self._complaint = ""
        self._last: Message | None = None
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)

    @property
    def connected(self) -> bool:
        """Whether the broker has accepted us and the connection stands."""
        session = self._session
        return session is not None and session.up

    @property
    def complaint(self) -> str:
        """Why there is no connection, for people; empty when connected."""
        return "" if self.connected else self._complaint

    def start(self) -> None:
        """Begin to connect; never fails, and tries again for ever (`probe` reports at once)."""
        self._thread.start()

    def wake(self) -> None:
        """Announce that the outbox has grown."""
        self._put(_Note.WAKE)

    def say(self, message: Message) -> None:
        """Send a message outside the outbox, if connected: health, refusals."""
        self._put(message)

    def say_last(self, message: Message) -> None:
        """Send the very last message of the run; nothing is sent after it."""
        self._last = message
        self._put(message)

    def requests(self) -> list[Request]:
        """Return the commands received since the last call, oldest first."""
        found: list[Request] = []
        while True:
            try:
                found.append(self._inbox.get_nowait())
            except Empty:
                return found

    def stop(self, drain_s: float = 3.0) -> None:
        """Send what is left while connected, at most `drain_s` seconds, then disconnect."""
        self._drain_until = time.monotonic() + drain_s
        self._stopping.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join(drain_s + JOIN_S)

    def _put(self, note: _Note | Message) -> None:
        session = self._session
        if session is not None:
            session.queue.put(note)

    # --- the publisher's own thread ----------------------------------------------------------

    def _run(self) -> None:
        delay = FIRST_DELAY_S
        while not self._stopping.is_set():
            began = time.monotonic()
            self._attempt()
            # A broker that accepts us and drops us at once must not be hammered.
            if time.monotonic() - began > LAST_DELAY_S:
                delay = FIRST_DELAY_S
            self._stopping.wait(delay)
            delay = min(delay * 2, LAST_DELAY_S)

    def _attempt(self) -> None:
        session = self._new_session()
        client = session.client
        try:
            client.connect(self._endpoint.host, self._endpoint.port, KEEPALIVE_S)
        except (OSError, ValueError) as error:
            self._complain(explain_error(error, self._endpoint))
            return
        self._session = session
        client.loop_start()
        try:
            self._serve(session)
        except OutsideError as error:
            # The store has failed; the run learns it from its own next write. After an orderly
            # disconnect the broker does not send the last will, so it is published here.
            self._complain(str(error))
            self._publish(session, self._last or self._will)
        finally:
            self._session = None
            client.disconnect()
            client.loop_stop()

    def _serve(self, session: _Session) -> None:
        while True:
            notes = self._notes(session)
            acknowledged = [
                session.in_flight.pop(note)
                for note in notes
                if isinstance(note, int) and note in session.in_flight
            ]
            if acknowledged:
                self._outbox.acknowledge(acknowledged)
            if _Note.CONNECTED in notes:
                self._greet(session)
            if session.up:
                for note in notes:
                    if isinstance(note, Message):
                        self._publish(session, note)
                self._hand_over(session)
            if _Note.GONE in notes or (self._stopping.is_set() and self._drained(session)):
                return

    def _notes(self, session: _Session) -> list[_Note | int | Message]:
        notes: list[_Note | int | Message] = []
        try:
            left = max(LEAST_WAIT_S, self._drain_until - time.monotonic())
            notes.append(session.queue.get(timeout=left if self._stopping.is_set() else None))
            while True:
                notes.append(session.queue.get_nowait())
        except Empty:
            return notes

    def _greet(self, session: _Session) -> None:
        session.up = True
        self._complaint = ""
        log.info("connected to the broker at %s", self._endpoint)
        session.client.subscribe(f"{self._commands}+", qos=1)
        # The broker may have lost its retained messages in a restart.
        for message in (self._last,) if self._last else self._outbox.retained():
            self._publish(session, message)

    def _hand_over(self, session: _Session) -> None:
        room = IN_FLIGHT - len(session.in_flight)
        if room > 0:
            for message in self._outbox.pending(session.cursor, room):
                session.in_flight[self._publish(session, message)] = message.seq
                session.cursor = message.seq

    def _publish(self, session: _Session, message: Message) -> int:
        sent = self._fill(message)
        return session.client.publish(sent.topic, sent.payload, sent.qos, sent.retain).mid

    def _drained(self, session: _Session) -> bool:
        late = time.monotonic() >= self._drain_until
        return late or not session.up or not session.in_flight

    def _complain(self, words: str) -> None:
        if words != self._complaint:
            log.warning("%s; trying again, messages are kept until then", words)
        self._complaint = words

    # --- paho's network thread ---------------------------------------------------------------

    def _new_session(self) -> _Session:
        name = self._will.topic.removesuffix("/status").replace("/", "-")
        session = _Session(new_client(self._endpoint, f"shoe-reader-{name}"))
        client, queue = session.client, session.queue
        client.will_set(self._will.topic, self._will.payload, self._will.qos, self._will.retain)

        def on_connect(
            _client: object, _data: object, _flags: object, code: ReasonCode, _: object
        ) -> None:
            if code.is_failure:
                self._complain(explain_refusal(code, self._endpoint))
            else:
                queue.put(_Note.CONNECTED)

        client.on_connect = on_connect
        client.on_publish = lambda _client, _data, mid, _code, _more: queue.put(mid)
        client.on_disconnect = lambda *_: queue.put(_Note.GONE)
        client.on_message = lambda _client, _data, message: self._receive(message)
        return session

    def _receive(self, message: paho.MQTTMessage) -> None:
        name = message.topic.removeprefix(self._commands)
        # A retained command is an old one; answers to commands arrive under the same prefix.
        if message.retain or name in ("reply", message.topic):
            return
        try:
            self._inbox.put_nowait(Request(name, bytes(message.payload[: PAYLOAD_LIMIT + 1])))
        except Full:
            log.warning("command '%s' dropped: %d others wait", name, INBOX_SIZE)
