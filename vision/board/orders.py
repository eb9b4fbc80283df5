"""Orders that people give, and records of what they do: signed, sent to the table, and answered.

Whether an order is accepted is the reader's decision. A record (who logged in, who looked, who
changed what) must stand in the tables' logs: it is on the board's own disk before the page that it
is about is handed out, and stays there until its table has accepted it. A reader that is off,
refuses, or a restart of the board lose none.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vision.access.users import Credential
from vision.board.feed import Feed
from vision.board.table_state import Update
from vision.clock import now_ms
from vision.errors import OutsideError
from vision.record.codec import canonical
from vision.record.facts import Fact
from vision.wire.commands import (
    RECORD,
    TEXT_LIMIT,
    TOO_MANY,
    RefusedError,
    order_fields,
    signed_text,
)

# Records that wait, of all tables: about 40 MB. Beyond it nobody is let in until a table answers.
# A house with sixty tables off for a day comes to a tenth of it.
LIMIT = 100_000
# Seconds before a record that was not answered is sent again: the reader answers within a frame.
# And before one that was refused is: a clock or a users file must be put right by somebody first.
RETRY_S = 5.0
REFUSED_RETRY_S = 60.0
# Records of a table that are out at once, sent and not answered: what a reader lets wait under one
# key. More would be refused, and fewer take longer after a day without the reader.
AT_ONCE = 20
# Records of a table looked at for what is due; those refused stand behind the others.
LOOKED_AT = 1000
# Seconds that the end of the thread is waited for, and between two looks at what waits.
JOIN_S = 3.0
LOOK_S = 0.5

log = logging.getLogger(__name__)

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
    """Sends orders, signed with one key, through a feed; `listeners` receive every answer."""

    def __init__(self, feed: Feed, credential: Credential) -> None:
        self.feed = feed
        self.name = credential.name
        self.listeners: list[Listener] = []
        self._credential = credential
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        feed.subscribe(self._receive, ())

    def give(self, order: Order) -> Future[dict[str, Any]]:
        """Send an order; return the future of its answer. RefusedError when it is malformed."""
        data = self.signed(order)
        answer: Future[dict[str, Any]] = Future()
        self._waiting[order.ref] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(order.ref, None))
        self.feed.publish(order.table, f"cmd/{order.name}", data)
        return answer

    def send(self, order: Order) -> None:
        """Send an order and wait for nothing. RefusedError when it is malformed."""
        self.feed.publish(order.table, f"cmd/{order.name}", self.signed(order))

    def signed(self, order: Order) -> bytes:
        """Return an order as it is sent; RefusedError when it is malformed."""
        topic = f"{self.feed.prefixes[order.table]}cmd/{order.name}"
        fields = {**order.fields, "ref": order.ref}
        second, key = order.second, self._credential
        if second is not None:
            key = second.key or self._credential
            fields |= {"second": second.name, "second_role": second.role, "second_key": key.name}
        try:
            signed = self._credential.sign(topic, fields, now_ms())
            if second is not None:
                signed["second_sig"] = key.sign_text(signed_text(topic, signed))
            data = json.dumps(signed).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise RefusedError("a value in it is no text or number that can be sent") from error
        order_fields(data)
        return data

    def seal(self, order: Order) -> str:
        """Return a record as it waits in a file: its fields, and the desk's signature over it all.

        Who can write that file, and has no key, has the desk sign nothing that it did not write.
        """
        text = canonical([order.ref, order.table, order.name, order.fields])
        return canonical([self._credential.sign_text(text.encode()), order.fields])

    def _receive(self, update: Update) -> None:
        if update.topic != "cmd/reply" or update.payload is None:
            return
        ref = str(update.payload.get("ref", ""))
        for listener in self.listeners:
            listener(ref, update.payload)
        answer = self._waiting.get(ref)
        if answer is not None and not answer.done():
            answer.set_result(update.payload)


class Records:
    """The records of a desk server; safe to use from several threads."""

    def __init__(self, orders: Orders, path: Path | None) -> None:
        """Open the file of what waits, or keep it in memory without one; OutsideError.

        The thread of the records calls those of `watched` every half second.
        """
        self.orders = orders
        self.watched: list[Callable[[], None]] = []
        self._feed = orders.feed
        self._path = path
        self._store = _opened(path)
        self._due_s: dict[str, float] = {}
        self._out: set[str] = set()  # sent, and not answered
        self._refused: dict[str, int] = {}
        self._mutex = threading.RLock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="board-records", daemon=True)
        orders.listeners.append(self._receive)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sending; what waits stays on the disk."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=JOIN_S)
        with self._mutex:
            self._store.close()

    def order(self, name: str, fields: Mapping[str, Any], table: str = "") -> None:
        """Keep an order for a table, or for all; on the disk when it returns. OutsideError."""
        tables = (table,) if table else self._feed.tables
        orders = [Order(one, name, fields) for one in tables]
        rows = [(o.ref, o.table, o.name, self.orders.seal(o)) for o in orders]
        try:
            with self._mutex, self._store:
                if self.waiting + len(rows) > LIMIT:
                    raise OutsideError(
                        f"{LIMIT} records wait for tables that do not answer; start their readers"
                    )
                self._store.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise OutsideError(
                f"{self._path}: {error}; check the permissions and the free space of that folder"
            ) from error
        for one in tables:
            self._send_due(one)

    def fact(self, kind: Fact, *, table: str = "", **fields: str) -> None:
        """Keep a fact for a table, or for all: subject, detail, by, role. OutsideError."""
        short = {key: _printable(value) for key, value in fields.items() if value}
        self.order(RECORD, {"kind": kind.value, **short}, table)

    def known(self, name: str, state: str) -> str | None:
        """Return the state of something as it was known, None where it was not; keep the new."""
        with self._mutex, self._store:
            row = self._store.execute("SELECT state FROM known WHERE name = ?", (name,)).fetchone()
            if row is None or row[0] != state:
                self._store.execute("INSERT OR REPLACE INTO known VALUES (?, ?)", (name, state))
        return None if row is None else str(row[0])

    def waiting_facts(self, kind: Fact) -> list[dict[str, str]]:
        """Return the fields of the facts of a kind that no table has accepted yet, oldest first."""
        query = "SELECT ref, tbl, name, fields FROM record WHERE name = ? ORDER BY rowid"
        with self._mutex:
            found = [self._sealed(*row) for row in self._store.execute(query, (RECORD,))]
        facts = (dict(order.fields) for order in found if order is not None)
        return [fields for fields in facts if fields.get("kind") == kind.value]

    def _sealed(self, ref: str, table: str, name: str, text: str) -> Order | None:
        """Return what waits, None where this desk did not write it: that is never sent."""
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            order = Order(table, name, json.loads(text)[1], ref)
            if self.orders.seal(order) == text:
                return order
        if ref not in self._refused:
            log.error(
                "record %r in %s is not by this desk and is not sent; find out who wrote there",
                ref,
                self._path,
            )
        self._refused[ref], self._due_s[ref] = 1, math.inf
        return None

    @property
    def waiting(self) -> int:
        """How many records wait."""
        with self._mutex:
            return int(self._store.execute("SELECT count(*) FROM record").fetchone()[0])

    # --- the thread of the records -----------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.wait(LOOK_S):
            try:
                for look in self.watched:
                    look()
                # A table that is silent would not answer either.
                for table in self._feed.tables:
                    if self._feed.silent_s(table) < RETRY_S:
                        self._send_due(table)
            except Exception:  # whatever it is, the next look may be good
                log.exception("records could not be sent; retrying")

    def _send_due(self, table: str) -> None:
        """Send what is due to a table, the oldest first, and no more than it takes at once.

        Without a broker it stays due; else it is due again when it was not answered for a while.
        """
        if not self._feed.connected:
            return
        now_s = time.monotonic()
        with self._mutex:
            found = self._store.execute(
                "SELECT ref, name, fields FROM record WHERE tbl = ? ORDER BY rowid LIMIT ?",
                (table, LOOKED_AT),
            ).fetchall()
            due = [row for row in found if self._due_s.get(row[0], 0.0) <= now_s]
            out = sum(row[0] in self._out and self._due_s[row[0]] > now_s for row in found)
            rows = (self._sealed(ref, table, *row) for ref, *row in due[: max(AT_ONCE - out, 0)])
            orders = [order for order in rows if order is not None]
            self._due_s.update((order.ref, now_s + RETRY_S) for order in orders)
            self._out.update(order.ref for order in orders)
        for order in orders:
            try:
                self.orders.send(order)
            except RefusedError as error:
                self._note_refusal(order.ref, str(error))

    def _receive(self, ref: str, answer: Mapping[str, Any]) -> None:
        if ref not in self._due_s:
            return
        if not answer.get("accepted"):
            self._note_refusal(ref, str(answer.get("why")))
            return
        with self._mutex, self._store:
            self._store.execute("DELETE FROM record WHERE ref = ?", (ref,))
            self._out.discard(ref)
        self._due_s.pop(ref, None)
        self._refused.pop(ref, None)

    def _note_refusal(self, ref: str, why: str) -> None:
        """Log the first, second, fourth, eighth refusal of a record, and keep it for later."""
        self._out.discard(ref)
        if why == TOO_MANY:
            return
        self._due_s[ref] = time.monotonic() + REFUSED_RETRY_S
        self._refused[ref] = times = self._refused.get(ref, 0) + 1
        self._put_last(ref, why)
        if times & (times - 1) == 0:
            log.error(
                "record %s was refused by its table, %d times so far: %s; it is kept and sent "
                "again: compare the clocks, the desk's key and the users file",
                ref,
                times,
                why,
            )

    def _put_last(self, ref: str, why: str) -> None:
        """Put a record behind the others; a fact about who is no user any more names them so."""
        with self._mutex, self._store:
            found = "SELECT tbl, name, fields FROM record WHERE ref = ?"
            row = self._store.execute(found, (ref,)).fetchone()
            if row is None:
                return
            order = self._sealed(ref, *row)
            if order is None:
                return
            if order.name == RECORD and why.startswith(("by:", "role:")):
                order = replace(order, fields=_without_speaker(dict(order.fields)))
            new = (ref, order.table, order.name, self.orders.seal(order))
            self._store.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)", new)


def _opened(path: Path | None) -> sqlite3.Connection:
    try:
        if path is not None:
            path.touch(mode=0o600)
        store = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False)
        with closing(store.cursor()) as cursor:
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.execute("CREATE TABLE IF NOT EXISTS record (ref PRIMARY KEY, tbl, name, fields)")
            cursor.execute("CREATE TABLE IF NOT EXISTS known (name PRIMARY KEY, state)")
    except (OSError, sqlite3.Error) as error:
        raise OutsideError(
            f"{path}: cannot be used for records that wait to be sent: {error}; give a folder that "
            "this user may write to with [desk] folder"
        ) from error
    return store


def _without_speaker(fields: dict[str, Any]) -> dict[str, Any]:
    by, role = fields.pop("by", ""), fields.pop("role", "")
    detail = f"{by} ({role}, no user any more) {fields.get('detail', '')}".strip()
    return {**fields, **({"detail": _printable(detail)} if by else {})}


def _printable(text: str) -> str:
    """Return the text as an order can have it: what prints, and not too long."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    safe = shown.encode("utf-8", "replace").decode()
    return safe if len(safe) <= TEXT_LIMIT else safe[: TEXT_LIMIT - 1] + "…"
