"""Verify that a log goes on from a former audit, and that the logs of two readers are one history.

The chain makes one hash stand for all records before it: where the record of that number still has
it, nothing before was changed. So an audit that goes on begins at the last checkpoint before that
record, and its cost is that of the new records, however long the log is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from vision.audit.verify import Found, Trust, audit
from vision.errors import ConfigurationError, OutsideError
from vision.record.chain import of_record
from vision.record.codec import GENESIS, Record
from vision.record.facts import Fact
from vision.storage.log_reader import (
    WHOLE,
    Rows,
    checkpoints,
    is_table,
    read_part,
)
from vision.wire.messages import iso


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
    found = audit(records, trust, first=begin.number, previous=begin.before, rows=rows)
    if rows is None:
        return found, ""
    unproven = f", {rows.unproven} could not be compared" if rows.unproven else ""
    return found, f"messages: {rows.good} are what the log says was said{unproven}"


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


def pair_words(first: Iterable[Record], second: Iterable[Record]) -> Iterator[str]:
    """Compare two logs record by record; yield in words what both have, and each takeover.

    OutsideError naming the first record that differs, or a takeover that names what is not there.
    """
    common = more = 0
    hashes: dict[int, str] = {}
    takeovers: list[tuple[dict[str, Any], dict[str, Any], bool]] = []
    for one, other in zip_longest(first, second):
        record = one or other
        if one is None or other is None:
            more += 1
        elif (one.number, one.hash) == (other.number, other.hash):
            common += 1
        else:
            raise OutsideError(
                f"record {one.number} differs between the two logs; keep both as evidence: the "
                "boards show the one whose messages they have"
            )
        hashes[record.number] = record.hash
        event = _taken_over(record)
        if event:
            with of_record(record.number):
                before = json.loads(event["detail"])
                iso(event["at"])
                takeovers.append((event, before, hashes.get(before["after"]) == before["hash"]))
    yield f"one history: {common} records are the same in both logs, {more} more in the longer"
    for event, before, fits in takeovers:
        term, node, after = before["term"], event["subject"], before["after"]
        if not fits:
            raise OutsideError(
                f"term {term}: {node} says that it went on after record {after}, whose hash is "
                "another; keep both logs as evidence"
            )
        yield f"{iso(event['at'])} term {term}: {node} went on after record {after}"


def _taken_over(record: Record) -> dict[str, Any]:
    """Return the fact that a reader went on where another had ended, {} if the record has none."""
    if f'"{Fact.TAKEN_OVER}"' not in record.body:
        return {}
    with of_record(record.number):
        event: dict[str, Any] = json.loads(record.body).get("event", {})
        return event if event.get("kind") == Fact.TAKEN_OVER else {}
