"""Walk through a log once: its records verified and folded, its messages held against them.

The messages beside the log are not chained; the log has a digest of them at each event. So the log
is folded again, and each row of the table of messages is compared with what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from vision.version import VERSION
from vision.wire.messages import Message, message_line
from vision.wire.session import CheckpointError, LogFold, Step, TableSession, new_session

OURS = ("", VERSION)  # versions of runs that this program folds to the same bytes

Opened = tuple[Record, dict[str, Any]]


def is_what_was_said(messages: tuple[Message, ...], content: Mapping[str, Any]) -> bool:
    """Whether the messages of a record are those of which it has the digest."""
    said = content.get("said")
    return said == (said_digest(map(message_line, messages)) if messages else None)


@dataclass(frozen=True, slots=True)
class Taken:
    """A record of a walk: the session before it and after it, and what its event came to.

    Both sessions are None where another version wrote what this one does not understand.
    """

    record: Record
    content: Mapping[str, Any]
    before: TableSession | None
    after: TableSession | None
    step: Step | None


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


class Walk:
    """Folds records, one after another, as far as this version understands them.

    `differs` says what another version wrote that this one understands otherwise or not at all;
    of its own version nothing can. A part that begins at no checkpoint is folded from its first on.
    """

    def __init__(self, first: int = 0) -> None:
        """Begin with record 0, then record `first`."""
        self.differs = ""
        self._first = first
        self._is_adrift = False
        self._fold: LogFold | None = None

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record, whose chain holds; BrokenChainError where it cannot stand there."""
        before, step = self._session, None
        if self._is_adrift or record.number == self._first > 1:
            self._is_adrift = "desk" not in content
        try:
            if record.number == 0:
                header = content["log"]
                self._fold = LogFold(new_session(header, logged_profile(header)))
            elif self._fold is not None and not self._is_adrift:
                step = self._fold.take(content)
                if step is not None and not is_what_was_said(step.messages, content):
                    self._excuse(content, "gives other messages than it says")
        except CheckpointError as error:
            self._excuse(content, error.why)
            self._adopt(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._excuse(content, f"is not understood ({error})")
            self._fold = None
        return Taken(record, content, before, self._session, step)

    @property
    def _session(self) -> TableSession | None:
        return None if self._fold is None or self._is_adrift else self._fold.session

    def _adopt(self, content: Mapping[str, Any]) -> None:
        try:
            if self._fold is not None:
                self._fold.adopt(content)
        except ValueError:
            self._fold = None

    def _excuse(self, content: Mapping[str, Any], why: str) -> None:
        """Take note of what another version wrote; refuse what none can have written."""
        version = self._fold.session.stream.version if self._fold is not None else "unknown"
        version = str(content.get("event", {}).get("version", version))
        if version in OURS:
            raise BrokenChainError(content["n"], why)
        self.differs = self.differs or f"record {content['n']} of version {version} {why}"


class Rows:
    """Rows in the order of their numbers, taken off as the records come that said them.

    `unproven` counts those that cannot be compared: their records were pruned, or another version
    said them.
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
        """Take the next record, the session after it and its messages; OutsideError.

        Those of another version, which are not what the record says, prove nothing.
        """
        last, self._last = self._last, content["n"]
        if "desk" in content and content["n"] != last + 1:
            # What was said before a gap cannot be known.
            self._retained = {}
            self._skip(session.stream.seq)
        self._skip(content.get("event", {}).get("after", 0))
        is_known = is_what_was_said(messages, content)
        for message in messages:
            self._hold(message, is_known=is_known)

    def end(self, *, ours: bool) -> None:
        """Hold what is left against the end of the log; `ours`: this version wrote it."""
        if self._row is not None and ours:
            raise _forged(self._row)
        while self._row is not None:
            self._pass(is_known=False)
        for topic, seq in self._retained.items():
            if self._standing.get(topic, 0) != seq:
                raise OutsideError(
                    f"on {topic} message {self._standing.get(topic, 0)} stands, but the log says "
                    f"{seq}: the table of messages was changed; keep the file as evidence, and "
                    "continue from it with shoe-reader log begin"
                )

    def _hold(self, message: Message, *, is_known: bool) -> None:
        if message.retain and is_known:
            self._retained[message.topic] = message.seq if message.payload else 0
        row = self._row
        if row is None or row.seq > message.seq:
            return
        if row.seq < message.seq or (is_known and row != message):
            raise _forged(row)
        self._pass(is_known=is_known)

    def _skip(self, seq: int) -> None:
        while self._row is not None and self._row.seq <= seq:
            self._pass(is_known=False)

    def _pass(self, *, is_known: bool) -> None:
        self.good += is_known
        self.unproven += not is_known
        self._row = next(self._waiting, None)


def compare(header: Mapping[str, Any], contents: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Compare rows with the messages of records of the log, which come segment by segment.

    Segments without rows may be left out. OutsideError at the first row that was not said.
    """
    fold = LogFold(new_session(header, logged_profile(header)))
    for content in contents:
        step = fold.take(content)
        rows.take(content, fold.session, step.messages if step else ())
    rows.end(ours=fold.session.stream.version in OURS)


def _forged(row: Message) -> OutsideError:
    return OutsideError(
        f"message {row.seq} on {row.topic} is not what the log says was said: the table of "
        "messages was changed; keep the file as evidence, and continue from it with shoe-reader "
        "log begin"
    )
