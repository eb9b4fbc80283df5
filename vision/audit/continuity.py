"""Audit from a checkpoint on: what is new since a former audit, or half of a long log at a time.

The chain makes one hash stand for all records before it: where the record of that number still has
it, nothing before was changed. So an audit that goes on begins at the last checkpoint before that
record, and its cost is that of the new records, however long the log is. The log of a table's other
reader is the same history where it has that record.

Of a long log a second process folds what is behind a checkpoint; the fold of what is before shows
that this is what the records come to, byte for byte. Chain, signatures and orders are held in one
process. Only a good log is found so: where anything does not fit, one audits the whole alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from vision.audit.verify import Found, Trust, audit
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.record.chain import BrokenChainError
from vision.record.codec import GENESIS, Record
from vision.record.facts import Register
from vision.storage.log_reader import (
    WHOLE,
    CheckpointMark,
    Rows,
    Taken,
    Walk,
    checkpoints,
    is_table,
    part_from,
    read_log,
    read_part,
)


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
    if is_own and ended is None and (halves := audit_in_halves(log, trust)):
        found, rows = halves
    else:
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


# Records from which on a process is worth its start of a second; they take 5 s. Fewer makes short
# audits longer, more leaves a processor idle.
LEAST = 20_000
# Share of the records that is folded here: with the signatures and orders of the rest (12 % of its
# audit) half of the work. Another lets one process wait for the other.
HERE = 0.47


class Folded(NamedTuple):
    """Of each record of a part the register and the clock (Unix ms) after it; counts of `Rows`."""

    after: dict[int, tuple[Register, int]]
    good: int
    unproven: int


class HalfWalk(Walk):
    """Folds the records up to a checkpoint; the others were folded by what `behind` waits for."""

    def __init__(self, mark: CheckpointMark, rows: Rows, behind: Callable[[], Folded]) -> None:
        super().__init__(rows=rows)
        self._mark, self._behind = mark, behind

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record; one behind the checkpoint with register and clock alone."""
        before = self._session
        if record.number <= self._mark.number or before is None:
            return super().take(record, content)
        register, clock = self._behind().after[record.number]
        table = replace(before.table, clock=clock)
        self._session = before._replace(register=register, table=table)
        return Taken(record, content, before, self._session, None)


def folded_behind(log: Path, mark: CheckpointMark) -> Folded:
    """Fold a table's log from a checkpoint on; BrokenChainError or OutsideError."""
    walk, after = Walk(mark.number, rows := Rows(log, mark.seq)), {}
    for record, content in part_from(log, mark):
        session = walk.take(record, content).after
        if session is not None:
            after[record.number] = session.register, session.table.clock
    walk.end()
    return Folded(after, rows.good, rows.unproven)


def audit_to(
    log: Path, trust: Trust, mark: CheckpointMark, behind: Callable[[], Folded]
) -> tuple[Found, Rows]:
    """Audit a table's log and its messages, of which `behind` folds what is behind a checkpoint."""
    rows = Rows(log, until=mark.seq)
    found = audit(read_log(log), trust, walk=HalfWalk(mark, rows, behind))
    rows.good += behind().good
    rows.unproven += behind().unproven
    return found, rows


def audit_in_halves(log: Path, trust: Trust) -> tuple[Found, Rows] | None:
    """Return the same by two processes; `None` for a short log, one processor, and any fault."""
    try:
        marks = [*checkpoints(log)]
        last, first = (marks[0].number, marks[-1].number) if marks else (0, 0)
        if last - first < LEAST or len(os.sched_getaffinity(0)) < 2:
            return None
        mark = next(mark for mark in marks if mark.number <= first + HERE * (last - first))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            return audit_to(log, trust, mark, other.submit(folded_behind, log, mark).result)
    except (BrokenChainError, BrokenExecutor, ShoeReaderError):
        return None
