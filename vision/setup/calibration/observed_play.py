"""The play watched for a calibration: where cards came to rest, and where they were on the way.

Everything is in pixels, because the plane is not known yet: the cards that lie still are what it
will be fitted to. No card is followed from place to place: a track is easily broken under a hand,
a rest is not.
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
# A rest missed for this long, ms, is over; shorter, a hand that passes ends it.
LOST_MS = 700
# Looks at the edges of a resting card, and the ms between them: their median steadies the corners.
SAMPLES = 5
SAMPLE_EVERY_MS = 250


@dataclass(slots=True, eq=False)
class Rest:
    """A card lying still from `since` to `until` (ms) about `middle` (px).

    `corners` holds looks (4 x 2 px) at its true edges, `boxes` at the detector's outline.
    """

    since: int
    until: int
    middle: Vector
    corners: list[Vector] = field(default_factory=list)
    boxes: list[Vector] = field(default_factory=list)
    sample_due: int = 0

    def quad(self) -> Vector:
        """Return its corners (4 x 2 px), those of its edges where they were clear."""
        return np.median(np.stack(self.corners or self.boxes), axis=0)


class Play:
    """The rests seen so far; `edges` makes a detection's corners exact.

    `on_the_way` holds each other sighting of a card: when (ms), and the middle of its outline (px).
    """

    def __init__(self, edges: Edges = true_corners) -> None:
        self.on_the_way: list[tuple[int, Vector]] = []
        self._found: list[Rest] = []
        self._live: list[Rest] = []
        self._edges = edges

    @property
    def rests(self) -> list[Rest]:
        """The cards that lay still, in the order in which they began to."""
        return sorted(self._found, key=lambda rest: rest.since)

    def see(self, image: Image, detections: Sequence[Detection], at: int) -> None:
        """Take a picture with what the detector found in it."""
        self._live = [rest for rest in self._live if at - rest.until <= LOST_MS]
        for detection in detections:
            if detection.kind is not Kind.CUT:
                self._take(image, detection.quad.astype(np.float64), at)

    def things(self, card_mm: tuple[float, float]) -> list[Thing]:
        """Return the cards that lay still, as things of known form, those with most looks first."""
        width, height = card_mm
        form = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
        clear = [rest for rest in self._found if len(rest.corners) >= 2]
        clear.sort(key=lambda rest: -len(rest.corners))
        return [Thing(form, rest.quad(), f"card at {rest.since} ms") for rest in clear]

    def _take(self, image: Image, quad: Vector, at: int) -> None:
        """Let a sighting go on with the rest at its place, or perhaps begin one."""
        middle, limit = quad.mean(axis=0), STILL_SHARE * short_side(quad.astype(np.float32))
        near = [r for r in self._live if r.until < at and math.dist(r.middle, middle) <= limit]
        rest = min(near, key=lambda r: math.dist(r.middle, middle), default=None)
        if rest is None:
            rest = Rest(at, at, middle)
            self._live.append(rest)
        rest.until = at
        if at - rest.since < STILL_MS:
            self.on_the_way.append((at, middle))
            return
        if not rest.boxes:
            self._found.append(rest)
        if len(rest.corners) < SAMPLES and at >= rest.sample_due:
            self._sample(rest, image, quad, at)

    def _sample(self, rest: Rest, image: Image, quad: Vector, at: int) -> None:
        rest.sample_due = at + SAMPLE_EVERY_MS
        rest.boxes = [*rest.boxes[-SAMPLES:], quad]
        corners = self._edges(image, quad)
        if corners is not None:
            rest.corners.append(corners)
