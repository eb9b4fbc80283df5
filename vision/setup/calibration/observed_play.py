"""The play watched for a calibration: the way of each card through the picture, and its rests.

Everything is in pixels, because the plane is not known yet: the cards that lie still are what it
will be fitted to. A way is easily broken under a hand; a rest is not, so that where cards lie is
taken from all rests, and only where they begin and end from ways (`openings`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vision.setup.calibration.card_edges import true_corners
from vision.setup.calibration.solver import Thing
from vision.sight.detection.detector import Detection, Kind, short_side
from vision.sight.geometry.frame import Image

Vector = NDArray[np.float64]
Edges = Callable[[Image, Vector], Vector | None]

# The constants below were chosen on simulated films of 15 to 30 frames a second.
# A card lies still when its middle stays within this share of its short side for so many ms. Larger
# or shorter, cards sliding to their place count as resting.
STILL_SHARE = 0.08
STILL_MS = 300
# A card out of sight for this long, ms, is gone; longer, the next card takes over its way.
LOST_MS = 700
# Between two looks a card moves this many of its widths at most; one in flight (seen moving within
# the last so many ms) up to the second figure. Larger, neighbours are confused.
REACH_CARDS = 1.6
FLIGHT_CARDS = 6.0
FLIGHT_MS = 300
# Looks at the edges of a resting card, and the ms between them: their median steadies the corners.
SAMPLES = 5
SAMPLE_EVERY_MS = 250


@dataclass(slots=True, eq=False)
class Rest:
    """A card lying still from `since` to `until` (ms); `corners` holds looks (4 x 2 px) at it."""

    since: int
    until: int
    middle: Vector
    corners: list[Vector] = field(default_factory=list)
    sampled_at: int = -(10**9)

    def quad(self) -> Vector | None:
        """Return its corners (4 x 2 px), `None` where its edges were never clear."""
        return np.median(np.stack(self.corners), axis=0) if self.corners else None


@dataclass(slots=True, eq=False)
class Way:
    """One card followed through the picture: its middles (at, x, y px) and where it rested."""

    middles: list[tuple[int, Vector]]
    size: float
    rests: list[Rest] = field(default_factory=list)

    @property
    def last(self) -> tuple[int, Vector]:
        """When and where it was last seen."""
        return self.middles[-1]

    def flies(self, at: int) -> bool:
        """Whether it was on the move a moment ago: a dealt card goes far between two looks."""
        moving = not self.rests or self.rests[-1].until < self.last[0]
        return moving and at - self.last[0] <= FLIGHT_MS

    def travelled(self) -> float:
        """Return how far from its first place it came, in its own widths."""
        first = self.middles[0][1]
        return max(float(np.linalg.norm(at - first)) for _, at in self.middles) / self.size


class Play:
    """The ways of all cards seen so far; `edges` makes a detection's corners exact."""

    def __init__(self, edges: Edges = true_corners) -> None:
        self.ways: list[Way] = []
        self._live: list[Way] = []
        self._edges = edges

    def see(self, image: Image, detections: Sequence[Detection], at: int) -> None:
        """Take a picture with what the detector found in it."""
        cards = [d for d in detections if d.kind is not Kind.CUT]
        self._live = [way for way in self._live if at - way.last[0] <= LOST_MS]
        pairs = self._paired(cards, at)
        for i, detection in enumerate(cards):
            way = pairs.get(i)
            middle = detection.quad.astype(np.float64).mean(axis=0)
            if way is None:
                way = Way([(at, middle)], short_side(detection.quad))
                self._live.append(way)
                self.ways.append(way)
            else:
                way.middles.append((at, middle))
            self._rest(way, image, detection, at)

    def things(self, card_mm: tuple[float, float]) -> list[Thing]:
        """Return the cards that lay still, as things of known form, those with most looks first."""
        width, height = card_mm
        form = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
        rests = [rest for way in self.ways for rest in way.rests if len(rest.corners) >= 2]
        rests.sort(key=lambda rest: -len(rest.corners))
        found = ((rest.quad(), rest.since) for rest in rests)
        return [Thing(form, quad, f"card at {at} ms") for quad, at in found if quad is not None]

    def _paired(self, cards: Sequence[Detection], at: int) -> dict[int, Way]:
        """Match detections to the ways that go on, nearest first; then those in flight."""
        costs = []
        for i, card in enumerate(cards):
            middle = card.quad.astype(np.float64).mean(axis=0)
            for j, way in enumerate(self._live):
                apart = float(np.linalg.norm(middle - way.last[1])) / way.size
                near = apart <= REACH_CARDS * (1 + (at - way.last[0]) / LOST_MS)
                if near or (apart <= FLIGHT_CARDS and way.flies(at)):
                    costs.append((apart if near else 100 + apart, i, j))
        pairs: dict[int, Way] = {}
        taken: set[int] = set()
        for _, i, j in sorted(costs):
            if i not in pairs and j not in taken:
                pairs[i] = self._live[j]
                taken.add(j)
        return pairs

    def _rest(self, way: Way, image: Image, detection: Detection, at: int) -> None:
        """Note that the card lies still, and look at its edges from time to time."""
        rest = way.rests[-1] if way.rests else None
        middle = way.last[1]
        limit = STILL_SHARE * way.size
        if rest is not None and math.dist(rest.middle, middle) <= limit and _goes_on(rest, at):
            rest.until = at
        else:
            since = _still_since(way, limit)
            if at - since < STILL_MS:
                return
            rest = Rest(since, at, middle)
            way.rests.append(rest)
        if len(rest.corners) < SAMPLES and at - rest.sampled_at >= SAMPLE_EVERY_MS:
            rest.sampled_at = at
            corners = self._edges(image, detection.quad.astype(np.float64))
            if corners is not None:
                rest.corners.append(corners)


def _goes_on(rest: Rest, at: int) -> bool:
    return at - rest.until <= LOST_MS


def _still_since(way: Way, limit: float) -> int:
    """Return since when the way has not left its last place."""
    since, last = way.last
    for at, middle in reversed(way.middles):
        if math.dist(middle, last) > limit:
            break
        since = at
    return since
