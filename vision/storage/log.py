"""The log of a table and the outbox of its messages, in one SQLite file.

An input event and everything said because of it are written in one transaction and are on the
disk before anything is sent. It knows records, messages and disks; nothing of rules or brokers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event
from vision.record.chain import (
    GENESIS,
    LOG_VERSION,
    BrokenChainError,
    Record,
    header_of,
    identity,
    said_digest,
    verified,
    verified_from,
)
from vision.record.codec import event_from_json, event_to_json
from vision.storage import outbox, retention
from vision.storage.outbox import ROW, STANDING, DamagedMessageError
from vision.storage.retention import NEWEST, Checkpoint, Limits
from vision.storage.sqlite import Database
from vision.wire.messages import Message, message_line

RECENT = 5_000  # records in which to look for orders that must not be given twice
CHUNK = 500  # records read at a time, so that a long log neither fills memory nor holds the lock
MESSAGES_AT_ONCE = 50_000  # pruned at a time, so that a long log does not hold up the table

TABLES = retention.TABLES + outbox.TABLES


@dataclass(frozen=True, slots=True)
class Entry:
    """One step: the input event and what was said because of it."""

    event: Event
    messages: tuple[Message, ...]
    checkpoint: Checkpoint | None = None
    order: Mapping[str, object] | None = None  # as a person signed it: the proof


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
        self._has_outbox = has_outbox
        self._damage = ""
        self._db = Database(path, TABLES)
        try:
            self._number, self._head = self._begin(header)
            self._marked = int(self._db.first(NEWEST))
        except BaseException:
            self._db.close()
            raise

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the steps in one transaction; when it returns they survive a power cut.

        OutsideError when they could not be written: then none of them was.
        """
        if not entries:
            return
        if self._damage:
            raise OutsideError(self._damage)
        number, head, marked = self._number, self._head, self._marked
        with self._db.transaction() as db:
            for entry in entries:
                head = retention.write(db, number := number + 1, head, _content(entry))
                for message in entry.messages:
                    outbox.keep(db, message, unsent=self._has_outbox)
                if entry.checkpoint is not None:
                    marked = number = number + 1
                    head = retention.mark(db, number, head, entry.checkpoint)
        self._number, self._head, self._marked = number, head, marked

    def mark(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint between two steps; OutsideError when it could not be written."""
        with self._db.transaction() as db:
            head = retention.mark(db, self._number + 1, self._head, checkpoint)
        self._number, self._head = self._number + 1, head
        self._marked = self._number

    def contents(self) -> Iterator[dict[str, Any]]:
        """Yield the content of every record after the header, verifying the chain on the way.

        OutsideError naming the first record that was changed.
        """
        with self._unchanged():
            for record, content in verified(self._records(-1)):
                if record.number:
                    yield content

    def recent(self) -> Iterator[dict[str, Any]]:
        """Yield the content of the last checkpoint and all after it, verifying only that part.

        OutsideError naming the first record that was changed.
        """
        number = int(self._db.first(NEWEST))
        before = self._db.first("SELECT hash FROM log WHERE n = ?", (number - 1,))
        with self._unchanged():
            for _, content in verified_from(number, before or "", self._records(number - 1)):
                yield content

    def events(self) -> Iterator[Event]:
        """Yield every input event that the log still holds, verified as `contents` are."""
        with self._unchanged():
            for content in self.contents():
                if "event" in content:
                    yield event_from_json(content["event"])

    def orders(self) -> list[dict[str, Any]]:
        """Return the signed orders among the last RECENT records, oldest first."""
        rows = self._db.read("SELECT body FROM log WHERE n > ?", (self._number - RECENT,))
        with self._unchanged():
            contents = [json.loads(body) for (body,) in rows if '"order":' in body]
        return [content["order"] for content in contents if "order" in content]

    @property
    def header(self) -> dict[str, Any]:
        """What the log was opened with: which table, which rules."""
        with self._unchanged():
            return header_of(self._records(-1))

    @property
    def head(self) -> tuple[int, str]:
        """The number and the hash of the last record."""
        return self._number, self._head

    def hash_of(self, number: int) -> str:
        """Return the hash of a record, "" where it is not there."""
        return str(self._db.first("SELECT hash FROM log WHERE n = ?", (number,)) or "")

    @property
    def last_seq(self) -> int:
        """The number of the last message ever said."""
        return int(self._db.first("SELECT coalesce(max(seq), 0) FROM message"))

    @property
    def path(self) -> Path:
        """The file."""
        return self._db.path

    @property
    def is_pruned(self) -> bool:
        """Whether some records have been let go."""
        return bool(self._db.first("SELECT count(*) FROM segment WHERE pruned"))

    @property
    def since_checkpoint(self) -> int:
        """How many records have been written since the last checkpoint."""
        return self._number - self._marked

    def pending(self, after: int, limit: int) -> list[Message]:
        """Return at most `limit` unacknowledged messages with `seq` above `after`, in order."""
        return self._messages(
            f"{ROW} JOIN unsent USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit)
        )

    def retained(self) -> list[Message]:
        """Return the latest retained message of every topic, those still unsent left out."""
        return self._messages(STANDING)

    def count_said(self, first: int, last: int) -> int:
        """Return how many of the messages from `seq` first to last are kept."""
        query = "SELECT count(*) FROM message WHERE seq BETWEEN ? AND ?"
        return int(self._db.first(query, (first, last)))

    def said(self, first: int, last: int) -> list[Message]:
        """Return the messages from `seq` first to last, as they were said; pruned ones not."""
        return self._messages(f"{ROW} WHERE seq BETWEEN ? AND ? ORDER BY seq", (first, last))

    def acknowledge(self, seqs: Iterable[int]) -> None:
        """Take messages out of the outbox: the broker has them.

        Losing this in a power cut only repeats them, so it does not wait for the disk.
        """
        with self._db.transaction(synchronous="NORMAL") as db:
            outbox.forget_unsent(db, seqs)

    def prune(self, limits: Limits, now: int, marked: Sequence[int] = ()) -> bool:
        """Let old messages go, and at most one segment of the log; say whether one went.

        `now` and the `marked` moments, of which nothing is pruned, are Unix time in milliseconds.
        """
        with self._db.transaction() as db:
            segment = retention.next_to_go(db, limits, now, marked)
            before = retention.messages_before(db, limits, now)
            if segment is not None:
                before = max(before, segment.seq)
                retention.remove(db, segment)
                content = {"pruned": retention.gaps(db)}
                head = retention.write(db, self._number + 1, self._head, content)
            outbox.prune(db, before, MESSAGES_AT_ONCE)
        if segment is None:
            return False
        self._number, self._head = self._number + 1, head
        return True

    def depth(self) -> int:
        """Return how many messages wait for the broker."""
        return int(self._db.first("SELECT count(*) FROM unsent"))

    def close(self) -> None:
        """Fold the write-ahead file into the log and release it; a second call does nothing."""
        self._db.close()

    def _begin(self, header: Mapping[str, object]) -> tuple[int, str]:
        last = self._db.read("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1")
        if not last:
            with self._db.transaction() as db:
                db.execute(retention.FIRST_SEGMENT)
                return 0, retention.write(
                    db, 0, GENESIS, {"log": {"version": LOG_VERSION, **header}}
                )
        if self._db.first("SELECT count(*) FROM sqlite_master WHERE name = 'outbox'"):
            raise ConfigurationError(
                f"[log] path: {self._db.path} was written by version 0.1.0; move it away to begin "
                "a new log (replay and audit still read it)"
            )
        if identity(self.header) != identity({"version": LOG_VERSION, **header}):
            raise ConfigurationError(
                f"[log] path: {self._db.path} is the log of another table or of other rules; give "
                "this table its own file, or move the old log away to begin a new one"
            )
        return last[0][0], last[0][1]

    def _records(self, number: int) -> Iterator[Record]:
        """Yield the records after that number."""
        while rows := self._db.read(
            "SELECT n, body, hash FROM log WHERE n > ? ORDER BY n LIMIT ?", (number, CHUNK)
        ):
            yield from itertools.starmap(Record, rows)
            number = rows[-1][0]

    def _messages(self, query: str, values: tuple[int, ...] = ()) -> list[Message]:
        try:
            return outbox.read(self._db.read(query, values))
        except DamagedMessageError as error:
            self._damage = (
                f"the log {self._db.path} is damaged: {error}; nothing more is said from it. Keep "
                "a copy, test the disk, run shoe-reader audit on it, and restore a back-up or move "
                "it away to begin a new log"
            )
            raise OutsideError(self._damage) from error

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        try:
            yield
        except (BrokenChainError, ValueError) as error:
            raise OutsideError(
                f"the log {self._db.path} was changed: {error}; keep it as evidence, run "
                "shoe-reader audit on it, and restore a back-up or move it away to begin a new log"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _content(entry: Entry) -> dict[str, object]:
    said = said_digest(map(message_line, entry.messages)) if entry.messages else None
    content: dict[str, object] = {"event": event_to_json(entry.event), "said": said}
    return content if entry.order is None else {**content, "order": entry.order}
