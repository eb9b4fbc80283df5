"""Open and lock a log's SQLite file, and turn SQLite's errors into messages with a cure."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import IO

from vision.errors import OutsideError


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
    "may be missing. Copy a log with shoe-reader log backup; if another program opened this one, "
    "its end is in the file"
)
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


def explain(error: sqlite3.Error, doing: str, path: Path) -> OutsideError:
    """Return an error that names what failed, where, and the cure."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    cure = CURES.get(code, f"SQLite says: {error}")
    return OutsideError(f"cannot {doing} the log {path}: {cure}")


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into an OutsideError with a cure."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, doing, path) from error


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


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open or create the file with a durable commit; OutsideError if it is not one of ours."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not empty:
            refuse_foreign(db, path)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        if empty:
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing log for the block without changing it, also while a reader writes it.

    OutsideError when it cannot be read or is not one of ours.
    """
    # A log on a read-only disk, closed in order, has no write-ahead files and needs none.
    options = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{options}"
    with explained("open", path):
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
    with closing(db):
        with explained("open", path):
            refuse_foreign(db, path)
        with explained("read", path):
            yield db


def refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    """Raise OutsideError when the file is some other program's database."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise OutsideError(
            f"{path} is an SQLite file but not a log of Shoe Reader; give another path"
        )
