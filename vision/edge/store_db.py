"""One SQLite file, locked for this process and safe to use from several threads.

It turns SQLite's failures into words with a cure. It knows queries and transactions; not what is in
the tables.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vision.edge.store_disk import explained, lock, open_for_writing


class Database:
    """The open file and its lock."""

    def __init__(self, path: Path, tables: str) -> None:
        """Open or create the file and its tables; OutsideError when something is in the way."""
        self.path = path
        self._mutex = threading.Lock()
        self._lock = lock(path)
        try:
            with explained("open", path):
                self._connection = open_for_writing(path)
                self._connection.executescript(tables)
        except BaseException:
            self._lock.close()
            raise

    def read(self, query: str, values: tuple[int, ...] = ()) -> list[Any]:
        """Return all rows of a query; OutsideError when the disk refuses."""
        with self._mutex, explained("read", self.path):
            return self._connection.execute(query, values).fetchall()

    def first(self, query: str, values: tuple[int, ...] = ()) -> Any:
        """Return the first column of the first row, None when there is none."""
        rows = self.read(query, values)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        """Do all of the block or, after an OutsideError, nothing of it."""
        with self._mutex, explained("write to", self.path):
            self._connection.execute(f"PRAGMA synchronous={synchronous}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Fold the write-ahead file into the file and release it; a second call does nothing."""
        with self._mutex, explained("close", self.path):
            self._connection.close()
        self._lock.close()
