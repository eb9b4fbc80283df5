"""Crops repeat from their seed, show the card upright either way, and say what can be read."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
import pytest

from datasets.training.crops import UNREADABLE, amiss, crops, cut, label_of, smallest_box
from datasets.training.snapshot import Snapshot
from vision.sight.geometry.plane import shared_area

OWN = {"train": ("harbour",)}
QUAD = np.array([[20, 20], [80, 20], [80, 104], [20, 104]], np.float32)


def shot(*, sharp: float = 60.0, card: int | None = 5, hide: slice | None = None) -> Snapshot:
    """Return a straight snapshot of 60 x 84 px, rows `hide` of it covered."""
    image = np.zeros((124, 100, 3), np.uint8)
    image[20:104, 20:80] = 255
    image[20:62, 20:50] = (0, 0, 255)
    clear = np.zeros(image.shape[:2], np.uint8)
    clear[20:104, 20:80] = 1
    if hide is not None:
        clear[hide] = 0
    return Snapshot(image, QUAD, card, clear, sharp, 60.0, 0.0)


def test_crops_same_seed_same_crops() -> None:
    """A seed gives the same crops and labels every time."""
    runs = [list(islice(crops(3, decks=OWN["train"]), 12)) for _ in range(2)]
    for (one, label), (two, again) in zip(*runs, strict=True):
        assert label == again
        assert np.array_equal(one, two)
        assert one.shape == (136, 96, 3)
        assert one.dtype == np.uint8


def test_crops_labels_cover_all_and_the_unreadable() -> None:
    """Every class is drawn; about a seventh is not readable."""
    labels = np.array([label for _, label in islice(crops(5, decks=OWN["train"]), 360)])
    assert set(labels) <= set(range(UNREADABLE + 1))
    assert len(set(labels)) > 48
    assert 0.05 < np.mean(labels == UNREADABLE) < 0.3


@pytest.mark.parametrize(
    ("given", "label"),
    [
        pytest.param(shot(), 5, id="whole"),
        pytest.param(shot(card=None), UNREADABLE, id="no card of the 52"),
        pytest.param(shot(sharp=12), UNREADABLE, id="too blurred"),
        pytest.param(shot(sharp=19), None, id="doubtful sharpness"),
        pytest.param(shot(hide=slice(46, 104)), 5, id="one index left"),
        pytest.param(shot(hide=slice(24, 98)), UNREADABLE, id="covered"),
        pytest.param(shot(hide=slice(32, 92)), None, id="parts of indices"),
    ],
)
def test_label_of_follows_what_is_seen(given: Snapshot, label: int | None) -> None:
    """A card is readable by one whole index or nearly all of it, sharp enough."""
    assert label_of(given) == label


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
    labels = [label for _, label in islice(crops(3, decks=OWN["train"]), 8)]
    assert labels == [UNREADABLE] * 8
