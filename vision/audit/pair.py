"""Hold the logs of two readers of one table against each other: they must be one history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from vision.errors import OutsideError
from vision.record.chain import Record, is_stub
from vision.record.facts import Fact
from vision.wire.messages import iso


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
                    f"record {one.number} is another in each log: they are two histories. Keep "
                    "both as evidence; the boards show the one whose messages they "
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
