"""The log of a table and the outbox of its messages, in one SQLite file.

An input event and the messages it comes to are written in one transaction and are on the disk
before anything is sent. Records are chained by their hashes and cut into segments by checkpoints.
Every message carries a sum of its own, so that a byte that the disk has turned over is never
published; `unsent` are those the broker has not acknowledged, `standing` those that are retained.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any, Self

from vision.clock import DAY_MS
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event
from vision.record.chain import LOG_VERSION, BrokenChainError, header_of, identity
from vision.record.codec import GENESIS, Record, event_to_json, said_digest, seal
from vision.storage.sqlite import Database
from vision.wire.messages import Message, message_line

MESSAGES_AT_ONCE = 50_000  # pruned at a time, so that a long log does not hold up the table
SUM_BYTES = 16  # of SHA-256: enough against a failing disk; the chain guards against people

TABLES = """
CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS stub ON log (n) WHERE body = '';
CREATE TABLE IF NOT EXISTS segment (
    n INTEGER PRIMARY KEY, at INTEGER NOT NULL, seq INTEGER NOT NULL,
    pruned INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS message (
    seq INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL,
    qos INTEGER NOT NULL, retain INTEGER NOT NULL, sum BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS unsent (seq INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS standing (topic TEXT PRIMARY KEY, seq INTEGER NOT NULL);
"""
# The time by which things grow old, as far as it is confirmed, and what may be made up for.
TIME_TABLE = (
    "CREATE TABLE IF NOT EXISTS trusted_time "
    "(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, allowance INTEGER NOT NULL);"
)
READ_TIME = "SELECT at, allowance FROM trusted_time"
WRITE_TIME = "INSERT OR REPLACE INTO trusted_time VALUES (1, ?, ?)"
FIRST_SEGMENT = "INSERT INTO segment (n, at, seq) VALUES (1, 0, 0)"
NEWEST = "SELECT max(n) FROM segment"
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
class Checkpoint:
    """The state after a step, from which the log can be taken up again without what is before.

    `seq` is the last message's.
    """

    at: int
    seq: int
    desk: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """A step: the input event and the messages it came to."""

    event: Event
    messages: tuple[Message, ...]
    checkpoint: Checkpoint | None = None
    order: Mapping[str, object] | None = None  # as the person signed it


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How long records and messages are kept, and how large the file may become."""

    keep_days: float
    messages_days: float
    max_mb: float


# Is given the records of a transaction before it is committed, and the hash of the record before
# them; what it raises undoes the transaction.
Confirm = Callable[[Sequence[Record], str], None]
# Gives the entry that signs the record of that number and hash, `None` where nobody signs.
Seal = Callable[[int, str], Entry | None]


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
        self._damage = ""
        self.database = Database(path, TABLES + TIME_TABLE)
        try:
            self._number, self._head = self._begin(header)
            self._marked = int(self.database.first(NEWEST))
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
        with self.database.transaction() as db:
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
        return self._messages(
            f"{MESSAGES} JOIN unsent USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
        )

    def retained(self) -> list[Message]:
        """Return the latest retained message of every topic, those still unsent left out."""
        return self._messages(STANDING)

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
        with self.database.transaction(synchronous="NORMAL") as db:
            db.executemany("DELETE FROM unsent WHERE seq = ?", [(seq,) for seq in seqs])

    def prune(
        self, limits: LogLimits, now: int, marked: Sequence[int] = (), seal: Seal | None = None
    ) -> bool:
        """Delete old messages and at most one segment of the log; return whether a segment went.

        `now` and the `marked` moments, whose segments stay, are Unix time in milliseconds. What
        went is listed in a record, and `seal` signs that in the same transaction.
        """
        number, head = self._number, self._head
        with self.database.transaction() as db:
            ended = _segments(db)
            oldest = now - limits.messages_days * DAY_MS
            before = max((one.seq for one in ended if one.until < oldest), default=0)
            segment = _next_to_go(db, ended, limits, now, marked)
            if segment is not None:
                before = max(before, segment.seq)
                certificate = _certificate(db, segment, limits, now)
                _remove(db, segment)
                head = write_record(db, number := number + 1, head, certificate)
                entry = None if seal is None else seal(number, head)
                if entry is not None:
                    number, head = self._write_entry(db, number, head, entry)
            db.execute(PRUNE_MESSAGES, (before, MESSAGES_AT_ONCE))
        self._number, self._head = number, head
        return segment is not None

    def _write_entry(
        self, db: sqlite3.Connection, number: int, head: str, entry: Entry
    ) -> tuple[int, str]:
        """Write a step behind the record of that number and hash; return those of the last."""
        for message in entry.messages:
            _write_message(db, message, unsent=self._has_outbox)
        for content in _contents(entry):
            number += 1
            head = write_record(db, number, head, content)
        if entry.checkpoint is not None:
            row = (number, entry.checkpoint.at, entry.checkpoint.seq)
            db.execute("INSERT INTO segment (n, at, seq) VALUES (?, ?, ?)", row)
        return number, head

    def go_on_from(self, time_and_allowance: tuple[int, int]) -> None:
        """Take over the confirmed time of another log; OutsideError."""
        with self.database.transaction() as db:
            db.execute(WRITE_TIME, time_and_allowance)

    def depth(self) -> int:
        """Return how many messages wait for the broker."""
        return int(self.database.first("SELECT count(*) FROM unsent"))

    def close(self) -> None:
        """Fold the write-ahead file into the log and release it; a second call does nothing."""
        self.database.close()

    def _begin(self, header: Mapping[str, object]) -> tuple[int, str]:
        own = {"version": LOG_VERSION, **header}
        if not self.database.read("SELECT n FROM log LIMIT 1"):
            with self.database.transaction() as db:
                db.execute(FIRST_SEGMENT)
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

    def _messages(self, query: str, values: tuple[int, ...] = ()) -> list[Message]:
        rows = self.database.read(query, values)
        try:
            return messages_from(rows, self.database.path)
        except OutsideError as error:
            self._damage = str(error)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _contents(entry: Entry) -> Iterator[dict[str, object]]:
    """Yield the content of each record of a step."""
    said = said_digest(map(message_line, entry.messages)) if entry.messages else None
    content: dict[str, object] = {"event": event_to_json(entry.event), "said": said}
    yield content if entry.order is None else {**content, "order": entry.order}
    if entry.checkpoint is not None:
        yield {"desk": entry.checkpoint.desk}


# --- rows ----------------------------------------------------------------------------------------


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
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", (*row, _sum(message)))
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
            message = Message(topic, bytes(payload), qos, bool(retain), seq)
            is_whole = _sum(message) == digest
        except (UnicodeDecodeError, AttributeError, TypeError):
            is_whole = False
        if not is_whole:
            raise OutsideError(
                f"the log {path} is damaged: message {seq} is not what was written; nothing more "
                "is said from it. Keep a copy, test the disk, run shoe-reader audit on it, and "
                "restore a backup or continue from it with shoe-reader log begin"
            )
        found.append(message)
    return found


def _sum(message: Message) -> bytes:
    text = f"{message.seq} {message_line(message)}"
    return hashlib.sha256(text.encode()).digest()[:SUM_BYTES]


# --- retention -----------------------------------------------------------------------------------

# A log is cut at its checkpoints into segments, a shoe each; a segment goes as a whole. In its
# place stays the hash of its last record, and a new record of the chain lists all such gaps: those
# that the newest such record lists, and the new one, never what just happens to be missing.


@dataclass(frozen=True, slots=True)
class _Segment:
    """Records from `first` to `last`, written from `since` to `until` (ms), up to message `seq`."""

    first: int
    last: int
    since: int
    until: int
    seq: int


def _segments(db: sqlite3.Connection) -> list[_Segment]:
    """Return the segments that have ended and are there, oldest first."""
    rows = db.execute("SELECT n, at, seq, pruned FROM segment ORDER BY n").fetchall()
    return [
        _Segment(n, after - 1, since, until, seq)
        for (n, since, _, pruned), (after, until, seq, *_) in pairwise(rows)
        if not pruned
    ]


def _used_bytes(db: sqlite3.Connection) -> int:
    """Return how much of the file is in use; what has been pruned is free for new records."""
    pages, free, size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _next_to_go(
    db: sqlite3.Connection,
    ended: list[_Segment],
    limits: LogLimits,
    now: int,
    marked: Sequence[int],
) -> _Segment | None:
    """Return the oldest segment that is to go: too old, or the file too large.

    Never a segment with unsent messages, nor that of a `marked` moment.
    """
    too_large = _used_bytes(db) > limits.max_mb * 1_000_000
    oldest = now - limits.keep_days * DAY_MS
    (unsent,) = db.execute("SELECT min(seq) FROM unsent").fetchone()
    for segment in ended:
        if any(segment.since <= moment <= segment.until for moment in marked):
            continue
        if unsent is not None and segment.seq >= unsent:
            return None
        return segment if too_large or segment.until < oldest else None
    return None


def _remove(db: sqlite3.Connection, segment: _Segment) -> None:
    """Delete the records of a segment, all but the hash of the last; join gaps that meet."""
    db.execute("UPDATE segment SET pruned = 1 WHERE n = ?", (segment.first,))
    db.execute("DELETE FROM log WHERE n >= ? AND n < ?", (segment.first, segment.last))
    db.execute("UPDATE log SET body = '' WHERE n = ?", (segment.last,))
    db.execute("DELETE FROM log WHERE n = ? AND body = ''", (segment.first - 1,))


def _certificate(
    db: sqlite3.Connection, segment: _Segment, limits: LogLimits, now: int
) -> dict[str, object]:
    """Return the record that lists every gap, that of this segment included, and why it goes."""
    (digest,) = db.execute("SELECT hash FROM log WHERE n = ?", (segment.last,)).fetchone()
    known = listed_gaps(db)
    joins = [gap for gap in known if gap[1] == segment.first - 1]
    first = joins[0][0] if joins else segment.first
    before = [gap for gap in known if gap not in joins]
    is_old = segment.until < now - limits.keep_days * DAY_MS
    return {
        "pruned": [*before, [first, segment.last, digest]],
        "went": {
            "first": segment.first,
            "last": segment.last,
            "since": segment.since,
            "until": segment.until,
            "why": "age" if is_old else "size",
            "keep_days": limits.keep_days,
        },
    }


def listed_gaps(db: sqlite3.Connection) -> list[list[Any]]:
    """Return the gaps that the newest record of them lists."""
    if not db.execute("SELECT count(*) FROM segment WHERE pruned").fetchone()[0]:
        return []
    row = db.execute(
        """SELECT body FROM log WHERE body LIKE '%"pruned":[[%' ORDER BY n DESC LIMIT 1"""
    ).fetchone()
    found: list[list[Any]] = [] if row is None else json.loads(row[0])["pruned"]
    return found
