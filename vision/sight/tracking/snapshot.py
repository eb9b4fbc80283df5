"""What the tracker holds true at one moment, as values that other parts may keep and draw.

`Tracker.snapshot()` makes it on demand; nothing in it changes afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Points
from vision.sight.tracking.card import Life


@dataclass(frozen=True, slots=True, eq=False)
class CardView:
    """A card that left the shoe: `id` is its track's, `quad` 4 x 2 pixels where it lies or was.

    `seen` says that it was detected in the last look.
    """

    id: int
    quad: Points
    kind: Kind
    life: Life
    slot: Slot | None
    seen: bool


@dataclass(frozen=True, slots=True)
class Possibility:
    """One explanation of a run of sightings, and its probability (0 to 1) among them all.

    It is the card with the id `card`, a card new from the shoe, or, where neither, no card at all.
    """

    probability: float
    card: int | None = None
    new: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RunView:
    """A run of sightings that is not explained yet; `odds` are its explanations, likeliest first.

    Empty `odds`: it has not been weighed, because it moves or has only just come in sight.
    """

    quad: Points
    kind: Kind
    odds: tuple[Possibility, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TrackerView:
    """The tracker as of `at` (ms): cards in the order they left, and runs not explained yet.

    `left` counts the cards that left the shoe and have not been cleared, `lying` those that the
    still table shows or hides under a hand; while nothing is dealt, the two are equal. `doubts`
    are phrases for people about what the two do not agree on.
    """

    at: int
    cards: tuple[CardView, ...]
    runs: tuple[RunView, ...]
    left: int
    lying: int
    doubts: tuple[str, ...]
