"""The detector, the watcher of the mouth and the view of the bare table, as they err.

From the true state of the simulated table to what the tracker is given in one frame.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from models.stress.world import PALM_MM, Prop, World, covered_share
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Pose
from vision.sight.mouth.signs import MouthEvent, MouthSign
from vision.sight.tracking.association import Sighting
from vision.sight.tracking.background import Patch, Sight

# The detector's mean score of a card at rest, 0 to 1; measured as `Noise` is. Lower, and true cards
# look more like false ones than they do.
MEAN_SCORE = 0.9
PARTLY_MM = 50.0  # a card lies over a fifth of a place and more within this; larger hides more
Palms = Sequence[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Noise:
    """How a detector errs, each probability per card and frame unless it says otherwise.

    "Measured" figures are those of `python -m models.stress_table --fit` on two dealing films of
    another renderer (`deploy/reading.md`), made no milder than they came out; the others are set by
    judgement, where those films have no truth: nobody wrote down where their hands are.
    """

    missed: float = 0.03  # a card that lies free is not found; measured 0.028
    missed_touched: float = 0.12  # the same with up to two of five points under a hand; judgement
    missed_half: float = 0.6  # three of five points; judgement
    missed_most: float = 0.95  # four of five; judgement
    missed_moving: float = 0.08  # a card on the move, besides what a hand hides; judgement
    missed_edge: float = 0.9  # a card on its edge; judgement
    jitter_mm: float = (
        1.2  # of the middle, standard deviation; measured 0.04, but films lie stiller
    )
    jitter_degrees: float = 1.0  # of the long axis; measured 0.14, likewise
    jitter_touched_mm: float = 7.0  # the middle of a card partly under a hand; judgement
    doubled: float = 0.004  # a second box over the same card, 15 to 40 mm off; measured 0.0037
    wrong_kind: float = 0.004  # a face for a back or the reverse; measured below 0.0002
    false_per_s: float = 0.05  # bursts a second of boxes anywhere, no hand near; judgement
    false_hand_per_s: float = 0.25  # the same on sleeve and hand while one is over the table
    false_clearing_per_s: float = 0.6  # ... and while cards are swept; judgement
    false_lasts_s: float = 0.3  # mean length of such a burst; judgement
    print_per_s: float = 0.02  # an empty place is taken for a back; measured 0.0035 anywhere
    print_lasts_s: float = 0.7  # ... for so long (mean); measured, on one case
    dropped: float = 0.01  # a frame is lost; judgement
    place_wrong: float = 0.02  # the look at a place is wrong for half a second; judgement
    hand_missed: float = 0.1  # a hand is not found in a frame; judgement
    # --- the mouth (judgement: its watcher had no figures when this was written)
    sign_missed: float = 0.02
    sign_false_per_card: float = 0.004
    sign_late_s: float = 0.05  # mean delay of a sign

    def times(self, factor: float) -> Noise:
        """Return this noise made `factor` times as strong; probabilities stay below 0.97."""
        whole = (
            "jitter_mm",
            "jitter_degrees",
            "jitter_touched_mm",
            "false_lasts_s",
            "print_lasts_s",
            "sign_late_s",
        )
        changed = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in whole or each.name.endswith("_per_s"):
                changed[each.name] = value * (math.sqrt(factor) if each.name in whole else factor)
            else:
                # Odds are multiplied, so that what is certain stays so and 0.5 does not pass 1.
                odds = factor * value / (1 - value)
                changed[each.name] = min(odds / (1 + odds), 0.97)
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class FalseBox:
    """A box where no card is: it rests, or it rides on a hand at an offset."""

    until: float
    pose: Pose
    kind: Kind
    score: float
    on_hand: bool


@dataclass(slots=True)
class Sensor:
    """Sees the world through noise; `palms` are the hands of the frame last sensed."""

    world: World
    noise: Noise
    rng: random.Random
    boxes: list[FalseBox] = field(default_factory=list)
    at: float = 0.0
    palms: Palms = ()
    cards: list[tuple[Prop, Pose, Kind | None, float]] = field(default_factory=list)

    def sense(self, at: float) -> list[Sighting]:
        """Return the sightings of a frame."""
        elapsed, self.at = at - self.at, at
        self.palms = self.world.palms(at)
        found: list[Sighting] = []
        self.cards = [(prop, *prop.seen(at)) for prop in self.world.lying(at)]
        for _, pose, kind, speed in self.cards:
            found += self._card(pose, kind, speed)
        found += self._false(min(elapsed, 1.0))
        return sorted(found, key=lambda sighting: -sighting.score)

    def hands(self) -> list[Points]:
        """Return the palms that are found, as rectangles in mm."""
        found = []
        for x, y, _ in self.palms:
            if self.rng.random() >= self.noise.hand_missed:
                shape = [[-1, -2.5], [1, -2.5], [1, 1], [-1, 1]]  # a palm and the wrist behind it
                found.append(np.asarray(shape, np.float32) * PALM_MM + np.array((x, y), np.float32))
        return found

    def _card(self, pose: Pose, kind: Kind | None, speed: float) -> list[Sighting]:
        noise, rng = self.noise, self.rng
        hidden = covered_share(pose, self.palms)
        missed = (
            noise.missed,
            noise.missed_touched,
            noise.missed_touched,
            noise.missed_half,
            noise.missed_most,
            1.0,
        )[round(5 * hidden)]
        if speed:
            missed = max(missed, min(noise.missed_moving * max(1.0, speed / 1000), 0.97))
        if kind is None:
            missed = max(missed, noise.missed_edge)
            kind = rng.choice((Kind.FACE, Kind.BACK))
        if rng.random() < missed:
            return []
        if rng.random() < noise.wrong_kind:
            kind = Kind.BACK if kind is Kind.FACE else Kind.FACE
        spread = noise.jitter_touched_mm if hidden else noise.jitter_mm
        turned = noise.jitter_degrees * (4 if hidden else 1)
        score = MEAN_SCORE - 0.25 * hidden - 0.1 * bool(speed) + rng.gauss(0, 0.05)
        first = Sighting(self._near(pose, spread, turned), kind, min(max(score, 0.3), 0.97))
        if rng.random() >= noise.doubled * (5 if hidden else 1):
            return [first]
        angle, far = rng.uniform(0, 2 * math.pi), rng.uniform(15, 40)
        beside = Pose(
            pose.x + far * math.cos(angle),
            pose.y + far * math.sin(angle),
            (pose.angle + rng.choice((0.0, 30.0, 90.0))) % 180,
        )
        return [first, Sighting(beside, kind, max(0.3, score - 0.3))]

    def _near(self, pose: Pose, spread: float, turned: float) -> Pose:
        gauss = self.rng.gauss
        angle = (pose.angle + gauss(0, turned)) % 180.0
        return Pose(pose.x + gauss(0, spread), pose.y + gauss(0, spread), angle)

    def _false(self, elapsed: float) -> list[Sighting]:
        noise, rng = self.noise, self.rng
        swept = sum(bool(speed) for *_, speed in self.cards) > 1
        rate = noise.false_per_s
        if self.palms:
            rate = noise.false_clearing_per_s if swept else noise.false_hand_per_s
        if rng.random() < rate * elapsed:
            self._begin_box(on_hand=bool(self.palms) and rng.random() < 0.8)
        if rng.random() < noise.print_per_s * elapsed:
            place = self.world.layout.places[rng.choice(list(Slot))]
            self._keep(self._near(place, 4, 3), Kind.BACK, lasts=noise.print_lasts_s)
        self.boxes = [box for box in self.boxes if box.until > self.at]
        found = []
        for box in self.boxes:
            x, y = self.palms[0][:2] if box.on_hand and self.palms else (0.0, 0.0)
            if box.on_hand and not self.palms:
                continue
            pose = Pose(x + box.pose.x, y + box.pose.y, box.pose.angle)
            if not box.on_hand and self._occupied(pose):
                continue
            if rng.random() < 0.75:
                found.append(Sighting(self._near(pose, 4, 4), box.kind, box.score))
        return found

    def _begin_box(self, *, on_hand: bool) -> None:
        rng = self.rng
        if on_hand:
            pose = Pose(rng.gauss(0, 40), -abs(rng.gauss(0, 60)), rng.uniform(0, 180))
        else:
            pose = Pose(rng.uniform(100, 1300), rng.uniform(150, 600), rng.uniform(0, 180))
        lasts = self.noise.false_lasts_s
        self._keep(pose, rng.choice((Kind.FACE, Kind.BACK)), lasts=lasts, on_hand=on_hand)

    def _keep(self, pose: Pose, kind: Kind, *, lasts: float, on_hand: bool = False) -> None:
        until = self.at + self.rng.expovariate(1 / lasts)
        score = min(max(self.rng.gauss(0.5, 0.12), 0.3), 0.9)
        self.boxes.append(FalseBox(until, pose, kind, score, on_hand))

    def _occupied(self, pose: Pose) -> bool:
        return any(pose.distance(lies) < 45 for _, lies, _, _ in self.cards)


@dataclass(slots=True)
class TrueTable:
    """Stands in for the background model: what covers a place is known, and sometimes mistaken."""

    sensor: Sensor
    wrong: dict[tuple[int, int, int], Sight | None] = field(default_factory=dict)
    moved_at: int = 0

    def observe(self, image: Image, at: int) -> bool:  # noqa: ARG002
        """Take a frame; there is nothing to learn."""
        if self.sensor.palms:
            self.moved_at = at
        return False

    def learn(self, at: int, occupied: Sequence[Points]) -> None:
        """Learn nothing: the bare table is known."""

    def remember(self, rectangle: Points) -> Patch:
        """Return what lies at a place, in figures: the card, and the side that shows."""
        return np.asarray(self._at(rectangle)[1:3], np.float32)

    def sight(self, rectangle: Points, card: Patch | None) -> Sight:
        """Return what shows at a place where a card lay that looked like `card`."""
        share, *seen, near = self._at(rectangle)
        mistaken = self._mistaken(rectangle)
        if mistaken is not None:
            return mistaken
        if share >= 0.4:
            return Sight.COVERED
        if not seen[0]:
            return Sight.COVERED if near else Sight.FELT
        same = card is not None and list(card) == seen
        return Sight.CARD if same else Sight.COVERED

    def altered(self, rectangle: Points) -> bool:
        """Whether something lies at a place that was bare."""
        share, card, _, _ = self._at(rectangle)
        return self._mistaken(rectangle) is not Sight.FELT and (share >= 0.4 or bool(card))

    def steady_ms(self, rectangle: Points, at: int) -> int:  # noqa: ARG002
        """Return for how long nothing has moved there."""
        return at - self.moved_at

    def _mistaken(self, rectangle: Points) -> Sight | None:
        x, y = rectangle.mean(axis=0).tolist()
        key = (int(x // 30), int(y // 30), int(2 * self.sensor.at))
        if key not in self.wrong:
            if len(self.wrong) > 500:
                self.wrong.clear()
            errs = self.sensor.rng.random() < self.sensor.noise.place_wrong
            self.wrong[key] = self.sensor.rng.choice((*Sight, Sight.COVERED)) if errs else None
        return self.wrong[key]

    def _at(self, rectangle: Points) -> tuple[float, float, float, bool]:
        """Return the share under hands, the card that lies there (0: none), and its side.

        And whether a card lies over a part of it.
        """
        (ax, ay), (bx, by) = rectangle[0].tolist(), rectangle[2].tolist()
        middle = Pose((ax + bx) / 2, (ay + by) / 2, 0.0)
        (cx, cy) = rectangle[1].tolist()
        angle = math.degrees(math.atan2(by - cy, bx - cx)) % 180.0
        share = covered_share(replace(middle, angle=angle), self.sensor.palms)
        for prop, pose, kind, _ in reversed(self.sensor.cards):
            if pose.distance(middle) < 22:
                return share, float(id(prop) % 1_000_003 + 1), float(kind is Kind.FACE), True
        near = any(pose.distance(middle) < PARTLY_MM for _, pose, _, _ in self.sensor.cards)
        return share, 0.0, 0.0, near


def mouth_signs(
    signs: Sequence[tuple[float, MouthSign]], noise: Noise, rng: random.Random
) -> list[MouthEvent]:
    """Return what a fallible watcher makes of the true signs of a coup, in the order of time."""
    seen: list[MouthEvent] = []
    for at, sign in signs:
        late = at + rng.expovariate(1 / noise.sign_late_s)
        if rng.random() >= noise.sign_missed:
            seen.append(MouthEvent(round(1000 * late), sign, rng.uniform(0.93, 0.999)))
        if rng.random() < noise.sign_false_per_card:
            other = rng.choice((MouthSign.LEFT, MouthSign.RETURNED, MouthSign.LEAVING))
            late = at + rng.uniform(-1.0, 1.0)
            seen.append(MouthEvent(round(1000 * late), other, rng.uniform(0.6, 0.98)))
    return sorted(seen, key=lambda event: event.at)
