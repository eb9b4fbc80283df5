"""Propose slots, mouth and discard from the play that was watched.

Cards rest again and again at the same few places: the slots. They first come into sight at the
shoe's mouth and are last seen at the discard. The usual way of dealing is assumed: the first card
is Punto's, and a hand's third card lies beside its two. All constants were chosen on simulated
tables and checked on the films of deploy/calibration.md; a proposal is looked at by a person before
it is written.
"""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vision.game.events import Slot
from vision.setup.calibration.observed_play import Play
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Homography, Pose, card_rectangle, fit_rectangle, shared_area

Vector = NDArray[np.float64]
Size = tuple[float, float]

# A card this near the middle of a slot lies in it, and discarded cards this near one another lie at
# the discard, mm: a card's long side. Larger, neighbouring slots count as one.
NEAR_MM = 90.0
# A hand's third card lies no further from the middle of its two than this, mm: three cards' widths
# and gaps. Larger, a chip tray's card is proposed.
BESIDE_MM = 260.0
# A card that went less far than this, in its own widths, was pushed and not taken away.
TRAVEL_CARDS = 1.5
# A slot is larger than a card by this on every side, mm: dealers lay cards down that exactly.
ROOM_MM = 8.0
# The mouth reaches this far back from where cards come into sight, ahead of it, and to each side,
# mm: cards are first seen when they are half out. Too large ahead, it reaches into slots.
MOUTH_BACK_MM, MOUTH_AHEAD_MM, MOUTH_HALF_MM = 170, 40, 65
# The share of dealt cards, seen earliest on their way, that show where the mouth is; and the least
# way, mm, by which a card shows a direction at all.
EARLY, FAR_MM = 0.4, 80.0
# Half the side of the proposed discard, mm: a pile of cards as they are thrown.
DISCARD_HALF_MM = 75.0
# A card taken away goes on from where it was last seen by one step, at most this far, mm.
MOST_AHEAD_MM = 120.0
# Cards whose middles lie closer than this lie at the same place, mm: less than the width of a
# poker card with the gap to its neighbour.
SAME_PLACE_MM = 38.0
# Corners of a resting card may be this far off a card's form, mm (root mean square); more, and the
# outline is not a whole card.
MOST_MISFIT_MM = 4.0
# A card that comes back to its place within this, ms, was only hidden by a hand.
GAP_MS = 3000
# A table without cards for this long, ms, ends a coup.
CLEAR_MS = 700
# Cards lying at a place for more than this share of the time are no slot: a pile, or the shoe.
ALWAYS = 0.7
# Cards that a coup has at least, by the rules.
LEAST_CARDS = 4


class NotEnoughError(ValueError):
    """Too little was seen to propose places; the message says what was, and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """The places proposed (polygons in mm), and a line of words on how sure each is."""

    slots: Mapping[Slot, Points]
    mouth: Points
    discard: Points | None
    words: tuple[str, ...]


def propose(play: Play, plane: Homography, card_mm: Size) -> Proposal:
    """Propose the places of a table; NotEnoughError where too little was seen."""
    places, coups = places_and_coups(play, plane, card_mm)
    pairs = _pairs(places, coups)
    slots: dict[Slot, Points] = {}
    words = []
    thirds = [_third(pair, places, pairs) for pair in pairs]
    for side, pair, third, other in zip(
        ("PUNTO", "BANCO"), pairs, thirds, thirds[::-1], strict=True
    ):
        for number, place in enumerate(pair, start=1):
            slots[Slot[f"{side}_{number}"]] = _around(place, card_mm)
            words.append(_sure(f"{side}_{number}", place, coups))
        name = f"{side}_3"
        if third is not None:
            slots[Slot[name]] = _around(third, card_mm)
            words.append(_sure(name, third, coups))
        else:
            slots[Slot[name]] = card_rectangle(
                _mirrored(pairs, pair, other, card_mm), with_room(card_mm)
            )
            words.append(f"{name}: no card lay there; a guess by the other places, to be checked")
    mouth, mouth_words = _mouth(play, plane, slots)
    discard, discard_words = _discard(play, plane, slots)
    return Proposal(slots, mouth, discard, (*words, mouth_words, discard_words))


def _pairs(places: Sequence[Place], coups: Sequence[tuple[int, int]]) -> list[list[Place]]:
    """Return the two places of Punto and the two of Banco, each in the order of dealing."""
    used = sorted(places, key=lambda p: (-len(p.coups(coups)), p.order(coups)))
    main = [place for place in used if place.coups(coups)]
    # Third cards lie crosswise: their direction tells them apart where every coup has one.
    first_laid = min(main[:4], key=lambda place: place.order(coups), default=None)
    along = [p for p in main if first_laid is not None and _parallel(p, first_laid)]
    main = (along if len(along) >= 4 else main)[:4]
    if len(main) < 4 or not coups:
        raise NotEnoughError(
            f"{len(coups)} whole coups and {len(main)} places with cards were seen, four places "
            "are needed: let it watch longer (--minutes), from the first card to the clearing"
        )
    main.sort(key=lambda place: place.order(coups))
    first, *others = main
    partner = min(others, key=lambda place: float(np.linalg.norm(place.middle - first.middle)))
    return [[first, partner], [place for place in others if place is not partner]]


def _parallel(place: Place, other: Place) -> bool:
    apart = abs(place.angle - other.angle) % 180
    return min(apart, 180 - apart) < 45


def _third(
    pair: Sequence[Place], places: Sequence[Place], pairs: Sequence[Sequence[Place]]
) -> Place | None:
    """Return the place beside a hand where some cards lay, the most used one."""
    taken = [place for each in pairs for place in each]
    middle = np.mean([place.middle for place in pair], axis=0)
    rest = [place for place in places if all(place is not known for known in taken)]
    other = np.mean([p.middle for each in pairs if each is not pair for p in each], axis=0)
    near = [
        place
        for place in rest
        if np.linalg.norm(place.middle - middle)
        < min(BESIDE_MM, float(np.linalg.norm(place.middle - other)))
    ]
    return max(near, key=lambda place: len(place.lying), default=None)


def _mirrored(
    pairs: Sequence[Sequence[Place]], pair: Sequence[Place], other: Place | None, card_mm: Size
) -> Pose:
    """Return where a third card would lie: as on the other side, or else outside the hand."""
    here = np.mean([place.middle for place in pair], axis=0)
    opposite = next(each for each in pairs if each is not pair)
    there = np.mean([place.middle for place in opposite], axis=0)
    across = (here - there) / np.linalg.norm(here - there)
    angle = (pair[0].angle + 90) % 180
    if other is None:
        reach = (card_mm[0] + card_mm[1]) / 2 + 20 + np.linalg.norm(pair[0].middle - here)
        spot = here + across * reach
        return Pose(float(spot[0]), float(spot[1]), angle)
    offset = other.middle - there
    offset = offset - 2 * (offset @ across) * across
    spot = here + offset
    return Pose(float(spot[0]), float(spot[1]), angle)


def with_room(card_mm: Size) -> Size:
    """Return the size of a slot for cards of a size, mm."""
    return card_mm[0] + 2 * ROOM_MM, card_mm[1] + 2 * ROOM_MM


def _around(place: Place, card_mm: Size) -> Points:
    x, y = place.middle.tolist()
    return card_rectangle(Pose(x, y, place.angle), with_room(card_mm))


def _sure(name: str, place: Place, coups: Sequence[tuple[int, int]]) -> str:
    seen = len(place.coups(coups))
    return f"{name}: cards in {seen} of {len(coups)} coups, within {place.spread:.0f} mm"


def _mouth(play: Play, plane: Homography, slots: Mapping[Slot, Points]) -> tuple[Points, str]:
    """Return the place from which dealt cards come into sight, along their way, clear of slots."""
    starts, ways = [], []
    for way in play.ways:
        first = plane.to_mm(way.middles[0][1]).astype(np.float64)
        if not way.rests or way.rests[0].since <= way.middles[0][0]:
            continue
        path = plane.to_mm(way.rests[0].middle).astype(np.float64) - first
        far = float(np.linalg.norm(path))
        if far >= FAR_MM:
            starts.append(first)
            ways.append(path / far)
    if len(starts) < 2:
        raise NotEnoughError(
            "no card was seen to come out of the shoe: see that the shoe's mouth is in the "
            "picture and watch longer (--minutes), or mark it with --place MOUTH=X,Y"
        )
    along = np.sum(ways, axis=0) / float(np.linalg.norm(np.sum(ways, axis=0)))
    # A card is often seen late; those seen first show best where they come from.
    early = np.argsort(np.array(starts) @ along)[: max(2, round(EARLY * len(starts)))]
    middle = np.median([starts[i] for i in early], axis=0)
    along = np.sum([ways[i] for i in early], axis=0)
    along = along / max(1e-6, float(np.linalg.norm(along)))
    words = f"MOUTH: where the first {len(early)} of {len(starts)} dealt cards came into sight"
    return _clear(middle, along, slots), words


def _clear(middle: Vector, along: Vector, slots: Mapping[Slot, Points]) -> Points:
    """Return the mouth's rectangle about a place, its far end drawn back from the slots."""
    side = np.array([-along[1], along[0]]) * MOUTH_HALF_MM
    for ahead in range(MOUTH_AHEAD_MM, -MOUTH_BACK_MM + 60, -10):
        back, front = middle - along * MOUTH_BACK_MM, middle + along * ahead
        mouth = np.array([back + side, back - side, front - side, front + side], np.float32)
        if not any(shared_area(mouth, area) > 0 for area in slots.values()):
            break
    return mouth


def _discard(
    play: Play, plane: Homography, slots: Mapping[Slot, Points]
) -> tuple[Points | None, str]:
    """Return the place where cards that lay in slots were last seen."""
    ends = []
    for way in play.ways:
        lay = any(_near_slot(plane.to_mm(rest.middle), slots) for rest in way.rests)
        last = plane.to_mm(way.last[1]).astype(np.float64)
        if lay and not _near_slot(last, slots) and way.travelled() >= TRAVEL_CARDS:
            # A hand hides the card before it lies there: on by one more step.
            step = last - plane.to_mm(way.middles[-2][1])
            far = max(1.0, float(np.linalg.norm(step)))
            ends.append(last + step * min(1.0, MOST_AHEAD_MM / far))
    near = _densest(ends)
    if near is None:
        return None, "DISCARD: no card was seen to go anywhere; mark it with --place DISCARD=X,Y"
    x, y = np.median([ends[i] for i in near], axis=0).tolist()
    words = f"DISCARD: {len(near)} of {len(ends)} cards taken away were last seen there"
    side = 2 * DISCARD_HALF_MM
    return card_rectangle(Pose(x, y, 0.0), (side, side)), words


def _near_slot(spot: Vector | Points, slots: Mapping[Slot, Points]) -> bool:
    return any(np.linalg.norm(spot - area.mean(axis=0)) < NEAR_MM for area in slots.values())


def _densest(spots: Sequence[Vector]) -> list[int] | None:
    """Return the numbers of the spots around which most others lie; `None` for fewer than two."""
    if not spots:
        return None
    every = np.array(spots)
    apart = np.linalg.norm(every[:, None] - every, axis=2)
    near = apart < NEAR_MM
    best = int(near.sum(axis=1).argmax())
    found = np.flatnonzero(near[best]).tolist()
    return found if len(found) >= 2 else None


# --- where cards lay, and which coups there were -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lying:
    """A card at a place for a while (ms)."""

    pose: Pose
    since: int
    until: int


@dataclass(slots=True, eq=False)
class Place:
    """Where cards lie again and again."""

    lying: list[Lying] = field(default_factory=list)

    @property
    def middle(self) -> Vector:
        """Where they lie, typically, mm."""
        return np.median([card.pose.centre for card in self.lying], axis=0)

    @property
    def angle(self) -> float:
        """The mean direction of the cards' long sides, degrees."""
        total = sum(cmath.exp(2j * np.radians(card.pose.angle)) for card in self.lying)
        return float(np.degrees(cmath.phase(total)) / 2 % 180)

    @property
    def spread(self) -> float:
        """How far from the middle the cards lie, root mean square mm."""
        off = np.array([card.pose.centre for card in self.lying]) - self.middle
        return float(np.sqrt((off**2).sum(axis=1).mean()))

    def coups(self, coups: Sequence[tuple[int, int]]) -> list[int]:
        """Return the numbers of the coups in which a card was laid here."""
        return [
            i
            for i, (start, end) in enumerate(coups)
            if any(start <= card.since < end for card in self.lying)
        ]

    def order(self, coups: Sequence[tuple[int, int]]) -> float:
        """Return how long after a coup's first card the first card comes here, typically, ms."""
        after = [
            min(c.since for c in self.lying if start <= c.since < end) - start
            for start, end in (coups[i] for i in self.coups(coups))
        ]
        return float(np.median(after)) if after else float("inf")


def places_and_coups(
    play: Play, plane: Homography, card_mm: Size
) -> tuple[list[Place], list[tuple[int, int]]]:
    """Return where cards lay again and again, and the coups from first to last card, ms."""
    lying = []
    for way in play.ways:
        for rest in way.rests:
            quad = rest.quad()
            if quad is not None:
                pose, misfit = fit_rectangle(plane.to_mm(quad), card_mm)
                if misfit < MOST_MISFIT_MM:
                    lying.append(Lying(pose, rest.since, rest.until))
    places = [_joined(place) for place in _clusters(lying)]
    ends = [way.last[0] for way in play.ways]
    total = max(ends, default=0) - min((way.middles[0][0] for way in play.ways), default=0)
    # What lies there nearly always is no slot: the pile of the discard, a card in the shoe.
    places = [p for p in places if sum(c.until - c.since for c in p.lying) < ALWAYS * total]
    coups = _coups([card for place in places for card in place.lying])
    return places, coups


def _clusters(lying: Sequence[Lying]) -> list[Place]:
    places: list[Place] = []
    for card in lying:
        near = [(float(np.linalg.norm(p.middle - card.pose.centre)), p) for p in places]
        best = min(near, key=lambda found: found[0], default=None)
        if best is not None and best[0] <= SAME_PLACE_MM:
            best[1].lying.append(card)
        else:
            places.append(Place([card]))
    return places


def _joined(place: Place) -> Place:
    """Join what was one card, lost from sight for a moment."""
    out: list[Lying] = []
    for card in sorted(place.lying, key=lambda c: c.since):
        if out and card.since - out[-1].until < GAP_MS:
            out[-1] = Lying(out[-1].pose, out[-1].since, max(card.until, out[-1].until))
        else:
            out.append(card)
    return Place(out)


def _coups(lying: Sequence[Lying]) -> list[tuple[int, int]]:
    """Return the spans in which cards lay on the table; fewer than four are no coup."""
    spans: list[tuple[int, int, int]] = []
    for card in sorted(lying, key=lambda c: c.since):
        if spans and card.since <= spans[-1][1] + CLEAR_MS:
            start, end, count = spans[-1]
            spans[-1] = (start, max(end, card.until), count + 1)
        else:
            spans.append((card.since, card.until, 1))
    return [(start, end + 1) for start, end, count in spans if count >= LEAST_CARDS]
