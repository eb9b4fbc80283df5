"""The log of a table and the outbox of its messages, in one SQLite file.

An input event and the messages it comes to are written in one transaction and are on the disk
before anything is sent. Records are chained by their hashes and cut into segments by checkpoints.
Every message carries a sum of its own, so that a byte that the disk has turned over is never
published; `unsent` are those the broker has not acknowledged, `standing` those that are retained.

**Every table beside `log` (`BESIDE`) is a cache, and decides nothing.** What is deleted, when and
why, comes from records under a signature; a row is held against the records before it is published,
and an audit compares all of them. What was acknowledged no record can say: whoever takes rows out
of `unsent` keeps messages back until a receiver, which misses their numbers, asks for them.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Any, NamedTuple, Self

from vision.clock import DAY_MS
from vision.errors import ConfigurationError, OutsideError
from vision.files import PRIVATE
from vision.game.events import Event
from vision.record.chain import LOG_VERSION, BrokenChainError, header_of, identity
from vision.record.codec import GENESIS, Record, event_to_json, messages_digest, seal
from vision.storage import sqlite
from vision.storage.retention import (
    CHECKPOINTS,
    LogLimits,
    ProvenCheckpoints,
    Vouches,
    certificate,
    next_to_go,
    remove,
)
from vision.wire.messages import Message, message_line, message_sum

log = logging.getLogger(__name__)

MESSAGES_AT_ONCE = 50_000  # pruned at a time, so that a long log does not hold up the table

NEWEST = f"{CHECKPOINTS} ORDER BY n DESC LIMIT 1"
SUMS = "SELECT b.{}, m.sum FROM message m JOIN {} b USING (seq)"
MESSAGES = "SELECT m.topic, m.payload, m.qos, m.retain, m.seq, m.sum FROM message m"
STANDING = (
    "SELECT m.topic, m.payload, m.qos, m.retain, m.seq, m.sum FROM message m "
    "JOIN standing s USING (seq) WHERE m.topic NOT IN "
    "(SELECT u.topic FROM message u JOIN unsent USING (seq) WHERE u.retain) ORDER BY seq"
)
# Of those below a `seq`, so many that are sent and do not stand.
PRUNE_MESSAGES = (
    "DELETE FROM message WHERE seq IN (SELECT seq FROM message WHERE seq < ? "
    "AND seq NOT IN (SELECT seq FROM unsent) AND seq NOT IN (SELECT seq FROM standing) "
    "ORDER BY seq LIMIT ?)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A step: the input event and the messages it came to.

    `checkpoint` is the state after it, from which the log can be taken up without what is before.
    """

    event: Event
    messages: tuple[Message, ...]
    checkpoint: Mapping[str, object] | None = None
    order: Mapping[str, object] | None = None  # as the person signed it


# Is given the records of a transaction before it is committed, and the hash of the record before
# them; what it raises undoes the transaction.
Confirm = Callable[[Sequence[Record], str], None]


class Seal(NamedTuple):
    """Who signs a log.

    `sign` gives the entry that signs the record of that number and hash; `vouches` says whether a
    signature of before is believed.
    """

    sign: Callable[[int, str], Entry]
    vouches: Vouches


class Database:
    """The open file of a log, and its lock."""

    def __init__(self, path: Path) -> None:
        """Open or create the file and its tables, with durable commits.

        OutsideError when something is in the way, or the file is not one of ours.
        """
        self.path = path
        self.mutex = threading.RLock()
        with ExitStack() as opened, sqlite.explained("open", path):
            self._lock = opened.enter_context(sqlite.lock(path))
            if sqlite.state_of(path) is sqlite.Closing.TORN:
                log.warning("%s: %s", path, sqlite.TORN_WORDS)
            with suppress(OSError):  # what is in the way SQLite says
                path.touch(PRIVATE)  # its write-ahead file has the same permissions
            db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._connection = opened.enter_context(closing(db))
            db.execute(f"PRAGMA busy_timeout={sqlite.BUSY_MS}")
            is_new = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not is_new:
                sqlite.refuse_foreign(db, path)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            if is_new:
                db.execute(f"PRAGMA application_id={sqlite.APPLICATION_ID}")
            db.executescript(sqlite.TABLES)
            db.execute(f"PRAGMA user_version={sqlite.OPEN}")
            # Into the file itself, so that a copy without its write-ahead file shows it.
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            opened.pop_all()

    def read(self, query: str, values: tuple[int, ...] = ()) -> list[Any]:
        """Return all rows of a query; OutsideError when the disk refuses."""
        with self.mutex, sqlite.explained("read", self.path):
            return self._connection.execute(query, values).fetchall()

    def first(self, query: str, values: tuple[int, ...] = ()) -> Any:
        """Return the first column of the first row, None when there is none."""
        rows = self.read(query, values)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Do all of the block or, after an OutsideError, nothing of it."""
        with self.mutex:
            try:
                self._connection.execute(f"PRAGMA synchronous={synchronous}")
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise sqlite.failure("write to", self.path, error) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Fold the write-ahead file into the file and release it; a second call does nothing."""
        with self.mutex, sqlite.explained("close", self.path):
            with suppress(sqlite3.ProgrammingError):  # closed already
                self._connection.execute(f"PRAGMA user_version={sqlite.CLOSED}")
            self._connection.close()
        self._lock.close()


class Store:
    """The log and the outbox of a table, in `database`; safe to use from several threads."""

    def __init__(
        self, path: Path, header: Mapping[str, object], *, has_outbox: bool = True
    ) -> None:
        """Open or create the log of the table that `header` describes, and lock it.

        `has_outbox=False` keeps no unsent messages, for a run without a broker. OutsideError when
        the disk or another reader is in the way; ConfigurationError when the file is the log of
        another table or other rules.
        """
        self._has_outbox = has_outbox
        self.vouches: Vouches | None = None  # whether a signature is believed, where one signs
        self._damage = ""
        self.database = Database(path)
        try:
            self._number, self._head = self._begin(header)
            self._marked = int(self.database.first(NEWEST) or 1)
            # The sum of each message that is to be sent, by number, and of each that stands, by
            # topic, as this run made or found it: what is put into the rows since is not sent.
            self._unsent = dict(self.database.read(SUMS.format("seq", "unsent")))
            self._standing = dict(self.database.read(SUMS.format("topic", "standing")))
        except BaseException:
            self.database.close()
            raise

    def append(self, entries: Sequence[Entry], confirm: Confirm | None = None) -> None:
        """Write the steps in one transaction; when it returns they survive a power cut.

        OutsideError when they could not be written, and whatever `confirm` raises: then none of
        them was.
        """
        if not entries:
            return
        if self._damage:
            raise OutsideError(self._damage)
        number, head, marked = self._number, self._head, self._marked
        with self._writing(entries) as db:
            for entry in entries:
                number, head = self._write_entry(db, number, head, entry)
                marked = marked if entry.checkpoint is None else number
            if confirm is not None:
                query = "SELECT n, body, hash FROM log WHERE n > ? ORDER BY n"
                rows = db.execute(query, (self._number,))
                confirm([Record(*row) for row in rows], self._head)
        self._number, self._head, self._marked = number, head, marked

    def head_after(self, entries: Sequence[Entry]) -> tuple[int, str]:
        """Return the number and the hash of the last record as it will be behind these steps."""
        number, head = self.head
        for entry in entries:
            for content in _contents(entry):
                number += 1
                head = seal(number, head, content).hash
        return number, head

    @property
    def head(self) -> tuple[int, str]:
        """The number and the hash of the last record."""
        return self._number, self._head

    def hash_of(self, number: int) -> str:
        """Return the hash of a record, "" where it is not there."""
        return str(self.database.first("SELECT hash FROM log WHERE n = ?", (number,)) or "")

    @property
    def last_seq(self) -> int:
        """The number of the last message ever made."""
        return int(self.database.first("SELECT coalesce(max(seq), 0) FROM message"))

    @property
    def since_checkpoint(self) -> int:
        """How many records have been written since the last checkpoint."""
        return self._number - self._marked

    def pending(self, after: int, limit: int) -> list[Message]:
        """Return at most `limit` unacknowledged messages with `seq` above `after`, in order."""
        query = f"{MESSAGES} JOIN unsent USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?"
        return self._messages(query, (after, limit), lambda each: self._unsent.get(each.seq))

    def retained(self) -> list[Message]:
        """Return the latest retained message of every topic, those still unsent left out."""
        return self._messages(STANDING, (), lambda each: self._standing.get(each.topic))

    def count_messages(self, first: int, last: int) -> int:
        """Return how many of the messages from `seq` first to last are kept."""
        query = "SELECT count(*) FROM message WHERE seq BETWEEN ? AND ?"
        return int(self.database.first(query, (first, last)))

    def messages(self, first: int, last: int) -> list[Message]:
        """Return the messages from `seq` first to last as they were; pruned ones are left out."""
        return self._messages(f"{MESSAGES} WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, last))

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Take messages out of the outbox: the broker has them.

        Losing this in a power cut only repeats them, so it does not wait for the disk.
        """
        rows = [(seq,) for seq in seqs]
        with self.database.transaction(synchronous="NORMAL") as db:
            db.executemany("DELETE FROM unsent WHERE seq = ?", rows)
        for (seq,) in rows:
            self._unsent.pop(seq, None)

    def prune(
        self, limits: LogLimits, now: int, marked: Sequence[int] = (), seal: Seal | None = None
    ) -> bool:
        """Delete old messages and at most one segment of the log; return whether a segment went.

        `now` and the `marked` moments, whose segments stay, are Unix time in milliseconds. What
        went is listed in a record, and `seal` signs that in the same transaction. BrokenChainError
        where what would decide is not proven: then nothing goes.
        """
        number, head = self._number, self._head
        signed: list[Entry] = []
        with self._writing(signed) as db:
            marks = ProvenCheckpoints(db, None if seal is None else seal.vouches)
            before = marks.last_before(round(now - limits.messages_days * DAY_MS)).seq
            segment = next_to_go(db, marks, limits, now, marked)
            if segment is not None:
                before = max(before, segment.seq)
                gaps = certificate(db, marks, segment, limits, now)
                remove(db, segment)
                head = write_record(db, number := number + 1, head, gaps)
                if seal is not None:
                    signed.append(seal.sign(number, head))
                    number, head = self._write_entry(db, number, head, signed[0])
            db.execute(PRUNE_MESSAGES, (before, MESSAGES_AT_ONCE))
        self._number, self._head = number, head
        return segment is not None

    @contextmanager
    def _writing(self, entries: Sequence[Entry]) -> Iterator[sqlite3.Connection]:
        """Write these steps in one transaction; nobody reads a message before its sum is known."""
        with self.database.mutex:
            with self.database.transaction() as db:
                yield db
            for message in chain.from_iterable(entry.messages for entry in entries):
                if self._has_outbox:
                    self._unsent[message.seq] = message_sum(message)
                if message.retain:
                    self._standing[message.topic] = message_sum(message)

    def _write_entry(
        self, db: sqlite3.Connection, number: int, head: str, entry: Entry
    ) -> tuple[int, str]:
        """Write a step behind the record of that number and hash; return those of the last."""
        for message in entry.messages:
            _write_message(db, message, unsent=self._has_outbox)
        for content in _contents(entry):
            number += 1
            head = write_record(db, number, head, content)
        return number, head

    def depth(self) -> int:
        """Return how many messages wait for the broker."""
        return int(self.database.first("SELECT count(*) FROM unsent"))

    def settle(self) -> None:
        """Fold the write-ahead file into the log, as closing does; OutsideError if it has no room.

        What another program reads at this moment stays for later.
        """
        self.database.read("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Fold the write-ahead file into the log and release it; a second call does nothing."""
        self.database.close()

    def _begin(self, header: Mapping[str, object]) -> tuple[int, str]:
        own = {"version": LOG_VERSION, **header}
        if not self.database.read("SELECT n FROM log LIMIT 1"):
            with self.database.transaction() as db:
                write_record(db, 0, GENESIS, {"log": own})
        rows = self.database.read("SELECT n, body, hash FROM log WHERE n = 0")
        try:
            self.header = header_of(starmap(Record, rows))
        except BrokenChainError as error:
            raise changed_log(self.database.path, error) from error
        if identity(self.header) != identity(own):
            raise ConfigurationError(
                f"[log] path: {self.database.path} is the log of another table or of other rules; "
                "give this table its own file, or continue in a new log with shoe-reader log begin"
            )
        number, head = self.database.read("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1")[0]
        return number, head

    def _messages(
        self,
        query: str,
        values: tuple[int, ...] = (),
        made: Callable[[Message], bytes | None] = message_sum,
    ) -> list[Message]:
        """Return the messages that a query finds; OutsideError where one has not the sum `made`."""
        path = self.database.path
        try:
            with self.database.mutex:
                found = messages_from(self.database.read(query, values), path)
                for message in found:
                    if made(message) != message_sum(message):
                        raise damaged(message.seq, path)
                return found
        except OutsideError as error:
            self._damage = str(error)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _contents(entry: Entry) -> Iterator[dict[str, object]]:
    published = messages_digest(map(message_line, entry.messages)) if entry.messages else None
    content: dict[str, object] = {"event": event_to_json(entry.event), "said": published}
    yield content if entry.order is None else {**content, "order": entry.order}
    if entry.checkpoint is not None:
        yield {"desk": entry.checkpoint}


def write_record(
    db: sqlite3.Connection, number: int, previous: str, content: Mapping[str, object]
) -> str:
    """Write one record and return its hash."""
    record = seal(number, previous, content)
    row = (record.number, record.body, record.hash)
    db.execute("INSERT INTO log (n, body, hash) VALUES (?, ?, ?)", row)
    return record.hash


def _write_message(db: sqlite3.Connection, message: Message, *, unsent: bool) -> None:
    row = (message.seq, message.topic, message.payload, message.qos, message.retain)
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", (*row, message_sum(message)))
    if unsent:
        db.execute("INSERT INTO unsent VALUES (?)", (message.seq,))
    if message.retain and message.payload:
        values = (message.topic, message.seq)
        db.execute("INSERT OR REPLACE INTO standing VALUES (?, ?)", values)
    elif message.retain:
        db.execute("DELETE FROM standing WHERE topic = ?", (message.topic,))


def changed_log(path: Path, error: Exception) -> OutsideError:
    """Return the error that a log was changed, with the cure."""
    return OutsideError(
        f"the log {path} was changed: {error}; keep it as evidence, run shoe-reader audit on it, "
        "and restore a backup or continue from it with shoe-reader log begin"
    )


def messages_from(rows: Iterable[Sequence[Any]], path: Path) -> list[Message]:
    """Return the messages of rows of MESSAGES; OutsideError where one is not as written."""
    found = []
    for topic, payload, qos, retain, seq, digest in rows:
        try:
            message = Message(topic, payload, qos, bool(retain), seq)
            # Rows hold what they are given: a number as a payload is no length.
            is_whole = type(payload) is bytes and type(topic) is str and retain in (0, 1)
            is_whole = is_whole and message_sum(message) == digest
        except UnicodeError:
            is_whole = False
        if not is_whole:
            raise damaged(seq, path)
        found.append(message)
    return found


def damaged(seq: int, path: Path) -> OutsideError:
    """Return the error that the row of a message is not as written, with the cure."""
    return OutsideError(
        f"the log {path} is damaged: message {seq} is not what was written; nothing more is "
        "published from it. Keep a copy, test the disk, run shoe-reader audit on it, and restore a "
        "backup or continue from it with shoe-reader log begin"
    )
