"""A card that was hidden is checked to the end, or afresh, and never quietly left."""

from __future__ import annotations

import numpy as np

from vision.game.cards import Card
from vision.sight.detection.classifier import Look
from vision.sight.reading.faces import HIDDEN_MS, SURE_LOOKS, SURE_MS, SwitchCheck

OTHER = Card.parse("Ah")


def look() -> Look:
    """Return a sure look at the other face."""
    log_p = np.full(52, -12.0, np.float32)
    log_p[OTHER.index] = -1e-4
    return Look(log_p, 0.95)


def hidden_once() -> SwitchCheck:
    """Return the check of a card that was hidden for long enough and lies clear since 1000 ms."""
    check = SwitchCheck()
    check.note(1000 - HIDDEN_MS, SURE_LOOKS, clear=False)
    check.note(1000, SURE_LOOKS, clear=True)
    return check


def test_card_missed_by_one_look_is_checked_on() -> None:
    """The detector misses a card now and then: that ends no check, and the check says its end."""
    check = hidden_once()
    assert not check.take(1000, look(), changed=False)
    check.note(1050, SURE_LOOKS, clear=False)
    check.note(1100, SURE_LOOKS, clear=True)
    assert check.is_on
    ends = [check.take(1000 + SURE_MS, look(), changed=False) for _ in range(SURE_LOOKS - 1)]
    assert ends == [False] * (SURE_LOOKS - 2) + [True]
    assert check.end() is not None


def test_card_hidden_again_is_checked_afresh() -> None:
    """What was seen before it was hidden a second time says nothing of what lies there now."""
    check = hidden_once()
    check.take(1000, look(), changed=False)
    check.note(1100, SURE_LOOKS, clear=False)
    check.note(1100 + HIDDEN_MS, SURE_LOOKS, clear=True)
    assert check.is_on
    assert check.looks == []


def test_looks_of_a_check_that_ended_are_given_once() -> None:
    """Looks that count twice would make a reading surer than it is."""
    check = hidden_once()
    for _ in range(SURE_LOOKS):
        check.take(1000 + SURE_MS, look(), changed=False)
    assert check.end() is not None
    assert check.looks == []


def test_card_drawn_that_lies_nowhere_may_be_the_other_face() -> None:
    """It may lie on the one that was read; one that lies elsewhere by then does not."""
    for lost in (True, False):
        check = hidden_once()
        check.note(1050, SURE_LOOKS, clear=True, drawn=True)
        check.note(1000 + SURE_MS, SURE_LOOKS, clear=True, drawn=lost)
        assert check.accuses_nobody is lost
