"""A coup in time: poses and smooth motions (mm, seconds), and the acts made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from ..render.paint import Points
from .deal import Coup, Drawn
from .table_places import CARD_MM, card_corners


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing is: centre, turn in degrees clockwise, height above the table.

    `flip` goes from 0, back up, to 1, face up, about the card's long axis, or its short one where
    it goes end `over_end`; `fold` is how high its middle stands, where it has a crease.
    """

    x: float
    y: float
    turn: float = 0.0
    flip: float = 0.0
    height: float = 0.0
    over_end: bool = False
    fold: float = 0.0

    @property
    def centre(self) -> Points:
        """The centre, (2,) mm."""
        return np.array([self.x, self.y])

    def moved(self, offset: Points) -> Pose:
        """Return the pose shifted by (2,) mm."""
        return replace(self, x=self.x + float(offset[0]), y=self.y + float(offset[1]))

    def corners(self, size_mm: tuple[float, float] = CARD_MM) -> Points:
        """Return the outline (4, 2) mm of a card lying so, as if it lay flat."""
        return card_corners(self.turn, size_mm) + self.centre


@dataclass(frozen=True, slots=True)
class Leg:
    """One motion from `start` to `end` seconds, without jerk at either end.

    `via` bends the way towards a point; the card is turned over between the shares of time
    `turning`, and lifted by `arch` mm in the middle.
    """

    start: float
    end: float
    origin: Pose
    target: Pose
    via: tuple[float, float] | None = None
    turning: tuple[float, float] = (0.0, 1.0)
    arch: float = 0.0

    def pose(self, at: float) -> Pose:
        """Return the pose at a time, that of the nearer end outside the motion."""
        share = (at - self.start) / (self.end - self.start)
        along = eased(share)
        first, last = self.turning
        a, b = self.origin, self.target
        via = np.array(self.via) if self.via else (a.centre + b.centre) / 2
        back = 1 - along
        x, y = back * back * a.centre + 2 * back * along * via + along * along * b.centre
        return Pose(
            float(x),
            float(y),
            a.turn + along * (b.turn - a.turn),
            a.flip + eased((share - first) / (last - first)) * (b.flip - a.flip),
            a.height + along * (b.height - a.height) + self.arch * 4 * along * back,
            b.over_end,
            a.fold + along * (b.fold - a.fold),
        )


def eased(share: float) -> float:
    """Return the way covered after a share of the time: least jerk, 0 to 1."""
    s = min(max(share, 0.0), 1.0)
    return s * s * s * (10 + s * (6 * s - 15))


def pose_at(legs: Sequence[Leg], at: float) -> Pose | None:
    """Return the pose on a run of motions in order of time, None before the first."""
    if not legs or at < legs[0].start:
        return None
    current = legs[0]
    for leg in legs[1:]:
        if leg.start > at:
            break
        current = leg
    return current.pose(at)


def is_moving(legs: Sequence[Leg], start: float, end: float) -> bool:
    """Whether a motion falls into the time from `start` to `end`."""
    return any(leg.start < end and leg.end > start for leg in legs)


@dataclass(slots=True)
class Carried:
    """A card in a coup: its motions and the instants that matter, in seconds; None: not in it.

    `began`: it began to leave the shoe; `out`: it was wholly out, for good; `placed`: it first lay
    still in its place; `shown`: the mistake made with it could be seen; `removed` from its place;
    `gone` from the film. `returns` has when it was wholly out, and back in the shoe again.
    """

    drawn: Drawn
    legs: list[Leg] = field(default_factory=list)
    began: float = 0.0
    out: float = 0.0
    placed: float = 0.0
    shown: float | None = None
    removed: float | None = None
    gone: float | None = None
    returns: list[tuple[float, float]] = field(default_factory=list)

    @property
    def lying(self) -> Pose:
        """Where it lies once its last motion so far is over."""
        return self.legs[-1].target

    def pose(self, at: float) -> Pose | None:
        """Return its pose, None before it leaves the shoe and after it is put away."""
        return None if self.gone is not None and at >= self.gone else pose_at(self.legs, at)


class Limb(StrEnum):
    """Whose hand: the one the dealer draws with, the other one, a guest's, another person's."""

    DRAWING = "drawing"
    OTHER = "other"
    GUEST = "guest"
    STRANGER = "stranger"
    RELIEF = "relief"  # what the dealer who took over draws with, and the other one
    RELIEF_OTHER = "relief-other"


@dataclass(frozen=True, slots=True)
class Reach:
    """A hand over the table: its motions, and the shoulder (2,) mm it reaches in from."""

    limb: Limb
    legs: tuple[Leg, ...]
    shoulder: Points


@dataclass(frozen=True, slots=True)
class Bet:
    """Chips changed on a spot of `SPOTS`, under a hand, at `at` seconds."""

    spot: int
    at: float


@dataclass(frozen=True, slots=True)
class Pushed:
    """A thing that is no card and is moved through the layout: a chip or the plastic marker."""

    number: int
    legs: tuple[Leg, ...]
    chip: bool


@dataclass(frozen=True, slots=True)
class Act:
    """A coup from `start` to `end` seconds: its cards in the order they left, and the hands."""

    coup: Coup
    start: float
    end: float
    cards: tuple[Carried, ...]
    hands: tuple[Reach, ...]
    bet: Bet | None
    pushed: tuple[Pushed, ...] = ()


def on_table(acts: Sequence[Act], number: int) -> tuple[Carried, ...]:
    """Return the cards that an act's film may show, the next coup's first one in the mouth too."""
    lasting = [card for act in acts[:number] for card in act.cards if card.gone is None]
    coming = acts[number + 1].cards[:1] if number + 1 < len(acts) else ()
    return (*lasting, *acts[number].cards, *coming)
