"""Which sighting is which card: double detections made one, sightings matched to tracks.

Works on poses in millimetres and one number per track, its reach. Knows nothing of places,
events or faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Pose, TableView

MAX_MISFIT_MM = 25.0
SAME_CARD_MM = 12.0
CROSSED_SAME_CARD_MM = 20.0
OTHER_KIND_COST_MM = 8.0
LOST_COST_MM = 15.0
# A card at rest does not turn by itself: a sighting askew over it is another card passing.
FREE_TURN_DEGREES = 8.0
TURN_COST_MM_PER_DEGREE = 0.6


@dataclass(frozen=True, slots=True)
class Sighting:
    """A detection laid on the table: where a card lies in this frame."""

    pose: Pose
    kind: Kind
    score: float


class Followed(Protocol):
    """What matching needs to know of a track."""

    @property
    def kind(self) -> Kind:
        """The kind last seen."""

    @property
    def rest(self) -> Pose | None:
        """Where it lies still, if it does."""

    def expected(self, at: int) -> tuple[Pose, float, bool]:
        """Return the pose to expect, how far off (mm) it may be, and whether it was lost."""


def sightings_of(view: TableView, detections: Sequence[Detection]) -> tuple[Sighting, ...]:
    """Lay detections on the table, best first; leave out what is no card's size or seen twice."""
    kept: list[Sighting] = []
    for detection in sorted(detections, key=lambda d: -d.score):
        pose, misfit = view.locate(detection.quad)
        if misfit <= MAX_MISFIT_MM and not any(_same_card(pose, other.pose) for other in kept):
            kept.append(Sighting(pose, detection.kind, detection.score))
    return tuple(kept)


def _same_card(one: Pose, other: Pose) -> bool:
    limit = SAME_CARD_MM if one.turn(other) < 20.0 else CROSSED_SAME_CARD_MM
    return one.distance(other) < limit


def match(tracks: Sequence[Followed], sightings: Sequence[Sighting], at: int) -> dict[int, int]:
    """Pair tracks with sightings, nearest first; returns track position -> sighting position."""
    costs: list[tuple[float, int, int]] = []
    for i, track in enumerate(tracks):
        pose, reach, lost = track.expected(at)
        for j, sighting in enumerate(sightings):
            distance = pose.distance(sighting.pose)
            if track.rest is not None:
                # Seen astray for a moment, as under a passing card, it still lies where it lay.
                distance = min(distance, track.rest.distance(sighting.pose))
                askew = max(0.0, pose.turn(sighting.pose) - FREE_TURN_DEGREES)
                distance += TURN_COST_MM_PER_DEGREE * askew
            if distance <= reach:
                cost = distance + (OTHER_KIND_COST_MM if sighting.kind is not track.kind else 0.0)
                costs.append((cost + (LOST_COST_MM if lost else 0.0), i, j))
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(costs):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs
