"""Read logs without changing them: a table's SQLite file, or its export as JSON lines.

A walk verifies and folds the records, and holds the messages against them. The messages beside the
log are not chained; the log has a digest of them at each event. So the log is folded again, and
each row of the table of messages is compared with what comes of it. A log of one form
(`LOG_VERSION`) comes to the same messages with every version of this program.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.record.chain import ODD, BrokenChainError, of_record, record_from_line, verified
from vision.record.codec import GENESIS, Record, event_from_json
from vision.record.facts import Anchored, Nonce
from vision.storage.log import MESSAGES, messages_from
from vision.storage.retention import CHECKPOINTS, Vouches, newest_pruning, signs
from vision.storage.sqlite import reading
from vision.wire.messages import Message, message_line, message_sum
from vision.wire.session import LogFold, Step, TableSession, new_session

SQLITE_MAGIC = b"SQLite format 3\0"  # by which a log is known from an export
# Bytes of a record in an export: a checkpoint has some 100 kB. More would fill the memory with what
# a small .zip unpacks to.
LONGEST_LINE = 8 * 1024 * 1024
SIGNATURES = (
    "SELECT l.n, l.body, p.hash FROM log l JOIN log p ON p.n = l.n - 1 "
    """WHERE l.body LIKE '%"is":"Anchored"%' ORDER BY l.n DESC"""
)
UNSENT = "SELECT seq FROM unsent"
NUMBERS = "SELECT seq FROM message"
# What is unsent or stands stays when the others of its time are deleted, oldest first, and so did
# what stood then: behind the first that is not of these, and was not retained, no row is missing.
DENSE = (
    "SELECT seq FROM message WHERE seq > 0 AND NOT retain AND seq NOT IN "
    "(SELECT seq FROM unsent UNION SELECT seq FROM standing) ORDER BY seq LIMIT 1"
)
NEWEST = 2**63 - 1  # the largest number that a record can have in SQLite
BEFORE_ALL = -(2**64)  # below the smallest
# Records in which to look for orders that must not be given twice: about 250 coups, far more than
# the seconds for which an order is fresh. Fewer could let an order through a second time.
RECENT = 5_000


@contextmanager
def unbroken(log: Path) -> Iterator[None]:
    """Say where the chain of a log is broken, and what is to be done: OutsideError."""
    try:
        yield
    except BrokenChainError as error:
        raise OutsideError(
            f"{log}: the chain is broken at {error}. The records before it ({error.number}) stand. "
            "Keep this file as evidence and compare it with a backup or an export"
        ) from error


class CheckpointMark(NamedTuple):
    """Where a log can be read from: a checkpoint's record, and the hash of the record before.

    `seq` is the last message's before it; `shoe` is the one in use.
    """

    number: int
    before: str
    seq: int = BEFORE_ALL
    shoe: str = ""


WHOLE = CheckpointMark(0, GENESIS)  # where a whole log begins


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
            yield from (record for record in exported(file) if record.number >= first)
    except OSError as error:
        raise OutsideError(
            f"cannot read the log {path}: {error.strerror}; give the .sqlite file of a table or "
            "an export of it"
        ) from error


def exported(file: IO[bytes]) -> Iterator[Record]:
    """Yield the records of an export of them, a line each; BrokenChainError where one is none."""
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b"")):
        if len(line) > LONGEST_LINE:
            raise BrokenChainError(number, f"is longer than {LONGEST_LINE} bytes")
        yield record_from_line(line.decode("utf-8", "replace"), number)


def read_part(path: Path, first: int) -> Iterator[Record]:
    """Yield record 0 of a log and those from number `first` on, as `read_log` does."""
    yield from islice(read_log(path), 1)
    yield from read_log(path, max(first, 1))


def _messages(path: Path, condition: str) -> Iterator[Message]:
    with reading(path) as db:
        for row in db.execute(f"{MESSAGES} WHERE {condition} ORDER BY seq"):
            yield from messages_from([row], path)


def _rows(path: Path, query: str, values: Sequence[int] | Mapping[str, int] = ()) -> list[Any]:
    with reading(path) as db:
        return db.execute(query, values).fetchall()


def contents(
    path: Path, first: int, last: int = NEWEST, text: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield what the records of a table's log from one number to another hold, as it stands.

    Those that hold no JSON object, or not that `text`, are passed over.
    """
    query = "SELECT body FROM log NOT INDEXED WHERE n BETWEEN ? AND ? AND instr(body, ?) ORDER BY n"
    with reading(path) as db:
        for (body,) in db.execute(query, (first, last, text)):
            with suppress(*ODD):
                content = json.loads(body or "{}")
                if isinstance(content, dict):
                    yield content


def recent_orders(path: Path) -> list[dict[str, Any]]:
    """Return what `orders` does of the last RECENT records."""
    ((last,),) = _rows(path, "SELECT max(n) FROM log")
    return orders(path, last - RECENT)


def orders(path: Path, first: int, last: int = NEWEST) -> list[dict[str, Any]]:
    """Return the signed fields of the orders from one record to another, oldest first.

    Of those that another log took over, the key, the nonce and the time. Nobody has verified the
    records before the last checkpoint: what is no order there is passed over.
    """
    found: list[Any] = []
    for content in contents(path, first, last, '"nonce":'):
        event, order = content.get("event"), content.get("order")
        nonces = event.get("nonces") if isinstance(event, dict) else ()
        found += nonces if isinstance(nonces, list) else ()
        found += [order.get("fields")] if isinstance(order, dict) else ()
    signed = (fields for fields in found if isinstance(fields, dict))
    return [each for each in signed if all(isinstance(part, str) for part in named(each))]


def named(fields: Mapping[str, Any]) -> Nonce:
    """Return what an order is known again by."""
    return Nonce(*(fields.get(part, None) for part in Nonce._fields))


def unsent_messages(path: Path) -> list[int]:
    """Return the numbers of the messages of a table's log that no broker has acknowledged."""
    return [seq for (seq,) in _rows(path, f"{UNSENT} ORDER BY seq")]


def checkpoints(path: Path, last: int = NEWEST) -> Iterator[CheckpointMark]:
    """Yield where a table's log can be read from, newest first: at each checkpoint up to `last`.

    One after another, so that what is new is found as quickly in a long log as in a short one.
    """
    with reading(path) as db:
        one = "SELECT c.body, b.hash FROM log c JOIN log b ON b.n = c.n - 1 WHERE c.n = ?"
        for (number,) in db.execute(f"{CHECKPOINTS} AND n <= ? ORDER BY n DESC", (last,)):
            body, before = db.execute(one, (number,)).fetchone() or ("", "")
            with of_record(number):
                desk = json.loads(body)["desk"]
                shoe = str(desk["table"].get("shoe", {}).get("name", ""))
                mark = CheckpointMark(number, before, int(desk["line"].get("seq", 0)), shoe)
            yield mark


def signatures(path: Path) -> Iterator[tuple[str, Anchored]]:
    """Yield the signatures in a table's log, the newest first, with the hash of what each signs.

    What only looks like one is left out, and one that is not of the record before it.
    """
    with reading(path) as db:
        for number, body, digest in db.execute(SIGNATURES):
            try:
                anchor = event_from_json(json.loads(body)["event"])
            except ODD:
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
        number = newest_pruning(db)
        if number is None:
            return []
        (body,) = db.execute("SELECT body FROM log WHERE n = ?", (number,)).fetchone()
        with of_record(number):
            return [(int(first), int(last)) for first, last, _ in json.loads(body)["pruned"]]


def is_table(path: Path) -> bool:
    """Whether the file is a table's own, not an export of its records."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


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


def opened(records: Iterable[Record], begin: CheckpointMark = WHOLE) -> Iterator[Opened]:
    """Yield record 0 and the records from `begin` on, with contents, verified; BrokenChainError."""
    records = iter(records)
    yield from verified(islice(records, 1) if begin.number else records)
    yield from verified(records, begin.number, begin.before)


def new_fold(header: object) -> LogFold:
    """Return the fold of a log with that header, before its first event; BrokenChainError."""
    if not isinstance(header, dict):
        raise BrokenChainError(0, "is not the header of a log")
    with of_record(0):  # a ProfileError is a ValueError too
        return LogFold(new_session(header, logged_profile(header)))


def walked(path: Path) -> Iterator[Taken]:
    """Yield every record of a log or of an export of one; BrokenChainError, OutsideError."""
    walk = Walk()
    for record, content in verified(read_log(path)):
        yield walk.take(record, content)


def message_lines(path: Path) -> Iterator[str]:
    """Yield the messages of a log or of an export of one, a line each; as `walked`."""
    for taken in walked(path):
        yield from map(message_line, taken.messages)


def folded(path: Path) -> TableSession:
    """Return the table as a log, or an export of its records, leaves it; as `walked`."""
    session = None
    for taken in walked(path):
        session = taken.after
    if session is None:
        raise BrokenChainError(0, "is not the header of a log")
    return session


class Walk:
    """Folds records, one after another; a part that begins at no checkpoint from its first one.

    `rows` are the messages beside them, if they are held against those.
    """

    def __init__(self, first: int = 0, rows: Rows | None = None) -> None:
        """Begin with record 0, then record `first`."""
        self.rows = rows
        self._first = first
        self._is_adrift = False
        self._fold: LogFold | None = None
        self._session: TableSession | None = None

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record, whose chain holds.

        BrokenChainError where it cannot stand there, OutsideError where a message is not its own.
        """
        before, step = self._session, None
        if self._fold is None:
            self._fold = new_fold(content.get("log"))
        if self._is_adrift or record.number == self._first > 1:
            self._is_adrift = "desk" not in content
        if not self._is_adrift:
            step = self._fold.take(content)
        self._session = None if self._is_adrift else self._fold.session
        taken = Taken(record, content, before, self._session, step)
        if self.rows is not None and taken.after is not None:
            self.rows.take(content, taken.after, taken.messages)
        return taken

    def end(self) -> None:
        """Hold what is left of the messages against the end of the log; OutsideError."""
        if self.rows is not None and self._session is not None:
            self.rows.end(self._session)


class Rows:
    """Rows of messages in the order of their numbers, taken off as the records come that have them.

    `unproven` counts those that cannot be compared: their records were pruned.
    """

    def __init__(self, path: Path, after: int = BEFORE_ALL, *, unsent: bool = False) -> None:
        """Take the rows of a table's log above `after`, or the `unsent` ones only."""
        self.good = self.unproven = 0
        self._path = path
        condition = f"seq IN ({UNSENT})" if unsent else f"seq > {after}"
        self._waiting = _messages(path, condition)
        self._row = next(self._waiting, None)
        dense = [] if unsent else _rows(path, DENSE)
        self._dense = dense[0][0] if dense else NEWEST
        self._last = -1

    def take(
        self, content: Mapping[str, Any], session: TableSession, messages: tuple[Message, ...]
    ) -> None:
        """Take the next record, the session after it and its messages; OutsideError."""
        last, self._last = self._last, content["n"]
        if "desk" in content and content["n"] != last + 1:
            # What was published before a gap cannot be known.
            self._skip(session.stream.seq)
        with of_record(content["n"]):
            self._skip(int(content.get("event", {}).get("after", 0)))
        for message in messages:
            self._hold(message)

    def end(self, session: TableSession) -> None:
        """Hold what is left, what stands and what is unsent against the log; OutsideError."""
        if self._row is not None:
            raise _changed(f"message {self._row.seq} on {self._row.topic} does not match the log")
        for (seq,) in _rows(self._path, f"{UNSENT} EXCEPT {NUMBERS}"):
            raise _changed(f"message {seq} is unsent, and it is not there")
        found = standing_messages(self._path)
        for topic in sorted(found.keys() | session.standing.keys()):
            if found.get(topic) != session.standing.get(topic):
                raise _changed(f"on {topic} the message that stands is not the one of the log")

    def _hold(self, message: Message) -> None:
        row = self._row
        if row is None or row.seq > message.seq:
            if self._dense < message.seq:
                words = f"on {message.topic} message {message.seq} of record {self._last}"
                raise _changed(f"{words} is missing")
            return
        if row != message:
            raise _changed(f"message {row.seq} on {row.topic} does not match the log")
        self.good += 1
        self._row = next(self._waiting, None)

    def _skip(self, seq: int) -> None:
        while self._row is not None and self._row.seq <= seq:
            self.unproven += 1
            self._row = next(self._waiting, None)


def proven_messages(path: Path, asked: range, vouches: Vouches | None, head: str) -> list[Message]:
    """Return the messages with a `seq` in `asked`, which a table's records prove by their digests.

    The records are held up to a signature that is believed, or to the one whose hash is `head`.
    BrokenChainError or OutsideError where rows are not what was published, or are not there.
    """
    begin = next((mark for mark in checkpoints(path) if mark.seq < asked.start), WHOLE)
    rows = _messages(path, f"seq > {begin.seq}")
    found: list[Message] = []
    seq, previous = begin.seq, ""
    for record, content in verified(read_table(path, begin.number), begin.number, begin.before):
        if content.get("said") and seq < asked[-1]:
            digest = hashlib.sha256()
            while digest.hexdigest() != content["said"]:
                message = next(rows, None)
                if message is None:
                    raise BrokenChainError(record.number, "said other messages than are stored")
                digest.update(f"{message_line(message)}\n".encode())
                seq = message.seq
                found += [message] if seq in asked else []
        is_sure = vouches is None or record.hash == head or signs(content, previous, vouches)
        if seq >= asked[-1] and is_sure:
            return found
        previous = record.hash
    raise BrokenChainError(begin.number, "is followed by no signature, or by too few messages")


def standing_messages(path: Path) -> dict[str, str]:
    """Return the sum (hex) of the message that stands on each topic of a table's log.

    OutsideError where a row stands for no message of its topic.
    """
    found: dict[str, str] = {}
    with reading(path) as db:
        for topic, *row in db.execute(
            "SELECT s.topic, m.topic, m.payload, m.qos, m.retain, s.seq, m.sum "
            "FROM standing s LEFT JOIN message m USING (seq)"
        ):
            (message,) = messages_from([row], path)
            if message.topic != topic:
                raise _changed(f"on {topic} stands message {message.seq}, which is not of it")
            found[topic] = message_sum(message).hex()
    return found


def _changed(what: str) -> OutsideError:
    return OutsideError(
        f"{what}: the table of messages was changed; keep the file as evidence, and continue from "
        "it with shoe-reader log begin"
    )
