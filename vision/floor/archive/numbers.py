"""Which messages of a table have come, which are missing, and when to ask for them: pure.

A number is missing when a higher one has come. Results overtake other messages on their way, so it
is asked for only after a while. A table refuses a range of which it has deleted some messages: it
deletes the oldest first, so the range is halved until the oldest that it has is found.
"""

from __future__ import annotations

import json
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from vision.wire.commands import NOT_KEPT, RANGE_LIMIT

# Seconds that a number may be missing before it is asked for: results overtake others by less than
# a second on a house network. Shorter asks for what is under way, longer fills a gap later.
PATIENCE_S = 2.0
# Seconds before a request is given again that nothing came of: a range of 1000 takes 2 s at the
# rate at which tables send again, and others may wait before it. Shorter asks twice.
AGAIN_S = 15.0
# Requests of a table that may be open: it lets all that are not signed have four.
OPEN = 2

Range = tuple[int, int]


class NumberSet:
    """Whole numbers, kept as ranges that neither touch nor overlap, lowest first."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        """Begin with those ranges (first and last, both within)."""
        self.ranges: list[Range] = []
        for first, last in ranges:
            self.add(first, last)

    def add(self, first: int, last: int) -> None:
        """Add the numbers from first to last."""
        begin = bisect_left(self.ranges, first - 1, key=itemgetter(1))
        end = bisect_right(self.ranges, last + 1, key=itemgetter(0))
        met = [(first, last), *self.ranges[begin:end]]
        self.ranges[begin:end] = [(min(one[0] for one in met), max(one[1] for one in met))]

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.ranges, number, key=itemgetter(0)) - 1
        return place >= 0 and number <= self.ranges[place][1]

    @property
    def newest(self) -> int:
        """The highest number, 0 where there is none."""
        return self.ranges[-1][1] if self.ranges else 0

    def missing(self, last: int) -> list[Range]:
        """Return the ranges from 1 to `last` that are not in the set, lowest first."""
        found, after = [], 0
        for begin, end in self.ranges:
            if begin > last:
                break
            if begin > after + 1:
                found.append((after + 1, begin - 1))
            after = end
        return [*found, (after + 1, last)] if after < last else found

    def text(self) -> str:
        """Return the set as JSON: a list of pairs."""
        return json.dumps(self.ranges, separators=(",", ":"))

    @staticmethod
    def of_text(text: str) -> NumberSet:
        """Return the set that `text` wrote."""
        return NumberSet((first, last) for first, last in json.loads(text))


class Request(NamedTuple):
    """A range that was asked for, and when (seconds of a monotonic clock)."""

    wanted: Range
    asked_s: float


@dataclass(slots=True)
class Gaps:
    """What is missing of one table, and what was asked for."""

    noticed: dict[Range, float] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    most: int = RANGE_LIMIT  # of one request; halved where a range is refused

    def due(self, missing: Sequence[Range], now_s: float) -> Iterator[dict[str, Any]]:
        """Yield the fields of each request that is to be given now, the newest numbers first."""
        asked = {
            ref: request
            for ref, request in self.requests.items()
            if any(_meet(request.wanted, gap) for gap in missing)
        }
        unheard = [one.wanted for one in asked.values() if now_s - one.asked_s >= AGAIN_S]
        self.requests = {ref: one for ref, one in asked.items() if one.wanted not in unheard}
        self.most = self.most if missing else RANGE_LIMIT
        self.noticed = {gap: self.noticed.get(gap, now_s) for gap in missing}
        # What nothing came of lets the others go first.
        late = [gap for gap in missing if any(_meet(gap, old) for old in unheard)]
        for first, last in (*(gap for gap in reversed(missing) if gap not in late), *late):
            ripe = now_s - self.noticed[first, last] >= PATIENCE_S
            while ripe and last >= first and len(self.requests) < OPEN:
                wanted = max(first, last - self.most + 1), last
                if not any(_meet(wanted, request.wanted) for request in self.requests.values()):
                    ref = secrets.token_hex(8)
                    self.requests[ref] = Request(wanted, now_s)
                    yield {"first": wanted[0], "last": last, "ref": ref}
                last = wanted[0] - 1

    def answered(self, reply: Mapping[str, Any]) -> int:
        """Take a table's answer; return the number up to which it has no message more, 0: none.

        A table deletes the oldest first.
        """
        request = self.requests.get(str(reply.get("ref")))
        if request is None or reply.get("accepted") or reply.get("why") != NOT_KEPT:
            return 0
        del self.requests[str(reply["ref"])]
        first, last = request.wanted
        self.most = (last - first + 1) // 2 or RANGE_LIMIT
        return last if first == last else 0


def _meet(one: Range, other: Range) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
