"""The subscription of a display to the broker: the state of its tables, and how fresh it is.

It connects with the display's own account, keeps trying for as long as it takes, and passes every
change on to its listeners. A message that is not of the contract is dropped, counted and logged.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import paho.mqtt.client as paho

from vision.board.table_state import MEDIA, Reduce, TableState, Update, whole
from vision.mqtt.channel import BrokerChannel, BrokerSession
from vision.mqtt.endpoint import Endpoint
from vision.mqtt.lanes import MessageSource
from vision.wire.commands import COPY, PUBLIC
from vision.wire.form import FormError, Proves, message_of
from vision.wire.messages import Message

# Seconds before the next try to connect, at most: a board shall be back soon after its broker, and
# one connection in half a second costs a broker nothing.
RETRY_S = 0.5

# Topics under which a table sends messages again that a display asked for.
REPLAYED = ("replay/public/", "replay/restricted/")
# What a table sends copies of while a cluster keeps the messages themselves waiting.
COPIED = (*PUBLIC, "health")

log = logging.getLogger(__name__)

Listener = Callable[[Update], None]
# Gets table, topic and bytes of every message, new or sent again.
Recorder = Callable[[str, str, bytes], None]


class Feed:
    """The state of some tables by their messages; safe to use from several threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        prefixes: Mapping[str, str],
        topics: Sequence[str],
        *,
        reduce: Reduce = whole,
        recorder: Recorder | None = None,
    ) -> None:
        """Prepare a feed of `topics` of the tables; `prefixes` has the topic prefix of each table.

        `reduce` decides which part of a message is kept: the rest is never stored here.
        """
        self._recorder = recorder
        self.prefixes = dict(prefixes)
        self.tables = tuple(prefixes)
        self._tables = {prefix: table for table, prefix in prefixes.items()}
        self._states = {table: TableState(table, reduce) for table in prefixes}
        self._received_s = dict.fromkeys(prefixes, time.monotonic())
        self._listeners: set[Listener] = set()
        self._mutex = threading.Lock()
        self.dropped = 0
        copies = [f"{COPY}/{topic}" for topic in topics if topic in COPIED]
        subscribed = (*topics, *(copies if endpoint.others else ()))
        self._qos = 0 if endpoint.others else 1
        # What is subscribed to at each node of a cluster, or at a broker without others.
        self.wanted = [prefix + topic for prefix in self._tables for topic in subscribed]
        # So a display stands still for no node that dies, or that is parted from the others and
        # tells its clients nothing: the same messages come from another one.
        self._links = [self._link(node) for node in endpoint.each()]

    def expect_pairs(self, tables: Mapping[str, Proves]) -> None:
        """Count the terms of these tables, at which two readers stand by, where they are proven."""
        for table, proves in tables.items():
            self._states[table].proves = proves

    def start(self) -> None:
        """Begin to connect."""
        for link in self._links:
            link.start()

    def stop(self) -> None:
        """Disconnect from the broker."""
        for link in self._links:
            link.begin_stop(0.0)
        for link in self._links:
            link.join()

    def publish(self, table: str, topic: str, data: bytes) -> None:
        """Send a message to a table; lost while the broker is away, so wait for an answer."""
        link = next((link for link in self._links if link.is_up), None)
        if link is not None:
            link.publish(Message(self.prefixes[table] + topic, data, 1, retain=False, seq=0))

    @property
    def connected(self) -> bool:
        """Whether the broker is connected, and somebody listens to it."""
        return any(link.is_up for link in self._links)

    @property
    def connections(self) -> int:
        """How often the broker has accepted us."""
        return sum(link.times_up for link in self._links)

    @property
    def complaint(self) -> str:
        """Why there is no connection, for people; empty when there is one."""
        return "" if self.connected else self._links[0].complaint

    def silent_s(self, table: str) -> float:
        """Return the seconds since the last message of the table's reader."""
        return time.monotonic() - self._received_s[table]

    def subscribe(self, listener: Listener, tables: Sequence[str]) -> tuple[Update, ...]:
        """Return the state of the tables, and call `listener` with every change from then on.

        It is called from another thread, with the changes of all tables of the feed.
        """
        with self._mutex:
            self._listeners.add(listener)
            return tuple(update for table in tables for update in self._states[table])

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def unsubscribe(self, listener: Listener) -> None:
        """Stop calling `listener`."""
        with self._mutex:
            self._listeners.discard(listener)

    # --- the threads of its links ------------------------------------------------------------

    def _link(self, node: Endpoint) -> BrokerChannel:
        """Return a connection to one node, which is made again for ever."""
        own = f"shoe-reader-board-{secrets.token_hex(8)}"
        link = BrokerChannel("displays", node, own, MessageSource())
        link.stays, link.last_delay_s = True, RETRY_S
        link.prepare, link.greet = self._prepare, self._greet
        return link

    def _prepare(self, client: paho.Client) -> None:
        client.on_message = lambda _client, _data, message: self.receive(message)

    def _greet(self, session: BrokerSession) -> None:
        """Subscribe, now that the broker has accepted us: no table is silent yet."""
        self._received_s = dict.fromkeys(self._received_s, time.monotonic())
        # In a cluster a message of QoS 1 may wait for the election of a leader (4 to 9 s), one of
        # QoS 0 for nobody; what a display misses is retained, or it asks for it again.
        session.client.subscribe([(topic, self._qos) for topic in self.wanted])

    def receive(self, message: paho.MQTTMessage) -> None:
        """Take a message; whatever is wrong with it costs no other one."""
        try:
            self._on_message(message)
        except Exception as error:  # noqa: BLE001  # logged, and counted
            why = str(error) if isinstance(error, FormError) else repr(error)
            self.dropped += 1
            if self.dropped & (self.dropped - 1) == 0:  # the first, second, fourth, eighth
                topic = ascii(message.topic)
                log.warning("message on %s dropped, %d so far: %s", topic, self.dropped, why)

    def _on_message(self, message: paho.MQTTMessage) -> None:
        prefix = next((known for known in self._tables if message.topic.startswith(known)), None)
        if prefix is None:
            return
        table = self._tables[prefix]
        if not message.retain:
            self._received_s[table] = time.monotonic()
        topic = message.topic.removeprefix(prefix).removeprefix(f"{COPY}/")
        again = next((start for start in REPLAYED if topic.startswith(start)), "")
        topic = topic.removeprefix(again)
        is_content = bool(message.payload) and not topic.startswith(MEDIA)
        payload = message_of(table, topic, message.payload) if is_content else None
        if self._recorder is not None:
            self._recorder(table, topic, bytes(message.payload))
        # The present state is retained; of what is sent again only old results are missing here.
        if again and topic != "coup/result":
            return
        if payload is None and message.payload:
            return
        with self._mutex:
            update = self._states[table].take(topic, payload)
            listeners = tuple(self._listeners)
        if update is not None:
            for listener in listeners:
                listener(update)
