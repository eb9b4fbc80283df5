"""Walk through a log once: its records verified and folded, its messages held against them.

The messages beside the log are not chained; the log has a digest of them at each event. So the log
is folded again, and each row of the table of messages is compared with what comes of it. A log of
one form (`LOG_VERSION`) comes to the same messages with every version of this program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.record.chain import (
    GENESIS,
    BrokenChainError,
    Record,
    said_digest,
    verified,
    verified_from,
)
from vision.storage.log_reader import read_log
from vision.wire.messages import Message, message_line
from vision.wire.session import LogFold, Step, TableSession, new_session

Opened = tuple[Record, dict[str, Any]]


def is_what_was_said(messages: tuple[Message, ...], content: Mapping[str, Any]) -> bool:
    """Whether the messages of a record are those of which it has the digest."""
    said = content.get("said")
    return said == (said_digest(map(message_line, messages)) if messages else None)


@dataclass(frozen=True, slots=True)
class Taken:
    """A record of a walk: the session before it and after it, and what its event came to.

    Both sessions are None in a part of a log up to its first checkpoint.
    """

    record: Record
    content: Mapping[str, Any]
    before: TableSession | None
    after: TableSession | None
    step: Step | None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that it came to."""
        return self.step.messages if self.step else ()


def opened(records: Iterable[Record], first: int, previous: str) -> Iterator[Opened]:
    """Yield record 0 and the records from `first` on, with their contents, verified.

    `previous` is the hash of the record before `first`. BrokenChainError.
    """
    records = iter(records)
    if first == 0:
        yield from verified(records)
        return
    head = next(records, None)
    yield from verified_from(0, GENESIS, [] if head is None else [head])
    yield from verified_from(first, previous, records)


def new_fold(header: object) -> LogFold:
    """Return the fold of a log with that header, before its first event; BrokenChainError."""
    if not isinstance(header, dict):
        raise BrokenChainError(0, "is not the header of a log")
    try:
        return LogFold(new_session(header, logged_profile(header)))
    except (KeyError, ValueError) as error:
        raise BrokenChainError(0, f"is not understood ({error})") from error


def walked(path: Path) -> Iterator[Taken]:
    """Yield every record of a log or of an export of one; BrokenChainError, OutsideError."""
    walk = Walk()
    for record, content in verified(read_log(path)):
        yield walk.take(record, content)


def folded(path: Path) -> TableSession:
    """Return the table as a log, or an export of its records, leaves it; as `walked`."""
    session = None
    for taken in walked(path):
        session = taken.after
    if session is None:
        raise BrokenChainError(0, "is not the header of a log")
    return session


class Walk:
    """Folds records, one after another; a part that begins at no checkpoint from its first one."""

    def __init__(self, first: int = 0) -> None:
        """Begin with record 0, then record `first`."""
        self._first = first
        self._is_adrift = False
        self._fold: LogFold | None = None

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record, whose chain holds; BrokenChainError where it cannot stand there."""
        before, step = self._session, None
        if self._fold is None:
            self._fold = new_fold(content.get("log"))
        if self._is_adrift or record.number == self._first > 1:
            self._is_adrift = "desk" not in content
        if not self._is_adrift:
            step = self._fold.take(content)
        if step is not None and not is_what_was_said(step.messages, content):
            raise BrokenChainError(record.number, "gives other messages than it says")
        return Taken(record, content, before, self._session, step)

    @property
    def _session(self) -> TableSession | None:
        return None if self._fold is None or self._is_adrift else self._fold.session


class Rows:
    """Rows in the order of their numbers, taken off as the records come that said them.

    `unproven` counts those that cannot be compared: their records were pruned.
    """

    def __init__(self, rows: Iterable[Message], standing: Mapping[str, int]) -> None:
        """`standing` is the number of the retained message of each topic."""
        self.good = self.unproven = 0
        self._waiting = iter(rows)
        self._row = next(self._waiting, None)
        self._standing = standing
        self._retained: dict[str, int] = {}
        self._last = -1

    def take(
        self, content: Mapping[str, Any], session: TableSession, messages: tuple[Message, ...]
    ) -> None:
        """Take the next record, the session after it and its messages; OutsideError."""
        last, self._last = self._last, content["n"]
        if "desk" in content and content["n"] != last + 1:
            # What was said before a gap cannot be known.
            self._retained = {}
            self._skip(session.stream.seq)
        self._skip(content.get("event", {}).get("after", 0))
        for message in messages:
            self._hold(message)

    def end(self) -> None:
        """Hold what is left against the end of the log; OutsideError."""
        if self._row is not None:
            raise _forged(self._row)
        for topic, seq in self._retained.items():
            if self._standing.get(topic, 0) != seq:
                raise OutsideError(
                    f"on {topic} message {self._standing.get(topic, 0)} stands, but the log says "
                    f"{seq}: the table of messages was changed; keep the file as evidence, and "
                    "continue from it with shoe-reader log begin"
                )

    def _hold(self, message: Message) -> None:
        if message.retain:
            self._retained[message.topic] = message.seq if message.payload else 0
        row = self._row
        if row is None or row.seq > message.seq:
            return
        if row != message:
            raise _forged(row)
        self.good += 1
        self._row = next(self._waiting, None)

    def _skip(self, seq: int) -> None:
        while self._row is not None and self._row.seq <= seq:
            self.unproven += 1
            self._row = next(self._waiting, None)


def compare(header: Mapping[str, Any], contents: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Compare rows with the messages of records of the log, which come segment by segment.

    Segments without rows may be left out. BrokenChainError, or OutsideError at the first row that
    was not said.
    """
    fold = new_fold(header)
    for content in contents:
        step = fold.take(content)
        rows.take(content, fold.session, step.messages if step else ())
    rows.end()


def _forged(row: Message) -> OutsideError:
    return OutsideError(
        f"message {row.seq} on {row.topic} does not match the log: the table of "
        "messages was changed; keep the file as evidence, and continue from it with shoe-reader "
        "log begin"
    )
