"""A name that lies there is right, on whichever card; and confidence is fitted to that."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")

from datasets.training.crops import NO_CARD
from models.evaluate.classifier import calibrated, held_out, outcome
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Tensor


def unused(crops: Tensor) -> Tensor:
    """Stand for a network: logits are given."""
    raise AssertionError("logits are given: no network runs")


def logits_for(cards: np.ndarray, seen: float) -> Tensor:
    """Return logits sure of the given cards, whose signs are seen as far as said."""
    found = np.zeros((len(cards), 20), np.float32)
    rows = np.arange(len(cards))
    found[rows, cards // 4] = found[rows, 13 + cards % 4] = 16
    found[:, 17:19] = seen
    return found


def test_card_on_top_is_a_right_name_and_another_is_not() -> None:
    """Of a hidden five the king on it is read rightly, a queen that is not there wrongly."""
    there = np.zeros((2, NO_CARD), np.bool_)
    there[:, [17, 49]] = True
    result = outcome(Classifier(unused), logits_for(np.array([49, 45]), 5.0), there)
    assert result.right.tolist() == [True, False]
    assert result.truth.tolist() == [49, NO_CARD]


def test_readable_cards_on_hidden_ones_do_not_make_the_reader_doubt() -> None:
    """Where all that is named lies there, what is seen may be named at a bound of one in 1000."""
    cards = np.arange(400) % NO_CARD
    logits = logits_for(cards, 5.0)
    logits[::4, 17:19] = -9.0
    truth = np.column_stack([cards, np.full((400, 2), 2), np.zeros(400)]).astype(np.int64)
    truth[::4] = (NO_CARD, 0, 0, 0)
    there = np.zeros((400, NO_CARD), np.bool_)
    there[np.arange(400), cards] = True
    there[::4] = False
    truth[1::4, 0] = (cards[1::4] + 1) % NO_CARD
    truth[1::4, 1:] = 0
    fitted = outcome(calibrated(unused, logits, truth, there), logits, there)
    assert (fitted.confidence[fitted.right] > 1 - 1e-3).all()
    assert (fitted.confidence[~fitted.right] < 0.9).all()


def test_held_out_crops_know_the_faces_that_lie_in_them() -> None:
    """A card that is told is always among the faces, and some have others laid on them."""
    crops, truth, there = held_out(40)
    assert len(crops) == len(truth) == len(there) == 40
    faces = truth[:, 0] < NO_CARD
    assert there[faces, truth[faces, 0]].all()
    assert (there.sum(axis=1) > 1).any()
