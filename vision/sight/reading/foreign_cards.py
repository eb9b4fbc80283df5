"""Cards on the table that are none of the enrolled deck: told once, when the looks agree.

A single look may be poor; the median of several says whether a face or a back is another deck's.
Knows how strange looks are, not why; no rule of the game.
"""

from __future__ import annotations

from statistics import median

from vision.game.events import Noticed, Slot

# Looks whose strangeness is on the whole above this show a card of another deck.
STRANGE_FOR_LONG = 3.0
LEAST_LOOKS = 5
RECENT_LOOKS = 15


class ForeignCards:
    """What has been seen of each card, by its order; the face and the back are judged apart."""

    def __init__(self) -> None:
        self._looks: dict[tuple[int, bool], list[float]] = {}
        self._told: set[int] = set()

    def look(
        self, at: int, order: int, slot: Slot | None, strange: float, *, back: bool = False
    ) -> Noticed | None:
        """Take one look at a card; return what is to be said, once a card."""
        looks = self._looks.setdefault((order, back), [])
        looks.append(strange)
        del looks[:-RECENT_LOOKS]
        if order in self._told or len(looks) < LEAST_LOOKS or median(looks) < STRANGE_FOR_LONG:
            return None
        self._told.add(order)
        side = "back" if back else "face"
        detail = f"Its {side} is none of the enrolled deck."
        return Noticed(at, "FOREIGN_CARD", order, slot, detail)

    def told(self, order: int) -> bool:
        """Whether a card has been said to be of another deck."""
        return order in self._told

    def forget(self, order: int) -> None:
        """Forget a card that has left the table."""
        for back in (False, True):
            self._looks.pop((order, back), None)
        self._told.discard(order)
