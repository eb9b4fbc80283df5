"""What the tracker holds true at one moment, as values that other parts may keep and draw.

`Tracker.snapshot()` makes it on demand; nothing in it changes afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vision.game.events import Slot
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import TableView
from vision.sight.tracking.card import Life, TrackedCard
from vision.sight.tracking.explanations import Explanation
from vision.sight.tracking.tracklet import Tracklet


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


def tracker_view(
    view: TableView, cards: Sequence[TrackedCard], runs: Sequence[RunView], at: int
) -> TrackerView:
    """Return what is held true at a time: the cards that have not gone, and what is still open."""
    dealt = [card for card in cards if not card.is_cut]
    lying = [card for card in dealt if card.life in (Life.LYING, Life.COVERED)]
    slots = Counter(card.slot for card in lying if card.slot is not None)
    crowded = tuple(f"{slot.name} holds {n} cards" for slot, n in slots.items() if n > 1)
    seen = tuple(_card_view(view, card, at) for card in cards)
    return TrackerView(at, seen, tuple(runs), len(dealt), len(lying), crowded)


def _card_view(view: TableView, card: TrackedCard, at: int) -> CardView:
    run = card.tracklet
    quad = view.quad_px(run.lies_at)
    return CardView(card.id, quad, card.kind, card.life, card.slot, run.seen_at == at)


def run_view(view: TableView, run: Tracklet, found: Sequence[Explanation]) -> RunView:
    """Return a run of sightings with its explanations, which may be none yet."""
    total = sum(each.weight for each in found) or 1.0
    odds = [
        Possibility(each.weight / total, None if each.card is None else each.card.id, each.new)
        for each in sorted(found, key=lambda each: -each.weight)
    ]
    return RunView(view.quad_px(run.lies_at), run.kind, tuple(odds))
