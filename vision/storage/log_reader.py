"""Read logs without changing them: a table's SQLite file, or its export as JSON lines.

A walk verifies and folds the records, and holds the messages against them. The messages beside the
log are not chained; the log has a digest of them at each event. So the log is folded again, and
each row of the table of messages is compared with what comes of it. A log of one form
(`LOG_VERSION`) comes to the same messages with every version of this program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.files import replacing
from vision.record.chain import BrokenChainError, record_from_line, record_line, verified
from vision.record.codec import GENESIS, Record, event_from_json, said_digest
from vision.record.facts import Anchored, Nonce
from vision.storage.log import MESSAGES, READ_TIME, messages_from
from vision.storage.retention import listed_gaps
from vision.storage.sqlite import reading
from vision.wire.messages import Message, message_line
from vision.wire.session import LogFold, Step, TableSession, new_session

SQLITE_MAGIC = b"SQLite format 3\0"  # by which a log is told from an export
SIGNATURES = (
    "SELECT l.n, l.body, p.hash FROM log l JOIN log p ON p.n = l.n - 1 "
    """WHERE l.body LIKE '%"is":"Anchored"%' ORDER BY l.n DESC"""
)
NEWEST = 2**63 - 1  # the largest number that a record can have in SQLite
# Records in which to look for orders that must not be given twice: about 250 coups, far more than
# the seconds for which an order is fresh. Fewer could let an order through a second time.
RECENT = 5_000
# Segments with a message that is unsent or stands, and the last one: first record, and first after.
SEGMENTS_AGAIN = (
    "SELECT n, after FROM (SELECT n, seq, pruned, lead(n, 1, :newest) OVER by_number AS after, "
    "lead(seq, 1, :newest) OVER by_number AS last FROM segment WINDOW by_number AS (ORDER BY n)) s "
    "WHERE after = :newest OR (NOT pruned AND ("
    "EXISTS (SELECT 1 FROM unsent u WHERE u.seq > s.seq AND u.seq <= s.last) OR "
    "EXISTS (SELECT 1 FROM standing t WHERE t.seq > s.seq AND t.seq <= s.last))) ORDER BY n"
)


class CheckpointMark(NamedTuple):
    """A checkpoint: its record, the last message's `seq` before it, the hash of the record before.

    `shoe` is the one in use.
    """

    number: int
    seq: int
    before: str
    shoe: str


WHOLE = CheckpointMark(0, 0, GENESIS, "")  # where a whole log begins


def read_log(path: Path, first: int = 0) -> Iterator[Record]:
    """Yield the records of a log from number `first` on as they stand, unverified.

    OutsideError when the file cannot be read or is another program's; BrokenChainError when a line
    of an export is no record.
    """
    try:
        if is_table(path):
            yield from read_table(path, first)
            return
        with path.open("rb") as file:
            for number, line in enumerate(file):
                record = record_from_line(line.decode("utf-8", "replace"), number)
                if record.number >= first:
                    yield record
    except OSError as error:
        raise OutsideError(
            f"cannot read the log {path}: {error.strerror}; give the .sqlite file of a table or "
            "an export of it"
        ) from error


def read_part(path: Path, first: int) -> Iterator[Record]:
    """Yield record 0 of a log and those from number `first` on, as `read_log` does."""
    yield from islice(read_log(path), 1)
    yield from read_log(path, max(first, 1))


def read_messages(path: Path, after: int = 0) -> Iterator[Message]:
    """Yield the messages beside a table's log with a `seq` above `after`, in order; OutsideError.

    None of an export, which has none.
    """
    if is_table(path):
        yield from _messages(path, f"seq > {after}")


def messages_again(path: Path) -> Iterator[Message]:
    """Yield the messages that would be published again, in order: unsent, or standing."""
    yield from _messages(path, "seq IN (SELECT seq FROM unsent UNION SELECT seq FROM standing)")


def _messages(path: Path, condition: str) -> Iterator[Message]:
    with reading(path) as db:
        for row in db.execute(f"{MESSAGES} WHERE {condition} ORDER BY seq"):
            yield from messages_from([row], path)


def _rows(path: Path, query: str, values: Sequence[int] | Mapping[str, int] = ()) -> list[Any]:
    with reading(path) as db:
        return db.execute(query, values).fetchall()


def origins(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of the segments of which messages would be published again, and the last.

    The chain is verified from the first of them to the end: BrokenChainError, or OutsideError.
    """
    wanted = _rows(path, SEGMENTS_AGAIN, {"newest": NEWEST})
    begin = wanted[0][0]
    for record, content in verified(read_table(path, begin), begin, hash_of(path, begin - 1)):
        while record.number >= wanted[0][1]:
            wanted.pop(0)
        if record.number >= wanted[0][0]:
            yield content


def contents(path: Path, first: int) -> Iterator[dict[str, Any]]:
    """Yield what the records of a table's log from that number on hold, as it stands.

    Those that hold no JSON object are passed over.
    """
    for record in read_table(path, first):
        with suppress(ValueError):
            content = json.loads(record.body or "{}")
            if isinstance(content, dict):
                yield content


def recent_orders(path: Path) -> list[dict[str, Any]]:
    """Return the signed fields of the orders among the last RECENT records, oldest first.

    Of those that another log took over, the key, the nonce and the time. Nobody has verified the
    records before the last checkpoint: what is no order there is passed over.
    """
    found: list[Any] = []
    ((last,),) = _rows(path, "SELECT max(n) FROM log")
    for content in contents(path, max(0, last - RECENT)):
        event, order = content.get("event"), content.get("order")
        found += event.get("nonces", ()) if isinstance(event, dict) else ()
        found += [order.get("fields")] if isinstance(order, dict) else ()
    named = (fields for fields in found if isinstance(fields, dict))
    # What an order is known again by.
    return [f for f in named if all(isinstance(f.get(name), str) for name in Nonce._fields)]


def standing_messages(path: Path) -> dict[str, int]:
    """Return the number of the retained message that stands on each topic of a table's log."""
    return dict(_rows(path, "SELECT topic, seq FROM standing"))


def unsent_messages(path: Path) -> list[int]:
    """Return the numbers of the messages of a table's log that no broker has acknowledged."""
    return [seq for (seq,) in _rows(path, "SELECT seq FROM unsent ORDER BY seq")]


def checkpoints(path: Path, last: int = NEWEST) -> Iterator[CheckpointMark]:
    """Yield where a table's log can be read from, newest first: at each checkpoint up to `last`.

    One after another, so that what is new is found as quickly in a long log as in a short one.
    """
    with reading(path) as db:
        for row in db.execute(
            "SELECT s.n, s.seq, (SELECT hash FROM log WHERE n = s.n - 1), "
            "coalesce(json_extract(l.body, '$.desk.table.shoe.name'), '') "
            "FROM segment s JOIN log l USING (n) WHERE NOT s.pruned AND s.n <= ? "
            "ORDER BY s.n DESC",
            (last,),
        ):
            yield CheckpointMark(*row)


def signatures(path: Path) -> Iterator[tuple[str, Anchored]]:
    """Yield the signatures in a table's log, the newest first, with the hash of what each signs.

    What only looks like one is left out, and one that is not of the record before it.
    """
    with reading(path) as db:
        for number, body, digest in db.execute(SIGNATURES):
            try:
                anchor = event_from_json(json.loads(body)["event"])
            except (ValueError, KeyError, TypeError):
                continue
            if isinstance(anchor, Anchored) and anchor.number == number - 1:
                yield digest, anchor


def hash_of(path: Path, number: int) -> str:
    """Return the hash of a record of a table's log, "" where it is not there."""
    rows = _rows(path, "SELECT hash FROM log WHERE n = ?", (number,))
    return str(rows[0][0]) if rows else ""


def gaps(path: Path) -> list[tuple[int, int]]:
    """Return the first and last record of each gap that the newest pruning of a log lists."""
    with reading(path) as db:
        return [(int(first), int(last)) for first, last, _ in listed_gaps(db)]


def trusted_time(path: Path) -> tuple[int, int] | None:
    """Return the confirmed time of a log and its allowance (ms), `None` where it has none yet."""
    return next(iter(_rows(path, READ_TIME)), None)


def is_table(path: Path) -> bool:
    """Whether the file is a table's own, not an export of its records."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def write_export(path: Path, records: Iterable[Record]) -> int:
    """Write the records as JSON lines and return how many; WriteError when the disk refuses."""
    count = 0
    with replacing(path) as file:
        for record in records:
            file.write(f"{record_line(record)}\n".encode())
            count += 1
    return count


def read_table(path: Path, first: int) -> Iterator[Record]:
    """Yield the records of a table's own log from number `first` on, unverified; OutsideError.

    A reader asks of its own log here: where its process closes the file otherwise than by SQLite,
    as `is_table` does, the system drops the locks by which other programs leave the log alone.
    """
    with reading(path) as db:
        query = "SELECT n, body, hash FROM log WHERE n >= ? ORDER BY n"
        for row in db.execute(query, (first,)):
            yield Record(*row)


# --- a walk through a log -------------------------------------------------------------------------


Opened = tuple[Record, dict[str, Any]]


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
    yield from verified(islice(records, 1) if first else records)
    yield from verified(records, first, previous)


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
        self._session: TableSession | None = None

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record, whose chain holds; BrokenChainError where it cannot stand there."""
        before, step = self._session, None
        if self._fold is None:
            self._fold = new_fold(content.get("log"))
        if self._is_adrift or record.number == self._first > 1:
            self._is_adrift = "desk" not in content
        if not self._is_adrift:
            step = self._fold.take(content)
        if step is not None:
            lines = [message_line(message) for message in step.messages]
            if content.get("said") != (said_digest(lines) if lines else None):
                raise BrokenChainError(record.number, "gives other messages than it says")
        self._session = None if self._is_adrift else self._fold.session
        return Taken(record, content, before, self._session, step)


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
