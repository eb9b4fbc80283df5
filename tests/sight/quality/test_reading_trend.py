"""Reading that becomes poor is reported once, and its end."""

from __future__ import annotations

import numpy as np

from vision.app.pipeline import limits_of
from vision.config.table import WatchSection
from vision.game.cards import DECK
from vision.game.events import CoupSeen, Event, Life, Noticed, SeenCard
from vision.sight.detection.classifier import Observation
from vision.sight.quality.view import CARDS, OBSERVATIONS, ReadingTrend

LIMITS = limits_of(WatchSection())[2]


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
    trend = ReadingTrend(LIMITS)
    assert reads(trend, [i % 6 == 0 for i in range(2 * CARDS)]) == []
    (event,) = reads(trend, [i % 3 == 0 for i in range(2 * CARDS)], start=1000)
    assert isinstance(event, Noticed)
    assert event.code == "READING_POOR"
    assert "cards unread" in event.detail
    (end,) = reads(trend, [False] * CARDS, start=2000)
    assert isinstance(end, Noticed)
    assert end.over


def look(sure: float) -> Observation:
    """Return a look that is so sure of one face."""
    log_p = np.full(52, np.log((1 - sure) / 51))
    log_p[3] = np.log(sure)
    return Observation(log_p.astype(np.float32), 0.9)


def test_looks_that_grow_unsure_are_reported_and_the_end() -> None:
    """A fall from 95 to 60 per cent on average is reported; what shows no face does not count."""
    trend = ReadingTrend(LIMITS)
    trend.add_observations([look(0.95)] * OBSERVATIONS)
    trend.add_observations([Observation(look(0.1).log_p, 0.2)] * OBSERVATIONS)
    assert trend.update([], 0) == ()
    trend.add_observations([look(0.6)] * OBSERVATIONS)
    (event,) = trend.update([], 1)
    assert isinstance(event, Noticed)
    assert event.code == "READING_POOR"
    assert "60%" in event.detail
    assert trend.update([], 2) == ()
    trend.add_observations([look(0.95)] * OBSERVATIONS)
    (end,) = trend.update([], 3)
    assert isinstance(end, Noticed)
    assert end.over
