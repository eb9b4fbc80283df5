"""The time by which things grow old: no more of it passes than this program has seen pass itself.

The wall clock alone proves nothing: an empty battery, a bad answer of a time server or a slip of
the finger set it years ahead. So time counts only as the monotonic clock confirms it. For the time
in which the program did not run there is an allowance, which fills up while it runs; a clock that
is set far ahead is followed at twice the pace of time at most, and a person may confirm it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from vision.storage.retention import DAY_MS
from vision.storage.sqlite import Database, explained, open_for_reading

# Milliseconds that may be made up for at once, after a night or a day off. Chosen: more deletes
# more on the word of a wrong clock, less keeps things longer at tables that are often switched off.
ALLOWANCE_MS = DAY_MS
# Milliseconds that the wall clock may be ahead before people are told that nothing grows old by it.
# Chosen beyond a table's longest ordinary rest; a smaller number reports every long week-end.
TOLD_MS = 4 * DAY_MS

TABLE = (
    "CREATE TABLE IF NOT EXISTS trusted_time "
    "(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, allowance INTEGER NOT NULL)"
)
HAS_TABLE = "SELECT count(*) FROM sqlite_master WHERE name = 'trusted_time'"
READ = "SELECT at, allowance FROM trusted_time"
WRITE = "INSERT OR REPLACE INTO trusted_time VALUES (1, ?, ?)"


class ElapsedTime:
    """Unix time in milliseconds as far as it is confirmed; it survives a restart."""

    def __init__(
        self, db: Database, begin: int, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Go on from where the log left it, else from `begin` (0: from the first time asked)."""
        self._db = db
        self._monotonic_s = monotonic_s
        with db.transaction() as connection:
            connection.execute(TABLE)
        rows = db.read(READ)
        self._at: int
        self._allowance: int
        self._at, self._allowance = rows[0] if rows else (begin, ALLOWANCE_MS)
        self._asked_s = monotonic_s()
        self.ahead_ms = 0

    def at(self, now: int) -> int:
        """Return how much of the wall clock's `now` is confirmed; `ahead_ms` is what is not."""
        asked_s = self._monotonic_s()
        passed = round(1000 * (asked_s - self._asked_s))
        self._asked_s = asked_s
        self._at = self._at or now
        self._allowance = min(ALLOWANCE_MS, self._allowance + passed)
        made_up = min(max(0, now - self._at - passed), self._allowance)
        self._allowance -= made_up
        self._at = max(self._at, min(now, self._at + passed + made_up))
        self.ahead_ms = max(0, now - self._at)
        self._write(synchronous="NORMAL")
        return min(self._at, now)

    def confirm(self, now: int) -> None:
        """Take the wall clock's `now` as right: a person has looked."""
        self._at = now
        self._write(synchronous="FULL")

    def _write(self, synchronous: str) -> None:
        with self._db.transaction(synchronous) as connection:
            connection.execute(WRITE, (self._at, self._allowance))


def trusted_time(path: Path) -> tuple[int, int] | None:
    """Return the confirmed time of a log and its allowance (ms), `None` where it has none yet."""
    db = open_for_reading(path)
    try:
        with explained("read", path):
            if not db.execute(HAS_TABLE).fetchone()[0]:
                return None
            found: tuple[int, int] | None = db.execute(READ).fetchone()
            return found
    finally:
        db.close()


def set_trusted_time(db: Database, time_and_allowance: tuple[int, int]) -> None:
    """Have a new log go on from the confirmed time of another; OutsideError."""
    with db.transaction() as connection:
        connection.execute(TABLE)
        connection.execute(WRITE, time_and_allowance)


def confirm_clock(path: Path, now: int) -> None:
    """Take `now` (Unix ms) as right for a log that no reader writes; OutsideError."""
    db = Database(path, TABLE)
    try:
        ElapsedTime(db, now).confirm(now)
    finally:
        db.close()
