"""A card that shows another face later is weighed by all looks before and after."""

from __future__ import annotations

import numpy as np
import pytest

from vision.game.cards import Card
from vision.sight.detection.classifier import (
    HIDDEN_MS,
    LATE_MS,
    SETTLES_MS,
    Drawn,
    Observation,
    Pool,
    SwitchCheck,
)

FIRST, OTHER = Card.parse("As"), Card.parse("Kd")
LEFT = np.full(52, 8.0)
ALLEGED = 50.0
LIES = Drawn(0, lies=True)


def look(card: Card = OTHER) -> Observation:
    """Return a sure look at a face."""
    log_p = np.full(52, -12.0, np.float32)
    log_p[card.index] = -1e-4
    return Observation(log_p, 1.0)


class Watch:
    """A card that was read in `before` ms of clear sight, and the check of it, look by look."""

    def __init__(self, before: int = 2000) -> None:
        self.at, pool = 0, Pool()
        for self.at in range(0, before + 1, 100):
            pool.add(self.at, look(FIRST), changed=False)
        self.check = SwitchCheck(FIRST, pool)
        self.drawn = [LIES]

    def hide(self, ms: int = HIDDEN_MS + 100) -> None:
        """Hide the card for so long."""
        for _ in range(0, ms + 1, 100):
            self.at += 100
            self.check.note(self.at, self.drawn, clear=False)

    def show(self, ms: int, card: Card = OTHER) -> None:
        """Show a face in clear sight for so long."""
        for _ in range(0, ms, 100):
            self.at += 100
            self.check.note(self.at, self.drawn, clear=True)
            self.check.take(self.at, look(card), changed=False)

    @property
    def odds(self) -> float:
        """The odds of a switch."""
        return self.check.odds()[0]


def test_card_missed_by_one_look_is_not_hidden() -> None:
    """The detector misses a card now and then: what lies there was not hidden."""
    watch = Watch()
    watch.hide(0)
    watch.show(3000)
    assert 0 < watch.odds < 1
    assert watch.check.accuses_nobody


@pytest.mark.parametrize("times", [1, 4])
def test_looks_of_checks_that_were_cut_short_are_pooled(times: int) -> None:
    """A card open for a second in sum is as well known as one that is open at once."""
    watch = Watch()
    for _ in range(times):
        watch.hide()
        watch.show(1200 // times)
    watch.hide()
    assert watch.check.was_cut_short
    assert watch.odds > ALLEGED


def test_odds_of_a_switch_rise_with_each_look() -> None:
    """A moment is a misread sooner than a switch; what lies there longer is not."""
    watch, odds = Watch(), []
    watch.hide()
    for _ in range(12):
        watch.show(100)
        odds.append(watch.odds)
    assert odds == sorted(odds)
    assert odds[0] < 1
    assert odds[-1] > ALLEGED


def test_card_read_in_a_moment_may_have_been_misread() -> None:
    """The first face counts as well as the second."""
    watch = Watch(before=100)
    watch.hide()
    watch.show(3000)
    assert watch.odds < ALLEGED


def test_card_hidden_again_and_then_the_same_was_misread_meanwhile() -> None:
    """The face that was read shows again: what was seen under the hand says nothing any more."""
    watch = Watch()
    watch.hide()
    watch.show(300)
    watch.hide()
    assert watch.odds > 0
    watch.show(500, FIRST)
    opinion = watch.check.now(LEFT)
    assert opinion is not None
    assert opinion.best == FIRST
    watch.check.confirm()
    assert watch.odds == 0
    assert not watch.check.was_cut_short


def test_card_drawn_that_lies_nowhere_may_be_the_other_face() -> None:
    """It may lie on the one that was read; once it lies elsewhere it does not."""
    watch = Watch()
    watch.hide()
    watch.drawn = [LIES, Drawn(watch.at, lies=False)]
    watch.show(1500)
    assert watch.odds < 1
    watch.drawn = [LIES]  # it proved to be none: then what lies there?
    watch.show(100)
    assert watch.odds < 1
    watch.drawn = [LIES, Drawn(watch.at, lies=True)]
    watch.show(100)
    assert watch.odds > ALLEGED


@pytest.mark.parametrize(("late_ms", "excuses"), [(LATE_MS // 2, True), (2 * LATE_MS, False)])
def test_card_drawn_since_does_not_lie_on_it(late_ms: int, *, excuses: bool) -> None:
    """The other face lay there before the next card left the shoe, but for its being told late."""
    watch = Watch()
    watch.hide()
    watch.drawn = [LIES, Drawn(watch.at + late_ms, lies=False)]
    watch.show(1500)
    assert (watch.odds < ALLEGED) is excuses


def test_card_that_nobody_saw_meanwhile_accuses_nobody() -> None:
    """The view was lost: the coup may have been another by then."""
    watch = Watch()
    watch.check.lose_sight(watch.at)
    watch.at += 2000
    watch.show(3000)
    assert watch.odds < 1
    assert watch.check.accuses_nobody


def test_card_is_looked_at_until_it_is_settled_what_lies_there() -> None:
    """A check is on for a second, not for as long as the card lies."""
    watch = Watch()
    watch.hide()
    watch.show(SETTLES_MS // 2)
    assert watch.check.is_on
    watch.show(SETTLES_MS)
    assert not watch.check.is_on
