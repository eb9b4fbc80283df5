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
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def add(self, first: int, last: int) -> None:
        """Add the numbers from first to last."""
        begin = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1)
        if begin < end:
            first = min(first, self._firsts[begin])
            last = max(last, self._lasts[end - 1])
        self._firsts[begin:end] = [first]
        self._lasts[begin:end] = [last]

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def __iter__(self) -> Iterator[Range]:
        return zip(self._firsts, self._lasts, strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberSet) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def newest(self) -> int:
        """The highest number, 0 where there is none."""
        return self._lasts[-1] if self._lasts else 0

    def missing(self, last: int) -> list[Range]:
        """Return the ranges from 1 to `last` that are not in the set, lowest first."""
        found, after = [], 0
        for begin, end in self:
            if begin > last:
                break
            if begin > after + 1:
                found.append((after + 1, begin - 1))
            after = end
        return [*found, (after + 1, last)] if after < last else found

    def text(self) -> str:
        """Return the set as JSON: a list of pairs."""
        return json.dumps(list(self), separators=(",", ":"))

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
        unheard = self._forget(missing, now_s)
        self.most = self.most if missing else RANGE_LIMIT
        self.noticed = {gap: self.noticed.get(gap, now_s) for gap in missing}
        # What nothing came of lets the others go first.
        late = [gap for gap in missing if any(_meet(gap, old) for old in unheard)]
        for first, last in (*(gap for gap in reversed(missing) if gap not in late), *late):
            ripe = now_s - self.noticed[first, last] >= PATIENCE_S
            while ripe and last >= first and len(self.requests) < OPEN:
                begin = max(first, last - self.most + 1)
                if not self._is_asked((begin, last)):
                    ref = secrets.token_hex(8)
                    self.requests[ref] = Request((begin, last), now_s)
                    yield {"first": begin, "last": last, "ref": ref}
                last = begin - 1

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

    def _forget(self, missing: Sequence[Range], now_s: float) -> list[Range]:
        """Forget requests of which everything came, and return those that nothing came of."""
        open_ = {
            ref: request
            for ref, request in self.requests.items()
            if any(_meet(request.wanted, gap) for gap in missing)
        }
        late = [one.wanted for one in open_.values() if now_s - one.asked_s >= AGAIN_S]
        self.requests = {ref: one for ref, one in open_.items() if one.wanted not in late}
        return late

    def _is_asked(self, wanted: Range) -> bool:
        return any(_meet(wanted, request.wanted) for request in self.requests.values())


def _meet(one: Range, other: Range) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
