"""Stills repeat from their seed and their labels say where the cards are."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from datasets.faces import registry
from datasets.faces.sprites import packs
from datasets.render.camera import view
from datasets.training import arrange, scene
from datasets.training.scene import stills

OWN = {"train": ("harbour",), "test": ("meridian",)}


def some(seed: int, count: int, split: str = "train") -> list[scene.Still]:
    """Return the first stills of a seed, with one own deck."""
    return list(islice(stills(seed, split=split, decks=OWN[split]), count))


@pytest.fixture(scope="module")
def sample() -> list[scene.Still]:
    """Return stills enough for figures about them."""
    return some(1, 40)


def test_stills_same_seed_same_pictures() -> None:
    """A seed gives the same pictures and labels every time; another seed others."""
    first, again, other = some(7, 3), some(7, 3), some(8, 3)
    for one, two in zip(first, again, strict=True):
        assert np.array_equal(one.image, two.image)
        assert [label.card for label in one.labels] == [label.card for label in two.labels]
    assert not np.array_equal(first[0].image, other[0].image)


def test_labels_are_clockwise_with_a_short_edge_first(sample: list[scene.Still]) -> None:
    """No quad is mirrored, and edge 0 to 1 is a short side wherever the view is not steep."""
    ratios = []
    for label in (label for still in sample for label in still.labels):
        x, y = label.quad.T
        assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0
        sides = np.linalg.norm(np.roll(label.quad, -1, axis=0) - label.quad, axis=1)
        ratios.append((sides[1] + sides[3]) / (sides[0] + sides[2]))
    assert len(ratios) > 100
    assert 1.2 < np.median(ratios) < 1.6
    assert np.mean(np.array(ratios) > 1.0) > 0.9


def test_labels_are_seen_in_the_picture(sample: list[scene.Still]) -> None:
    """Every label has its least visible share and meets the picture."""
    for still in sample:
        for label in still.labels:
            assert 0.12 <= label.visible <= 1.0
            assert label.quad[:, 0].max() > 0
            assert label.quad[:, 0].min() < still.image.shape[1]
            assert label.kind in {"face", "back", "cut"}
            assert (label.card is None) or label.kind == "face"


def test_arrangement_of_a_coup_has_two_sides() -> None:
    """Punto's cards lie left and Banco's right of the middle, two or three a hand or one so far."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        found = arrange.coup(rng, (20.0, 20.0))
        left = sum(spot.x < 0 for spot in found)
        assert 1 <= left <= 3
        assert 1 <= len(found) - left <= 3


@pytest.mark.parametrize("style", list(arrange.OVERLAPS))
def test_arrangement_of_a_style_of_overlap_lays_cards_on_one_another(style: str) -> None:
    """Most cards reach into another one of their group, near ones and far ones."""
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(60):
        found = arrange.OVERLAPS[style](rng, (5.0, 5.0))
        assert 2 <= len(found) <= 8
        one, *others = found
        gaps.append(min(np.hypot(one.x - two.x, (one.y - two.y) / 1.4) for two in others))
    assert np.mean(np.array(gaps) < 1.0) > 0.8
    assert np.percentile(gaps, 10) < 0.35 < np.percentile(gaps, 90)


def test_stills_of_overlaps_have_labels_of_whole_cards_of_which_part_is_in_sight() -> None:
    """The outline is of the whole card also where another hides much of it."""
    found = [
        label
        for still in islice(scene.overlaps(5, decks=OWN["train"], style="stair"), 6)
        for label in still.labels
    ]
    hidden = [label for label in found if 0.15 < label.visible < 0.6]
    assert len(hidden) >= 4
    for label in hidden:
        sides = np.linalg.norm(np.roll(label.quad, -1, axis=0) - label.quad, axis=1)
        assert 0.9 < (sides[1] + sides[3]) / (sides[0] + sides[2]) < 2.2


def test_splits_share_no_deck_and_no_back() -> None:
    """What is tested on was never trained on."""
    assert not set(registry.deck_names("train")) & set(registry.deck_names("test"))
    assert not set(registry.back_names("train")) & set(registry.back_names("test"))
    assert packs("test", OWN["test"])[0].split == "test"


def test_view_untilted_keeps_scale_and_handedness() -> None:
    """Straight from above a millimetre is the stated pixels and nothing is mirrored."""
    seen = view(np.random.default_rng(1), (400, 300), px_per_mm=0.5, tilt=0.0, turn=0.3)
    assert seen.scale_at(np.zeros(2)) == pytest.approx(0.5, rel=0.02)
    assert seen.project(np.zeros((1, 2)))[0] == pytest.approx([200, 150], abs=0.5)
    corners = seen.project(np.array([[-10.0, -10], [10, -10], [10, 10], [-10, 10]]))
    x, y = corners.T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0
