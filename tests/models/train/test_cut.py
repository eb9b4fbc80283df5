"""The recipe of the network that tells the cut card, run for a moment."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
import torch

from models.networks.classifier import onnx_runner
from models.networks.cut import CutNet, example
from models.train import cut as train_cut


@pytest.mark.nightly
@pytest.mark.train
@pytest.mark.slow
def test_cut_network_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train, export: the loss falls, and torch and ONNX give the same odds."""
    monkeypatch.setattr(train_cut, "RUNS", tmp_path)
    arguments = argparse.Namespace(
        minutes=0.3, steps=30, bank=96, held_out=28, batch=32, rate=2e-3, makers=1, every=600.0,
        resume=None, seed=1,
    )  # fmt: skip
    held_out = train_cut.bank_of("held_out", 28)
    train_cut.make("test", held_out, 0, 1)
    training = train_cut.Training(arguments, held_out)
    train_cut.make("train", training.bank, 0, 1)
    first = training.step(0.1)
    checkpoint = training.run(tmp_path / "cut.pt")
    assert training.step(0.99) < first
    assert "cut cards told" in training.measured()
    net = CutNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    net.eval()
    _, run = onnx_runner(train_cut.export(checkpoint, tmp_path / "cut.onnx"), threads=1)
    seen = torch.rand(4, *example().shape[1:], generator=torch.Generator().manual_seed(2))
    for one in seen.split(1):
        with torch.no_grad():
            assert np.allclose(net(one).numpy(), run(one.numpy()), atol=1e-3)
