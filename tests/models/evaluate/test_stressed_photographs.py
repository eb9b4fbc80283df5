"""Changed photographs: their truth follows the change, and readings are scored by it."""

import cv2
import numpy as np
import pytest

from models.evaluate.stressed_photographs import (
    Heaps,
    Photograph,
    Shown,
    changes,
    cut,
    has_index,
    score,
)
from vision.game.cards import Card
from vision.sight.detection.detector import Kind
from vision.sight.stills.reader import StillCard

QUAD = np.array([[100, 80], [200, 80], [200, 220], [100, 220]], np.float32)
SEVEN, KING = Card.parse("7d"), Card.parse("Ks")


def photograph() -> Photograph:
    """Return a grey picture with one white card, its first corner red."""
    image = np.full((320, 300, 3), 90, np.uint8)
    cv2.rectangle(image, (100, 80), (199, 219), (255, 255, 255), -1)
    cv2.rectangle(image, (100, 80), (119, 119), (0, 0, 255), -1)
    return Photograph(image, (Shown(SEVEN, QUAD),))


@pytest.mark.parametrize(
    "words",
    ["turned by any angle", "turned by a quarter or a half", "twice as large",
     "tilted by 35 degrees", "cards 45 px wide"],
)  # fmt: skip
def test_outline_follows_the_picture(words: str) -> None:
    """Wherever a change brings a card, its outline lies on it, and begins at the same corner."""
    changed = changes(Heaps([]))[words](np.random.default_rng(3), photograph())
    (shown,) = changed.cards
    corner, _, opposite, _ = shown.quad
    inside = corner + (opposite - corner) * 0.08
    x, y = np.round(inside).astype(int)
    blue, _, red = changed.image[y, x].astype(int)
    assert red > blue + 60
    x, y = np.round(opposite + (corner - opposite) * 0.2).astype(int)
    assert changed.image[y, x].min() > 180
    assert shown.clear


def test_card_is_asked_for_while_one_index_is_in_sight() -> None:
    """Half a card still shows an index at either end, unless both corners are covered."""
    mask = np.ones((320, 300), np.uint8)
    mask[140:] = 0
    assert has_index(mask, QUAD)
    mask[80:100, 100:120] = 0
    assert not has_index(mask, QUAD)


def test_cut_picture_keeps_what_is_left_of_its_card() -> None:
    """The edge takes a share of the card; its outline then reaches beyond the picture."""
    changed = cut(np.random.default_rng(5), photograph(), lost=(0.2, 0.3))
    (shown,) = changed.cards
    assert -45 <= shown.quad[:, 0].min() <= -15


def test_scan_laid_on_a_card_hides_what_is_below() -> None:
    """Laid straight upon it, it leaves no index of the lower card; its own is in sight."""
    blue = np.full((140, 100, 3), (200, 40, 40), np.uint8)
    heaps = Heaps([(SEVEN, blue), (KING, blue)])
    lower, upper = heaps(np.random.default_rng(1), photograph(), [(0.0, 0.0, 0.0)]).cards
    assert (lower.clear, upper.clear) == (False, True)
    assert upper.card == KING, "a deck has each card once"


def test_row_shows_an_index_of_each_card_of_another_name() -> None:
    """Cards that reach out to one side keep their first index in sight; none is dealt twice."""
    scan = np.full((140, 100, 3), (200, 40, 40), np.uint8)
    heaps = Heaps([(Card.of(number), scan) for number in range(4)])
    shown = changes(heaps)["a row"](np.random.default_rng(2), photograph()).cards
    assert all(card.clear for card in shown)
    assert len({card.card for card in shown}) == len(shown) == 3


def test_score_forgives_what_is_hidden_and_no_wrong_name() -> None:
    """Right, wrong, declined, missed; a hidden card may be declined; what is beside is counted."""

    def read(quad: np.ndarray, card: Card | None, kind: Kind = Kind.FACE) -> StillCard:
        return StillCard(quad.astype(np.float32), kind, card, 0.99)

    shot = photograph()
    beside = QUAD + np.array([400, 0])
    assert score(shot, [read(QUAD, SEVEN)]) == {"right": 1}
    assert score(shot, [read(QUAD, KING)]) == {"wrong": 1}
    assert score(shot, [read(QUAD, None)]) == {"declined": 1}
    assert score(shot, [read(beside, KING)]) == {"missed": 1, "false names": 1}
    hidden = Photograph(shot.image, (Shown(SEVEN, QUAD, clear=False),))
    assert score(hidden, []) == {}
    assert score(hidden, [read(QUAD, KING)]) == {"wrong": 1}
    assert score(hidden, [read(QUAD, SEVEN)]) == {"right though hidden": 1}
    assert score(hidden, [read(beside, None), read(beside, None, Kind.BACK)]) == {
        "unread": 1, "backs": 1
    }  # fmt: skip
