"""Choose and delete the part of a log that is too old or too much, and list the gaps it leaves.

A log is cut at its checkpoints into segments, a shoe each; a segment goes as a whole. In its place
stays the hash of its last record, and a new record of the chain lists all such gaps: those that the
newest such record lists, and the new one, never what just happens to be missing.

What decides is proven first: a checkpoint's time, and what a record says is gone, count only where
the chain from that record to the next signature holds, and the reader trusts that signature. Who
can write the file and has no key makes nothing old by it, and nothing too much.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Any, NamedTuple

from vision.clock import DAY_MS
from vision.record.chain import BrokenChainError, of_record, verified
from vision.record.codec import Record, event_from_json
from vision.record.facts import Anchored

# How the body of a checkpoint begins, as keys are sorted; the file has an index of these records.
CHECKPOINTS = """SELECT n FROM log WHERE substr(body, 1, 8) = '{"desk":'"""
IS_CHECKPOINT = CHECKPOINTS.partition("WHERE ")[2]
BEGINNING = "SELECT n FROM log WHERE n = 1 AND body != ''"
# Bytes of a record with its messages that no table reaches on average (measured: 1,000 to 2,000).
# A file that is larger than its records can be is full of something else, for which nothing goes:
# more would let a smaller log be pruned for what was put beside it, less would never prune.
RECORD_BYTES = 4_000

# Says whether a signature is to be believed.
Vouches = Callable[[Anchored], bool]


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How long records and messages are kept, and how large the file may become."""

    keep_days: float
    messages_days: float
    max_mb: float

    def is_full(self, records: int) -> bool:
        """Whether so many records, with their messages, can be more than may be kept."""
        return records * RECORD_BYTES > self.max_mb * 1_000_000


@dataclass(frozen=True, slots=True)
class Segment:
    """Records from `first` to `last`, written from `since` to `until` (ms), up to message `seq`."""

    first: int
    last: int
    since: int
    until: int
    seq: int


class Went(NamedTuple):
    """What a record says of those that were pruned: from `since` to `until` (Unix ms), and why."""

    first: int
    last: int
    since: int
    until: int
    why: str
    keep_days: float
    max_mb: float = 0.0


class ProvenCheckpoint(NamedTuple):
    """A checkpoint's record, its time (Unix ms), and the number of the last message before it."""

    number: int
    at: int
    seq: int


class ProvenCheckpoints:
    """Where the segments of a log begin that are there, oldest first; each proven when asked.

    `vouches` is `None` where nobody signs: then the chain alone is held.
    """

    def __init__(self, db: sqlite3.Connection, vouches: Vouches | None) -> None:
        """List them."""
        self._db = db
        self._vouches = vouches
        rows = db.execute(f"{CHECKPOINTS} UNION {BEGINNING} ORDER BY n")
        self.numbers = [number for (number,) in rows]

    def mark(self, number: int) -> ProvenCheckpoint:
        """Return one of them; BrokenChainError where it is not proven."""
        if number == 1:
            return ProvenCheckpoint(1, 0, 0)
        content = self.proven(number)
        with of_record(number):
            desk = content["desk"]
            return ProvenCheckpoint(
                number, int(desk["table"].get("clock", 0)), int(desk["line"].get("seq", 0))
            )

    def proven(self, number: int) -> dict[str, Any]:
        """Return what a record holds; BrokenChainError where no signature behind it proves that."""
        before = self._db.execute("SELECT hash FROM log WHERE n = ?", (number - 1,)).fetchone()
        query = "SELECT n, body, hash FROM log WHERE n >= ? ORDER BY n"
        rows = starmap(Record, self._db.execute(query, (number,)))
        found: dict[str, Any] | None = None
        last = ""
        for record, content in verified(rows, number, str((before or ("",))[0])):
            found = content if found is None else found
            if self._vouches is None or signs(content, last, self._vouches):
                return found
            last = record.hash
        raise BrokenChainError(number, "no signature that this reader trusts is behind it")

    def gaps(self) -> list[list[Any]]:
        """Return the gaps that the newest record of them lists, that record proven."""
        newest = newest_pruning(self._db)
        return [] if newest is None else list(self.proven(newest)["pruned"])

    def last_before(self, at: int) -> ProvenCheckpoint:
        """Return the newest that is older than a time (Unix ms), the beginning where none is."""
        older = bisect_left(self.numbers, at, key=lambda number: self.mark(number).at)
        return self.mark(self.numbers[older - 1] if older else 1)


def signs(content: dict[str, Any], previous: str, vouches: Vouches) -> bool:
    """Whether a record signs the one before it, whose hash is `previous`, as `vouches` believes."""
    with of_record(content["n"]):
        event = content.get("event", {})
        anchor = event_from_json(event) if event.get("is") == Anchored.__name__ else None
    signed = (content["n"] - 1, previous)
    return isinstance(anchor, Anchored) and (
        (anchor.number, anchor.hash) == signed and vouches(anchor)
    )


def _used_bytes(db: sqlite3.Connection) -> int:
    """Return how much of the file is in use; what has been pruned is free for new records."""
    pages, free, size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def next_to_go(
    db: sqlite3.Connection,
    marks: ProvenCheckpoints,
    limits: LogLimits,
    now: int,
    marked: Sequence[int],
) -> Segment | None:
    """Return the oldest segment that is to go: too old, or too many records; BrokenChainError.

    Never a segment with unsent messages, nor that of a `marked` moment.
    """
    too_large = _used_bytes(db) > limits.max_mb * 1_000_000 and limits.is_full(_stored(db, marks))
    oldest = now - limits.keep_days * DAY_MS
    (unsent,) = db.execute("SELECT min(seq) FROM unsent").fetchone()
    for number, after in pairwise(marks.numbers):
        end = marks.mark(after)
        if not too_large and end.at >= oldest:
            return None
        begin = marks.mark(number)
        if any(begin.at <= moment <= end.at for moment in marked):
            continue
        if unsent is not None and end.seq >= unsent:
            return None
        # Behind a segment that stayed others may be gone already.
        query = "SELECT max(n) FROM log WHERE n < ? AND body != ''"
        (last,) = db.execute(query, (after,)).fetchone()
        return Segment(number, last, begin.at, end.at, end.seq)
    return None


def _stored(db: sqlite3.Connection, marks: ProvenCheckpoints) -> int:
    """Return how many records are there: by the last number, and what is recorded as gone."""
    (newest,) = db.execute("SELECT max(n) FROM log").fetchone()
    gone: int = sum(last - first + 1 for first, last, _ in marks.gaps())
    return int(newest) - gone


def remove(db: sqlite3.Connection, segment: Segment) -> None:
    """Delete the records of a segment, all but the hash of the last; join the gap before it."""
    db.execute("DELETE FROM log WHERE n >= ? AND n < ?", (segment.first, segment.last))
    db.execute("UPDATE log SET body = '' WHERE n = ?", (segment.last,))
    db.execute("DELETE FROM log WHERE n = ? AND body = ''", (segment.first - 1,))


def certificate(
    db: sqlite3.Connection, marks: ProvenCheckpoints, segment: Segment, limits: LogLimits, now: int
) -> dict[str, object]:
    """Return the record that lists every gap, that of this segment included, and why it goes."""
    (digest,) = db.execute("SELECT hash FROM log WHERE n = ?", (segment.last,)).fetchone()
    known = marks.gaps()
    joins = [gap for gap in known if gap[1] == segment.first - 1]
    first = joins[0][0] if joins else segment.first
    others = [gap for gap in known if gap not in joins]
    why = "age" if segment.until < now - limits.keep_days * DAY_MS else "size"
    when = (segment.since, segment.until)
    went = Went(segment.first, segment.last, *when, why, limits.keep_days, limits.max_mb)
    return {"pruned": sorted([*others, [first, segment.last, digest]]), "went": went._asdict()}


def newest_pruning(db: sqlite3.Connection) -> int | None:
    """Return the record that lists the gaps of a log, `None` where nothing is gone."""
    if db.execute("SELECT 1 FROM log WHERE body = '' LIMIT 1").fetchone() is None:
        return None
    row = db.execute(
        """SELECT n FROM log WHERE body LIKE '%"pruned":[[%' ORDER BY n DESC LIMIT 1"""
    ).fetchone()
    return None if row is None else int(row[0])
