"""Audit from a checkpoint on: what is new since a former audit.

The chain makes one hash stand for all records before it: where the record of that number still has
it, nothing before was changed. So an audit that goes on begins at the last checkpoint before that
record, and its cost is that of the new records, however long the log is. The log of a table's other
reader is the same history where it has that record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vision.audit.verify import Found, Trust, audit
from vision.errors import ConfigurationError, OutsideError
from vision.record.codec import GENESIS, Record
from vision.storage.log_reader import WHOLE, Rows, Walk, checkpoints, is_table, read_part


class Ended(NamedTuple):
    """The last record of a former audit, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


def parse_ended(text: str) -> Ended:
    """Read NUMBER:HASH as a former audit printed it; ConfigurationError where it is not that."""
    number, _, digest = text.partition(":")
    if not number.isdecimal() or len(digest) != len(GENESIS):
        raise ConfigurationError(
            f"--since {text}: not a record with its hash; give the NUMBER:HASH that the former "
            "audit printed"
        )
    return Ended(int(number), digest)


def audit_from(log: Path, ended: Ended | None, trust: Trust) -> tuple[Found, str]:
    """Verify a table's log, or an export of its records, from the last checkpoint up to `ended` on.

    Return what was found, and in words how the messages beside it stand. BrokenChainError or
    OutsideError.
    """
    is_own = log.exists() and is_table(log)
    begin = next(checkpoints(log, ended.number), WHOLE) if ended and is_own else WHOLE
    rows = Rows(log, begin.seq) if is_own else None
    records = read_part(log, begin.number)
    if ended is not None:
        records = _confirmed(records, ended)
    found = audit(records, trust, begin, Walk(begin.number, rows))
    if rows is None:
        return found, ""
    unproven = f", {rows.unproven} could not be compared" if rows.unproven else ""
    return found, f"messages: {rows.good} are as the log has them{unproven}"


def _confirmed(records: Iterator[Record], ended: Ended) -> Iterator[Record]:
    """Yield the records; OutsideError where the one of the former audit is another, or is gone."""
    confirmed = False
    for record in records:
        if record.number == ended.number:
            confirmed = True
            if record.hash != ended.hash:
                raise OutsideError(
                    f"record {ended.number} is not the record with which the former audit ended: "
                    "a record up to it was changed; audit the whole log, without --since"
                )
        yield record
    if not confirmed:
        raise OutsideError(
            f"record {ended.number}, with which the former audit ended, is missing: the log was "
            "cut or is another one; keep it, and compare with a backup"
        )
