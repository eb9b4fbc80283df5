"""Sightings laid on the table, and matched to what was seen before, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Pose, TableView

# A box whose corners lie this far (root mean square) from a card's is a chip, a phone or two cards:
# larger, and chips pass; smaller, and cards half under a hand are lost.
MAX_MISFIT_MM = 25.0
# Two boxes in one frame nearer than this are one card; two real cards cannot lie so.
SAME_CARD_MM = 12.0
CROSSED_SAME_CARD_MM = 20.0  # the same for a second box turned across the first, as under fingers
ACROSS_DEGREES = 20.0  # from here on two boxes count as turned against each other
OTHER_KIND_COST_MM = 8.0  # a face seldom becomes a back between two looks
LOST_COST_MM = 15.0  # what was seen in the last looks is matched before what was lost
# A card at rest does not turn by itself: a sighting askew over it is another card passing.
FREE_TURN_DEGREES = 8.0
TURN_COST_MM_PER_DEGREE = 0.6
HOME_MM = 15.0  # a sighting this near to where a card was laid is that card


@dataclass(frozen=True, slots=True)
class Sighting:
    """A detection laid on the table: where a card lies in this frame."""

    pose: Pose
    kind: Kind
    score: float


class Followed(Protocol):
    """What matching needs to know of a run of sightings."""

    @property
    def kind(self) -> Kind:
        """The kind last seen."""

    @property
    def rest(self) -> Pose | None:
        """Where it lies still, if it does."""

    @property
    def anchor(self) -> Pose | None:
        """Where it is known to have been laid, if it was."""

    def expected(self, at: int, since: int) -> tuple[Pose, float, bool]:
        """Return the pose to expect, how far off (mm) it may be, and whether it was lost.

        What was seen at `since` (ms) or later was seen at the look before this one.
        """


def sightings_of(view: TableView, detections: Sequence[Detection]) -> tuple[Sighting, ...]:
    """Lay detections on the table, surest first; drop other sizes than a card's, and doubles."""
    kept: list[Sighting] = []
    for detection in sorted(detections, key=lambda d: -d.score):
        pose, misfit = view.locate(detection.quad)
        if misfit <= MAX_MISFIT_MM and not any(_same_card(pose, other.pose) for other in kept):
            kept.append(Sighting(pose, detection.kind, detection.score))
    return tuple(kept)


def _askew(pose: Pose, other: Pose) -> float:
    """Return what the turn of a sighting against a card at rest costs, mm."""
    return TURN_COST_MM_PER_DEGREE * max(0.0, pose.turn(other) - FREE_TURN_DEGREES)


def _same_card(pose: Pose, other: Pose) -> bool:
    limit = SAME_CARD_MM if pose.turn(other) < ACROSS_DEGREES else CROSSED_SAME_CARD_MM
    return pose.distance(other) < limit


def match(
    followed: Sequence[Followed], sightings: Sequence[Sighting], at: int, since: int
) -> dict[int, int]:
    """Pair runs with sightings, nearest first; returns index of run -> index of sighting.

    `at` is the time (ms) of this look; what was seen since `since` was seen at the one before.
    """
    costs: list[tuple[float, int, int]] = []
    for i, run in enumerate(followed):
        pose, reach, lost = run.expected(at, since)
        for j, sighting in enumerate(sightings):
            distance = pose.distance(sighting.pose)
            if run.rest is not None:
                # Seen astray for a moment, as under a passing card, it still lies where it lay.
                distance = min(distance, run.rest.distance(sighting.pose))
                distance += _askew(pose, sighting.pose)
            if run.anchor is not None:
                # What lies where a card was laid is that card before it is one that passes.
                home = run.anchor.distance(sighting.pose) + _askew(run.anchor, sighting.pose)
                distance = min(distance, home) if home <= HOME_MM else distance
            if distance <= reach:
                cost = distance + (OTHER_KIND_COST_MM if sighting.kind is not run.kind else 0.0)
                costs.append((cost + (LOST_COST_MM if lost else 0.0), i, j))
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(costs):
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs
