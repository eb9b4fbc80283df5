"""Crops repeat from their seed, show the card upright either way, and say what can be read."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
import pytest

from datasets.faces.sprites import Pack
from datasets.training.crops import NO_CARD, NOTHING, amiss, crops, cut, smallest_box, truth_of
from datasets.training.signs import Sight
from datasets.training.snapshot import Snapshot
from vision.sight.geometry.plane import shared_area

OWN = {"train": ("harbour",)}
QUAD = np.array([[20, 20], [80, 20], [80, 104], [20, 104]], np.float32)


NONE, DOUBT, CLEAR = Sight
# Class numbers: a five and a king of diamonds.
FIVE, KING = 17, 49


def shot(
    *, sharp: float = 60.0, card: int | None = FIVE, hide: slice | None = None, back: bool = False
) -> Snapshot:
    """Return a straight snapshot of 60 x 84 px, rows `hide` of it covered."""
    image = np.zeros((124, 100, 3), np.uint8)
    image[20:104, 20:80] = 255
    image[20:62, 20:50] = (0, 0, 255)
    clear = np.zeros(image.shape[:2], np.uint8)
    clear[20:104, 20:80] = 1
    if hide is not None:
        clear[hide] = 0
    return Snapshot(image, QUAD, card, clear, sharp, 60.0, 0.0, Pack("harbour"), back)


def test_crops_same_seed_same_crops() -> None:
    """A seed gives the same crops and labels every time."""
    runs = [list(islice(crops(3, decks=OWN["train"]), 12)) for _ in range(2)]
    for (one, label), (two, again) in zip(*runs, strict=True):
        assert label == again
        assert np.array_equal(one, two)
        assert one.shape == (136, 96, 3)
        assert one.dtype == np.uint8


def test_crops_truths_cover_all_cards_and_what_cannot_be_seen() -> None:
    """Every class is drawn; ranks and suits are hidden apart, and some crops show no face."""
    truths = [truth for _, truth in islice(crops(5, decks=OWN["train"]), 480)]
    assert {truth.card for truth in truths} == set(range(NO_CARD + 1))
    assert 0.1 < np.mean([truth.card == NO_CARD for truth in truths]) < 0.35
    assert 0.4 < np.mean([truth.readable for truth in truths]) < 0.75
    assert any(truth.rank > truth.suit for truth in truths)
    assert any(truth.rank < truth.suit for truth in truths)
    assert any(truth.back == CLEAR for truth in truths)
    assert all(truth.back == NONE for truth in truths if truth.card != NO_CARD)


@pytest.mark.parametrize(
    ("given", "sights"),
    [
        pytest.param(shot(), (CLEAR, CLEAR, NONE), id="whole"),
        pytest.param(shot(card=None), (NONE, NONE, NONE), id="no card of the 52"),
        pytest.param(shot(card=None, back=True), (NONE, NONE, CLEAR), id="a back"),
        pytest.param(shot(sharp=10), (NONE, NONE, NONE), id="too blurred"),
        pytest.param(shot(sharp=14), (DOUBT, NONE, NONE), id="pips may be counted"),
        pytest.param(shot(sharp=19), (CLEAR, DOUBT, NONE), id="pips of a doubtful shape"),
        pytest.param(shot(sharp=19, card=KING), (DOUBT, DOUBT, NONE), id="a court in doubt"),
        pytest.param(shot(hide=slice(46, 104)), (CLEAR, CLEAR, NONE), id="one index left"),
        pytest.param(shot(hide=slice(22, 102)), (NONE, NONE, NONE), id="covered"),
        pytest.param(shot(card=KING, hide=slice(34, 104)), (CLEAR, NONE, NONE), id="a rank left"),
        pytest.param(shot(hide=slice(20, 31)), (CLEAR, CLEAR, NONE), id="pips of a number"),
    ],
)
def test_truth_follows_what_is_seen(given: Snapshot, sights: tuple[Sight, Sight, Sight]) -> None:
    """Rank and suit are seen each for itself, in an index or by the pips, if sharp enough."""
    assert truth_of(given)[1:] == sights


def test_cut_shows_either_end_up_and_never_mirrors() -> None:
    """The coloured quarter is found top left or, turned by 180 degrees, bottom right."""
    ends = set()
    for seed in range(12):
        crop = cut(np.random.default_rng(seed), shot(), (96, 136)).astype(int)
        redness = crop[:, :, 2] - crop[:, :, 1]
        quarters = [redness[:60, :40], redness[:60, 56:], redness[76:, :40], redness[76:, 56:]]
        ends.add(int(np.argmax([quarter.mean() for quarter in quarters])))
    assert ends == {0, 3}


def test_smallest_box_keeps_the_order_of_corners() -> None:
    """The box of a slanted quad starts at the corner nearest the quad's first."""
    quad = np.array([[30, 20], [82, 26], [90, 110], [16, 100]], np.float32)
    box = smallest_box(quad)
    assert np.abs(box - quad).max() < 20
    x, y = box.T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0


def test_amiss_is_never_the_cards_own_outline() -> None:
    """What is to be told from a good outline shares at most six sevenths with it, of either."""
    rng = np.random.default_rng(5)
    quad = np.array([[40, 30], [140, 36], [136, 176], [36, 170]], np.float32)
    shares = []
    for _ in range(400):
        other = amiss(rng, quad)
        shared = shared_area(quad, other)
        shares.append(shared / (cv2.contourArea(quad) + cv2.contourArea(other) - shared))
    assert max(shares) < 6 / 7
    assert min(shares) > 0.1, "it is still about this card"


def test_crop_with_an_outline_amiss_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear card is no card where its outline is not its own."""
    monkeypatch.setattr("datasets.training.crops._AMISS", 1.0)
    truths = [truth for _, truth in islice(crops(3, decks=OWN["train"]), 8)]
    assert [truth._replace(back=NONE) for truth in truths] == [NOTHING] * 8
