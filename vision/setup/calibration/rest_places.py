"""Where cards lay again and again during play, and which coups there were.

From the cards seen at rest and the table plane; knows nothing of what the places are called.
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

SAME_PLACE_MM = 38.0
GAP_MS = 3000
CLEAR_MS = 700
ALWAYS = 0.7


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
                if misfit < 4.0:
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
        best = min(near, key=lambda one: one[0], default=None)
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
    """Return the spans in which cards lay on the table; coups of fewer than four are none."""
    spans: list[tuple[int, int, int]] = []
    for card in sorted(lying, key=lambda c: c.since):
        if spans and card.since <= spans[-1][1] + CLEAR_MS:
            start, end, count = spans[-1]
            spans[-1] = (start, max(end, card.until), count + 1)
        else:
            spans.append((card.since, card.until, 1))
    return [(start, end + 1) for start, end, count in spans if count >= 4]
