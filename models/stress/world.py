"""The physical table of the simulator: where every card and hand is at any time.

Times are seconds, lengths millimetres on the table plane. The picture of this table is the plane
itself, one pixel to a millimetre.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vision.game.cards import Card
from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Homography, Pose, TableView

WIDTH_MM = 1400.0  # of the table; longer only moves the discard further off
# Where places lie, as on a mini table; nearer than a card's width, and neighbours overlap.
PLACES = {
    Slot.PUNTO_1: Pose(480, 420, 90),
    Slot.PUNTO_2: Pose(400, 420, 90),
    Slot.PUNTO_3: Pose(295, 420, 0),
    Slot.BANCO_1: Pose(800, 420, 90),
    Slot.BANCO_2: Pose(880, 420, 90),
    Slot.BANCO_3: Pose(985, 420, 0),
}
MOUTH, DISCARD = Pose(1200, 180, 60), Pose(130, 160, 20)
SLOT_HALF_MM, THIRD_HALF_MM = 40.0, 52.0  # half sides of the places: a card with some room
MOUTH_HALF_MM, DISCARD_HALF_MM = 45.0, 90.0  # the same of the mouth and of the discard
PALM_MM = 46.0  # radius of a palm, and of the forearm; larger hides more at a time
FOREARM_MM = 320.0  # how far the arm reaches back over the table


def mirrored(pose: Pose) -> Pose:
    """Return a pose as it lies on a table with the shoe on the other side."""
    return Pose(WIDTH_MM - pose.x, pose.y, (180.0 - pose.angle) % 180.0)


def _square(pose: Pose, half: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
    return np.asarray(np.array(pose.centre) + signs * half, np.float32)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the places, the shoe's mouth and the discard of one table lie."""

    places: dict[Slot, Pose]
    mouth: Pose
    discard: Pose

    @classmethod
    def of(cls, *, shoe_left: bool) -> Layout:
        """Return the layout with the shoe on that side; Punto's places then lie next to it."""
        if not shoe_left:
            return cls(PLACES, MOUTH, DISCARD)
        places = {slot: mirrored(pose) for slot, pose in PLACES.items()}
        return cls(places, mirrored(MOUTH), mirrored(DISCARD))

    def view(self) -> TableView:
        """Return the camera's view of it."""
        corners = [[0.0, 0.0], [WIDTH_MM, 0.0], [WIDTH_MM, 700.0], [0.0, 700.0]]
        slots = {
            slot: _square(pose, SLOT_HALF_MM if slot < Slot.PUNTO_3 else THIRD_HALF_MM)
            for slot, pose in self.places.items()
        }
        return TableView(
            Homography.fit(corners, corners),
            slots,
            _square(self.mouth, MOUTH_HALF_MM),
            _square(self.discard, DISCARD_HALF_MM),
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of movement; `kind` is what the card shows meanwhile, None while on its edge."""

    start: float
    end: float
    before: Pose
    after: Pose
    kind: Kind | None

    def pose(self, at: float) -> Pose:
        """Return where it is, speeding up and slowing down on the way."""
        share = min(max((at - self.start) / (self.end - self.start), 0.0), 1.0)
        share = share * share * (3 - 2 * share)
        a, b = self.before, self.after
        turn = (b.angle - a.angle + 90.0) % 180.0 - 90.0
        return Pose(
            a.x + share * (b.x - a.x),
            a.y + share * (b.y - a.y),
            (a.angle + share * turn) % 180.0,
        )


@dataclass(slots=True, eq=False)
class Prop:
    """A card and all it does; `card` is None for the cut card.

    It can be seen from `born` until `gone`. `out_at` is when it was wholly out of the mouth.
    """

    card: Card | None
    born: float
    pose: Pose
    kind: Kind
    out_at: float | None = None
    gone: float = math.inf
    pieces: list[Piece] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)

    def move(self, start: float, end: float, to: Pose, kind: Kind | None) -> None:
        """Let it go to a pose; pieces are given in the order of time."""
        before = self.pieces[-1].after if self.pieces else self.pose
        self.pieces.append(Piece(start, end, before, to, kind))
        self.starts.append(start)
        self.kind = kind or self.kind

    def last_pose(self) -> Pose:
        """Return where its last movement ends."""
        return self.pieces[-1].after if self.pieces else self.pose

    def seen(self, at: float) -> tuple[Pose, Kind | None, float]:
        """Return its pose, what it shows, and its speed in mm/s."""
        index = bisect.bisect_right(self.starts, at) - 1
        if index < 0:
            return self.pose, self._kind_before(0), 0.0
        piece = self.pieces[index]
        if at >= piece.end:
            return piece.after, piece.kind or self._kind_after(index), 0.0
        speed = piece.before.distance(piece.after) / (piece.end - piece.start)
        return piece.pose(at), piece.kind, speed

    def _kind_before(self, index: int) -> Kind:
        return next((p.kind for p in self.pieces[index:] if p.kind is not None), self.kind)

    def _kind_after(self, index: int) -> Kind:
        return self._kind_before(index + 1)


@dataclass(frozen=True, slots=True)
class Reach:
    """A hand on its way between two points; `lean` is how far its forearm leans to a side."""

    start: float
    end: float
    before: tuple[float, float]
    after: tuple[float, float]
    lean: float

    def palm(self, at: float) -> tuple[float, float]:
        """Return the middle of the palm."""
        share = (at - self.start) / max(self.end - self.start, 1e-6)
        return (
            self.before[0] + share * (self.after[0] - self.before[0]),
            self.before[1] + share * (self.after[1] - self.before[1]),
        )


@dataclass(slots=True)
class World:
    """All that moves on a table, and when; `signs` are what the mouth of the shoe shows, true."""

    layout: Layout
    cards: list[Prop] = field(default_factory=list)
    hands: list[Reach] = field(default_factory=list)
    active: list[tuple[float, float]] = field(default_factory=list)

    def palms(self, at: float) -> list[tuple[float, float, float]]:
        """Return the palms over the table, with the lean of each forearm."""
        return [
            (*reach.palm(at), reach.lean) for reach in self.hands if reach.start <= at < reach.end
        ]

    def lying(self, at: float) -> list[Prop]:
        """Return the cards that are out of the shoe, or at its mouth, and not cleared."""
        return [prop for prop in self.cards if prop.born <= at < prop.gone]


def covered(x: float, y: float, palms: Sequence[tuple[float, float, float]]) -> bool:
    """Whether a point of the table lies under a palm or a forearm."""
    for px, py, lean in palms:
        length = math.hypot(lean, 1.0)
        ux, uy = lean / length, -1.0 / length
        along = min(max((x - px) * ux + (y - py) * uy, 0.0), FOREARM_MM)
        if (x - px - along * ux) ** 2 + (y - py - along * uy) ** 2 < PALM_MM * PALM_MM:
            return True
    return False


def covered_share(pose: Pose, palms: Sequence[tuple[float, float, float]]) -> float:
    """Return how much of a card is under hands: of five points, its middle and near its corners."""
    if not palms:
        return 0.0
    angle = math.radians(pose.angle)
    ux, uy = 30 * math.cos(angle), 30 * math.sin(angle)
    vx, vy = -21 * math.sin(angle), 21 * math.cos(angle)
    count = int(covered(pose.x, pose.y, palms))
    for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        count += covered(pose.x + a * ux + b * vx, pose.y + a * uy + b * vy, palms)
    return count / 5
