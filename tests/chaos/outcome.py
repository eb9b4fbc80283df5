"""What a part of the fault injection reports: its tries, what was lost, doubled, wrong, late."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """A part that kept its limits: how many tries it made, and its figures in words."""

    tries: int
    words: str


class LimitBrokenError(AssertionError):
    """A limit that was broken, with what could be counted (None: not counted)."""

    def __init__(
        self,
        words: str,
        *,
        lost: int | None = None,
        doubled: int | None = None,
        wrong: int | None = None,
        late: int | None = None,
    ) -> None:
        super().__init__(words)
        self.counts = {"lost": lost, "doubled": doubled, "wrong": wrong, "late": late}


def demand_same(heard: list[dict[str, Any]], wanted: list[dict[str, Any]], what: str) -> None:
    """Compare what a consumer has with what it should have; LimitBrokenError with the counts."""
    if heard == wanted:
        return
    have, want = Counter(map(_text, heard)), Counter(map(_text, wanted))
    extra, missing = have - want, want - have
    doubled = sum(count for text, count in extra.items() if text in want)
    wrong = extra.total() - doubled
    lost = max(0, missing.total() - wrong)
    if not (lost or doubled or wrong):
        raise LimitBrokenError(f"{what}: out of order", lost=0, doubled=0, wrong=1)
    words = f"{what}: {lost} lost, {doubled} doubled, {wrong} wrong of {len(wanted)}"
    raise LimitBrokenError(words, lost=lost, doubled=doubled, wrong=wrong)


def _text(payload: dict[str, Any]) -> str:
    return json.dumps(payload, sort_keys=True)


def rounds(times: int, seconds: float = math.inf) -> Iterator[int]:
    """Yield the numbers of at most so many tries: one at least, none once the time is over."""
    ends_s = time.monotonic() + seconds
    for number in range(times):
        if number and time.monotonic() > ends_s:
            return
        yield number
