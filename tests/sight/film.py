"""A small drawn table: cards, a hand, and the detections a fallible detector would make of them.

A stage for the tests of following; it moves cards as a dealer does and knows the truth. `Eye` sees
it as the networks see a table, picture by picture.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.game.events import Slot
from vision.inference.load import ModelSet, open_symbols, packaged
from vision.sight.detection.classifier import Observation
from vision.sight.detection.detector import Detection, Kind, Window
from vision.sight.geometry.plane import (
    Frame,
    Homography,
    Image,
    Points,
    Pose,
    TableView,
    box_around,
    shared_area,
)

WIDTH, HEIGHT = 640, 360
MOUTH = Pose(1150, 130, 60)
DISCARD = Pose(130, 130, 20)
PLACES = {
    Slot.PUNTO_1: Pose(330, 400, 90),
    Slot.PUNTO_2: Pose(410, 400, 90),
    Slot.PUNTO_3: Pose(240, 400, 0),
    Slot.BANCO_1: Pose(880, 400, 90),
    Slot.BANCO_2: Pose(960, 400, 90),
    Slot.BANCO_3: Pose(1060, 400, 0),
}


# How far from where it lies in the mouth a card counts as coming out, as wholly out, and as gone.
REST_MM, DEPTH_MM, AWAY_MM = 8.0, 88.0, 190.0
COLOURS = {Kind.FACE: (235, 235, 235), Kind.BACK: (60, 50, 170), Kind.CUT: (40, 200, 230)}


def around(pose: Pose, half: float) -> Points:
    """Return the square around a pose, in mm."""
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
    return np.asarray(np.array(pose.centre) + signs * half, np.float32)


def table_view() -> TableView:
    """Return a slightly tilted view of the drawn table."""
    pixels = [[60, 20], [590, 26], [630, 345], [12, 340]]
    plane = Homography.fit(pixels, [[0, 0], [1400, 0], [1400, 700], [0, 700]])
    slots = {slot: around(pose, 38) for slot, pose in PLACES.items()}
    for slot in (Slot.PUNTO_3, Slot.BANCO_3):
        slots[slot] = around(PLACES[slot], 48)
    return TableView(plane, slots, around(MOUTH, 50), around(DISCARD, 90))


@dataclass(slots=True)
class Prop:
    """A card on the stage."""

    pose: Pose
    kind: Kind
    card: Card | None = None


@dataclass(frozen=True, slots=True)
class Faults:
    """How bad the detector is: probabilities per card and frame, jitter in mm."""

    missed: float = 0.0
    doubled: float = 0.0
    spurious: float = 0.0
    wrong_kind: float = 0.0
    jitter_mm: float = 0.7


@dataclass(slots=True)
class Stage:
    """The table, played frame by frame at `fps`."""

    fps: int = 30
    seed: int = 0
    faults: Faults = field(default_factory=Faults)
    props: list[Prop] = field(default_factory=list)
    hand: Pose | None = None
    frame_number: int = 0
    grip_mm: float = 95.0
    view: TableView = field(default_factory=table_view)
    rng: np.random.Generator = field(init=False)
    felt: Image = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        noise = self.rng.normal(0, 4, (HEIGHT, WIDTH, 3))
        self.felt = np.clip(noise + np.array((60, 110, 40)), 0, 255).astype(np.uint8)
        for area in self.view.slots.values():
            self._fill(self.felt, area, (90, 150, 90), 2)

    # --- what can be seen ------------------------------------------------------------------------

    def _fill(
        self, image: Image, area_mm: Points, colour: tuple[int, int, int], line: int = 0
    ) -> None:
        corners = np.round(self.view.homography.to_px(area_mm)).astype(np.int32)
        if line:
            cv2.polylines(image, [corners], True, colour, line)
        else:
            cv2.fillConvexPoly(image, corners, colour)

    def hand_area(self) -> Points | None:
        """Return what the hand covers, in mm: a palm a little above the card it holds."""
        return (
            None
            if self.hand is None
            else around(replace(self.hand, y=self.hand.y - self.grip_mm), 75)
        )

    def hidden(self, prop: Prop) -> float:
        """Return the share of a card under the hand, 0 to 1."""
        hand = self.hand_area()
        rectangle = self.view.rectangle(prop.pose)
        return 0.0 if hand is None else shared_area(rectangle, hand) / (63 * 88)

    def picture(self) -> Frame:
        """Draw the table as it is now."""
        image = self.felt.copy()
        for prop in self.props:
            self._fill(image, self.view.rectangle(prop.pose), COLOURS[prop.kind])
        hand = self.hand_area()
        if hand is not None:
            self._fill(image, hand, (120, 150, 205))
        self.frame_number += 1
        return Frame(image, self.frame_number * 1000 // self.fps, self.frame_number)

    def detections(self) -> tuple[Detection, ...]:
        """Return what the detector makes of the table as it is now."""
        found: list[Detection] = []
        for prop in self.props:
            covered = self.hidden(prop)
            if covered > 0.55 or self.rng.random() < self.faults.missed:
                continue
            kind = prop.kind
            if kind is not Kind.CUT and self.rng.random() < self.faults.wrong_kind:
                kind = Kind.BACK if kind is Kind.FACE else Kind.FACE
            for _ in range(2 if self.rng.random() < self.faults.doubled else 1):
                spread = self.faults.jitter_mm * (1 + 4 * covered)
                x, y, turn = self.rng.normal(0, spread, 3)
                pose = Pose(prop.pose.x + x, prop.pose.y + y, (prop.pose.angle + turn) % 180)
                found.append(self._detection(pose, kind))
        if self.rng.random() < self.faults.spurious:
            x, y = self.rng.uniform((200, 200), (1200, 600))
            found.append(self._detection(Pose(x, y, 45), Kind.FACE))
        return tuple(found)

    def _detection(self, pose: Pose, kind: Kind) -> Detection:
        return Detection(box_around(self.view.quad_px(pose)), kind, float(self.rng.uniform(0.5, 1)))

    def hands(self) -> tuple[Detection, ...]:
        """Return the hand as the detector finds it."""
        area = self.hand_area()
        if area is None:
            return ()
        return (Detection(self.view.homography.to_px(area), Kind.HAND, 0.9),)

    def mouth(self) -> NDArray[np.float32]:
        """Return what the mouth's network would give (11 values) of the table as it is now."""
        away = [(np.hypot(p.pose.x - MOUTH.x, p.pose.y - MOUTH.y), p.kind) for p in self.props]
        leaving = [(float(d), kind) for d, kind in away if REST_MM < d < AWAY_MM]
        out, kind = min(leaving, default=(0.0, Kind.BACK))
        wholly, partly = out > DEPTH_MM, 0 < out <= DEPTH_MM
        phases = [0.0 if shown else -6.0 for shown in (not out, partly, wholly)]
        sides = [0.0 if kind is side else -9.0 for side in (Kind.BACK, Kind.FACE, Kind.CUT)]
        return np.array([*phases, out / DEPTH_MM, *sides, -9, 3.0, -6, np.nan], np.float32)

    def classify(self, _: Image, quads: Sequence[Points]) -> tuple[Observation, ...]:
        """Read faces as a calibrated classifier would: rarely wrong, and then unsure."""
        return tuple(self._look(quad) for quad in quads)

    def _look(self, quad: Points) -> Observation:
        centre = self.view.homography.to_mm(quad).mean(axis=0)
        near = [p for p in self.props if np.hypot(*(centre - p.pose.centre)) < 30 and p.card]
        if not near or near[-1].kind is not Kind.FACE or self.hidden(near[-1]) > 0.3:
            return Observation(np.full(52, -np.log(52), np.float32), 0.05)
        truth = near[-1].card
        assert truth is not None
        lies = self.view.quad_px(near[-1].pose)
        mirrored = (
            np.prod([cv2.contourArea(q.astype(np.float32), oriented=True) for q in (quad, lies)])
            < 0
        )
        doubt = 0.5 if mirrored else 10 ** -self.rng.uniform(1.5, 5)
        log_p = np.full(52, np.log(doubt / 51))
        log_p[truth.index] = np.log1p(-doubt)
        return Observation(log_p.astype(np.float32), 0.98)

    # --- what a dealer does ----------------------------------------------------------------------

    def wait(self, ms: int) -> Iterator[None]:
        """Let time pass."""
        for _ in range(max(1, ms * self.fps // 1000)):
            yield

    def reach(self, target: Pose, ms: int) -> Iterator[None]:
        """Move the hand somewhere."""
        start = self.hand or Pose(700, -100, 0)
        for step in self._steps(ms):
            self.hand = start.towards(target, step)
            yield

    def _steps(self, ms: int) -> Iterator[float]:
        count = max(1, ms * self.fps // 1000)
        for i in range(1, count + 1):
            yield (1 - np.cos(np.pi * i / count)) / 2

    def withdraw(self) -> Iterator[None]:
        """Take the hand off the table."""
        yield from self.reach(Pose(700, -150, 0), 300)
        self.hand = None

    def deal(self, prop: Prop, place: Pose, *, start: Pose = MOUTH) -> Iterator[None]:
        """Pull a card from the shoe and slide it to its place, hand on it."""
        shift = self.rng.normal(0, 3, 3)
        goal = Pose(place.x + shift[0], place.y + shift[1], (place.angle + shift[2]) % 180)
        prop.pose = start
        self.props.append(prop)
        yield from self.reach(start, 200)
        for step in self._steps(600):
            prop.pose = start.towards(goal, step)
            self.hand = prop.pose
            yield
        yield from self.wait(100)
        yield from self.withdraw()

    def turn(self, prop: Prop) -> Iterator[None]:
        """Turn a card face up where it lies, under the hand."""
        over = replace(prop.pose, y=prop.pose.y + self.grip_mm)
        yield from self.reach(over, 250)
        yield from self.wait(200)
        shift = self.rng.normal(0, 4, 2)
        prop.pose = replace(prop.pose, x=prop.pose.x + shift[0], y=prop.pose.y + shift[1])
        prop.kind = Kind.FACE
        yield from self.wait(150)
        yield from self.withdraw()

    def clear(self) -> Iterator[None]:
        """Sweep all cards to the discard, where a back stays in sight."""
        swept = [prop for prop in self.props if prop.card is not None]
        swept.sort(key=lambda prop: -prop.pose.x)
        yield from self.reach(swept[0].pose, 200)
        path = [prop.pose for prop in swept] + [DISCARD]
        held: list[Prop] = []
        for i, place in enumerate(path):
            start = self.hand or place
            held += swept[i - 1 : i] if i else []
            for step in self._steps(250):
                self.hand = start.towards(place, step)
                for n, prop in enumerate(held):
                    prop.pose = replace(self.hand, x=self.hand.x + 4 * n)
                yield
        for prop in swept:
            self.props.remove(prop)
        self.props.append(Prop(DISCARD, Kind.BACK))
        yield from self.withdraw()


ORDER = tuple(Slot)
UP, DOWN, PUNTO_FIRST = "face up", "face down", "punto first"


def deal_coup(stage: Stage, cards: tuple[Card, ...], dealing: str) -> Iterator[None]:
    """Deal four to six cards to their slots in one of the three ways, settle, and clear."""
    shown = Kind.FACE if dealing == UP else Kind.BACK
    props = [Prop(MOUTH, shown, card) for card in cards]
    for prop, slot in zip(props[:4], ORDER, strict=False):
        yield from stage.deal(prop, PLACES[slot])
        yield from stage.wait(200)
    turned = {UP: (), DOWN: (0, 1, 2, 3), PUNTO_FIRST: (0, 2, 1, 3)}[dealing]
    for i in turned:
        yield from stage.turn(props[i])
    for prop, slot in zip(props[4:], ORDER[4:], strict=False):
        yield from stage.deal(prop, PLACES[slot])
        if dealing != UP:
            yield from stage.turn(prop)
    yield from stage.wait(1200)
    yield from stage.clear()
    yield from stage.wait(1200)


class Eye:
    """Networks without fault: they remember what was on the stage in each picture."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._seen: dict[int, tuple[list[Prop], Pose | None, tuple[Detection, ...]]] = {}
        self._mouths: dict[int, NDArray[np.float32]] = {}

    def remember(self, image: Image) -> None:
        """Keep what lies on the stage while this picture shows it."""
        stage, key = self.stage, zlib.crc32(image.tobytes())
        boxes = (*stage.detections(), *stage.hands())
        self._seen[key] = ([replace(prop) for prop in stage.props], stage.hand, boxes)
        self._mouths[key] = stage.mouth()

    def window(self, _: Points, width: int, height: int, __: Window | None = None) -> Window:
        """Return the whole picture."""
        return 0, 0, width, height

    def once(self, found: Sequence[Detection]) -> tuple[Detection, ...]:
        """Return the boxes as they are."""
        return tuple(found)

    def cards_and_hands(
        self, image: Image, least: float, _: Window | None = None
    ) -> tuple[Detection, ...]:
        """Return the boxes in the picture."""
        return tuple(
            box for box in self._seen[zlib.crc32(image.tobytes())][2] if box.score >= least
        )

    def outlined(self, _: Image, boxes: Sequence[Detection]) -> Sequence[Detection]:
        """Return the boxes as they are."""
        return boxes

    def classify(self, image: Image, quads: Sequence[Points]) -> tuple[Observation, ...]:
        """Read the faces in the picture, in equal pictures equally."""
        key = zlib.crc32(image.tobytes())
        self.stage.props, self.stage.hand, _ = self._seen[key]
        self.stage.rng = np.random.default_rng(key)
        return self.stage.classify(image, quads)

    def models(self) -> ModelSet:
        """Return the networks of a table; the mouth is seen by `EyeOfMouth`."""
        table = open_symbols(packaged("mouth").with_name("following.toml"))[0]
        return ModelSet(self, self.classify, self, self, table, {"eye": "00"})  # type: ignore[arg-type]

    def mouth(self, image: Image) -> NDArray[np.float32]:
        """Return the values of the mouth's network in the picture."""
        return self._mouths[zlib.crc32(image.tobytes())]


class EyeOfMouth:
    """Takes the place of `MouthSight` where an `Eye` sees the table."""

    def __init__(self, _: TableView, eye: Eye, __: Eye) -> None:
        self._eye = eye

    def values(self, image: Image, _: int) -> NDArray[np.float32]:
        """Return the values of the mouth's network in the picture."""
        return self._eye.mouth(image)
