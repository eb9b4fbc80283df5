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
from contextlib import suppress
from typing import NamedTuple

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
# Seconds that messages are waited for, and between two looks at what is missing.
TICK_S = 0.2
# Seconds before the next try where the broker or the database is away, at first and at most: both
# are back within seconds, and a try in five costs them nothing.
FIRST_RETRY_S = 0.2
LAST_RETRY_S = 5.0
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


class _Delivered(NamedTuple):
    """A message, with its number and quality of service, by which it is acknowledged."""

    mid: int
    qos: int
    received: Received


class Consumer:
    """Moves messages from the broker to the archive until it is stopped.

    No more than a batch is read while the database is away: the broker keeps the rest.
    """

    def __init__(self, endpoint: Endpoint, site: str, writer: Writer, *, name: str = "") -> None:
        """Prepare to archive a house; `name` tells archives of one house apart at its broker."""
        self._endpoint = endpoint
        self._site = site
        self._writer = writer
        house = PREFIX.format(site=site, table=ALL_TABLES)
        self._client_id = private_id(endpoint, house, f"archive {name}")
        self._subscriptions = [*((house + topic, 1) for topic in TOPICS), (house + HEALTH, 0)]
        self._batch: list[_Delivered] = []
        self._gaps: dict[Where, Gaps] = {}
        self._stopping = threading.Event()
        self.connected = False  # whether the broker sends
        self._heard_s = 0.0
        self._patience_s = SILENT_S
        self._why = ""  # the connection ended
        self._said = ""

    def run(self) -> None:
        """Archive until `stop` is called."""
        delay, said = FIRST_RETRY_S, ""
        while not self._stopping.is_set():
            began_s = time.monotonic()
            self._attempt()
            self.connected = False
            self._endpoint = self._endpoint.turned()
            if time.monotonic() - began_s > LAST_RETRY_S:
                delay, said = FIRST_RETRY_S, ""
            if self._why != said and not self._stopping.is_set():
                said = self._why
                log.warning("%s; trying again, the broker and the tables keep what comes", said)
            self._stopping.wait(delay)
            delay = min(2 * delay, LAST_RETRY_S)

    def stop(self) -> None:
        """End soon; what is not acknowledged comes again."""
        self._stopping.set()

    def _attempt(self) -> None:
        """Connect, and stay while the connection lasts; `_why` then says why it has ended."""
        self._why = "the broker ended the connection"
        client = new_client(self._endpoint, self._client_id, keeps=True)
        client.manual_ack_set(True)
        client.on_connect = self._greet
        client.on_message = lambda _client, _data, message: self._deliver(message)
        try:
            # Not a cluster's short keep-alive: a node that makes a session answers nothing else.
            client.connect(self._endpoint.host, self._endpoint.port, KEEPALIVE_S)
        except (OSError, ValueError) as error:
            self._why = explain_error(error, self._endpoint)
            return
        try:
            is_up = True
            while is_up:
                is_up = self._read(client)
                self._archive(client)
        finally:
            client.disconnect()

    def _read(self, client: paho.Client) -> bool:
        """Take what has come into the batch; False where the connection or the run has ended."""
        count = -1
        try:
            while count < len(self._batch) < AT_ONCE:
                wait_s, count = TICK_S if count < 0 else 0.0, len(self._batch)
                if self._stopping.is_set() or client.loop(wait_s) != paho.MQTT_ERR_SUCCESS:
                    return False
        except Exception as error:  # a defect of ours must not end the connection for good
            log.exception(
                "the archive lost its connection to the broker; reconnecting; report this"
            )
            self._why = f"the link to the broker failed: {error!r}"
            return False
        return True

    def _archive(self, client: paho.Client) -> None:
        batch, self._batch = self._batch, []
        if batch and self._write(client, [one.received for one in batch]):
            for one in batch:
                client.ack(one.mid, one.qos)
        if self.connected:
            self._ask(client)
            self._leave_silent_node(client)

    def _write(self, client: paho.Client, batch: list[Received]) -> bool:
        """Write until it is durable; False when stopped before."""
        delay = FIRST_RETRY_S
        while not self._stopping.is_set():
            try:
                self._writer.take(batch)
            except OutsideError as error:
                self._complain(f"{error}; the broker keeps what comes until then")
                until_s = time.monotonic() + delay
                while time.monotonic() < until_s and not self._stopping.wait(TICK_S):
                    self._read(client)  # else the broker ends the connection
                    # Of what nobody acknowledges the next one says as much.
                    self._batch = [one for one in self._batch if one.qos]
                delay = min(2 * delay, LAST_RETRY_S)
            else:
                self._complain("")
                self._hear_replies(batch)
                return True
        return False

    def _hear_replies(self, batch: list[Received]) -> None:
        for received in batch:
            where = received.site, received.table
            if received.topic == "cmd/reply" and where in self._gaps:
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

    def _ask(self, client: paho.Client) -> None:
        """Ask tables for what is missing."""
        for (site, table), source in self._writer.sources.items():
            gaps = self._gaps.setdefault((site, table), Gaps())
            for fields in gaps.due(source.missing(), time.monotonic()):
                topic = f"{PREFIX.format(site=site, table=table)}cmd/{REPLAY}"
                client.publish(topic, json.dumps({**fields, "by": "archive"}), 1)
                log.info(
                    "table %s: asked for messages %s to %s", table, fields["first"], fields["last"]
                )

    def _leave_silent_node(self, client: paho.Client) -> None:
        """Go to the next node where this one has told nothing of any table for too long."""
        if not self._endpoint.others:
            return
        if time.monotonic() - self._heard_s > self._patience_s:
            self._patience_s = min(2 * self._patience_s, LAST_SILENT_S)
            log.info("the broker at %s publishes no table", self._endpoint)
            self.connected = False
            client.disconnect()

    def _complain(self, words: str) -> None:
        if words and words != self._said:
            log.warning("%s", words)
        self._said = words

    # --- what the broker says ----------------------------------------------------------------

    def _greet(
        self, client: paho.Client, _data: object, _flags: object, code: ReasonCode, _: object
    ) -> None:
        if code.is_failure:
            self._why = explain_refusal(code, self._endpoint)
            return
        client.subscribe(self._subscriptions)
        self._heard_s = time.monotonic()
        self.connected = True
        log.info("connected to the broker at %s", self._endpoint)

    def _deliver(self, message: paho.MQTTMessage) -> None:
        if not message.retain:
            self._heard_s, self._patience_s = time.monotonic(), SILENT_S
        try:
            _, site, _, table, topic = message.topic.split("/", 4)
        except ValueError:  # UnicodeError is one too; what has no topic of a table is nobody's
            return
        payload = bytes(message.payload[: MESSAGE_LIMIT + 1])  # more only shows that it is too long
        received = Received(site, table, topic, payload, now_ms(), message.retain)
        self._batch.append(_Delivered(message.mid, message.qos, received))
