"""Choose and delete the part of a log that is too old or too much, and list the gaps it leaves.

A log is cut at its checkpoints into segments, a shoe each; a segment goes as a whole. In its place
stays the hash of its last record, and a new record of the chain lists all such gaps: those that the
newest such record lists, and the new one, never what just happens to be missing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from vision.clock import DAY_MS


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How long records and messages are kept, and how large the file may become."""

    keep_days: float
    messages_days: float
    max_mb: float


@dataclass(frozen=True, slots=True)
class Segment:
    """Records from `first` to `last`, written from `since` to `until` (ms), up to message `seq`."""

    first: int
    last: int
    since: int
    until: int
    seq: int


def segments(db: sqlite3.Connection) -> list[Segment]:
    """Return the segments that have ended and are there, oldest first."""
    rows = db.execute("SELECT n, at, seq, pruned FROM segment ORDER BY n").fetchall()
    return [
        Segment(n, after - 1, since, until, seq)
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


def next_to_go(
    db: sqlite3.Connection,
    ended: list[Segment],
    limits: LogLimits,
    now: int,
    marked: Sequence[int],
) -> Segment | None:
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


def remove(db: sqlite3.Connection, segment: Segment) -> None:
    """Delete the records of a segment, all but the hash of the last; join gaps that meet."""
    db.execute("UPDATE segment SET pruned = 1 WHERE n = ?", (segment.first,))
    db.execute("DELETE FROM log WHERE n >= ? AND n < ?", (segment.first, segment.last))
    db.execute("UPDATE log SET body = '' WHERE n = ?", (segment.last,))
    db.execute("DELETE FROM log WHERE n = ? AND body = ''", (segment.first - 1,))


def certificate(
    db: sqlite3.Connection, segment: Segment, limits: LogLimits, now: int
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
