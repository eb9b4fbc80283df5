"""One connection to the broker: sends what a source has until it is acknowledged, for ever.

A thread of its own holds the connection; callers and paho's network thread only put notes into its
queue. Each connection is a new client, so that nothing depends on paho's own queue of unsent
messages. A broker that does not answer, or acknowledges nothing, is left and tried again.
"""

from __future__ import annotations

import contextlib
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from queue import Empty, SimpleQueue

import paho.mqtt.client as paho
from paho.mqtt.reasoncodes import ReasonCode

from vision.errors import OutsideError
from vision.mqtt.endpoint import (
    Endpoint,
    explain_error,
    explain_refusal,
    explain_silence,
    new_client,
)
from vision.mqtt.lanes import Load, MessageSource
from vision.wire.messages import Message

# Seconds before the next try to connect: the first pause, doubled up to the last one. Longer, and
# the boards come back late; shorter, and a broker that is down is hammered.
FIRST_DELAY_S = 0.25
LAST_DELAY_S = 5.0
# Seconds that the broker may take to acknowledge a message, beyond what its bytes take on a slow
# line. A healthy one takes milliseconds; MQTT gives no limit. Longer, and a broker that hangs is
# left late; shorter, and a busy one gets everything twice.
ACKNOWLEDGE_S = 30.0
# The same where the broker has other addresses: a node parted from its cluster takes messages and
# acknowledges none, and others would. An election of nats-server 2.9 takes 4 to 9 s: shorter, and
# each sends everything twice; longer, and the tables of a parted node are late at the boards.
ACKNOWLEDGE_CLUSTER_S = 4.0
# Bytes a second of the slowest line on which a large picture still gets through. Faster, and a
# picture on a slow line would be begun again and again; slower, and a lost one is noticed late.
SLOWEST_BYTES_S = 20_000
# Seconds between two looks whether the broker is late, and whether pictures still get through.
TICK_S = 0.25
# Seconds that an orderly end of a connection may take before it is cut: a full line has no room.
FAREWELL_S = 1.0
# Seconds that stopping takes at most beyond the draining.
JOIN_S = 10.0
# Seconds of the shortest wait for a note while draining.
LEAST_WAIT_S = 0.01

log = logging.getLogger(__name__)


class _Event(Enum):
    WAKE = auto()
    GONE = auto()


# What the thread of a channel is given: an event, the broker's answer to a new connection, paho's
# number of a message that the broker has, or a message to send beside the source.
_Note = _Event | ReasonCode | int | Message


class _LateError(Exception):
    """The broker does not answer in time; the words are for people."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message in flight: its payload's bytes, and the monotonic instant it was handed over."""

    message: Message
    size: int
    at_s: float


@dataclass(slots=True)
class BrokerSession:
    """One connection: its queue of notes, and what is in flight by paho's number of it."""

    client: paho.Client
    began_s: float
    queue: SimpleQueue[_Note] = field(default_factory=SimpleQueue)
    in_flight: dict[int, _Sent] = field(default_factory=dict)
    is_up: bool = False
    is_gone: bool = False

    @property
    def load(self) -> Load:
        """What is in flight."""
        return Load(len(self.in_flight), sum(sent.size for sent in self.in_flight.values()))

    def publish(self, message: Message, payload: bytes) -> int:
        """Hand a message to the network; return paho's number of it."""
        return self.client.publish(message.topic, payload, message.qos, message.retain).mid


class BrokerChannel:
    """A connection that is made again whenever it ends.

    `prepare` readies each new client before it connects; `greet` is called when the broker has
    accepted it, `acknowledged` after the broker has taken something; `farewell` returns what is
    sent last when the source fails; `hold` returns why it must not connect now, in words or "",
    `None` where it may; `may_send` whether anything may be sent at this moment, which it must to
    connect too. All are called from threads of the channel. One that `stays` never goes to another
    node of a cluster; `last_delay_s` is the longest pause before the next try. `complaint` is why
    there is no connection, or why it ended, for people; empty when all is well. `began_s` and
    `ended_s` are the monotonic instants at which the broker last let us in, which it has done
    `times_up` times, and a connection last ended.
    """

    def __init__(
        self, name: str, endpoint: Endpoint, client_id: str, source: MessageSource
    ) -> None:
        """Prepare; nothing is sent before `start`. `name` is for the log and the thread."""
        self.prepare: Callable[[paho.Client], object] = lambda _client: None
        self.greet: Callable[[BrokerSession], object] = lambda _session: None
        self.acknowledged: Callable[[], object] = lambda: None
        self.farewell: Callable[[], Message | None] = lambda: None
        self.hold: Callable[[], str | None] = lambda: None
        self.may_send: Callable[[], bool] = lambda: True
        self.stays, self.last_delay_s = False, LAST_DELAY_S
        self.times_up = 0
        self._name = name
        self._endpoint = endpoint
        self._client_id = client_id
        self._source = source
        self._session: BrokerSession | None = None
        self._stopping = threading.Event()
        self._drain_until = 0.0
        self.complaint = ""
        self._moved_s = time.monotonic()
        self.began_s = self.ended_s = -math.inf
        self._thread = threading.Thread(target=self._run, name=f"mqtt-{name}", daemon=True)

    @property
    def is_up(self) -> bool:
        """Whether the broker has accepted us and the connection stands."""
        session = self._session
        return session is not None and session.is_up

    @property
    def waiting_s(self) -> float:
        """Seconds since something last got through, 0 while nothing waits."""
        self._note_idle()
        return time.monotonic() - self._moved_s

    def start(self) -> None:
        """Begin to connect; never fails, and tries again for ever."""
        self._moved_s = time.monotonic()
        self._thread.start()

    def wake(self) -> None:
        """Announce that the source has more."""
        self._put(_Event.WAKE)

    def publish(self, message: Message) -> None:
        """Send a message beside the source, if connected."""
        self._put(message)

    def begin_stop(self, drain_s: float) -> None:
        """Send what is left while connected, at most `drain_s` seconds, then disconnect."""
        self._drain_until = time.monotonic() + drain_s
        self._stopping.set()
        self.wake()

    def join(self) -> None:
        """Wait until the connection has ended after `begin_stop`."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, self._drain_until - time.monotonic()) + JOIN_S)

    def _note_idle(self) -> None:
        session = self._session
        if self._source.is_idle() and not (session is not None and session.in_flight):
            self._moved_s = time.monotonic()

    def _put(self, note: _Note) -> None:
        session = self._session
        if session is not None:
            session.queue.put(note)

    # --- the channel's own thread ------------------------------------------------------------

    def _run(self) -> None:
        delay = FIRST_DELAY_S
        while not self._stopping.is_set():
            why = self.hold() if self.may_send() else ""
            if why is not None:
                if why:
                    self._complain(why)
                self._stopping.wait(TICK_S)
                continue
            began = time.monotonic()
            try:
                self._attempt()
            except Exception:  # a defect of ours must not end the connection for good
                log.exception("the connection for %s failed; reconnecting; report this", self._name)
            # A broker that accepts us and drops us at once must not be hammered.
            if time.monotonic() - began > self.last_delay_s:
                delay = FIRST_DELAY_S
            if not self.stays:
                self._endpoint = self._endpoint.turned()
            self._stopping.wait(delay)
            delay = min(delay * 2, self.last_delay_s)

    def _attempt(self) -> None:
        session = self._new_session()
        try:
            address = self._endpoint
            session.client.connect(address.host, address.port, address.keepalive_s)
        except (OSError, ValueError) as error:
            self._complain(explain_error(error, self._endpoint))
            return
        self._session = session
        session.client.loop_start()
        try:
            self._serve(session)
        except _LateError as error:
            self._complain(str(error))
            self._cut(session)
        except OutsideError as error:
            # The store has failed; the run learns it from its own next write. After an orderly
            # disconnect the broker does not send the last will, so it is published here.
            self._complain(str(error))
            last = self.farewell()
            if last is not None:
                session.publish(last, last.payload)
        finally:
            self._source.lost([sent.message for sent in session.in_flight.values()])
            self._session, self.ended_s = None, time.monotonic()
            self._close(session)

    def _serve(self, session: BrokerSession) -> None:
        while True:
            self._note_idle()
            notes = self._notes(session)
            self._settle(session, notes)
            for note in notes:
                if isinstance(note, ReasonCode):
                    self._begin(session, note)
            if session.is_up and self.may_send():
                for note in notes:
                    if isinstance(note, Message):
                        session.publish(note, note.payload)
                self._hand_over(session)
            if _Event.GONE in notes:
                session.is_gone = True
                return
            if self._stopping.is_set() and self._is_drained(session):
                return
            self._check_time(session)

    def _notes(self, session: BrokerSession) -> list[_Note]:
        notes: list[_Note] = []
        left_s = self._drain_until - time.monotonic() if self._stopping.is_set() else TICK_S
        wait_s = min(TICK_S, max(LEAST_WAIT_S, left_s))
        with contextlib.suppress(Empty):
            notes.append(session.queue.get(timeout=wait_s))
            while True:
                notes.append(session.queue.get_nowait())
        return notes

    def _settle(self, session: BrokerSession, notes: Sequence[_Note]) -> None:
        taken = [
            session.in_flight.pop(note).message
            for note in notes
            if isinstance(note, int) and note in session.in_flight
        ]
        if taken:
            self._moved_s = time.monotonic()
            self.complaint = ""
            self._source.acknowledge(taken)
            self.acknowledged()

    def _begin(self, session: BrokerSession, answer: ReasonCode) -> None:
        if answer.is_failure:
            self._complain(explain_refusal(answer, self._endpoint))
            return
        session.is_up, self.began_s = True, time.monotonic()
        self.times_up += 1
        if not session.in_flight and self._source.is_idle():
            self.complaint = ""
        log.info("connected to the broker at %s for %s", self._endpoint, self._name)
        self.greet(session)

    def _hand_over(self, session: BrokerSession) -> None:
        while self.may_send() and (parcel := self._source.next(session.load)) is not None:
            try:
                number = session.publish(parcel.message, parcel.payload)
            except Exception:
                self._source.lost([parcel.message])  # it is not in flight
                raise
            now = time.monotonic()
            session.in_flight[number] = _Sent(parcel.message, len(parcel.payload), now)

    def _check_time(self, session: BrokerSession) -> None:
        now = time.monotonic()
        if not session.is_up:
            if now - session.began_s > self._endpoint.connect_s:
                raise _LateError(explain_silence(self._endpoint))
            return
        oldest = next(iter(session.in_flight.values()), None)
        wait_s = ACKNOWLEDGE_CLUSTER_S if self._endpoint.others else ACKNOWLEDGE_S
        patience_s = wait_s + session.load.size / SLOWEST_BYTES_S
        if oldest is not None and now - max(oldest.at_s, self._moved_s) > patience_s:
            raise _LateError(
                f"the broker at {self._endpoint} has acknowledged nothing for {patience_s:.0f} s; "
                "look at its log, its disk and the network, or start it again"
            )

    def _is_drained(self, session: BrokerSession) -> bool:
        late = time.monotonic() >= self._drain_until
        return late or not session.is_up or not (session.in_flight or not self._source.is_idle())

    def _complain(self, words: str) -> None:
        if words != self.complaint:
            log.warning("%s; trying again, nothing is lost until then", words)
        self.complaint = words

    def _close(self, session: BrokerSession) -> None:
        """End the connection in order, or cut it when the line takes no farewell."""
        session.client.disconnect()
        deadline = time.monotonic() + FAREWELL_S
        with contextlib.suppress(Empty):
            while not session.is_gone:
                note = session.queue.get(timeout=max(LEAST_WAIT_S, deadline - time.monotonic()))
                session.is_gone = note is _Event.GONE
        self._cut(session)
        session.client.loop_stop()

    @staticmethod
    def _cut(session: BrokerSession) -> None:
        wire = session.client.socket()
        if isinstance(wire, socket.socket):
            with contextlib.suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)

    # --- paho's network thread ---------------------------------------------------------------

    def _new_session(self) -> BrokerSession:
        session = BrokerSession(new_client(self._endpoint, self._client_id), time.monotonic())
        client, queue = session.client, session.queue
        client.on_connect = lambda _client, _data, _flags, code, _more: queue.put(code)
        client.on_publish = lambda _client, _data, mid, _code, _more: queue.put(mid)
        client.on_disconnect = lambda *_: queue.put(_Event.GONE)
        self.prepare(client)
        return session
