"""The classifier's arithmetic: logits to calibrated log-probabilities by card."""

import numpy as np
import pytest

from vision.game.cards import Card
from vision.sight.detection.classifier import CROP_SIZE, Classifier
from vision.sight.detection.detector import Tensor, batch


def logits(
    card: str,
    *,
    strength: float = 6.0,
    seen: tuple[float, float, float] = (4.0, 4.0, -4.0),
) -> Tensor:
    """Return one row of logits that speaks for a card; `seen` are rank, suit and back."""
    row = np.zeros((1, 20), np.float32)
    index = Card.parse(card).index
    row[0, index // 4] = strength
    row[0, 13 + index % 4] = strength
    row[0, 17:] = seen
    return row


@pytest.mark.parametrize("card", ["As", "Td", "9h", "Kc", "2d"])
def test_looks_put_the_card_at_its_class_number(card: str) -> None:
    """Rank and suit heads meet at `Card.index`, and the probabilities sum to one."""
    (look,) = Classifier(lambda _: logits(card)).observations(logits(card))
    assert Card.of(int(look.log_p.argmax())) == Card.parse(card)
    assert float(np.exp(look.log_p).sum()) == pytest.approx(1.0, abs=1e-4)
    assert look.readable == pytest.approx((1 / (1 + np.exp(-4.0))) ** 2, abs=1e-6)


def test_look_is_no_surer_than_its_suit_can_be_seen() -> None:
    """However sure the names are: a hidden suit leaves the rank seen and the card unread."""
    row = logits("Jc", strength=30.0, seen=(8.0, -3.0, -8.0))
    (look,) = Classifier(lambda _: row).observations(row)
    assert look.rank_seen > 0.99
    assert look.confidence < 0.05
    assert look.back < 0.01


def test_temperature_makes_a_sure_look_less_sure_and_keeps_its_order() -> None:
    """Calibration changes how sure, never what."""
    sharp = Classifier(lambda t: t).observations(logits("7d"))[0]
    mild = Classifier(lambda t: t, temperature=2.0).observations(logits("7d"))[0]
    assert mild.log_p.max() < sharp.log_p.max()
    assert mild.log_p.argmax() == sharp.log_p.argmax()


def test_call_rectifies_each_quad_into_one_batch_in_order() -> None:
    """One tensor for all cards of a frame: RGB, 0 to 1, a short side on top."""
    image = np.zeros((300, 400, 3), np.uint8)
    image[:, :200] = (255, 0, 0)
    image[:, 200:] = (0, 0, 255)
    seen: list[Tensor] = []

    def infer(tensor: Tensor) -> Tensor:
        seen.append(tensor)
        return np.concatenate([logits("As"), logits("Kd")])

    left = np.array([[50, 50], [120, 50], [120, 150], [50, 150]], np.float32)
    observations = Classifier(infer)(image, [left, left + np.array([200, 0], np.float32)])
    assert [str(Card.of(int(look.log_p.argmax()))) for look in observations] == ["As", "Kd"]
    assert seen[0].shape == (2, 3, CROP_SIZE[1], CROP_SIZE[0])
    assert seen[0][0, :, 60, 40] == pytest.approx([0, 0, 1])
    assert seen[0][1, :, 60, 40] == pytest.approx([1, 0, 0])
    assert Classifier(infer)(image, []) == ()


def test_batch_keeps_crops_apart() -> None:
    """The first crop is the first of the tensor."""
    crops = [np.full((136, 96, 3), value, np.uint8) for value in (0, 255)]
    assert batch(crops).mean(axis=(1, 2, 3)) == pytest.approx([0, 1])
