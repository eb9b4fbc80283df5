"""The messages of a table in its file: all of late, which are unsent, which stand on their topic.

It works within the transactions of the store, which it knows nothing of. Every row carries a sum
of its own, so that a byte that the disk has turned over is never published.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from vision.wire.messages import Message, message_line

TABLES = """
CREATE TABLE IF NOT EXISTS message (
    seq INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL,
    qos INTEGER NOT NULL, retain INTEGER NOT NULL, sum BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS unsent (seq INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS standing (topic TEXT PRIMARY KEY, seq INTEGER NOT NULL);
"""

ROW = "SELECT m.topic, m.payload, m.qos, m.retain, m.seq, m.sum FROM message m"
STANDING = (
    "SELECT m.topic, m.payload, m.qos, m.retain, m.seq, m.sum FROM message m "
    "JOIN standing s USING (seq) WHERE m.topic NOT IN "
    "(SELECT u.topic FROM message u JOIN unsent USING (seq) WHERE u.retain) ORDER BY seq"
)


class DamagedMessageError(Exception):
    """A message is not what was written."""


def keep(db: sqlite3.Connection, message: Message, *, unsent: bool) -> None:
    """Write a message, and that it is yet to be sent."""
    row = (message.seq, message.topic, message.payload, message.qos, message.retain)
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", (*row, _sum(message)))
    if unsent:
        db.execute("INSERT INTO unsent VALUES (?)", (message.seq,))
    if message.retain and message.payload:
        values = (message.topic, message.seq)
        db.execute("INSERT OR REPLACE INTO standing VALUES (?, ?)", values)
    elif message.retain:
        db.execute("DELETE FROM standing WHERE topic = ?", (message.topic,))


def forget_unsent(db: sqlite3.Connection, seqs: Iterable[int]) -> None:
    """Note that the broker has these messages."""
    db.executemany("DELETE FROM unsent WHERE seq = ?", [(seq,) for seq in seqs])


def prune(db: sqlite3.Connection, before: int, most: int) -> None:
    """Delete at most `most` messages with `seq` below `before` that are sent and do not stand."""
    db.execute(
        "DELETE FROM message WHERE seq IN (SELECT seq FROM message WHERE seq < ? "
        "AND seq NOT IN (SELECT seq FROM unsent) AND seq NOT IN (SELECT seq FROM standing) "
        "ORDER BY seq LIMIT ?)",
        (before, most),
    )


def read(rows: Iterable[Sequence[Any]]) -> list[Message]:
    """Return the messages of rows; DamagedMessageError naming one that is not as written."""
    found = []
    for topic, payload, qos, retain, seq, digest in rows:
        try:
            message = Message(topic, bytes(payload), qos, bool(retain), seq)
            is_whole = _sum(message) == digest
        except (UnicodeDecodeError, AttributeError, TypeError):
            is_whole = False
        if not is_whole:
            raise DamagedMessageError(f"message {seq} is not what was written")
        found.append(message)
    return found


def _sum(message: Message) -> bytes:
    text = f"{message.seq} {message_line(message)}"
    return hashlib.sha256(text.encode()).digest()[:16]
