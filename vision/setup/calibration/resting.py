"""Where cards rested while play was watched: places, and the coups in which each was used.

A rest is believed whatever track it belongs to: a card that lies still is a card, while a track is
easily broken under a hand.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vision.setup.calibration.observed_play import Play
from vision.sight.geometry.plane import Homography, Pose, fit_rectangle

Vector = NDArray[np.float64]
Size = tuple[float, float]
Span = tuple[int, int]

# Cards whose middles lie closer than this, and whose long sides differ by less, lie at the same
# place; mm and degrees: less than the width of a poker card with the gap to its neighbour, and half
# of what tells a third card. Larger, neighbours are one place; smaller, an untidy dealer's is two.
SAME_PLACE_MM, SAME_TURN = 38.0, 45.0
# Corners of a resting card may be this far off a card's form, mm (root mean square); more, and the
# outline is not a whole card.
MOST_MISFIT_MM = 4.0
# A card that comes back to its place within this, ms, was only hidden by a hand.
GAP_MS = 3000
# Places without cards for this long, ms, end a coup.
CLEAR_MS = 700
# A median of untidily laid cards is never surer than this, mm: dealers lay to one side of a slot.
LEAST_UNSURE_MM = 2.0


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
    def pose(self) -> Pose:
        """The typical card."""
        x, y = self.middle.tolist()
        return Pose(x, y, self.angle)

    @property
    def unsure_mm(self) -> float:
        """How uncertain the middle is (1 sigma), mm."""
        off = np.array([card.pose.centre for card in self.lying]) - self.middle
        # A single card says nothing about its dealer's scatter: a card's quarter is assumed.
        spread = float(np.sqrt((off**2).sum(axis=1).mean())) if len(self.lying) > 1 else 15.0
        return float(np.hypot(spread / np.sqrt(len(self.lying)), LEAST_UNSURE_MM))

    @property
    def dwell(self) -> int:
        """How long cards lay here in all, ms."""
        return sum(card.until - card.since for card in self.lying)

    def arrivals(self, coups: Sequence[Span]) -> list[int | None]:
        """Return when the first card came here in each coup, ms, `None` where none did."""
        return [
            min((c.since for c in self.lying if start <= c.since < end), default=None)
            for start, end in coups
        ]


def resting_places(play: Play, plane: Homography, card_mm: Size) -> list[Place]:
    """Return the places where cards lay still, those used longest first."""
    lying = []
    for way in play.ways:
        for rest in way.rests:
            quad = rest.quad()
            if quad is not None:
                pose, misfit = fit_rectangle(plane.to_mm(quad), card_mm)
                if misfit < MOST_MISFIT_MM:
                    lying.append(Lying(pose, rest.since, rest.until))
    lying.sort(key=lambda card: card.since - card.until)
    return sorted(map(_joined, _clusters(lying)), key=lambda place: -place.dwell)


def spans(lying: Sequence[Lying]) -> list[Span]:
    """Return the times in which cards lay, apart where none did for a while."""
    found: list[Span] = []
    for card in sorted(lying, key=lambda c: c.since):
        if found and card.since <= found[-1][1] + CLEAR_MS:
            found[-1] = (found[-1][0], max(found[-1][1], card.until + 1))
        else:
            found.append((card.since, card.until + 1))
    return found


def _clusters(lying: Sequence[Lying]) -> list[Place]:
    """Put cards together that lie at one place; those that lay longest found the places."""
    places: list[Place] = []
    for card in lying:
        near = [
            (float(np.linalg.norm(place.middle - card.pose.centre)), n)
            for n, place in enumerate(places)
            if place.pose.turn(card.pose) < SAME_TURN
        ]
        best = min(near, default=None)
        if best is not None and best[0] <= SAME_PLACE_MM:
            places[best[1]].lying.append(card)
        else:
            places.append(Place([card]))
    return places


def _joined(place: Place) -> Place:
    """Join what was one card, lost from sight for a moment."""
    out: list[Lying] = []
    for card in sorted(place.lying, key=lambda c: c.since):
        if out and card.since - out[-1].until < GAP_MS:
            longer = max(out[-1], card, key=lambda c: c.until - c.since)
            out[-1] = Lying(longer.pose, out[-1].since, max(card.until, out[-1].until))
        else:
            out.append(card)
    return Place(out)
