"""Pairs of what leaves a mouth, and a card that left the same shoe before."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from datasets.mouth.answers import Answer
from datasets.mouth.pairs import pairs, shows_cut
from datasets.mouth.shoes import Kind
from vision.sight.detection.mouth import HEIGHT, WIDTH


def test_pairs_are_six_patches_of_which_some_show_the_cut_card() -> None:
    """The same seed gives the same pairs; what leaves is not the card before."""
    first, second = (list(itertools.islice(pairs(5, split="test"), 12)) for _ in range(2))
    for (picture, is_cut), (again, same) in zip(first, second, strict=True):
        assert picture.shape == (6 * HEIGHT, WIDTH, 3)
        assert np.array_equal(picture, again)
        assert np.array_equal(is_cut, same)
        assert not np.array_equal(picture[: 3 * HEIGHT], picture[3 * HEIGHT :])
    assert {float(is_cut[0]) for _, is_cut in first} == {0.0, 1.0}


@pytest.mark.parametrize(
    ("phase", "kind", "hand", "some_cut", "found"),
    [
        (2, Kind.CUT, 1, True, 1),
        (1, Kind.BACK, 1, True, 0),
        (2, -1, 0, True, -1),
        (-1, -1, 1, False, 0),
        (-1, -1, 1, True, -1),
        (0, Kind.BACK, 0, False, -1),
    ],
    ids=["cut card", "back before it", "nobody could say", "arm", "arm over it", "at rest"],
)
def test_pair_shows_the_cut_card_where_it_is_what_leaves(
    phase: int, kind: int, hand: int, found: int, *, some_cut: bool
) -> None:
    """A card before a cut card that waits is a card; what an arm may hide is not asked."""
    said = Answer(phase, 1.0, kind, hand, 0)
    assert shows_cut(said, some_cut=some_cut, limb=bool(hand)) == found
