"""The log of a table and the outbox of its messages, in one SQLite file.

An input event and everything said because of it are written in one transaction and are on the
disk before anything is sent. It knows records, messages and disks; nothing of rules or brokers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vision.edge.store_disk import explained, lock, open_for_writing
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event
from vision.wire import Message, message_line
from vision.wire_codec import event_from_json, event_to_json
from vision.wire_log import (
    GENESIS,
    LOG_VERSION,
    BrokenChainError,
    Record,
    header_of,
    identity,
    said_digest,
    seal,
    verified,
)

CHUNK = 500  # records read at a time, so that a long log neither fills memory nor holds the lock

TABLES = """
CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outbox (
    seq INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL,
    qos INTEGER NOT NULL, retain INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS retained (
    topic TEXT PRIMARY KEY, payload BLOB NOT NULL, qos INTEGER NOT NULL, seq INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One step: the input event and what was said because of it."""

    event: Event
    messages: tuple[Message, ...]


class Store:
    """The log and the outbox of one table; safe to use from several threads."""

    def __init__(
        self, path: Path, header: Mapping[str, object], *, has_outbox: bool = True
    ) -> None:
        """Open or create the log of the table that `header` describes, and lock it.

        `has_outbox=False` keeps no unsent messages, for a run without a broker. OutsideError when
        the disk or another reader is in the way; ConfigurationError when the file is the log of
        another table or other rules.
        """
        self._path = path
        self._has_outbox = has_outbox
        self._mutex = threading.Lock()
        self._lock = lock(path)
        try:
            with explained("open", path):
                self._db = open_for_writing(path)
                self._db.executescript(TABLES)
            self._number, self._head = self._begin(header)
        except BaseException:
            self._lock.close()
            raise

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the steps in one transaction; when it returns they survive a power cut.

        OutsideError when they could not be written: then none of them was.
        """
        if not entries:
            return
        number, head = self._number, self._head
        with self._transaction():
            for entry in entries:
                number += 1
                record = seal(number, head, _content(entry))
                head = record.hash
                self._insert(record)
                for message in entry.messages:
                    self._keep(message)
        self._number, self._head = number, head

    def events(self) -> Iterator[Event]:
        """Yield every input event since the log began, verifying the chain on the way.

        OutsideError naming the first record that was changed.
        """
        with self._unchanged():
            for _, content in verified(self._records()):
                if "event" in content:
                    yield event_from_json(content["event"])

    @property
    def header(self) -> dict[str, Any]:
        """What the log was opened with: which table, which rules."""
        with self._unchanged():
            return header_of(self._records())

    def pending(self, after: int, limit: int) -> list[Message]:
        """Return at most `limit` unacknowledged messages with `seq` above `after`, in order."""
        rows = self._read(
            "SELECT topic, payload, qos, retain, seq FROM outbox WHERE seq > ? ORDER BY seq "
            "LIMIT ?",
            (after, limit),
        )
        return [Message(topic, data, qos, bool(keep), seq) for topic, data, qos, keep, seq in rows]

    def retained(self) -> list[Message]:
        """Return the latest retained message of every topic, those still unsent left out."""
        rows = self._read(
            "SELECT topic, payload, qos, seq FROM retained "
            "WHERE topic NOT IN (SELECT topic FROM outbox WHERE retain) ORDER BY seq"
        )
        return [Message(topic, data, qos, True, seq) for topic, data, qos, seq in rows]

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Take messages out of the outbox: the broker has them.

        Losing this in a power cut only repeats them, so it does not wait for the disk.
        """
        with self._transaction(synchronous="NORMAL"):
            self._db.executemany("DELETE FROM outbox WHERE seq = ?", [(seq,) for seq in seqs])

    def depth(self) -> int:
        """Return how many messages wait for the broker."""
        return int(self._read("SELECT count(*) FROM outbox")[0][0])

    def close(self) -> None:
        """Fold the write-ahead file into the log and release it; a second call does nothing."""
        with self._mutex, explained("close", self._path):
            self._db.close()
        self._lock.close()

    def _begin(self, header: Mapping[str, object]) -> tuple[int, str]:
        last = self._read("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1")
        if not last:
            first = seal(0, GENESIS, {"log": {"version": LOG_VERSION, **header}})
            with self._transaction():
                self._insert(first)
            return 0, first.hash
        if identity(self.header) != identity({"version": LOG_VERSION, **header}):
            raise ConfigurationError(
                f"[log] path: {self._path} is the log of another table or of other rules; give "
                "this table its own file, or move the old log away to begin a new one"
            )
        return last[0][0], last[0][1]

    def _insert(self, record: Record) -> None:
        self._db.execute(
            "INSERT INTO log (n, body, hash) VALUES (?, ?, ?)",
            (record.number, record.body, record.hash),
        )

    def _keep(self, message: Message) -> None:
        row = (message.topic, message.payload, message.qos, message.seq)
        if self._has_outbox:
            self._db.execute(
                "INSERT INTO outbox (topic, payload, qos, seq, retain) VALUES (?, ?, ?, ?, ?)",
                (*row, message.retain),
            )
        if message.retain and message.payload:
            self._db.execute(
                "INSERT OR REPLACE INTO retained (topic, payload, qos, seq) VALUES (?, ?, ?, ?)",
                row,
            )
        elif message.retain:
            self._db.execute("DELETE FROM retained WHERE topic = ?", (message.topic,))

    def _records(self) -> Iterator[Record]:
        number = -1
        while rows := self._read(
            "SELECT n, body, hash FROM log WHERE n > ? ORDER BY n LIMIT ?", (number, CHUNK)
        ):
            yield from (Record(*row) for row in rows)
            number = rows[-1][0]

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        try:
            yield
        except (BrokenChainError, ValueError) as error:
            raise OutsideError(
                f"the log {self._path} was changed: {error}; keep it as evidence, run shoe-reader "
                "audit on it, and restore a back-up or move it away to begin a new log"
            ) from error

    def _read(self, query: str, values: tuple[int, ...] = ()) -> list[Any]:
        with self._mutex, explained("read", self._path):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self, synchronous: str = "FULL") -> Iterator[None]:
        with self._mutex, explained("write to", self._path):
            self._db.execute(f"PRAGMA synchronous={synchronous}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _content(entry: Entry) -> dict[str, object]:
    said = said_digest(map(message_line, entry.messages)) if entry.messages else None
    return {"event": event_to_json(entry.event), "said": said}
