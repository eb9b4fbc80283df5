"""The weights of what is unlike the cards before are fitted to cards that leave."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from datasets.dealing.film_truth import FilmTruth
from models.evaluate.fit_cut import Leaving, fitted, gathered, log_likelihood
from models.evaluate.streams import Film
from vision.sight.following.evidence import WEIGHTS

REST = np.array([6, 0, 0, 0, 4, 0, -1, 0, -6, -6, np.nan], np.float32)


def _film(cut: int | None) -> Film:
    """Return a film of eight cards, one every second; the card at `cut` is the cut card."""
    frames, mouth = list(range(0, 9000, 50)), []
    for at in frames:
        values = REST.copy()
        if 0 <= at % 1000 - 500 < 150 and at < 8000:
            values[:3], values[6] = (0, 0, 6), 6 if at // 1000 == cut else -1
        mouth.append(values)
    outs = [1000 * number + 550 for number in range(8)]
    cards = [SimpleNamespace(out=out) for number, out in enumerate(outs) if number != cut]
    truth = SimpleNamespace(cards=cards, cut=None if cut is None else outs[cut])
    return Film(SimpleNamespace(frames=frames, mouth=np.array(mouth)), truth, Path())  # type: ignore[arg-type]


def test_cards_that_leave_are_gathered_once_those_before_are_known() -> None:
    """The first three cards of a film have nothing before them; the cut card is told apart."""
    leaving = gathered([_film(5)])
    assert [each.is_cut for each in leaving] == [False, False, True, False, False]


def test_weights_tell_the_cut_card_from_other_cards() -> None:
    """What only the cut card has weighs for it, and the fit is better than knowing nothing."""
    leaving = gathered([_film(4), _film(6), _film(None)])
    weights = dict(zip(WEIGHTS, fitted(leaving), strict=True))
    assert weights["leaving"] > 0
    assert log_likelihood(fitted(leaving), leaving) > np.log(1 / 2)


def test_both_kinds_weigh_alike() -> None:
    """A kind of which there are many cards weighs as one of which there are few."""
    one = np.array([1.0, 0, 0, 1])
    few = [Leaving(one, is_cut=True), Leaving(-one, is_cut=False)]
    assert fitted([few[0], *[few[1]] * 50]) == pytest.approx(fitted(few))


def test_film_without_cards_has_nothing_to_fit() -> None:
    """It is no error; the likelihood is that of nothing."""
    film = _film(None)
    empty = FilmTruth((), (), None)
    assert gathered([Film(film.stream, empty, Path())]) == []
    assert log_likelihood(np.zeros(len(WEIGHTS)), []) == 0
