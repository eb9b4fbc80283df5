"""Samples cut from films of the simulator: what they say agrees with the film's own truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from datasets.dealing.simulate import Show
from datasets.dealing.timeline import on_table
from datasets.mouth import filmed
from datasets.mouth.answers import Answer
from datasets.mouth.filmed import answer_at, film_samples, rehearsed
from vision.errors import ConfigurationError
from vision.sight.detection.mouth import HEIGHT, WIDTH


@pytest.fixture(scope="module")
def shows() -> list[Show]:
    """Rehearse a few coups of held-out dealers; nothing is drawn."""
    return [rehearsed(np.random.default_rng([3, number]), "test") for number in range(4)]


def answers(show: Show, number: int, start: float, end: float) -> list[Answer]:
    """Return what is to be said between two instants of an act."""
    act, cards = show.acts[number], on_table(show.acts, number)
    layout = show.look.style.layout
    return [answer_at(cards, act, float(at), layout) for at in np.arange(start, end, 0.01)]


def test_filmed_card_is_partly_out_before_its_time_and_wholly_after(shows: list[Show]) -> None:
    """The instant of `out_ms` is that at which the answers change."""
    checked = 0
    for show in shows:
        for number, act in enumerate(show.acts):
            seconds = {m.order for m in act.coup.mistakes if m.code == "TWO_CARDS_OUT"}
            for card in act.cards:
                if not card.drawn.order or seconds & {card.drawn.order, card.drawn.order + 1}:
                    continue
                before = answers(show, number, card.began, card.out - 0.005)
                after = answers(show, number, card.out + 0.005, card.out + 0.06)
                assert 2 not in [answer.phase for answer in before[-12:]]
                assert 1 in [answer.phase for answer in before]
                assert after[0].shift == pytest.approx(1.0, abs=0.25)
                assert {answer.phase for answer in after} <= {2, -1}
                checked += 1
    assert checked > 20


@pytest.mark.slow
def test_film_samples_are_stacked_patches_with_their_answers() -> None:
    """A sample is three patches, one above the other, and five numbers; all phases come."""
    made = list(itertools.islice(film_samples(4), 40))
    assert all(picture.shape == (3 * HEIGHT, WIDTH, 3) for picture, _ in made)
    assert all(label.shape == (5,) for _, label in made)
    assert {0, 1, 2} <= {int(label[0]) for _, label in made}


def test_film_samples_go_on_where_a_shoe_cannot_have_its_mistake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Near its end a shoe may lack the cards of a mistake: another one is dealt."""
    tried: list[str] = []

    def first_lacks_cards(rng: np.random.Generator, split: str, *, cuts: float) -> Show:
        tried.append(split)
        if len(tried) == 1:
            raise ConfigurationError("the fault cannot happen with the cards left in the shoe")
        return rehearsed(rng, split, cuts=cuts)

    monkeypatch.setattr(filmed, "rehearsed", first_lacks_cards)
    picture, _ = next(film_samples(3, split="test"))
    assert picture.shape == (3 * HEIGHT, WIDTH, 3)
    assert len(tried) > 1
