"""Listen to all tables of a house and have the archive write what they publish.

The broker keeps a message until the archive has acknowledged it, which it does when the database
has it on the disk: the archive, its database and the broker may each die at any moment. What is
missing all the same, because a broker lost it, is asked for again.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import paho.mqtt.client as paho
from paho.mqtt.reasoncodes import ReasonCode

from vision.clock import now_ms
from vision.errors import OutsideError
from vision.floor.archive.numbers import Gaps
from vision.floor.archive.writer import Received, Where, Writer
from vision.mqtt.endpoint import (
    KEEPALIVE_S,
    Endpoint,
    explain_error,
    explain_refusal,
    new_client,
    private_id,
)
from vision.wire.commands import REPLAY
from vision.wire.form import MESSAGE_LIMIT, json_object
from vision.wire.messages import PREFIX

log = logging.getLogger(__name__)

# Messages written in one transaction at most: what a broker sends without an acknowledgement (20
# with mosquitto, 1024 with NATS). More only makes a failed transaction longer.
AT_ONCE = 1000
# Seconds that a batch is waited for, and between two looks at what is missing.
TICK_S = 0.2
# Seconds before the next try where the broker or the database is away, at first and at most: both
# are back within seconds, and a try in five costs them nothing.
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 5.0
# Messages that wait at most while the database is away. A broker sends no more without an
# acknowledgement (see AT_ONCE); one that does is left, and sends the rest again.
WAITING_LIMIT = 5000
# Seconds that the end of the connection is waited for.
JOIN_S = 3.0
# Seconds without any message after which the next node of a cluster is tried, doubled up to the
# last while the house is silent: a node parted from the others keeps its clients and tells them
# nothing. Readers speak every second. Shorter leaves a node that elects a leader (4 to 9 s);
# longer, and the archive of such a node is late.
SILENT_S = 12.0
LAST_SILENT_S = 120.0

# What is listened to below each table: all that has a number but the pictures, and the orders. Few
# filters: a cluster elects a leader for each.
TOPICS = (
    "status", "shoe", "card", "coup/+", "roads", "alert", "alert/+", "evidence", "anchor", "cmd/+",
    "replay/#",
)  # fmt: skip
HEALTH = "health"  # only for its number, which shows that the last messages are missing
ALL_TABLES = "+"


@dataclass(frozen=True, slots=True)
class _Delivered:
    """A message with what acknowledges it: the connection's number and its own there."""

    connection: int
    mid: int
    qos: int
    received: Received


class Consumer:
    """Moves messages from the broker to the archive until it is stopped."""

    def __init__(self, endpoint: Endpoint, site: str, writer: Writer, *, name: str = "") -> None:
        """Prepare to archive a house; `name` tells archives of one house apart at its broker."""
        self._endpoint = endpoint
        self._site = site
        self._writer = writer
        everything = PREFIX.format(site=site, table=ALL_TABLES)
        self._client_id = private_id(endpoint, everything, f"archive {name}")
        self._subscriptions = [(everything + topic, 1) for topic in TOPICS]
        self._subscriptions.append((everything + HEALTH, 0))
        self._queue: SimpleQueue[_Delivered] = SimpleQueue()
        # The newest `health` of each table, which no acknowledgement holds back, beside the queue.
        self._health: dict[str, Received] = {}
        self._is_full = False
        self._gaps: dict[Where, Gaps] = {}
        self._stopping = threading.Event()
        self._client: paho.Client | None = None
        self._connection = 0
        self._is_up = False
        self._heard_s = 0.0
        self._patience_s = SILENT_S
        self._said = ""
        self._thread = threading.Thread(target=self._connect, name="archive-broker", daemon=True)

    def run(self, after_batch: Callable[[], None] = lambda: None) -> None:
        """Archive until `stop` is called; `after_batch` is called when something was written."""
        self._thread.start()
        try:
            while not self._stopping.is_set():
                batch = self._batch()
                if batch and self._write(batch):
                    self._acknowledge(batch)
                    after_batch()
                self._have_the_rest_sent()
                self._ask()
                self._leave_silent_node()
        finally:
            self.stop()
            self._thread.join(JOIN_S)

    def stop(self) -> None:
        """End soon; what is not acknowledged comes again."""
        self._stopping.set()
        client = self._client
        if client is not None:
            client.disconnect()

    @property
    def connected(self) -> bool:
        """Whether the broker sends."""
        return self._is_up

    # --- the thread that writes --------------------------------------------------------------

    def _batch(self) -> list[_Delivered]:
        batch: list[_Delivered] = []
        try:
            batch.append(self._queue.get(timeout=TICK_S))
            while len(batch) < AT_ONCE:
                batch.append(self._queue.get_nowait())
        except Empty:
            pass
        health, self._health = self._health, {}
        return batch + [_Delivered(self._connection, 0, 0, one) for one in list(health.values())]

    def _have_the_rest_sent(self) -> None:
        """Connect again once there is room, so that the broker sends what there was none for."""
        client = self._client
        if self._is_full and self._queue.empty() and client is not None:
            self._is_full = False
            client.disconnect()

    def _write(self, batch: list[_Delivered]) -> bool:
        """Write until it is durable; False when stopped before."""
        delay = FIRST_RETRY_S
        while not self._stopping.is_set():
            try:
                self._writer.take(one.received for one in batch)
            except OutsideError as error:
                self._complain(f"{error}; the broker keeps what comes until then")
                self._stopping.wait(delay)
                delay = min(2 * delay, LAST_RETRY_S)
            else:
                self._complain("")
                self._hear_replies(batch)
                return True
        return False

    def _acknowledge(self, batch: list[_Delivered]) -> None:
        client = self._client
        for one in batch:
            # Numbers of an earlier connection may name other messages now.
            if client is not None and one.qos and one.connection == self._connection:
                client.ack(one.mid, one.qos)

    def _hear_replies(self, batch: list[_Delivered]) -> None:
        for received in (one.received for one in batch):
            where = received.site, received.table
            if received.topic != "cmd/reply" or where not in self._gaps:
                continue
            with suppress(ValueError):
                lost = self._gaps[where].answered(json_object(received.payload))
                if lost:
                    self._give_up(where, lost)

    def _give_up(self, where: Where, last: int) -> None:
        log.warning(
            "messages up to %d of table %s that never arrived are no longer kept by the table; "
            "load them from a backup of its log with shoe-reader floor archive load",
            last,
            where[1],
        )
        try:
            self._writer.give_up(where, last)
        except OutsideError as error:  # the range is asked for again
            self._complain(str(error))

    def _ask(self) -> None:
        """Ask tables for what is missing, while the broker sends."""
        client = self._client
        if client is None or not self._is_up:
            return
        for (site, table), source in self._writer.sources.items():
            gaps = self._gaps.setdefault((site, table), Gaps())
            for fields in gaps.due(source.missing(), time.monotonic()):
                topic = f"{PREFIX.format(site=site, table=table)}cmd/{REPLAY}"
                client.publish(topic, json.dumps({**fields, "by": "archive"}), 1)
                log.info(
                    "table %s: asked for messages %s to %s", table, fields["first"], fields["last"]
                )

    def _leave_silent_node(self) -> None:
        """Go to the next node where this one has told nothing of any table for too long."""
        client = self._client
        if not (self._endpoint.others and self._is_up and client is not None):
            return
        if time.monotonic() - self._heard_s > self._patience_s:
            self._patience_s = min(2 * self._patience_s, LAST_SILENT_S)
            log.info("the broker at %s publishes no table", self._endpoint)
            self._is_up = False
            client.disconnect()

    def _complain(self, words: str) -> None:
        if words and words != self._said:
            log.warning("%s", words)
        self._said = words

    # --- the thread of the connection --------------------------------------------------------

    def _connect(self) -> None:
        delay, said = FIRST_RETRY_S, ""
        while not self._stopping.is_set():
            began_s = time.monotonic()
            words = self._attempt()
            self._is_up = False
            self._endpoint = self._endpoint.turned()
            if time.monotonic() - began_s > LAST_RETRY_S:
                delay, said = FIRST_RETRY_S, ""
            if words and words != said and not self._stopping.is_set():
                log.warning("%s; trying again, the broker and the tables keep what comes", words)
                said = words
            self._stopping.wait(delay)
            delay = min(2 * delay, LAST_RETRY_S)

    def _attempt(self) -> str:
        """Connect and stay; return why it has ended."""
        self._connection += 1
        self._client = client = new_client(self._endpoint, self._client_id, keeps=True)
        client.manual_ack_set(True)
        ended = ["the broker ended the connection"]
        client.on_connect = lambda client, _data, _flags, code, _: self._greet(client, code, ended)
        number = self._connection
        client.on_message = lambda _client, _data, message: self._deliver(number, message)
        try:
            address = self._endpoint
            # Not a cluster's short keep-alive: a node that makes a session answers nothing else.
            client.connect(address.host, address.port, KEEPALIVE_S)
            if not self._stopping.is_set():
                client.loop_forever(retry_first_connection=False)
        except (OSError, ValueError) as error:
            return explain_error(error, self._endpoint)
        except Exception as error:  # a defect of ours must not end the connection for good
            log.exception(
                "the archive lost its connection to the broker; reconnecting; report this"
            )
            return f"the link to the broker failed: {error!r}"
        return ended[-1]

    def _greet(self, client: paho.Client, code: ReasonCode, ended: list[str]) -> None:
        if code.is_failure:
            ended.append(explain_refusal(code, self._endpoint))
            return
        client.subscribe(self._subscriptions)
        self._heard_s = time.monotonic()
        self._is_up = True
        log.info("connected to the broker at %s", self._endpoint)

    def _deliver(self, connection: int, message: paho.MQTTMessage) -> None:
        if not message.retain:
            self._heard_s, self._patience_s = time.monotonic(), SILENT_S
        try:
            _, site, _, table, topic = message.topic.split("/", 4)
        except ValueError:  # UnicodeError is one too; what has no topic of a table is nobody's
            return
        payload = bytes(message.payload[: MESSAGE_LIMIT + 1])  # more only shows that it is too long
        received = Received(site, table, topic, payload, now_ms(), message.retain)
        if topic == HEALTH:
            if table in self._health or len(self._health) < WAITING_LIMIT:
                self._health[table] = received
        elif self._queue.qsize() < WAITING_LIMIT:
            self._queue.put(_Delivered(connection, message.mid, message.qos, received))
        else:
            self._is_full = True
