"""Verify that a log goes on from a former audit, and that the logs of two readers are one history.

The chain makes one hash stand for all records before it: where the record of that number still has
it, nothing before was changed. So an audit that goes on begins at the last checkpoint before that
record, and its cost is that of the new records, however long the log is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from vision.audit.verify import Found, Trust, audit
from vision.errors import ConfigurationError, OutsideError
from vision.record.chain import is_stub
from vision.record.codec import GENESIS, Record
from vision.record.facts import Fact
from vision.storage.log_reader import (
    WHOLE,
    Rows,
    checkpoints,
    is_table,
    read_messages,
    read_part,
    standing_messages,
)
from vision.wire.messages import iso


class Ended(NamedTuple):
    """The last record of a former audit, and its hash."""

    number: int
    hash: str

    def __str__(self) -> str:
        """Write it as the command line has it."""
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
    rows = Rows(read_messages(log, begin.seq), standing_messages(log)) if is_own else None
    records = read_part(log, begin.number)
    if ended is not None:
        records = _confirmed(records, ended)
    found = audit(records, trust, first=begin.number, previous=begin.before, rows=rows)
    return found, _words(rows)


def _words(rows: Rows | None) -> str:
    if rows is None:
        return ""
    unproven = f", {rows.unproven} could not be compared" if rows.unproven else ""
    return f"messages: {rows.good} are what the log says was said{unproven}"


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


@dataclass(frozen=True, slots=True)
class TakeOver:
    """A reader went on where another had ended: after which record, and whether that is there."""

    at: int
    node: str
    after: int
    term: int
    fits: bool


@dataclass(slots=True)
class OneHistory:
    """How many records both logs have, how many only the longer has, and the takeovers."""

    common: int
    more: int
    takeovers: list[TakeOver]


def compare_pair(first: Iterable[Record], second: Iterable[Record]) -> OneHistory:
    """Compare two logs record by record; OutsideError naming the first that differs."""
    found = OneHistory(0, 0, [])
    hashes: dict[int, str] = {}
    for one, other in zip_longest(first, second):
        record = one or other
        if one is not None and other is not None:
            if (one.number, one.hash) != (other.number, other.hash):
                raise OutsideError(
                    f"record {one.number} differs between the two logs; keep "
                    "both as evidence: the boards show the one whose messages they "
                    "have"
                )
            found.common += 1
        else:
            found.more += 1
        hashes[record.number] = record.hash
        found.takeovers += _takeover(record, hashes)
    return found


def _takeover(record: Record, hashes: dict[int, str]) -> Iterator[TakeOver]:
    if is_stub(record) or f'"{Fact.TAKEN_OVER}"' not in record.body:
        return
    event = json.loads(record.body).get("event", {})
    if event.get("kind") == Fact.TAKEN_OVER:
        before = json.loads(event["detail"])
        fits = hashes.get(before["after"]) == before["hash"]
        yield TakeOver(event["at"], event["subject"], before["after"], before["term"], fits)


def pair_words(found: OneHistory) -> Iterator[str]:
    """Yield in words what was found; OutsideError where a takeover names what is not there."""
    yield (
        f"one history: {found.common} records are the same in both logs, {found.more} more in the "
        "longer"
    )
    for takeover in found.takeovers:
        if not takeover.fits:
            raise OutsideError(
                f"term {takeover.term}: {takeover.node} says that it went on after record "
                f"{takeover.after}, whose hash is another; keep both logs as evidence"
            )
        yield (
            f"{iso(takeover.at)} term {takeover.term}: {takeover.node} went on after record "
            f"{takeover.after}"
        )
