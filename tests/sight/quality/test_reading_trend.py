"""Reading that becomes poor is reported once, and its end."""

from __future__ import annotations

from vision.config.table import WatchSection
from vision.game.cards import DECK
from vision.game.events import CoupSeen, Event, Life, Noticed, SeenCard
from vision.sight.quality.view import CARDS, ReadingTrend

SHARE = WatchSection().abstained_share


def reads(trend: ReadingTrend, unread: list[bool], start: int = 0) -> list[Event]:
    """Read cards, or leave them unread."""
    events: list[Event] = []
    for i, declined in enumerate(unread, start=start):
        card = None if declined else DECK[i % 52]
        seen = SeenCard(i, i, Life.LYING, card=card, declined=declined)
        events += trend.update([CoupSeen(i, 1, (seen,))], i)
    return events


def test_many_unread_cards_are_reported_and_the_end() -> None:
    """Every third card unread is reported once; a few are not."""
    trend = ReadingTrend(SHARE)
    assert reads(trend, [i % 6 == 0 for i in range(2 * CARDS)]) == []
    (event,) = reads(trend, [i % 3 == 0 for i in range(2 * CARDS)], start=1000)
    assert isinstance(event, Noticed)
    assert event.code == "READING_POOR"
    assert "cards unread" in event.detail
    (end,) = reads(trend, [False] * CARDS, start=2000)
    assert isinstance(end, Noticed)
    assert end.over
