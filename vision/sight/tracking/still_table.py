"""The still table as a witness: what lies in each place when nothing moves, against what is known.

Where for a while no hand is over a place and nothing in it moves, it holds as many cards as are
seen there. If the tracker holds more or fewer, one of the two is wrong about a card, and a person
should look.
"""

from __future__ import annotations

from collections.abc import Sequence

from vision.game.events import Slot
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import TableView, overlap
from vision.sight.tracking.card import Life, TrackedCard
from vision.sight.tracking.leaving import Finding
from vision.sight.tracking.tracklet import Tracklet

# A place has to lie still and bare of hands for so long, in ms, before it is counted. Shorter, and
# a missed sighting is a missing card; longer, and the next card falls into the count.
STILL_MS = 900
# A card is seen in a still place if it was in the last so many ms: a look or two may miss it.
LATELY_MS = 350
# A hand nearer than this share of a place (overlap, 0 to 1) disturbs it; higher, and a card under a
# hand's edge counts as missing.
HAND_SHARE = 0.02


class StillTable:
    """Counts what lies in each place; tells of each disagreement once."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._since: dict[Slot, int] = {}
        self._told: set[tuple[Slot, int]] = set()

    def compare(
        self,
        cards: Sequence[TrackedCard],
        runs: Sequence[Tracklet],
        hands: Sequence[Points],
        at: int,
    ) -> list[Finding]:
        """Return a doubt for each place that has long shown another count than is known."""
        found: list[Finding] = []
        lying: dict[Slot, list[TrackedCard]] = {}
        for card in cards:
            if card.slot is not None and card.told and not card.gone:
                lying.setdefault(card.slot, []).append(card)
        for slot, held in lying.items():
            if len(held) < 2 or not self._is_still(slot, held, hands, at):
                self._since[slot] = at
                continue
            if at - self._since.setdefault(slot, at) < STILL_MS:
                continue
            unseen = [card for card in held if at - card.tracklet.seen_at > LATELY_MS]
            last = max(unseen, key=lambda card: card.out_at, default=None)
            if last is not None and (slot, last.id) not in self._told:
                self._told.add((slot, last.id))
                last.doubted = True
                detail = f"{slot.title}: {len(held)} cards were followed there, fewer are seen"
                found.append(Finding(at, "REVIEW", last.id, slot, detail))
        return found

    def _is_still(
        self, slot: Slot, held: Sequence[TrackedCard], hands: Sequence[Points], at: int
    ) -> bool:
        area = self._view.slots[slot]
        if any(overlap(area, hand) > HAND_SHARE for hand in hands):
            return False
        seen = [card for card in held if at - card.tracklet.seen_at <= LATELY_MS]
        return bool(seen) and all(card.life is Life.LYING for card in seen)
