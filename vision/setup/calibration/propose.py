"""Propose slots, mouth and discard from the play that was watched, or say which are not known.

The usual way of dealing is assumed: the first card is Punto's. What the play does not show
consistently is not proposed but named, with the reason and, where there is one, a guess to look at.
A proposal is looked at by a person before it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vision.setup.calibration.grid import (
    Grid,
    NotEnoughError,
    Pair,
    find_grid,
    in_order,
    mirrored,
    third_places,
)
from vision.setup.calibration.observed_play import Play
from vision.setup.calibration.openings import (
    discard_area,
    discard_spot,
    mouth_area,
    mouth_spot,
    pile,
)
from vision.setup.calibration.resting import Place, Size, Vector, resting_places
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Homography, Pose, card_rectangle

__all__ = ["NotEnoughError", "Proposal", "propose", "with_room"]

# A slot is larger than a card by this on every side, mm: dealers lay cards down that exactly.
ROOM_MM = 8.0
# A place that is less sure than this (1 sigma, mm) is not proposed: at twice that, a card laid in
# the middle of its slot would lie on the slot's border.
MOST_UNSURE_MM = 7.0
# The pile and the ends of the cards' ways are one discard within this, mm: half a proposed one.
DISAGREE_MM = 75.0


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """The places that are known, by name (polygons in mm), why others are not, and how sure."""

    known: Mapping[str, Points]
    unknown: Mapping[str, str]
    words: tuple[str, ...]


def propose(play: Play, plane: Homography, card_mm: Size) -> Proposal:
    """Propose the places of a table; NotEnoughError where the hands' places are not seen."""
    places = resting_places(play, plane, card_mm)
    grid = find_grid(places, card_mm)
    hands = in_order(grid)
    thirds = third_places(hands, places, grid.coups, card_mm)
    sheet = _Sheet(plane, card_mm, grid)
    for which, side in enumerate(("PUNTO", "BANCO")):
        for number, place in enumerate(hands[which], start=1):
            sheet.slot(f"{side}_{number}", place)
        sheet.third(which, hands, thirds)
    _openings(sheet, play, grid, places)
    return Proposal(sheet.known, sheet.unknown, tuple(sheet.words))


class _Sheet:
    """Collects what is known, what is not, and the words about both."""

    def __init__(self, plane: Homography, card_mm: Size, grid: Grid) -> None:
        self.plane = plane
        self.card_mm = card_mm
        self.coups = grid.coups
        self.known: dict[str, Points] = {}
        self.unknown: dict[str, str] = {}
        self.words: list[str] = []

    def slot(self, name: str, place: Place) -> None:
        """Note a slot where cards lay, if they lay there closely enough."""
        came = sum(at is not None for at in place.arrivals(self.coups))
        seen = f"cards in {came} of {len(self.coups)} coups"
        if place.unsure_mm > MOST_UNSURE_MM:
            why = f"{seen}, but sure to {place.unsure_mm:.0f} mm only"
            self.missing(name, why, place.pose)
        else:
            self.known[name] = card_rectangle(place.pose, with_room(self.card_mm))
            self.words.append(f"{name}: {seen}, sure to {place.unsure_mm:.0f} mm (1 sigma)")

    def third(self, which: int, hands: tuple[Pair, Pair], thirds: Sequence[Place | None]) -> None:
        """Note a hand's third slot; unknown, it is guessed from the other hand's."""
        name, place, other = f"{('PUNTO', 'BANCO')[which]}_3", thirds[which], thirds[1 - which]
        if place is not None:
            self.slot(name, place)
        elif other is None:
            self.missing(name, "no card was seen to lie crosswise beside this hand", None)
        else:
            x, y = mirrored(other, hands[1 - which], hands[which]).tolist()
            why = "no card, or a single one, was seen to lie crosswise beside this hand"
            self.missing(name, why, Pose(x, y, other.angle))

    def missing(self, name: str, why: str, guess: Pose | None) -> None:
        """Note a place that is not known, and where it perhaps is."""
        self.unknown[name] = why + ("" if guess is None else f", perhaps {self._mark(name, guess)}")
        self.words.append(f"{name}: not known: {self.unknown[name]}")

    def _mark(self, name: str, guess: Pose) -> str:
        x, y = self.plane.to_px(np.array(guess.centre))
        return f"--place {name}={x:.0f},{y:.0f},{guess.angle:.0f}"


def _openings(sheet: _Sheet, play: Play, grid: Grid, places: Sequence[Place]) -> None:
    """Note the mouth and the discard."""
    hands = grid.hands
    mouth = mouth_spot(play, sheet.plane, hands)
    if mouth is None:
        why = "cards for the two hands were not seen to begin at one spot"
        sheet.missing("MOUTH", why, None)
    else:
        sheet.known["MOUTH"] = mouth_area(mouth, [*sheet.known.values()])
        sheet.words.append(
            f"MOUTH: where {mouth.cards} of {mouth.of} dealt cards came into sight, "
            f"sure to {mouth.unsure_mm:.0f} mm (1 sigma)"
        )
    heap, ends = pile(places, grid), discard_spot(play, sheet.plane, hands, mouth)
    if heap is not None and ends is not None and _apart(heap.middle, ends.middle) > DISAGREE_MM:
        sheet.missing("DISCARD", "cards end at one spot and lie on at another", heap.pose)
    elif heap is not None:
        sheet.known["DISCARD"] = discard_area(heap.middle)
        sheet.words.append("DISCARD: where a card lay on from the end of a coup")
    elif ends is not None:
        sheet.known["DISCARD"] = discard_area(ends.middle)
        sheet.words.append(
            f"DISCARD: {ends.cards} of {ends.of} cards taken away were last seen there"
        )
    else:
        sheet.missing("DISCARD", "cards of the two hands were not seen to end at one spot", None)


def _apart(one: Vector, two: Vector) -> float:
    return float(np.linalg.norm(one - two))


def with_room(card_mm: Size) -> Size:
    """Return the size of a slot for cards of a size, mm."""
    return card_mm[0] + 2 * ROOM_MM, card_mm[1] + 2 * ROOM_MM
