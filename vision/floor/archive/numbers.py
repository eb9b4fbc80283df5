"""Sets of message numbers as ranges: what has come of a table, and so what is missing."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

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

    def copy(self) -> NumberSet:
        """Return a set of the same numbers."""
        return NumberSet(self)

    def text(self) -> str:
        """Return the set as JSON: a list of pairs."""
        return json.dumps(list(self), separators=(",", ":"))

    @staticmethod
    def of_text(text: str) -> NumberSet:
        """Return the set that `text` wrote."""
        return NumberSet((first, last) for first, last in json.loads(text))
