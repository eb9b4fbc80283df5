"""Read logs without changing them: a table's SQLite file, or its export as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from vision.errors import OutsideError
from vision.files import replacing
from vision.record.chain import GENESIS, Record, record_from_line, record_line
from vision.record.codec import event_from_json
from vision.record.proofs import Anchored
from vision.storage.log import MESSAGES, DamagedMessageError, messages_from
from vision.storage.retention import listed
from vision.storage.sqlite import reading
from vision.wire.messages import Message

SQLITE_MAGIC = b"SQLite format 3\0"  # by which a log is told from an export
SIGNATURES = (
    "SELECT l.n, l.body, p.hash FROM log l JOIN log p ON p.n = l.n - 1 "
    """WHERE l.body LIKE '%"is":"Anchored"%' ORDER BY l.n DESC"""
)
NEWEST = 2**63 - 1  # the largest number that a record can have in SQLite


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
        if not is_table(path):
            yield from (record for record in _read_export(path) if record.number >= first)
            return
    except OSError as error:
        raise OutsideError(
            f"cannot read the log {path}: {error.strerror}; give the .sqlite file of a table or "
            "an export of it"
        ) from error
    yield from _read_table(path, first)


def read_part(path: Path, first: int) -> Iterator[Record]:
    """Yield record 0 of a log and those from number `first` on, as `read_log` does."""
    yield from islice(read_log(path), 1)
    yield from read_log(path, max(first, 1))


def read_messages(path: Path, after: int = 0) -> Iterator[Message]:
    """Yield the messages beside a table's log with a `seq` above `after`, in order; OutsideError.

    None of an export, which has none.
    """
    if not is_table(path):
        return
    try:
        with reading(path) as db:
            for row in db.execute(f"{MESSAGES} WHERE seq > ? ORDER BY seq", (after,)):
                yield from messages_from([row])
    except DamagedMessageError as error:
        raise OutsideError(f"{path}: {error}") from error


def standing_messages(path: Path) -> dict[str, int]:
    """Return the number of the retained message that stands on each topic of a table's log."""
    with reading(path) as db:
        return dict(db.execute("SELECT topic, seq FROM standing").fetchall())


def unsent_messages(path: Path) -> list[int]:
    """Return the numbers of the messages of a table's log that no broker has acknowledged."""
    with reading(path) as db:
        return [seq for (seq,) in db.execute("SELECT seq FROM unsent ORDER BY seq")]


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
    with reading(path) as db:
        row = db.execute("SELECT hash FROM log WHERE n = ?", (number,)).fetchone()
        return "" if row is None else str(row[0])


def gaps(path: Path) -> list[tuple[int, int]]:
    """Return the first and last record of each gap that the newest pruning of a log lists."""
    with reading(path) as db:
        return [(int(str(gap[0])), int(str(gap[1]))) for gap in listed(db)]


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


def _read_export(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        for number, line in enumerate(file):
            yield record_from_line(line.decode("utf-8", "replace"), number)


def _read_table(path: Path, first: int) -> Iterator[Record]:
    with reading(path) as db:
        query = "SELECT n, body, hash FROM log WHERE n >= ? ORDER BY n"
        for row in db.execute(query, (first,)):
            yield Record(*row)
