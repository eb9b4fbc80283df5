"""The mouth of the shoe and the discard: where cards bound for both hands begin, where they end.

A track that is broken under a hand begins anywhere, but elsewhere for each place: only at the
mouth do cards for different hands begin at one spot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vision.setup.calibration.grid import Grid, Pair
from vision.setup.calibration.observed_play import Play, Way
from vision.setup.calibration.resting import Place, Vector
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Homography, Pose, card_rectangle, shared_area

# A card this near the middle of a place lies in it, mm: a card's long side. Larger, the mouth
# beside a slot is taken for the slot; smaller, a card pushed aside in it begins anew.
NEAR_MM = 90.0
# Cards that begin, or end, within this of one another do so at one spot, mm, and they lie no wider
# about its middle (root mean square) than the second figure. Larger, cards that come out from under
# a hand on one way begin at a spot.
ONE_SPOT_MM, SPREAD_MM = 70.0, 32.0
# So many cards at least make a spot, this share of them of each hand. Fewer, and chance makes one.
LEAST_CARDS, OF_EACH = 4, 0.25
# The share of the cards that begin, or end, away from the slots which must do so at the spot.
SHARE = 0.3
# The way of a card is taken over this length, mm: shorter, it is the detector's jitter.
WAY_MM = 40.0
# The mouth reaches this far back from where cards come into sight, ahead of it, and to each side,
# mm: cards are first seen when they are half out. Too large ahead, it reaches into slots.
MOUTH_BACK_MM, MOUTH_AHEAD_MM, MOUTH_HALF_MM = 170, 40, 65
# A stretch of a way of which one step is more than this share is a leap to another thing: a card
# lost under a hand, then a chip. Larger, chips are the discard; smaller, few pictures are none.
MOST_LEAP = 0.6
# A card out of the shoe lies in its place within this, ms: dealers turn or show it on its
# way. Longer, the hand that moves between two cards counts; shorter, slow dealers have no mouth.
FLIGHT_MS = 3000
# Of cards that begin at one spot, the ways agree to this share (1: all the same way): they fan out
# to the slots. Lower, a spot that hands only pass is a mouth.
SAME_WAY = 0.6
# The first card on the pile comes to rest within this of the end of a coup, ms.
CLEARING_MS = 6000
# The discard lies at least this far from the mouth, mm: what ends there went back into the shoe.
FROM_MOUTH_MM = 150.0
# Half the side of the proposed discard, mm: a pile of cards as they are thrown.
DISCARD_HALF_MM = 75.0
# A card taken away goes on from where it was last seen by one step, at most this far, mm.
MOST_AHEAD_MM = 120.0


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Where cards begin or end: the middle (mm), how unsure it is (1 sigma, mm), how many did."""

    middle: Vector
    unsure_mm: float
    cards: int
    of: int
    along: Vector


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """One end of a card's way: where, which way it went there, and which hand it belonged to."""

    at: Vector
    along: Vector
    hand: int


def mouth_spot(play: Play, plane: Homography, hands: Sequence[Pair]) -> Spot | None:
    """Return where cards come into sight just before one is laid in a hand.

    The track need not hold until then: which hand it was for is told by which was laid next.
    """
    laid = sorted(
        (card.since, n) for n, pair in enumerate(hands) for place in pair for card in place.lying
    )
    ends = []
    for way in play.ways:
        begun = way.middles[0][0]
        until = way.rests[0].since if way.rests else way.last[0]
        seen = np.array([spot for at, spot in way.middles if at <= until])
        path = plane.to_mm(seen).astype(np.float64)
        hand = next((n for at, n in laid if begun < at <= begun + FLIGHT_MS), None)
        if hand is not None and _is_flight(path) and not _is_near(path[0], hands):
            ends.append(_End(path[0], _unit(_leaving(path)), hand))
    return _spot(ends)


def discard_spot(
    play: Play, plane: Homography, hands: Sequence[Pair], mouth: Spot | None
) -> Spot | None:
    """Return where cards that lay in the hands are last seen."""
    ends = []
    for way, path, hand in _ways(play, plane, hands):
        after = sum(at > way.rests[-1].until for at, _ in way.middles)
        last = path[-1]
        if _is_near(last, hands) or not _is_flight(path[-after - 1 :]):
            continue
        # A hand hides the card before it lies there: on by one more step.
        step = last - path[-2]
        far = max(1.0, float(np.linalg.norm(step)))
        last = last + step * min(1.0, MOST_AHEAD_MM / far)
        if mouth is None or float(np.linalg.norm(last - mouth.middle)) > FROM_MOUTH_MM:
            ends.append(_End(last, _unit(step), hand))
    return _spot(ends)


def pile(places: Sequence[Place], grid: Grid) -> Place | None:
    """Return the place where a card lies on from the end of a coup: the discarded cards' pile.

    `None` where there is none, or more than one.
    """
    found = []
    for place in places:
        first, longest = place.lying[0], max(place.lying, key=lambda card: card.until - card.since)
        cleared = any(abs(first.since - end) < CLEARING_MS for _, end in grid.coups)
        stays = any(longest.since <= start and end <= longest.until for start, end in grid.coups)
        if cleared and stays and place not in grid.places:
            found.append(place)
    return found[0] if len(found) == 1 else None


def _is_flight(path: Vector) -> bool:
    """Whether a stretch of a way is one motion and no leap of the track to another thing."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    far = float(np.linalg.norm(path - path[0], axis=1).max())
    return len(steps) > 1 and far > WAY_MM and float(steps.max()) < MOST_LEAP * float(steps.sum())


def _ways(play: Play, plane: Homography, hands: Sequence[Pair]) -> list[tuple[Way, Vector, int]]:
    """Return the tracks that rested in a hand, their way in mm, and the number of the hand."""
    found = []
    for way in play.ways:
        rested = [plane.to_mm(rest.middle) for rest in way.rests]
        hand = next(
            (n for n, pair in enumerate(hands) for at in rested if _is_near(at, [pair])), -1
        )
        if hand >= 0:
            path = plane.to_mm(np.array([at for _, at in way.middles])).astype(np.float64)
            found.append((way, path, hand))
    return found


def _is_near(spot: Vector | Points, hands: Sequence[Sequence[Place]]) -> bool:
    return any(
        float(np.linalg.norm(spot - place.middle)) < NEAR_MM for hand in hands for place in hand
    )


def _leaving(path: Vector) -> Vector:
    """Return the first stretch of a way that is longer than jitter."""
    far = np.linalg.norm(path - path[0], axis=1)
    gone = np.flatnonzero(far >= WAY_MM)
    stretch: Vector = path[int(gone[0]) if len(gone) else -1] - path[0]
    return stretch


def _unit(way: Vector) -> Vector:
    unit: Vector = way / max(1e-6, float(np.linalg.norm(way)))
    return unit


def _spot(ends: Sequence[_End]) -> Spot | None:
    """Return the spot at which most ends lie; `None` where too few do, or those of one hand."""
    if not ends:
        return None
    every = np.array([end.at for end in ends])
    near = np.linalg.norm(every[:, None] - every, axis=2) < ONE_SPOT_MM
    chosen = [ends[i] for i in np.flatnonzero(near[int(near.sum(axis=1).argmax())]).tolist()]
    each = min(sum(end.hand == hand for end in chosen) for hand in (0, 1))
    if len(chosen) < max(LEAST_CARDS, SHARE * len(ends)) or each < OF_EACH * len(chosen):
        return None
    at = np.array([end.at for end in chosen])
    middle = np.median(at, axis=0)
    spread = float(np.sqrt(((at - middle) ** 2).sum(axis=1).mean()))
    along = np.mean([end.along for end in chosen], axis=0)
    if float(np.linalg.norm(along)) < SAME_WAY or spread > SPREAD_MM:
        return None
    unsure = spread / float(np.sqrt(len(chosen)))
    return Spot(middle, unsure, len(chosen), len(ends), _unit(along))


def mouth_area(spot: Spot, slots: Sequence[Points]) -> Points:
    """Return the mouth's rectangle about a spot, its far end drawn back from the slots."""
    side = np.array([-spot.along[1], spot.along[0]]) * MOUTH_HALF_MM
    for ahead in range(MOUTH_AHEAD_MM, -MOUTH_BACK_MM + 60, -10):
        back, front = spot.middle - spot.along * MOUTH_BACK_MM, spot.middle + spot.along * ahead
        mouth = np.array([back + side, back - side, front - side, front + side], np.float32)
        if not any(shared_area(mouth, area) > 0 for area in slots):
            break
    return mouth


def discard_area(middle: Vector) -> Points:
    """Return the discard's square about its middle."""
    x, y = middle.tolist()
    return card_rectangle(Pose(x, y, 0.0), (2 * DISCARD_HALF_MM, 2 * DISCARD_HALF_MM))
