"""The recipe of the network that watches the shoe's mouth, run for a moment."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from models.evaluate.mouth import other_truth, watch_plays
from models.evaluate.mouth_profile import profile
from models.evaluate.mouth_score import Score, Truth, judge, line_of
from models.networks.classifier import onnx_runner
from models.networks.model_card import SHIPPED
from models.networks.mouth import MouthNet, example
from models.train import mouth as train_mouth
from vision.sight.mouth.measurement import LABELS
from vision.sight.mouth.signs import MouthEvent, MouthSign


@pytest.mark.nightly
@pytest.mark.train
@pytest.mark.slow
def test_mouth_network_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train, export: the loss falls, and torch and ONNX give the same values."""
    monkeypatch.setattr(train_mouth, "RUNS", tmp_path)
    arguments = argparse.Namespace(
        minutes=0.3, steps=40, bank=112, held_out=28, batch=32, rate=2e-3, makers=1, every=600.0,
        resume=None, seed=1,
    )  # fmt: skip
    train_mouth.make("test", train_mouth.bank_of("held_out", 28), 0, 1)
    training = train_mouth.Training(arguments)
    train_mouth.make("train", training.bank, 0, 1)
    first = training.step(0.1)
    checkpoint = training.run(tmp_path / "mouth.pt")
    assert training.step(0.99) < first
    assert "phases" in training.measured()
    exported = train_mouth.export(checkpoint, tmp_path / "mouth.onnx")
    net = MouthNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    net.eval()
    seen = torch.rand(4, *example().shape[1:], generator=torch.Generator().manual_seed(2))
    _, run = onnx_runner(exported, threads=1)
    for one in seen.split(1):
        with torch.no_grad():
            assert np.allclose(net(one).numpy(), run(one.numpy()), atol=1e-4)


def test_mouth_network_has_an_output_for_each_label() -> None:
    """Values and labels are as many."""
    assert MouthNet().eval()(example()).shape == (1, len(LABELS))


def test_judge_counts_on_time_early_late_missed_and_false() -> None:
    """Every departure told is that of one card, or false."""
    truth = Truth([(float(at), MouthSign.LEFT) for at in (1000, 3000, 5000, 7000)])
    times = (1200, 2900, 5600, 9000)
    score = Score()
    judge([MouthEvent(at, MouthSign.LEFT, 0.9) for at in times], truth, score, "film")
    assert (score.on_time, score.early, score.late) == (1, 1, 1)
    assert (score.missed, score.false, score.cards) == (1, 1, 4)


def test_judge_counts_a_departure_told_as_something_else() -> None:
    """A cut card told as a card is not seen, and a card told as the cut card is a false one."""
    truth = Truth([(1000.0, MouthSign.CUT), (3000.0, MouthSign.LEFT)])
    score = Score()
    told = [MouthEvent(1100, MouthSign.LEFT, 0.9), MouthEvent(3100, MouthSign.CUT, 0.9)]
    judge(told, truth, score, "film")
    assert score.signs[MouthSign.CUT] == [0, 1, 1]
    assert score.missed == 0


def test_judge_counts_departures_told_in_another_order() -> None:
    """A card told after the one that left after it is out of order."""
    truth = Truth([(1000.0, MouthSign.LEFT), (1500.0, MouthSign.LEFT), (3000.0, MouthSign.LEFT)])
    score = Score()
    told = [MouthEvent(at, MouthSign.LEFT, 0.9) for at in (1900, 1550, 3100)]
    judge(told, truth, score, "film")
    assert (score.missed, score.disordered) == (0, 1)


def test_judge_two_told_one_by_one_that_left_as_one_are_not_false() -> None:
    """Each of the two did leave; only that they left together was not seen."""
    score = Score()
    told = [MouthEvent(at, MouthSign.LEFT, 0.9) for at in (1100, 1300)]
    judge(told, Truth([(1000.0, MouthSign.TOGETHER)]), score, "film")
    assert (score.missed, score.false, score.signs[MouthSign.TOGETHER]) == (0, 0, [0, 1, 0])


def test_line_of_odds_that_were_too_sure_is_flatter() -> None:
    """Told with 0.99 and right three times out of four: the line brings the odds down."""
    slope, offset = line_of([(0.99, n % 4 > 0) for n in range(400)])
    said = math.log(0.99 / 0.01)
    assert 1 / (1 + math.exp(-slope * said - offset)) == pytest.approx(0.75, abs=0.02)
    slope, offset = line_of([(0.9, n % 10 > 0) for n in range(400)])
    assert (slope, offset) == (pytest.approx(1, abs=0.02), pytest.approx(0, abs=0.02))


def test_other_truth_has_a_card_drawn_twice_twice() -> None:
    """A card that was pushed back left the shoe two times."""
    card = {"t_out": 9.0, "kind": "card"}
    fault = {
        "code": "RETURNED_TO_SHOE",
        "t": 7.0,
        "detail": "card 3 left the shoe at 6.50 s and was pushed back",
    }
    truth = other_truth({"cards": [card], "faults": [fault]})
    assert truth.departures == [(6500.0, MouthSign.LEFT), (9000.0, MouthSign.LEFT)]
    assert truth.others == [(7000.0, MouthSign.RETURNED)]


@pytest.mark.slow
def test_watch_plays_counts_every_card_once() -> None:
    """Whatever the watcher says, each card of the plays is on time, early, late or missed."""
    score = watch_plays(1, profile)
    assert score.on_time + score.early + score.late + score.missed == score.cards


@pytest.mark.slow
def test_packaged_network_sees_most_cards_of_plays_that_it_never_saw() -> None:
    """The shipped file is the trained one: cards of held-out decks are told, few falsely."""
    score = watch_plays(4, onnx_runner(SHIPPED / "mouth.onnx", threads=1)[1])
    assert score.cards >= 8
    assert score.missed + score.false <= score.cards // 3
