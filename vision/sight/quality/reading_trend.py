"""Report when cards are read worse than before: more stay unread, or single looks are less sure.

`ReadingTrend` is given the looks and what sight says of each frame, and gives an event when a
limit is passed and when all is well again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vision.game.events import Condition, CoupSeen, Event
from vision.sight.detection.classifier import LEAST_READABLE, Look
from vision.sight.quality.view import OVER_SHARE

# Over how many of the last cards the share left unread is taken, and from how many on: about eight
# coups, and four. Chosen by judgement. More react later; fewer let one bad coup raise the alert.
CARDS, LEAST_CARDS = 40, 20
# Over how many of the last looks their confidence is averaged; the first so many set what is usual.
# Chosen by judgement. More react later; fewer let one hard card, looked at often, raise the alert.
LOOKS = 300


@dataclass(frozen=True, slots=True)
class ReadingTrendLimits:
    """When reading counts as poor; the values are the table file's, section `[watch]`."""

    abstained_share: float  # share of the last cards that may stay unread, 0 to 1
    confidence_drop: float  # how far the looks' mean confidence may fall below the first, 0 to 1


class ReadingTrend:
    """The share of cards left unread, and how sure single looks are, against the limits."""

    def __init__(self, limits: ReadingTrendLimits) -> None:
        self._limits = limits
        self._unread: dict[int, bool] = {}
        self._sure: deque[float] = deque(maxlen=LOOKS)
        self._usual: float | None = None
        self._poor = Condition("READING_POOR")

    def add_looks(self, looks: Sequence[Look]) -> None:
        """Take the looks of one call of the classifier; those at no face do not count."""
        faces = (look for look in looks if look.readable >= LEAST_READABLE)
        self._sure.extend(float(np.exp(look.log_p.max())) for look in faces)
        if self._usual is None and len(self._sure) == LOOKS:
            self._usual = float(np.mean(self._sure))

    def update(self, events: Iterable[Event], at: int) -> tuple[Event, ...]:
        """Take what sight says of a frame; return an event if reading became poor or good again."""
        for event in events:
            if isinstance(event, CoupSeen):
                known = (card for card in event.cards if card.card is not None or card.declined)
                self._unread.update((card.order, card.card is None) for card in known)
                while len(self._unread) > CARDS:
                    del self._unread[next(iter(self._unread))]
        return self._poor.take(self._reason(), at)

    def begin_shoe(self) -> None:
        """Begin a run of cards, whose orders count from 1 again."""
        self._unread.clear()

    def _reason(self) -> str | None:
        scale, cards = 1.0 if self._poor.reason is None else OVER_SHARE, len(self._unread)
        share = sum(self._unread.values()) / cards if cards >= LEAST_CARDS else 0.0
        if share > self._limits.abstained_share * scale:
            return f"{share:.0%} of the last {cards} cards unread; look at light and lens."
        if self._usual is None:
            return None
        now = float(np.mean(self._sure))
        if self._usual - now > self._limits.confidence_drop * scale:
            return f"Looks are {now:.0%} sure, at first {self._usual:.0%}; look at light and lens."
        return None
