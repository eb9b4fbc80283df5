"""Train and export the network that tells the cut card: `python -m models.train.cut`.

It begins with what the mouth's network sees (`models/mouth.onnx`). Pairs are made by processes of
their own into a bank on disk while training goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from datasets.mouth.pairs import pairs
from models.networks.classifier import export_onnx
from models.networks.cut import CutNet, example
from models.networks.model_card import SHIPPED
from models.networks.restore import restore
from models.train.loop import Loop, Recipe, parser
from models.train.mouth import stacked, varied
from models.train.sample_bank import Bank, fill
from vision.sight.detection.mouth import HEIGHT, WIDTH

RUNS = Path("runs/cut")
INPUT = (
    "N x 18 x 56 x 80, RGB, 0 to 1: the mouth at rest, 70 ms ago and now; the same of a card before"
)
# How far the light may have changed since the card before, standard deviation of its logarithm.
RELIT = 0.05


def bank_of(name: str, capacity: int) -> Bank:
    """Return the bank of pairs called so."""
    return Bank(RUNS / name, capacity, size=(WIDTH, 6 * HEIGHT), shape=(1,), kind=np.float32)


def make(split: str, bank: Bank, maker: int, makers: int) -> None:
    """Fill a maker's share of a bank."""
    # What is there already was made by another seed: a run that goes on makes new pairs.
    seed = 1 + maker + makers * bank.ready()
    fill(bank, pairs(seed, split=split), maker=maker, makers=makers)


class Training(Loop):
    """A run of the network, which begins with what the mouth's network sees."""

    def __init__(self, arguments: argparse.Namespace, held_out: Bank) -> None:
        net = CutNet()
        pictures, _ = held_out.slice(0, held_out.capacity)
        if arguments.resume:
            restore(net, Path(arguments.resume), stacked(pictures))
        else:
            restore(net.mouth, SHIPPED / "mouth.onnx", stacked(pictures)[:, :9])
        super().__init__(net, bank_of("train", arguments.bank), arguments)
        self.held_out = held_out

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return pairs as seen, and 1 for the cut card."""
        pictures, is_cut = self.bank.sample(self.arguments.batch, self.generator)
        x = varied(stacked(pictures), self.generator)
        light = torch.exp(RELIT * torch.randn(len(x), 1, 1, 1, generator=self.generator))
        x[:, 9:] *= light
        return x, is_cut

    def loss(self, found: Tensor, truth: Tensor) -> Tensor:
        """Return the mean loss, both kinds alike."""
        weight = truth.mean().clamp(0.1, 0.9)
        return nn.functional.binary_cross_entropy_with_logits(
            found, truth, weight=torch.where(truth > 0, 0.5 / weight, 0.5 / (1 - weight))
        )

    def measured(self) -> str:
        """Return how good it is on held-out decks and shoes."""
        return measure(self.average.module, self.held_out)


@torch.no_grad()
def measure(net: nn.Module, bank: Bank) -> str:
    """Return in words how often it is right over a bank, and how often surely wrong."""
    net.eval()
    pictures, truth = bank.slice(0, bank.capacity)
    found = torch.cat([net(part) for part in torch.split(stacked(pictures), 256)])
    cut, other = found[truth > 0], found[truth == 0]
    loss = nn.functional.softplus(-cut).mean() / 2 + nn.functional.softplus(other).mean() / 2
    return (
        f"held-out loss {loss:.3f}, cut cards told {(cut > 0).float().mean():.1%}, "
        f"others {(other < 0).float().mean():.1%}; by odds of 20 {(cut > 3).float().mean():.1%}, "
        f"falsely {(other > 3).float().mean():.2%}"
    )


def export(checkpoint: Path, target: Path) -> Path:
    """Write a checkpoint as ONNX with its preprocessing in the metadata."""
    net = CutNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    return export_onnx(net, example(), target, ("pair", "odds"), {"labels": "cut", "input": INPUT})


def main() -> None:
    """Make pairs, train, measure, export."""
    command = parser(__doc__, minutes=20, bank=24_000, held_out=1_500, batch=64, every=60)
    torch.set_num_threads(1)
    Recipe(RUNS / "cut.pt", bank_of, make, Training, export).run(command.parse_args())


if __name__ == "__main__":
    main()
