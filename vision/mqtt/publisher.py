"""Publish a table's messages to the broker until they are acknowledged, and receive its commands.

Two connections, because what is written to one goes out in order: the live one carries results,
alerts and all else that is small, with the last will and the commands; the bulk one pictures and
replays. `vision.mqtt.lanes` says what goes when. To each other node of a cluster there is one more,
for copies to displays: a node lets nobody in before its cluster has elected leaders, but who is in
already is heard.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from queue import Empty, Full, Queue

import paho.mqtt.client as paho

from vision.mqtt.channel import BrokerChannel, BrokerSession
from vision.mqtt.endpoint import Endpoint, private_id
from vision.mqtt.lanes import (
    BulkSource,
    CopySource,
    Fill,
    Lanes,
    LiveSource,
    Outbox,
    Replayed,
    SetAside,
    copy_of,
)
from vision.wire.commands import PAYLOAD_LIMIT
from vision.wire.messages import Message

# Commands that may wait to be read, of a few a minute: a flood is dropped, with a warning.
INBOX_SIZE = 200
# Seconds without an acknowledged picture after which alerts no longer wait for theirs. Longer, and
# an alert is late when pictures do not get through; shorter, and one on a slow line comes first.
STUCK_S = 10.0
# Seconds that messages may wait before people are alerted: more than a broker's restart takes, and
# less than a coup. Shorter cries wolf, longer leaves the boards dark unnoticed.
LATE_S = 20.0

# Seconds without an acknowledgement after which displays of a cluster get copies. A healthy cluster
# takes milliseconds. Shorter, and all is sent twice; longer, and boards are late by as much.
COPY_AFTER_S = 0.5

# Seconds after the second connection within which the end of the first is taken for its doing, and
# how often that must happen: brokers end the first at once, accidents seldom come twice.
CLASH_S = 1.0
CLASHES = 3
# Seconds without the second connection after that. Shorter, and the boards flicker; longer, and
# pictures come late once somebody has mended the broker.
CLASH_PAUSE_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A command as received: the last level of its topic, and its bytes."""

    name: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Bulk:
    """What goes over the bulk connection, and how large a payload (bytes) the broker takes."""

    most_bytes: int
    fill: Fill | None = None
    replayed: Replayed | None = None


class Publisher:
    """Sends a table's messages to one broker, for as long as it takes."""

    def __init__(
        self, endpoint: Endpoint, outbox: Outbox, *, will: Message, bulk: Bulk, secret: str = ""
    ) -> None:
        """Prepare; nothing is sent before `start`.

        `will` is the message on `.../status` that the broker sends when we vanish; commands come on
        the topics beside it, below `cmd/`. With `secret`, which must be the same for all runs of a
        table, nobody else can guess under which name we connect.
        """
        self._prefix = prefix = will.topic.removesuffix("status")
        self._endpoint = endpoint
        self._outbox = outbox
        self._will = will
        self._commands = f"{prefix}cmd/"
        self._inbox: Queue[OrderRequest] = Queue(INBOX_SIZE)
        self._dropped = 0
        self._last: Message | None = None
        lanes = Lanes(outbox, prefix)
        self._bulk_source = BulkSource(lanes, bulk.fill, bulk.replayed, bulk.most_bytes)
        client_id = private_id(endpoint, prefix, secret)
        self._bulk = BrokerChannel("pictures", endpoint, f"{client_id}-p", self._bulk_source)
        source = LiveSource(lanes, lambda: self._bulk.waiting_s > STUCK_S)
        self._live = BrokerChannel("messages", endpoint, client_id, source)
        self._bulk.acknowledged = self._note_picture
        self._live.prepare = self._prepare
        self._live.greet = self._greet
        self._live.farewell = lambda: self._last or self._will
        self._bulk.hold = self._why_no_bulk
        self._copies: list[BrokerChannel] = []
        for number, node in enumerate(islice(endpoint.each(), 1, None), 1):
            copies = CopySource(outbox, prefix, self._is_stuck)
            channel = BrokerChannel("copies for displays", node, f"{client_id}-c{number}", copies)
            channel.stays = True
            self._copies.append(channel)
        self._channels = (self._bulk, self._live, *self._copies)
        self._clashes = 0
        self._clashed_s = 0.0

    @property
    def connected(self) -> bool:
        """Whether the broker has accepted us and the connection stands."""
        return self._live.is_up

    @property
    def complaint(self) -> str:
        """Why messages or pictures do not get through, for people; empty when they do."""
        live = "" if self._live.is_up else self._live.complaint
        return live or ("" if self._bulk.is_up else self._bulk.complaint)

    def ask_before_sending(self, may_send: Callable[[], bool]) -> None:
        """Have each connection ask whether this reader may say anything at this moment."""
        for channel in self._channels:
            channel.may_send = may_send

    def _is_stuck(self) -> bool:
        """Whether nothing that waits gets through to a cluster."""
        return not self._live.is_up or self._live.waiting_s > COPY_AFTER_S

    def fault(self) -> str:
        """Return in words that messages have waited for too long, and why; empty when not."""
        for channel, what in ((self._live, "messages"), (self._bulk, "pictures")):
            if channel.waiting_s > LATE_S:
                why = channel.complaint or self._live.complaint
                why = why or "the broker acknowledges nothing."
                return f"No {what} have got through for {LATE_S:.0f} s: {why}"
        return ""

    def set_aside(self) -> list[SetAside]:
        """Return the pictures that the broker did not take, since the last call."""
        found: list[SetAside] = []
        while self._bulk_source.set_aside:
            found.append(self._bulk_source.set_aside.popleft())
        return found

    def start(self) -> None:
        """Begin to connect; never fails, and tries again for ever (`probe` reports at once)."""
        for channel in self._channels:
            channel.start()

    def wake(self) -> None:
        """Announce that the outbox has grown."""
        for channel in self._channels:
            channel.wake()

    def publish(self, message: Message) -> None:
        """Send a message outside the outbox, if connected: health, refusals."""
        self._live.publish(message)
        if self._copies and self._is_stuck():
            for channel in self._copies:
                channel.publish(copy_of(message, self._prefix))

    def publish_last(self, message: Message) -> None:
        """Send the very last message of the run; nothing is sent after it."""
        self._last = message
        self._live.publish(message)

    def next_request(self, wait_s: float) -> OrderRequest | None:
        """Return the next command, `None` when none comes within `wait_s` seconds."""
        try:
            return self._inbox.get(timeout=wait_s)
        except Empty:
            return None

    def stop(self, drain_s: float = 3.0) -> None:
        """Send what is left while connected, at most `drain_s` seconds, then disconnect."""
        for channel in self._channels:
            channel.begin_stop(drain_s)
        for channel in self._channels:
            channel.join()

    # --- threads of the connections ----------------------------------------------------------

    def _note_picture(self) -> None:
        if time.monotonic() - self._bulk.began_s > CLASH_S:
            self._clashes = 0
        self._live.wake()

    def _why_no_bulk(self) -> str | None:
        if self._clashes >= CLASHES and time.monotonic() - self._clashed_s < CLASH_PAUSE_S:
            return (
                f"the broker at {self._endpoint} ends our first connection when the second begins; "
                "take use_username_as_clientid out of its configuration, or allow each user two"
            )
        return None if self._live.is_up else ""

    def _prepare(self, client: paho.Client) -> None:
        will = self._will
        client.will_set(will.topic, will.payload, will.qos, will.retain)
        client.on_message = lambda _client, _data, message: self._receive(message)

    def _greet(self, session: BrokerSession) -> None:
        if abs(self._live.ended_s - self._bulk.began_s) < CLASH_S:
            self._clashes, self._clashed_s = self._clashes + 1, time.monotonic()
        # In a cluster QoS 1 would be one more thing that needs a leader before we are let in again;
        # who gives an order waits for its answer in any case.
        session.client.subscribe(f"{self._commands}+", qos=0 if self._endpoint.others else 1)
        # The broker may have lost its retained messages in a restart.
        retained = (self._last,) if self._last else self._outbox.retained()
        for message in retained:
            session.publish(message, message.payload)

    def _receive(self, message: paho.MQTTMessage) -> None:
        name = message.topic.removeprefix(self._commands)
        # A retained command is an old one; answers to commands arrive under the same prefix.
        if message.retain or name in ("reply", message.topic):
            return
        try:
            self._inbox.put_nowait(OrderRequest(name, bytes(message.payload[: PAYLOAD_LIMIT + 1])))
        except Full:
            self._dropped += 1
            # The first, second, fourth, eighth: a flood must not fill the log.
            if self._dropped & (self._dropped - 1) == 0:
                log.warning("%d orders dropped so far: %d others waited", self._dropped, INBOX_SIZE)
