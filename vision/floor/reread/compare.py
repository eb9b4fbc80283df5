"""Compare two readings of the same film, coup by coup: the evening's, and today's.

The lists are aligned at the least cost, so that a coup that one of them missed or made two of does
not spoil all after it. Neither is taken for the truth: a difference is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from vision.floor.reread.evening import Coup

# What it costs to leave a coup without a partner, against 1 for two that have not a card in common.
# At half of that or less no two coups that differ would ever be partners; at more than 1, two
# that have nothing in common would be.
ALONE = 0.75


class Kind(StrEnum):
    """How two readings of a coup differ; the worst comes first."""

    ONLY_THEN = "only then"
    ONLY_NOW = "only now"
    WINNER = "another winner"
    CARDS = "other cards"
    FAULTS = "other faults"
    CORRECTED = "as a person corrected it"


@dataclass(frozen=True, slots=True)
class Difference:
    """A coup that differs: as it stood that evening, and as it is read now."""

    kind: Kind
    then: Coup | None
    now: Coup | None


Pair = tuple[Coup | None, Coup | None]


def differences(then: Sequence[Coup], now: Sequence[Coup]) -> list[Difference]:
    """Return what differs, in the order of the evening."""
    found = []
    for old, new in align(then, now):
        kind = _kind(old, new)
        if kind is not None:
            found.append(Difference(kind, old, new))
    return found


def _kind(then: Coup | None, now: Coup | None) -> Kind | None:
    if then is None or now is None:
        return Kind.ONLY_NOW if then is None else Kind.ONLY_THEN
    if then.winner != now.winner:
        return Kind.WINNER
    if then.cards != now.cards:
        return Kind.CARDS
    if then.faults != now.faults:
        return Kind.FAULTS
    return Kind.CORRECTED if then.by else None


def align(then: Sequence[Coup], now: Sequence[Coup]) -> list[Pair]:
    """Return the coups of both in pairs, `None` for the partner that one has not."""
    rows, columns = len(then), len(now)
    cost = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        for j in range(columns, -1, -1):
            cost[i][j] = min((each[0] for each in _steps(cost, then, now, i, j)), default=0.0)
    pairs: list[Pair] = []
    i = j = 0
    while (i, j) != (rows, columns):
        _, down, right = min(_steps(cost, then, now, i, j))
        pairs.append((then[i] if down else None, now[j] if right else None))
        i, j = i + down, j + right
    return pairs


def _steps(
    cost: list[list[float]], then: Sequence[Coup], now: Sequence[Coup], i: int, j: int
) -> list[tuple[float, int, int]]:
    """Return what each way on from (i, j) costs to the end."""
    steps = []
    if i < len(then) and j < len(now):
        steps.append((unlike(then[i], now[j]) + cost[i + 1][j + 1], 1, 1))
    if i < len(then):
        steps.append((ALONE + cost[i + 1][j], 1, 0))
    if j < len(now):
        steps.append((ALONE + cost[i][j + 1], 0, 1))
    return steps


def unlike(one: Coup, other: Coup) -> float:
    """Return which share of the places of two coups holds another card, 0 to 1."""
    places = [
        (a, b)
        for mine, its in zip(one.cards, other.cards, strict=True)
        for a, b in _in_places(mine, its)
    ]
    return sum(a != b for a, b in places) / max(1, len(places))


def _in_places(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    length = max(len(one), len(other))
    return [(_at(one, place), _at(other, place)) for place in range(length)]


def _at(hand: Sequence[str], place: int) -> str:
    return hand[place] if place < len(hand) else ""
