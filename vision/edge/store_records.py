"""The records of a log in its file: written one after another, cut into segments by checkpoints.

It works within the transactions of the store, which it knows nothing of.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from vision.wire_log import seal

TABLES = """
CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS stub ON log (n) WHERE body = '';
CREATE TABLE IF NOT EXISTS segment (
    n INTEGER PRIMARY KEY, at INTEGER NOT NULL, seq INTEGER NOT NULL,
    pruned INTEGER NOT NULL DEFAULT 0);
"""
FIRST_SEGMENT = "INSERT INTO segment (n, at, seq) VALUES (1, 0, 0)"
NEWEST = "SELECT max(n) FROM segment"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after a step, from which the log can be taken up again without what is before.

    `seq` is the last message's.
    """

    at: int
    seq: int
    desk: Mapping[str, object]


def write(db: sqlite3.Connection, number: int, previous: str, content: Mapping[str, object]) -> str:
    """Write one record and return its hash."""
    record = seal(number, previous, content)
    row = (record.number, record.body, record.hash)
    db.execute("INSERT INTO log (n, body, hash) VALUES (?, ?, ?)", row)
    return record.hash


def mark(db: sqlite3.Connection, number: int, previous: str, checkpoint: Checkpoint) -> str:
    """Write a checkpoint, where a new segment of the log begins, and return its hash."""
    row = (number, checkpoint.at, checkpoint.seq)
    db.execute("INSERT INTO segment (n, at, seq) VALUES (?, ?, ?)", row)
    return write(db, number, previous, {"desk": checkpoint.desk})
