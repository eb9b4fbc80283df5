"""One card followed over time: where it is, whether it rests, what is known of it.

`Followed` changes with every sighting and belongs to the tracker; `Track` is the frozen picture
of it that the reader gets. Knows nothing of other cards or of the table's places.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import Pose
from vision.sight.tracking.association import Sighting
from vision.sight.tracking.background import Patch

REST_SPREAD_MM = 8.0
REST_MS = 180
MEMORY_MS = 600
AT_REST_REACH_MM = 40.0
MOVING_REACH_MM = 60.0
SPEED_LIMIT_MM_S = 1500.0
FOLLOW_MS = 500
LOST_MS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """A card that left the shoe, as of one frame.

    `quad` is 4 x 2 pixels of the card's true rectangle, to rectify; `seen` says that it was
    detected in this frame, `resting` that it lies still. `placed_at` and `slot` tell where it was
    laid (`slot` is `None` outside the slots), `gone` that it has left the table for good: a
    track is returned once with `gone` set and then no more.
    """

    id: int
    pose: Pose
    quad: Points
    kind: Kind
    seen: bool
    resting: bool
    out_at: int
    placed_at: int | None = None
    slot: Slot | None = None
    gone: bool = False


@dataclass(slots=True, eq=False)
class Followed:
    """A card, or what may be one, while it is followed; times in ms, places in mm."""

    id: int
    pose: Pose
    first: Pose
    born_at: int
    seen_at: int
    from_mouth: bool
    kinds: Counter[Kind]
    kind: Kind
    recent_kinds: deque[Kind]
    sightings: int = 1
    frames: int = 1
    recent: deque[tuple[int, Pose]] = field(default_factory=deque)
    rest: Pose | None = None
    rest_since: int = 0
    strays: int = 0
    velocity: tuple[float, float] = (0.0, 0.0)
    out_at: int | None = None
    placed: Pose | None = None
    placed_at: int | None = None
    slot: Slot | None = None
    patch: Patch | None = None
    patch_at: int = 0
    absent_since: int | None = None
    face_seen: bool = False
    gone: bool = False

    @classmethod
    def begin(cls, number: int, sighting: Sighting, at: int, *, from_mouth: bool) -> Followed:
        """Start following what was seen for the first time."""
        pose, kind = sighting.pose, sighting.kind
        last = deque([kind], maxlen=5)
        new = cls(number, pose, pose, at, at, from_mouth, Counter({kind: 1}), kind, last)
        new.recent.append((at, pose))
        return new

    def expected(self, at: int) -> tuple[Pose, float, bool]:
        """Return the pose to expect, how far off (mm) it may be, and whether it was lost."""
        unseen = at - self.seen_at
        if self.rest is not None and (not self.strays or unseen > LOST_MS):
            return self.rest, AT_REST_REACH_MM, unseen > LOST_MS
        if unseen > FOLLOW_MS:
            return self.placed or self.pose, AT_REST_REACH_MM, True
        ahead = min(unseen, LOST_MS) / 1000
        x, y = self.pose.x + self.velocity[0] * ahead, self.pose.y + self.velocity[1] * ahead
        reach = MOVING_REACH_MM + SPEED_LIMIT_MM_S * min(unseen / 1000, 0.1)
        return Pose(x, y, self.pose.angle), reach, unseen > LOST_MS

    def see(self, sighting: Sighting, at: int) -> None:
        """Take the sighting of this frame."""
        elapsed = max(at - self.seen_at, 1) / 1000
        if elapsed < 0.5:
            x = (sighting.pose.x - self.pose.x) / elapsed
            y = (sighting.pose.y - self.pose.y) / elapsed
            self.velocity = ((self.velocity[0] + x) / 2, (self.velocity[1] + y) / 2)
        else:
            self.velocity = (0.0, 0.0)
        self.pose, self.seen_at = sighting.pose, at
        self.kinds[sighting.kind] += 1
        self.recent_kinds.append(sighting.kind)
        # One wrong kind among five sightings must not turn a card over.
        self.kind = Counter(self.recent_kinds).most_common(1)[0][0]
        self.sightings += 1
        self.absent_since = None
        self.recent.append((at, sighting.pose))
        while at - self.recent[0][0] > MEMORY_MS:
            self.recent.popleft()
        self._settle(at)

    def _settle(self, at: int) -> None:
        """Find out whether the card rests, and keep the mean of where it does."""
        if self.rest is not None and self.rest.distance(self.pose) <= REST_SPREAD_MM:
            self.strays = 0
            self.rest = blend(self.rest, self.pose, 0.15)
            return
        window = [(t, pose) for t, pose in self.recent if at - t <= 1.5 * REST_MS]
        mean = mean_pose([pose for _, pose in window])
        spread = max(mean.distance(pose) for _, pose in window)
        if len(window) >= 2 and at - window[0][0] >= REST_MS and spread <= REST_SPREAD_MM:
            self.rest, self.rest_since, self.strays = mean, window[0][0], 0
            return
        self.strays += 1
        # One or two sightings astray are a hand across the card, not a card on the move.
        if self.strays >= 3:
            self.rest = None

    def take_over(self, other: Followed) -> None:
        """Go on as the same card, found again as `other`."""
        self.pose, self.kind, self.seen_at = other.pose, other.kind, other.seen_at
        self.rest, self.rest_since = other.rest, other.rest_since
        self.recent, self.velocity, self.strays = other.recent, other.velocity, 0
        self.recent_kinds = other.recent_kinds
        self.kinds += other.kinds
        self.absent_since = None

    @property
    def resting(self) -> bool:
        """Whether the card lies still."""
        return self.rest is not None

    @property
    def is_cut(self) -> bool:
        """Whether most sightings were of the cut card."""
        return 2 * self.kinds[Kind.CUT] > self.kinds.total()

    @property
    def on_course(self) -> bool:
        """Whether the sightings lie on one way, as a card's do, and not hither and thither."""
        poses = [self.first, *(pose for _, pose in self.recent)]
        way = sum(one.distance(other) for one, other in pairwise(poses))
        return 2 * self.sightings > self.frames and way <= 1.5 * self.first.distance(self.pose)

    def moved(self, least_mm: float) -> bool:
        """Whether two sightings lie that far from where the card was first seen."""
        return sum(self.first.distance(pose) >= least_mm for _, pose in self.recent) >= 2


def blend(old: Pose, new: Pose, share: float) -> Pose:
    """Move a pose a share of the way (0 to 1) to another, angles the short way round."""
    turn = (new.angle - old.angle + 90.0) % 180.0 - 90.0
    return Pose(
        old.x + share * (new.x - old.x),
        old.y + share * (new.y - old.y),
        (old.angle + share * turn) % 180.0,
    )


def mean_pose(poses: list[Pose]) -> Pose:
    """Return the mean of poses (at least one); axes are averaged modulo 180 degrees."""
    doubled = np.radians([2 * pose.angle for pose in poses])
    angle = np.degrees(np.arctan2(np.sin(doubled).mean(), np.cos(doubled).mean())) / 2
    x, y = np.mean([pose.x for pose in poses]), np.mean([pose.y for pose in poses])
    return Pose(float(x), float(y), float(angle) % 180.0)
