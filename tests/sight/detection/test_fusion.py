"""Looks add up as far as they differ, and never further than they may be trusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.game.cards import Card
from vision.sight.detection.classifier import Fusion, Observation

FULL = np.full(52, 8.0)
SIX, EIGHT = Card.parse("6h"), Card.parse("8h")


def look(card: Card, p: float, readable: float = 1.0, other: Card = EIGHT) -> Observation:
    """Return a look that gives one card p and another nearly all the rest."""
    log_p = np.full(52, np.log((1 - p) * 1e-3 / 50))
    log_p[other.index] = np.log((1 - p) * 0.999)
    log_p[card.index] = np.log(p)
    return Observation(log_p, readable)


def after(looks: int, p: float, *, changed: bool = False) -> float:
    """Return the error left after some looks alike."""
    fusion = Fusion()
    for _ in range(looks):
        fusion.add(look(SIX, p), changed=changed)
    opinion = fusion.opinion(FULL)
    assert opinion is not None
    assert (opinion.best, opinion.second) == (SIX, EIGHT)
    assert opinion.confidence == pytest.approx(1 - opinion.error)
    return opinion.error


def test_no_look_is_no_opinion() -> None:
    """Before a readable look there is no opinion."""
    fusion = Fusion()
    fusion.add(look(SIX, 0.9, 0.3), changed=True)
    assert fusion.count == 0
    assert fusion.opinion(FULL) is None


def test_one_look_is_not_trusted_beyond_its_bound() -> None:
    """However sure a single look is, it leaves more than the default error."""
    assert after(1, 1 - 1e-9) > 1e-5


def test_still_looks_count_as_three_at_most() -> None:
    """A thousand looks at a still card at p leave no less error than three looks would."""
    three = 0.1**3 / (0.1**3 + 0.9**3)
    assert after(1000, 0.9) > 0.9 * three
    assert after(1000, 0.9) < after(10, 0.9) < after(2, 0.9) < after(1, 0.9) + 1e-12


def test_looks_that_differ_count_more() -> None:
    """Two looks in different light are worth more than two in the same."""
    assert after(2, 0.9, changed=True) < after(2, 0.9)


def test_copies_left_weigh_and_a_copy_too_many_needs_overwhelming_evidence() -> None:
    """With no copy of the best face left the next is preferred, until the looks insist."""
    none_left = FULL.copy()
    none_left[SIX.index] = 0
    fusion = Fusion()
    fusion.add(look(SIX, 0.99), changed=True)
    doubtful = fusion.opinion(none_left)
    assert doubtful is not None
    assert doubtful.best == EIGHT
    for _ in range(6):
        fusion.add(look(SIX, 1 - 1e-6), changed=True)
    sure = fusion.opinion(none_left)
    assert sure is not None
    assert sure.best == SIX
    assert sure.error < 1e-5


@given(st.lists(st.floats(0.02, 0.999), min_size=1, max_size=8), st.integers(0, 51))
def test_opinion_is_a_probability(ps: list[float], index: int) -> None:
    """Error lies between 0 and 1 and best differs from second, whatever was seen."""
    fusion = Fusion()
    for p in ps:
        fusion.add(look(Card.of(index), p, p, Card.of((index + 1) % 52)), changed=p > 0.5)
    opinion = fusion.opinion(FULL)
    if opinion is not None:
        assert 0 <= opinion.error <= 1
        assert opinion.best != opinion.second


def test_ten_looks_through_one_finger_are_one() -> None:
    """Looks that can hardly see the signs do not confirm each other, in one pose or in many."""
    for changed in (False, True):
        errors = []
        for readable in (0.6, 1.0):
            fusion = Fusion()
            for _ in range(10):
                fusion.add(look(SIX, 1 - 1e-6, readable), changed=changed)
            opinion = fusion.opinion(FULL)
            assert opinion is not None
            errors.append(opinion.error)
        assert errors[0] > 1e-5 > errors[1]
