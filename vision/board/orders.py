"""Orders that people give, at a desk or by command: signed, sent to the table, and answered.

Whether an order is accepted is the reader's decision.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from vision.access.users import Credential
from vision.board.feed import Feed
from vision.board.table_state import Update
from vision.clock import now_ms
from vision.wire.commands import RefusedError, order_fields

# Called with each answer of a table: the `ref` of the order, and the answer.
Listener = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Second:
    """A second person who vouches for an order, by a key of their own or else by that of a desk."""

    name: str
    role: str
    key: Credential | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """An order to a table; `ref` connects it with its answer."""

    table: str
    name: str
    fields: Mapping[str, Any]
    ref: str = field(default_factory=lambda: secrets.token_hex(12))
    second: Second | None = None


class Orders:
    """Sends orders, signed with one key, through a feed."""

    def __init__(self, feed: Feed, credential: Credential) -> None:
        self._feed = feed
        self._credential = credential
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._listeners: list[Listener] = []
        self._mutex = threading.Lock()

    @property
    def name(self) -> str:
        """The name that stands for the key."""
        return self._credential.name

    def start(self) -> None:
        """Begin to listen for answers."""
        self._feed.subscribe(self._hear, self._feed.tables)

    def stop(self) -> None:
        """Listen no more."""
        self._feed.unsubscribe(self._hear)

    def listen(self, listener: Listener) -> None:
        """Have every answer told."""
        self._listeners.append(listener)

    def give(self, order: Order) -> Future[dict[str, Any]]:
        """Send an order; return the future of its answer. RefusedError when it is malformed."""
        data = self.signed(order)
        answer: Future[dict[str, Any]] = Future()
        with self._mutex:
            self._waiting[order.ref] = answer
        answer.add_done_callback(lambda _: self._forget(order.ref))
        self._feed.publish(order.table, f"cmd/{order.name}", data)
        return answer

    def send(self, order: Order) -> None:
        """Send an order and wait for nothing. RefusedError when it is malformed."""
        self._feed.publish(order.table, f"cmd/{order.name}", self.signed(order))

    def signed(self, order: Order) -> bytes:
        """Return an order as it is sent; RefusedError when it is malformed."""
        topic = f"{self._feed.prefix(order.table)}cmd/{order.name}"
        fields = {**order.fields, "ref": order.ref}
        second, key = order.second, self._credential
        if second is not None:
            key = second.key or self._credential
            fields |= {"second": second.name, "second_role": second.role, "second_key": key.name}
        try:
            signed = self._credential.sign(topic, fields, now_ms())
            if second is not None:
                signed["second_sig"] = key.vouch(topic, signed)
            data = json.dumps(signed).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise RefusedError("a value in it is no text or number that can be sent") from error
        order_fields(data)
        return data

    def _hear(self, update: Update) -> None:
        if update.topic != "cmd/reply" or update.payload is None:
            return
        ref = str(update.payload.get("ref", ""))
        for listener in self._listeners:
            listener(ref, update.payload)
        with self._mutex:
            answer = self._waiting.get(ref)
        if answer is not None and not answer.done():
            answer.set_result(update.payload)

    def _forget(self, ref: str) -> None:
        with self._mutex:
            self._waiting.pop(ref, None)
