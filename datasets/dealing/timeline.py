"""What a choreography gives: the cards and hands of a coup with their motions and instants.

Must not know of pixels or of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..render.paint import Points
from .deal import Coup, Drawn
from .motions import Leg, Pose, pose_at


@dataclass(slots=True)
class Carried:
    """A card in a coup: its motions and the instants that matter, in seconds; None: not in it."""

    drawn: Drawn
    legs: list[Leg] = field(default_factory=list)
    out: float = 0.0
    placed: float = 0.0
    removed: float | None = None
    gone: float | None = None

    def pose(self, at: float) -> Pose | None:
        """Return its pose, None before it leaves the shoe and after it is put away."""
        return None if self.gone is not None and at >= self.gone else pose_at(self.legs, at)


@dataclass(frozen=True, slots=True)
class Guest:
    """A hand that reaches in to change the chips on a spot of `SPOTS`, under it at `at` seconds."""

    spot: int
    at: float
    legs: tuple[Leg, ...]
    shoulder: Points


@dataclass(frozen=True, slots=True)
class Act:
    """A coup from `start` to `end` seconds: its cards in the order they left, and the hands."""

    coup: Coup
    start: float
    end: float
    cards: tuple[Carried, ...]
    hand: tuple[Leg, ...]
    guest: Guest | None
