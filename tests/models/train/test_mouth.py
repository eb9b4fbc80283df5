"""The recipe of the network that watches the shoe's mouth, run for a moment."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
import torch

from models.networks import cut
from models.networks.classifier import onnx_runner
from models.networks.cut import CutNet
from models.networks.mouth import MouthNet, example
from models.networks.restore import restore
from models.train import mouth as train_mouth
from vision.sight.detection.mouth import LABELS


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
    held_out = train_mouth.bank_of("held_out", 28)
    train_mouth.make("test", held_out, 0, 1)
    training = train_mouth.Training(arguments, held_out)
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


@pytest.mark.parametrize("name", ["mouth", "cut"])
def test_exported_network_is_resumed_as_it_was(name: str) -> None:
    """A run that goes on from what ships begins with its values, in training too."""
    path = Path(f"models/{name}.onnx")
    net, one = {"mouth": (MouthNet(), example()), "cut": (CutNet(), cut.example())}[name]
    samples = torch.rand(32, *one.shape[1:], generator=torch.Generator().manual_seed(5))
    restore(net, path, samples)
    _, run = onnx_runner(path, threads=1)
    expected = np.concatenate([run(sample.numpy()) for sample in samples.split(1)])
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    np.testing.assert_allclose(net.eval()(samples).detach().numpy(), expected, atol=1e-3)
    # The other has a normalisation with statistics of its own, which noise does not have.
    if name == "mouth":
        found = net.train()(samples).detach().numpy()
        np.testing.assert_allclose(found, expected, atol=1e-4)
