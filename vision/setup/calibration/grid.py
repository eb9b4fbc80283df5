"""The grid of the two hands, found among the places where cards rested, and tested for consistency.

A layout has two hands of two places side by side, alike and in one row, filled in turn in every
coup, and a third place of each that lies crosswise beside them. What does not agree with that is
not known, whatever lay there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from vision.setup.calibration.resting import Place, Size, Span, Vector, spans

Pair = tuple[Place, Place]
T = TypeVar("T")

# Only so many places, those where cards lay longest, may be a grid's: more cost time.
MOST_PLACES = 16
# The two places of a hand: the distance of their middles in card widths, side by side to within
# this many degrees; both hands turned alike, and their distances alike to within a share.
SIDE_BY_SIDE, TURNED, ALIKE = (0.9, 1.8), 15.0, 0.2
# The two hands lie in one row to within this share of a card's length, and at least so many card
# widths apart, middle to middle. Looser, a row of betting boxes is a hand.
SAME_ROW, HANDS_APART = 0.5, 2.2
# Coups in which cards came to all four places: at least so many, and this share of those in which
# they came to two or more. Fewer, and the order in which they come may be chance.
LEAST_COUPS, WHOLE_SHARE = 3, 0.5
# A grid is none if another one, of other places, has more than this share of its cards' time.
RIVAL = 0.7
# The share of coups that must agree on which hand is first, and which of its places.
AGREED = 0.75
# A third card lies crosswise to within this, degrees, and no farther from the middle of its hand
# than this, in card lengths; it is laid after the four in this share of its coups.
CROSSWISE, BESIDE, AFTERWARDS = 20.0, 2.6, 0.7
# Where a third place was used only once, it must lie as the other hand's to within this, mm.
MIRRORED_MM = 15.0


class NotEnoughError(ValueError):
    """Too little was seen to propose places; the message says what was, and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The two hands, and the coups (ms) in which cards came to all of their places."""

    hands: tuple[Pair, Pair]
    coups: tuple[Span, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """All four places."""
        return (*self.hands[0], *self.hands[1])

    @property
    def dwell(self) -> int:
        """How long cards lay in the grid, ms."""
        return sum(place.dwell for place in self.places)


def find_grid(places: Sequence[Place], card_mm: Size) -> Grid:
    """Return the grid; NotEnoughError where there is none, or more than one."""
    used = [place for place in places if len(place.lying) >= LEAST_COUPS][:MOST_PLACES]
    found = sorted(_grids(used, card_mm), key=lambda grid: -grid.dwell)
    if not found:
        raise NotEnoughError(
            f"cards rested again and again at {len(used)} places, but no four are two hands side "
            f"by side that were filled in {LEAST_COUPS} coups or more: let it watch longer "
            "(--minutes), from the first card to the clearing, or mark all places with --place"
        )
    best = found[0]
    for other in found[1:]:
        apart = sum(place not in best.places for place in other.places)
        if apart >= 2 and other.dwell > RIVAL * best.dwell:
            spots = " and ".join(_spot(grid) for grid in (best, other))
            raise NotEnoughError(
                f"two sets of places could be the hands, about {spots} mm: mark all places with "
                "--place"
            )
    return best


def _grids(places: Sequence[Place], card_mm: Size) -> Iterator[Grid]:
    pairs = [pair for pair in combinations(places, 2) if _is_hand(pair, card_mm)]
    for one, two in combinations(pairs, 2):
        if not set(map(id, one)) & set(map(id, two)) and _are_alike(one, two, card_mm):
            grid = _dealt(one, two)
            if grid is not None:
                yield grid


def _is_hand(pair: Pair, card_mm: Size) -> bool:
    """Whether two places lie side by side, as the two cards of a hand do."""
    one, two = pair
    way = two.middle - one.middle
    far = float(np.linalg.norm(way)) / card_mm[0]
    across = abs(_along(way, one.angle + 90))
    return (
        SIDE_BY_SIDE[0] <= far <= SIDE_BY_SIDE[1]
        and one.pose.turn(two.pose) < TURNED
        and across > np.cos(np.radians(TURNED)) * float(np.linalg.norm(way))
    )


def _are_alike(one: Pair, two: Pair, card_mm: Size) -> bool:
    """Whether two hands are turned alike, as wide as each other, and lie in one row."""
    widths = [float(np.linalg.norm(b.middle - a.middle)) for a, b in (one, two)]
    way = middle_of(two) - middle_of(one)
    return (
        one[0].pose.turn(two[0].pose) < TURNED
        and abs(widths[0] - widths[1]) < ALIKE * max(widths)
        and abs(_along(way, one[0].angle)) < SAME_ROW * card_mm[1]
        and abs(_along(way, one[0].angle + 90)) > HANDS_APART * card_mm[0]
    )


def _dealt(one: Pair, two: Pair) -> Grid | None:
    """Return the grid of two hands if cards came to all four of their places again and again."""
    every = spans([card for place in (*one, *two) for card in place.lying])
    came = [place.arrivals(every) for place in (*one, *two)]
    counts = [sum(at is not None for at in coup) for coup in zip(*came, strict=True)]
    whole = tuple(span for span, count in zip(every, counts, strict=True) if count == 4)
    some = sum(count >= 2 for count in counts)
    if len(whole) < LEAST_COUPS or len(whole) < WHOLE_SHARE * some:
        return None
    return Grid((one, two), whole)


def _along(way: Vector, degrees: float) -> float:
    angle = np.radians(degrees)
    return float(way @ np.array([np.cos(angle), np.sin(angle)]))


def _spot(grid: Grid) -> str:
    x, y = np.mean([place.middle for place in grid.places], axis=0)
    return f"({x:.0f}, {y:.0f})"


def middle_of(pair: Sequence[Place]) -> Vector:
    """Return the middle of some places, mm."""
    middle: Vector = np.mean([place.middle for place in pair], axis=0)
    return middle


def in_order(grid: Grid) -> tuple[Pair, Pair]:
    """Return Punto's and Banco's two places, each in the order of dealing.

    NotEnoughError where the coups do not agree on it.
    """
    hands = _voted(grid.hands, [_first_of(hand, grid.coups) for hand in grid.hands], "hand")
    punto, banco = (
        _voted(hand, [place.arrivals(grid.coups) for place in hand], "card of a hand")
        for hand in hands
    )
    return punto, banco


def _first_of(hand: Pair, coups: Sequence[Span]) -> list[int | None]:
    came = [place.arrivals(coups) for place in hand]
    return [
        min((at for at in coup if at is not None), default=None) for coup in zip(*came, strict=True)
    ]


def _voted(two: tuple[T, T], came: Sequence[Sequence[int | None]], what: str) -> tuple[T, T]:
    """Return two things, first the one that came first in nearly all coups."""
    earlier = [a < b for a, b in zip(*came, strict=True) if a is not None and b is not None]
    share = sum(earlier) / len(earlier) if earlier else 0.5
    if max(share, 1 - share) < AGREED:
        raise NotEnoughError(
            f"the places of the hands are known, but not in which order they are dealt: which "
            f"{what} comes first differs between the {len(earlier)} coups that were seen; let it "
            "watch longer (--minutes), or mark all places with --place"
        )
    return two if share > 0.5 else (two[1], two[0])


def third_places(
    hands: tuple[Pair, Pair], places: Sequence[Place], coups: Sequence[Span], card_mm: Size
) -> tuple[Place | None, Place | None]:
    """Return the place of each hand's third card, `None` where it is not known."""
    taken = {id(place) for hand in hands for place in hand}
    found = [
        [p for p in places if id(p) not in taken and _is_third(p, hand, hands, coups, card_mm)]
        for hand in hands
    ]
    best = [max(each, key=lambda place: len(place.lying), default=None) for each in found]
    return (_trusted(0, best, hands), _trusted(1, best, hands))


def _is_third(
    place: Place, hand: Pair, hands: tuple[Pair, Pair], coups: Sequence[Span], card_mm: Size
) -> bool:
    """Whether a place lies crosswise beside a hand, nearer than the other, and is laid last."""
    far = [float(np.linalg.norm(place.middle - middle_of(each))) for each in hands]
    here = float(np.linalg.norm(place.middle - middle_of(hand)))
    filled = [max(at for at in coup if at is not None) for coup in
              zip(*(p.arrivals(coups) for each in hands for p in each), strict=True)]  # fmt: skip
    came = place.arrivals(coups)
    after = [at > last for at, last in zip(came, filled, strict=True) if at is not None]
    return (
        place.pose.turn(hand[0].pose) > 90 - CROSSWISE
        and here == min(far)
        and here < BESIDE * card_mm[1]
        and bool(after)
        and sum(after) >= AFTERWARDS * len(after)
    )


def _trusted(which: int, best: Sequence[Place | None], hands: tuple[Pair, Pair]) -> Place | None:
    """Return a third place used more than once, or once where the other hand's confirms it."""
    place, other = best[which], best[1 - which]
    if place is None or len(place.lying) > 1:
        return place
    if other is None:
        return None
    expected = mirrored(other, hands[1 - which], hands[which])
    return place if float(np.linalg.norm(expected - place.middle)) < MIRRORED_MM else None


def mirrored(third: Place, own: Pair, other: Pair) -> Vector:
    """Return where the other hand's third card lies if the layout is symmetric, mm."""
    here, there = middle_of(own), middle_of(other)
    across = (there - here) / float(np.linalg.norm(there - here))
    offset = third.middle - here
    return there + offset - 2 * float(offset @ across) * across
