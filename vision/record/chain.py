"""The hash chain of the log: how each record vouches for all before it, and verifying that.

Record 0 is the header (which table, which rules); most others are one input event together with a
digest of the messages that it gave. At the beginning of each shoe a checkpoint (`desk`) holds the
state, so that a restart and a pruned log need nothing before it. Records that were pruned, always
whole shoes up to a checkpoint, leave the number and hash of the last of them, without a body (a
stub). The newest `pruned` record lists every such gap as first number, last number, hash; that hash
covers all that went. The record right after it signs it (an anchor whose `why` is `prune`), so that
nobody takes records out who has not the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vision.errors import ConfigurationError
from vision.record.codec import GENESIS, Record, canonical, chain_hash
from vision.record.facts import Anchored, anchor_content

LOG_VERSION = "1.1"  # of the form of records and of the rules; a log of another is refused


class BrokenChainError(Exception):
    """The log was changed; `number` is the first record that cannot be trusted."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"record {number}: {why}")
        self.number = number
        self.why = why


# What records hold beside their number, behind the header: no reader writes anything else.
SHAPES = frozenset(
    frozenset(("n", *names.split()))
    for names in ("desk", "pruned", "pruned went", "event said", "event said order")
)
# What a value of a foreign kind, size or depth makes Python raise, wherever it is used.
ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@contextmanager
def of_record(number: int) -> Iterator[None]:
    """Name the record that holds what the block cannot use: BrokenChainError, whatever it is."""
    try:
        yield
    except ODD as error:
        why = f"is not understood ({type(error).__name__}: {error})"
        raise BrokenChainError(number, why) from error


def verified(
    records: Iterable[Record], first: int = 0, previous: str = GENESIS
) -> Iterator[tuple[Record, dict[str, Any]]]:
    """Yield each record with its content, from record `first` on, before which `previous` stands.

    BrokenChainError at the first that does not fit. Pruned records are passed over, if a later
    record says that they were pruned.
    """
    expected = first
    gaps: list[list[Any]] = []
    after_gap = False
    listed: list[list[Any]] = []
    for record in records:
        if record.body == "" and record.number >= expected > 0:  # a stub
            gaps.append([expected, record.number, record.hash])
            previous, expected, after_gap = record.hash, record.number + 1, True
            continue
        if record.number != expected:
            raise BrokenChainError(expected, f"is missing; record {record.number} stands there")
        with of_record(expected):
            is_next = chain_hash(previous, record.body) == record.hash
        if not is_next:
            raise BrokenChainError(expected, "its hash does not fit its content and predecessor")
        content = _content_of(record)
        if after_gap and "desk" not in content:
            raise BrokenChainError(expected, "follows a gap, but is no checkpoint: a shoe was cut")
        after_gap = False
        listed = _pruned(record, content.get("pruned", listed))
        previous, expected = record.hash, expected + 1
        yield record, content
    if gaps != [gap for gap in listed if gap[0] >= first]:
        begin: int = next((gap[0] for gap in gaps if gap not in listed), expected)
        raise BrokenChainError(begin, "was pruned, but no record says so")


def _content_of(record: Record) -> dict[str, Any]:
    """Return what a record holds; BrokenChainError where it is no record's content.

    ConfigurationError where the log that it begins is of another version.
    """
    try:
        content = json.loads(record.body)
    except (ValueError, RecursionError) as error:
        raise BrokenChainError(record.number, "its body is not JSON") from error
    if not isinstance(content, dict):
        raise BrokenChainError(record.number, "its body is not a JSON object")
    if content.get("n") != record.number:
        raise BrokenChainError(record.number, f"calls itself record {content.get('n')}")
    if record.number and frozenset(content) not in SHAPES:
        raise BrokenChainError(record.number, f"holds {', '.join(content)}, as no record does")
    header = content.get("log")
    version = header.get("version", LOG_VERSION) if isinstance(header, dict) else LOG_VERSION
    if version != LOG_VERSION:
        raise ConfigurationError(
            f"this is a log of version {version}, and this program reads {LOG_VERSION}; keep it "
            "with the program that wrote it, to audit it, and begin another: give another [log] "
            "path"
        )
    return content


def _pruned(record: Record, listed: Any) -> list[list[Any]]:
    """Return the gaps that a record lists (begin, last record, its hash); BrokenChainError."""
    form = [int, int, str]
    if isinstance(listed, list) and all(
        isinstance(gap, list) and [*map(type, gap)] == form for gap in listed
    ):
        return listed
    raise BrokenChainError(record.number, "lists in no known form what was pruned")


def signed_text(site: str, table: str, anchor: Anchored) -> bytes:
    """Return what the signature of an anchor covers: all of the anchor, and the table's name."""
    content = {"site": site, "table": table, "at": anchor.at, **anchor_content(anchor)}
    del content["signature"]
    return canonical(content).encode()


def header_of(records: Iterable[Record]) -> dict[str, Any]:
    """Return the header of the log, in record 0; BrokenChainError where it is none."""
    for _, content in verified(records):
        header = content.get("log")
        if isinstance(header, dict):
            return header
        break
    raise BrokenChainError(0, "is not the header of a log")


def identity(header: Mapping[str, object]) -> dict[str, object]:
    """Return the part of a header by which two logs are of the same table and the same rules.

    The text of the rules is left out: their hash is in, and a comment makes no other rules. So is
    the `id` that tells one log of a table from the next.
    """
    return {key: value for key, value in header.items() if key not in ("rules", "id")}


def record_line(record: Record) -> str:
    """Return the record as one line of an exported log."""
    return canonical({"body": record.body, "hash": record.hash, "n": record.number})


def record_from_line(line: str, number: int) -> Record:
    """Read line `number` (from 0) of an exported log; BrokenChainError where it is not a record."""
    try:
        content = json.loads(line)
        record = Record(content["n"], content["body"], content["hash"])
        if type(record.number) is int and type(record.body) is str:
            return record
        raise TypeError(line)
    except ODD as error:
        raise BrokenChainError(number, "is not a record of an exported log") from error
