"""The still table as a witness: what lies in each place when nothing moves, against what is known.

Where for a while no hand is over a place and what is seen there lies still, it holds as many cards
as are seen. If the tracker holds more, one of them is in doubt, and a person should look; a card
that was in doubt and is seen to lie there alone is so no longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from vision.game.events import Slot
from vision.sight.geometry.frame import Points
from vision.sight.geometry.plane import TableView, overlap
from vision.sight.tracking.card import Life, TrackedCard

# A place has to lie still and bare of hands for so long, in ms, before it is counted. Shorter, and
# a missed sighting is a missing card; longer, and the next card falls into the count.
STILL_MS = 900
# A card is seen in a still place if it was in the last so many ms: a look or two may miss it.
LATELY_MS = 350
# A hand nearer than this share of a place (overlap, 0 to 1) disturbs it; higher, and a card under a
# hand's edge counts as missing.
HAND_SHARE = 0.02


class StillTable:
    """Counts what lies in each place, and sets or lifts the doubts of cards."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._since: dict[Slot, int] = {}

    def compare(self, cards: Sequence[TrackedCard], hands: Sequence[Points], at: int) -> None:
        """Doubt the last card of a place that long shows fewer than are known to lie there."""
        lying: dict[Slot, list[TrackedCard]] = {}
        for card in cards:
            if card.slot is not None and card.told and not card.gone:
                lying.setdefault(card.slot, []).append(card)
        for slot, held in lying.items():
            if len(held) < 2 and not held[0].doubt:
                continue
            if not self._is_still(slot, held, hands, at):
                self._since[slot] = at
            elif at - self._since.setdefault(slot, at) >= STILL_MS:
                _count(slot, held, at)

    def _is_still(
        self, slot: Slot, held: Sequence[TrackedCard], hands: Sequence[Points], at: int
    ) -> bool:
        if any(overlap(self._view.slots[slot], hand) > HAND_SHARE for hand in hands):
            return False
        seen = [card for card in held if _is_seen(card, at)]
        return bool(seen) and all(card.life is Life.LYING for card in seen)


def _count(slot: Slot, held: Sequence[TrackedCard], at: int) -> None:
    unseen = [card for card in held if not _is_seen(card, at)]
    for card in held:
        if card.doubt and not unseen:
            card.doubt = ""
    if unseen:
        last = max(held, key=lambda card: card.out_at)
        last.doubt = f"{slot.title}: {len(held)} cards followed, {len(held) - len(unseen)} seen"


def _is_seen(card: TrackedCard, at: int) -> bool:
    return at - card.tracklet.seen_at <= LATELY_MS
