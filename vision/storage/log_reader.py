"""Read logs without changing them: a table's SQLite file, or its export as JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vision.errors import OutsideError
from vision.files import replacing
from vision.record.chain import Record, record_from_line, record_line
from vision.storage.sqlite import explained, open_for_reading

SQLITE_MAGIC = b"SQLite format 3\0"  # by which a log is told from an export


def read_log(path: Path) -> Iterator[Record]:
    """Yield the records of a log as they stand, unverified.

    OutsideError when the file cannot be read or is another program's; BrokenChainError when a line
    of an export is no record.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(len(SQLITE_MAGIC))
        if beginning != SQLITE_MAGIC:
            yield from _read_export(path)
            return
    except OSError as error:
        raise OutsideError(
            f"cannot read the log {path}: {error.strerror}; give the .sqlite file of a table or "
            "an export of it"
        ) from error
    yield from _read_table(path)


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


def _read_table(path: Path) -> Iterator[Record]:
    db = open_for_reading(path)
    try:
        with explained("read", path):
            for row in db.execute("SELECT n, body, hash FROM log ORDER BY n"):
                yield Record(*row)
    finally:
        db.close()
