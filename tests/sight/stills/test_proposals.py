"""Outlines that a box may stand for."""

from typing import cast

import numpy as np
import pytest

from vision.sight.detection.detector import Detection, Detector, Kind
from vision.sight.stills.proposals import (
    MOST_TRIED,
    TRIED_THERE,
    boxes,
    completed,
    surest_of_each,
)


def box(width: float, height: float) -> np.ndarray:
    """Return an upright quad at (100, 100)."""
    return np.array(
        [[100, 100], [100 + width, 100], [100 + width, 100 + height], [100, 100 + height]],
        np.float32,
    )


def test_completed_leaves_a_whole_card_alone() -> None:
    """A box of a card's proportions is not a part of one."""
    assert completed(box(100, 140)) == []


def test_completed_of_a_short_box_goes_on_at_either_end() -> None:
    """Half a card is the upper half of one, or the lower."""
    spans = [(q[:, 1].min(), q[:, 1].max()) for q in completed(box(100, 100))[:2]]
    assert np.allclose(spans, [(100, 240), (60, 200)], atol=0.1)


def test_completed_of_a_slim_box_goes_on_at_either_side() -> None:
    """A strip as long as a card is its left part or its right one, upright as before."""
    found = completed(box(50, 140))
    assert len(found) == 2
    for whole in found:
        assert np.linalg.norm(whole[1] - whole[0]) == pytest.approx(100, abs=0.1)
        assert np.linalg.norm(whole[2] - whole[1]) == pytest.approx(140, abs=0.1)
    assert {float(q[:, 0].min()) for q in found} == {50.0, 100.0}


def test_completed_of_a_box_that_may_lie_across_tries_that_too() -> None:
    """A box a third of a card long may be the end of one whose width it shows along."""
    found = completed(box(100, 90))
    sides = [np.linalg.norm(q[2] - q[1]) / np.linalg.norm(q[1] - q[0]) for q in found]
    assert len(found) == 4
    assert sides == pytest.approx([1.4] * 4, abs=0.01)


@pytest.mark.parametrize(
    ("wide", "thorough", "last"),
    [
        (200, False, 832),
        (200, True, 1248),
        (60, False, 1248),
        (40, False, 2496),
        (None, False, 2496),
    ],
    ids=["large", "large, once more", "small", "very small", "none"],
)
def test_boxes_are_sought_in_larger_passes_only_for_small_cards(
    wide: float | None, thorough: bool, last: int
) -> None:
    """A pass beyond 832 pixels costs more than all before it: it is run if it may show more."""
    sizes: list[int] = []

    class Sought:
        """A detector that sees one card, or none, and notes its passes."""

        def boxes(self, _: object, size: int, __: float) -> list[Detection]:
            """Return the card."""
            sizes.append(size)
            return [Detection(box(wide, 1.4 * wide), Kind.FACE, 0.9)] if wide else []

    image = np.zeros((1080, 1920, 3), np.uint8)
    found = boxes(cast(Detector, Sought()), image, thorough=thorough)
    assert sizes[-1] == last
    assert len(found) == (wide is not None)


def test_boxes_sought_once_more_run_no_pass_again() -> None:
    """What a pass saw is kept: the further one costs no more than itself."""
    sizes: list[int] = []

    class Sought:
        """A detector that sees one large card, and notes its passes."""

        def boxes(self, _: object, size: int, __: float) -> list[Detection]:
            """Return the card."""
            sizes.append(size)
            return [Detection(box(200, 280), Kind.FACE, 0.9)]

    image, kept = np.zeros((1080, 1920, 3), np.uint8), dict[int, list[Detection]]()
    for thorough in (False, True):
        found = boxes(cast(Detector, Sought()), image, thorough=thorough, passes=kept)
        assert len(found) == 1
    assert sizes == [128, 160, 224, 416, 832, 1248]


def test_surest_of_each_are_few_where_many_boxes_lie_as_one() -> None:
    """A score of boxes of one card become one outline; a card beside it is tried whatever it is."""
    many = [Detection(box(100 + i, 140), Kind.FACE, 0.9 - i / 100) for i in range(20)]
    beside = Detection(box(100, 140) + 150, Kind.FACE, 0.3)
    weak = Detection(box(100, 140) + 300, Kind.FACE, 0.2)
    found = surest_of_each([*many, beside, weak])
    assert sorted(card.score for card in found) == pytest.approx([0.3, 0.87, 0.88, 0.89, 0.9])
    assert len(found) == TRIED_THERE + 1


def test_boxes_of_a_picture_full_of_clutter_are_the_surest() -> None:
    """Thousands of weak boxes take minutes: only so many are tried, and those are the best."""

    class Cluttered:
        """A detector that sees cards everywhere, hardly any of them surely."""

        def boxes(self, *_: object, **__: object) -> list[Detection]:
            """Return more boxes than are tried."""
            corner = np.array([[0, 0], [5, 0], [5, 7], [0, 7]], np.float32)
            return [
                Detection(corner + 10 * np.array(divmod(i, 40), np.float32), Kind.FACE, i / 1000)
                for i in range(MOST_TRIED + 100)
            ]

    found = boxes(cast(Detector, Cluttered()), np.zeros((600, 600, 3), np.uint8))
    assert len(found) == MOST_TRIED
    assert min(card.score for card in found) == pytest.approx(0.1)
