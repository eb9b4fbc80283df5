"""Open, lock and copy a log's SQLite file, with SQLite's errors as messages with a cure."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import Enum
from functools import cache
from pathlib import Path
from typing import IO

from vision.errors import OutsideError
from vision.files import PRIVATE, refuse_existing, replacing, sync_folder
from vision.storage.retention import IS_CHECKPOINT


class Closing(Enum):
    """How a log's file was left."""

    IN_ORDER = "closed in order"
    OPEN = "open, or not closed in order; all of it is here"
    TORN = "not closed in order, and its end may be missing"


def state_of(path: Path) -> Closing:
    """Return how the file was left; a file that is not there or is no log counts as in order."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return Closing.IN_ORDER
    if int.from_bytes(header[VERSION_AT : VERSION_AT + 4], "big") != OPEN:
        return Closing.IN_ORDER
    return Closing.OPEN if path.with_name(path.name + "-wal").exists() else Closing.TORN


# `user_version` in the header of the file: set while a reader has it open.
CLOSED, OPEN = 0, 1
HEADER_BYTES, VERSION_AT = 100, 60  # of an SQLite file: its header's length, where that number is
TORN_WORDS = (
    "was not closed in order, and its write-ahead file (-wal) is not beside it: the end of the log "
    "may be missing. Copy a log as deploy/record.md says (sqlite3 .backup); if another program "
    "opened this one, its end is in the file"
)
BESIDE = ("message", "unsent", "standing")  # the tables of a log beside its records
TABLES = f"""
CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS stub ON log (n) WHERE body = '';
CREATE INDEX IF NOT EXISTS checkpoint ON log (n) WHERE {IS_CHECKPOINT};
CREATE TABLE IF NOT EXISTS message (
    seq INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL,
    qos INTEGER NOT NULL, retain INTEGER NOT NULL, sum BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS unsent (seq INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS standing (topic TEXT PRIMARY KEY, seq INTEGER NOT NULL);
"""
# All that decides what a statement about those tables does.
SCHEMA = """SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')
OR tbl_name COLLATE NOCASE IN ('log', 'message', 'unsent', 'standing')"""
APPLICATION_ID = 0x53686F65  # "Shoe", written in the header of the file
BUSY_MS = 2000  # a backup or a shell may hold the file for moments; longer would delay the table

CURES = {
    sqlite3.SQLITE_FULL: "the disk is full; make room (df -h shows it), then start again",
    sqlite3.SQLITE_READONLY: "it is read-only; give this user the right to write to it and its "
    "folder, or mount the disk for writing",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or created; check that the folder exists and "
    "that this user may write to it",
    sqlite3.SQLITE_PERM: "this user may not use it; give the right to read and write",
    sqlite3.SQLITE_BUSY: "another program holds it locked; close that program (fuser names it)",
    sqlite3.SQLITE_LOCKED: "another program holds it locked; close that program (fuser names it)",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite file; give another path, or move it away to begin "
    "a new log",
    sqlite3.SQLITE_CORRUPT: "it is damaged; keep a copy, and put a backup back (shoe-reader log "
    "restore; shoe-reader audit names the first bad record)",
    sqlite3.SQLITE_IOERR: "the disk fails or is full; look at the system log (dmesg), make room or "
    "change the disk, then start again",
}


def failure(doing: str, path: Path, error: sqlite3.Error) -> OutsideError:
    """Return SQLite's error in words: what failed, where, the cure."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    cure = CURES.get(code, f"SQLite says: {error}")
    return OutsideError(f"cannot {doing} the log {path}: {cure}")


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into an OutsideError."""
    try:
        yield
    except sqlite3.Error as error:
        raise failure(doing, path, error) from error


def lock(path: Path) -> IO[bytes]:
    """Hold the log for this process until the returned file is closed; it dies with the process.

    OutsideError when another reader holds it. A file beside the log is locked, because closing
    any handle of the log itself would drop SQLite's own locks on it.
    """
    beside = path.resolve()  # another name of the same file is the same log
    beside = beside.with_name(beside.name + ".lock")
    try:
        held = beside.open("ab")
    except OSError as error:
        raise OutsideError(
            f"cannot lock the log {path}: {beside}: {error.strerror}; check that the folder "
            "exists and that this user may write to it"
        ) from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held.close()
        raise OutsideError(
            f"another reader is writing the log {path}; stop it (fuser {beside} names it), or "
            "give this table its own [log] path"
        ) from error
    return held


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing log for the block without changing it, also while a reader writes it.

    OutsideError when it cannot be read or is not one of ours.
    """
    # A log on a read-only disk, closed in order, has no write-ahead files and needs none.
    options = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{options}"
    with explained("open", path):
        # A walk that nobody finishes is closed by the collector, in whatever thread that runs.
        db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    with closing(db):
        with explained("open", path):
            refuse_foreign(db, path)
        with explained("read", path):
            yield db


def refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    """Raise OutsideError when the file is some other program's database, or was made to act.

    A trigger, a view or an index more changes what this program writes and finds, as it does so.
    """
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise OutsideError(
            f"{path} is an SQLite file but not a log of Shoe Reader; give another path"
        )
    foreign = sorted(name for _, name, _ in {*db.execute(SCHEMA)} - own_schema())
    if foreign:
        raise OutsideError(
            f"the log {path} was changed: {', '.join(foreign)} in it is not as this program makes "
            "it; keep the file as evidence, and put a backup back (shoe-reader log restore)"
        )


@cache
def own_schema() -> frozenset[tuple[str, str, str | None]]:
    """Return what an empty log has: kind, name and definition of each table and index."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        return frozenset(db.execute(SCHEMA))


def copy_log(log: Path, out: Path) -> None:
    """Write the log as it stands at this moment to a new file; the reader goes on meanwhile.

    The copy needs no other file beside it. ConfigurationError when it is there already;
    OutsideError.
    """
    refuse_existing(out)
    with (
        reading(log) as source,
        replacing(out, mode=PRIVATE) as draft,
        explained("copy", log),
        closing(sqlite3.connect(draft.name, isolation_level=None)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        target.execute(f"PRAGMA user_version={CLOSED}")


def put_in_place(new: Path, path: Path, stored: Path) -> None:
    """Have `new` take the place of the log at `path`, which goes on as `stored`; OSError.

    A power cut leaves the one or the other at `path`, never nothing.
    """
    os.link(path, stored)
    new.replace(path)
    sync_folder(path.parent)
