"""Orders that people give at a desk: signed with the desk's key, sent to the table, and answered.

Whether an order is accepted is the reader's decision. What must get into the log whatever happens
meanwhile, as who logged in, is sent again until it is answered.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from vision.access.users import Credential
from vision.board.feed import Feed
from vision.board.table_state import Update
from vision.clock import now_ms
from vision.wire.commands import RefusedError, order_fields

# Orders that wait to be recorded; the oldest are dropped beyond it. A table that is away for a day
# with a log-in a minute would fill it.
RECORDS_LIMIT = 1000
# Seconds before an order that was not answered is sent again, and after which a silent table is not
# asked. The reader answers within a frame.
RETRY_S = 5.0
# Seconds that the end of the thread is waited for.
JOIN_S = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """An order to a table; `ref` connects it with its answer."""

    table: str
    name: str
    fields: Mapping[str, Any]
    ref: str = field(default_factory=lambda: secrets.token_hex(12))


class Orders:
    """Sends the orders of a desk through its feed."""

    def __init__(self, feed: Feed, credential: Credential) -> None:
        self._feed = feed
        self._credential = credential
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._records: deque[Order] = deque(maxlen=RECORDS_LIMIT)
        self._mutex = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._insist, name="board-records", daemon=True)

    def start(self) -> None:
        """Begin to listen for answers and to send what must be recorded."""
        self._feed.subscribe(self._hear, self._feed.tables)
        self._thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._closing.set()
        self._feed.unsubscribe(self._hear)
        if self._thread.is_alive():
            self._thread.join(timeout=JOIN_S)

    def give(self, order: Order) -> Future[dict[str, Any]]:
        """Send an order; return the future of its answer. RefusedError when it is malformed."""
        data = self._signed(order)
        answer: Future[dict[str, Any]] = Future()
        with self._mutex:
            self._waiting[order.ref] = answer
        answer.add_done_callback(lambda _: self._forget(order.ref))
        self._feed.publish(order.table, f"cmd/{order.name}", data)
        return answer

    def record(self, order: Order) -> None:
        """Send an order until it is answered."""
        with self._mutex:
            self._records.append(order)
        self._send(order)

    def _signed(self, order: Order) -> bytes:
        topic = f"{self._feed.prefix(order.table)}cmd/{order.name}"
        fields = {**order.fields, "ref": order.ref}
        data = json.dumps(self._credential.sign(topic, fields, now_ms())).encode()
        order_fields(data)
        return data

    def _send(self, order: Order) -> None:
        try:
            self._feed.publish(order.table, f"cmd/{order.name}", self._signed(order))
        except RefusedError as error:
            log.error("%s of %s cannot be recorded: %s", order.name, order.fields.get("by"), error)
            self._settle(order.ref)

    def _insist(self) -> None:
        while not self._closing.wait(RETRY_S):
            with self._mutex:
                waiting = list(self._records)
            for order in waiting if self._feed.connected else ():
                # A table that is silent would not answer either.
                if self._feed.silent_s(order.table) < RETRY_S:
                    self._send(order)

    def _hear(self, update: Update) -> None:
        if update.topic != "cmd/reply" or update.payload is None:
            return
        ref = str(update.payload.get("ref", ""))
        self._settle(ref)
        with self._mutex:
            answer = self._waiting.get(ref)
        if answer is not None and not answer.done():
            answer.set_result(update.payload)

    def _settle(self, ref: str) -> None:
        with self._mutex:
            kept = [order for order in self._records if order.ref != ref]
            if len(kept) < len(self._records):
                self._records = deque(kept, maxlen=RECORDS_LIMIT)

    def _forget(self, ref: str) -> None:
        with self._mutex:
            self._waiting.pop(ref, None)
