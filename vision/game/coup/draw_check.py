"""What the tableau says of cards drawn after the first four, their faces known or not.

Theory of operation. Every card beyond a hand's first two is an `Extra`. For each way in which the
unread cards could be filled in, the extras are walked in the order in which they left the shoe and
each is put against what was due at that moment. The ways with the fewest faults are the ones
believed: a fault is found only where all of them have one, and what is due is the union of what is
due in them. Must not know slots on a layout, alerts or time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vision.game.events import Slot
from vision.game.tableau import TEN, Tableau, due, each

PUNTO, BANCO, NOWHERE = 0, 1, -1


class Extra(NamedTuple):
    """A card beyond the first two of a hand.

    `lies` is the hand with which it lies (`None`: not yet at rest in a slot), `counts` the hand to
    which it was ruled to belong (`NOWHERE`: burned or carried), `points` what it counts, if known.
    """

    lies: int | None
    counts: int | None
    points: int | None


class Verdict(NamedTuple):
    """The fault of each extra ("" for none), the hand it counts in, and where a card may go next.

    `None` in `due`: no further card may be due.
    """

    codes: tuple[str, ...]
    hands: tuple[int, ...]
    due: frozenset[Slot | None]


class _Way(NamedTuple):
    codes: tuple[str, ...]
    hands: tuple[int, ...]
    due: Slot | None


@lru_cache(maxsize=1 << 16)
def judge(
    tableau: Tableau, punto: int | None, banco: int | None, extras: tuple[Extra, ...]
) -> Verdict:
    """Return what the tableau says of the extras, given the two-card totals."""
    ways = list(_ways(tableau, punto, banco, extras))
    fewest = min(_faults(way) for way in ways)
    believed = [way for way in ways if _faults(way) == fewest]
    sure = tuple(
        code if all(way.codes[i] for way in believed) else ""
        for i, code in enumerate(believed[0].codes)
    )
    codes = sure if any(sure) else believed[0].codes
    return Verdict(codes, believed[0].hands, frozenset(way.due for way in believed))


def _faults(way: _Way) -> int:
    return sum(1 for code in way.codes if code)


def _ways(
    tableau: Tableau, punto: int | None, banco: int | None, extras: tuple[Extra, ...]
) -> Iterator[_Way]:
    """Walk the extras for every way in which what is unread could be filled in."""
    unread = any(extra.points is None for extra in extras)
    for two in each(punto):
        for other in each(banco):
            for third in each(None) if unread else (0,):
                yield _walk(tableau, (two, other), extras, third)


def _walk(tableau: Tableau, totals: tuple[int, int], extras: tuple[Extra, ...], third: int) -> _Way:
    """Put each extra against what was due; `third` is what Punto's counts, should it be unread."""
    given: int | None = None
    more = [0, 0]
    codes: list[str] = []
    hands: list[int] = []
    for extra in extras:
        place = due(tableau, *totals, (given, more[BANCO] > 0))
        wanted = None if place is None else place % 2
        code = _code(place, extra.lies, totals, (more[PUNTO], more[BANCO]))
        if code == "WRONG_HAND" and all(tableau.banco_draws(totals[1], card) for card in TEN):
            code = "OUT_OF_TURN_B3"
        codes.append(code)
        counts = extra.counts
        if counts is None:
            counts = NOWHERE if wanted is None else wanted
        if counts == PUNTO and given is None:
            given = third if extra.points is None else extra.points
        if counts != NOWHERE:
            more[counts] += 1
        hands.append(counts)
    if given is not None and "WRONG_HAND" in codes:
        late = "OUT_OF_TURN_B3" if tableau.banco_draws(totals[1], given) else "OVER_B3"
        codes = [
            late if code == "WRONG_HAND" and hand == BANCO else code
            for code, hand in zip(codes, hands, strict=True)
        ]
    return _Way(tuple(codes), tuple(hands), due(tableau, *totals, (given, more[BANCO] > 0)))


def _code(
    place: Slot | None, lies: int | None, totals: tuple[int, int], more: tuple[int, int]
) -> str:
    """Return the fault of a card that lies there when `place` was due, "" for none."""
    if place is not None and lies in (None, place % 2):
        return ""
    # "If either hand has an 8 or 9 a Natural is declared and no more cards are drawn" (sheet 0).
    if max(totals) >= 8:
        return "OVER_NATURAL"
    # "The minimum number of cards to each hand is two and the maximum is three." (sheet 0)
    if more[lies] if lies is not None else min(more):
        return "OVER_4TH"
    # "6-7 STANDS" (sheets 0 to 2)
    if lies == PUNTO or (lies is None and not more[PUNTO]):
        return "OVER_P3_STAND"
    if place is Slot.PUNTO_3:
        return "WRONG_HAND"
    # "BANK HAVING ... STANDS WHEN GIVING ..." (sheets 0 to 2)
    return "OVER_B3"
