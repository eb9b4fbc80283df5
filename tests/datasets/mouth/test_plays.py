"""Plays at shoes drawn at random: what they say of themselves is what they show."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from datasets.mouth.answers import HIDDEN, NO_CUT, Answer
from datasets.mouth.plays import Play
from datasets.mouth.samples import samples
from datasets.mouth.shoes import Kind, Shoe
from vision.sight.detection.mouth import HEIGHT, WIDTH

PLAYS = 8


@pytest.fixture(scope="module")
def plays() -> list[Play]:
    """Return a few plays."""
    made = (np.random.default_rng([5, number]) for number in range(PLAYS))
    return [Play(Shoe(rng, "test"), rng, actions=2) for rng in made]


def answers(play: Play) -> Iterator[tuple[float, Answer]]:
    """Yield the answers of a play, fifty a second."""
    for time in np.arange(0.1, play.length, 0.02):
        yield float(time), play.answer(float(time))


def test_play_begins_and_ends_at_rest(plays: list[Play]) -> None:
    """Nothing is out before anything is done."""
    assert all(play.answer(0.15).phase == 0 for play in plays)


def test_play_departure_lies_between_partly_and_wholly_out(plays: list[Play]) -> None:
    """The time at which a card is out is that at which its answers change from partly to wholly."""
    checked = 0
    for play in plays:
        for out, _, _ in play.departures():
            before = [a.phase for t, a in answers(play) if out - 0.3 < t < out]
            after = [a.shift for t, a in answers(play) if out + 0.02 < t < out + 0.1]
            assert 1 in before
            # One that is swept aside may be out of the patch by then.
            assert np.isnan(after).all() or np.nanmax(after) > 0.9
            checked += 1
    assert checked >= PLAYS // 2


def test_play_answers_are_within_their_ranges(plays: list[Play]) -> None:
    """Phases, kinds and flags are those that the network has outputs for."""
    for _, answer in itertools.chain.from_iterable(map(answers, plays)):
        assert answer.phase in {-1, 0, 1, 2}
        assert answer.kind in {*map(int, Kind), HIDDEN, NO_CUT, -1}
        assert answer.hand in {0, 1}


def test_play_picture_changes_when_a_card_is_out(plays: list[Play]) -> None:
    """What an answer calls wholly out is to be seen: the picture differs from the one at rest."""
    seen = 0
    for play in plays:
        quiet = play.shoe.draw(play.moment(0.1)).astype(int)
        for time, answer in answers(play):
            if answer.phase == 2:
                moved = np.abs(play.shoe.draw(play.moment(time)).astype(int) - quiet)
                seen += 1
                assert (moved.max(axis=2) > 8).mean() > 0.03
                break
    assert seen


def test_samples_are_stacked_patches_with_their_answers() -> None:
    """The same seed gives the same samples: three patches, one above the other, five numbers."""
    first, second = (list(itertools.islice(samples(3, split="test"), 4)) for _ in range(2))
    for (picture, label), (again, same) in zip(first, second, strict=True):
        assert picture.shape == (3 * HEIGHT, WIDTH, 3)
        assert label.shape == (5,)
        assert np.array_equal(picture, again)
        assert np.array_equal(label, same, equal_nan=True)
