"""An unbroken run of sightings of one thing: where it is, how it moves, whether it rests.

A tracklet is what the frames alone can say. Which card it is, or whether it is a card at all, is
explained by `explanations`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Pose
from vision.sight.tracking.association import Sighting

# Sightings of a card that lies still spread less than this (outlines jitter by about 2 mm).
REST_SPREAD_MM = 8.0
REST_MS = 180  # it lies still when it has for this long: three looks at 15 a second
MEMORY_MS = 600  # poses are kept this long, and the last two, to judge motion by
AT_REST_REACH_MM = 40.0  # a card at rest is looked for within half its length
MOVING_REACH_MM = 60.0  # a moving card's next sighting lies within this of where it should be,
SPEED_LIMIT_MM_S = 1500.0  # and this much further for each second unseen: a quick dealer's hand
LOST_MS = 200  # unseen for longer: lost (a look or two may miss a card)
# One lost on its way is looked for only where it was last seen: what is seen elsewhere may be the
# next card, or a box on a sleeve, and has to be explained. Larger, and it is taken for this one.
STAYED_MM = 20.0
STRAYS = 3  # fewer sightings astray are a hand across the card, not a card on the move
VOTES = 5  # the kind is what most of the last five sightings say: one may be wrong

OFTEN_MS = 200  # looks this near to each other always follow upon one another
LONGEST_MS = 1000  # and those further apart never do: a dealer turns and lays a card in that time
# A pause longer than the longest of the last few looks by this factor is out of rhythm: a machine
# that shares its time does not take the same for each look.
UNEVEN, REMEMBERED = 2.0, 4


@dataclass(slots=True, eq=False)
class Tracklet:
    """A run of sightings; times in ms, poses in mm.

    `score` is the detector's, the mean of the last few; since `row_since` every look has seen it;
    `anchor` is where a card that was laid is looked for once it was lost; `bare_at` is when the
    bare table last showed where it rests, in `bare_looks` looks; `believed` is the id of the
    card that it was believed to be at the last look, 0 of a new one.
    """

    number: int
    pose: Pose
    first: Pose
    born_at: int
    seen_at: int
    from_mouth: bool
    kind: Kind
    kinds: Counter[Kind]
    votes: deque[Kind]
    sightings: int = 1
    row_since: int = 0
    recent: deque[tuple[int, Pose]] = field(default_factory=deque)
    rest: Pose | None = None
    rest_since: int = 0
    strays: int = 0
    velocity: tuple[float, float] = (0.0, 0.0)
    anchor: Pose | None = None
    score: float = 0.0
    bare_at: int | None = None
    bare_looks: int = 0
    believed: int | None = None

    @classmethod
    def begin(cls, number: int, sighting: Sighting, at: int, *, from_mouth: bool) -> Tracklet:
        """Start with what was seen for the first time."""
        new = cls(
            number,
            pose=sighting.pose,
            first=sighting.pose,
            born_at=at,
            seen_at=at,
            row_since=at,
            from_mouth=from_mouth,
            kind=sighting.kind,
            kinds=Counter({sighting.kind: 1}),
            votes=deque([sighting.kind], maxlen=VOTES),
            score=sighting.score,
        )
        new.recent.append((at, sighting.pose))
        return new

    @classmethod
    def unseen(cls, number: int, pose: Pose, at: int, kind: Kind) -> Tracklet:
        """Return the run of a card that nobody has seen yet: no sighting."""
        kinds = Counter({kind: 1})
        return cls(number, pose, pose, at, at, True, kind, kinds, deque([kind]), sightings=0)

    def expected(self, at: int, since: int) -> tuple[Pose, float, bool]:
        """Return the pose to expect, how far off (mm) it may be, and whether it was lost.

        What was seen at `since` or later was seen at the look before this one.
        """
        long = at - self.seen_at > LOST_MS
        missed = self.seen_at < since
        if self.rest is not None and (not self.strays or long):
            return self.rest, AT_REST_REACH_MM, long and missed
        if long:
            if self.anchor is not None:
                return self.anchor, AT_REST_REACH_MM, missed
            # The next card comes from the mouth over the same spot.
            return self.pose, 0.0 if self.from_mouth and missed else STAYED_MM, missed
        ahead = (at - self.seen_at) / 1000
        x, y = self.pose.x + self.velocity[0] * ahead, self.pose.y + self.velocity[1] * ahead
        reach = MOVING_REACH_MM + SPEED_LIMIT_MM_S * min(ahead, 0.1)
        return Pose(x, y, self.pose.angle), reach, False

    def see(self, sighting: Sighting, at: int, since: int) -> None:
        """Take the sighting of this frame; it goes on in a row if it was last seen at `since`."""
        in_a_row = self.seen_at >= since
        self.row_since = self.row_since if in_a_row else at
        elapsed = max(at - self.seen_at, 1) / 1000
        if elapsed < 0.5:
            x = (sighting.pose.x - self.pose.x) / elapsed
            y = (sighting.pose.y - self.pose.y) / elapsed
            self.velocity = ((self.velocity[0] + x) / 2, (self.velocity[1] + y) / 2)
        else:
            self.velocity = (0.0, 0.0)
        self.pose, self.seen_at = sighting.pose, at
        self.kinds[sighting.kind] += 1
        self.votes.append(sighting.kind)
        self.kind = Counter(self.votes).most_common(1)[0][0]
        self.sightings += 1
        self.score += (sighting.score - self.score) / VOTES
        self.recent.append((at, sighting.pose))
        least = 2 if in_a_row else 1
        while len(self.recent) > least and at - self.recent[0][0] > MEMORY_MS:
            self.recent.popleft()
        self._settle(at, least)

    def _settle(self, at: int, least: int) -> None:
        """Find out whether it rests, and keep the mean of where it does."""
        if self.rest is not None and self.rest.distance(self.pose) <= REST_SPREAD_MM:
            self.strays = 0
            self.rest = blend(self.rest, self.pose, 0.15)
            return
        window = [(t, pose) for t, pose in self.recent if at - t <= 1.5 * REST_MS]
        if len(window) < least:
            window = list(self.recent)[-least:]  # the looks are rare
        mean = mean_pose([pose for _, pose in window])
        spread = max(mean.distance(pose) for _, pose in window)
        if len(window) >= 2 and at - window[0][0] >= REST_MS and spread <= REST_SPREAD_MM:
            self.rest, self.rest_since, self.strays = mean, window[0][0], 0
            return
        self.strays += 1
        if self.strays >= STRAYS:
            self.rest = None

    def show_bare(self, at: int) -> None:
        """Note that the bare table shows where it rests."""
        self.bare_at, self.bare_looks = at, self.bare_looks + 1

    def rested_ms(self, at: int) -> int:
        """Return for how long it has lain still, 0 while it moves."""
        return 0 if self.rest is None else at - self.rest_since

    def shown_ms(self, at: int) -> int:
        """Return for how long it has lain still in sight of every look, 0 if it does not now."""
        still = self.rest is not None and self.seen_at == at
        return at - max(self.rest_since, self.row_since) if still else 0

    @property
    def lies_at(self) -> Pose:
        """Where it lies, or was last seen."""
        return self.rest or self.pose

    @property
    def is_cut(self) -> bool:
        """Whether most sightings were of the cut card."""
        return 2 * self.kinds[Kind.CUT] > self.kinds.total()

    @property
    def last_step_mm(self) -> float:
        """How far apart the last two sightings lie."""
        return 0.0 if len(self.recent) < 2 else self.recent[-1][1].distance(self.recent[-2][1])

    def moved(self, least_mm: float) -> bool:
        """Whether two sightings lie that far from where it was first seen."""
        return sum(self.first.distance(pose) >= least_mm for _, pose in self.recent) >= 2


class Rhythm:
    """How often a table is looked at, and which looks follow upon one another; times in ms.

    A machine that is too slow looks every 0.3 s, and what lies then where it lay at the look before
    is the same thing. But where looks are as frequent as ever and one pause is as long (no picture
    came, or nothing moved), a card may have been taken away and another laid there meanwhile.
    """

    def __init__(self) -> None:
        self._looked_at: int | None = None
        self._gaps: deque[int] = deque(maxlen=REMEMBERED)

    def since(self, at: int) -> int:
        """Take in a look; what was seen since the moment returned was seen at the look before.

        That is the look before, or now where it does not count.
        """
        before, self._looked_at = self._looked_at, at
        if before is None or not 0 < at - before <= LONGEST_MS:
            return at
        gap = at - before
        usual = gap <= max(OFTEN_MS, UNEVEN * max(self._gaps, default=0))
        self._gaps.append(gap)
        return before if usual else at


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
