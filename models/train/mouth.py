"""Train and export the network that watches the shoe's mouth: `python -m models.train.mouth`.

Samples are made by a process of their own into a bank on disk while training goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from datasets.mouth.answers import NO_CUT
from datasets.mouth.samples import mixed
from datasets.mouth.shoes import Kind
from models.networks.classifier import export_onnx
from models.networks.mouth import MouthNet, example
from models.networks.restore import restore
from models.train.loop import Loop, Recipe, parser
from models.train.sample_bank import Bank, fill
from vision.sight.detection.mouth import HEIGHT, LABELS, WIDTH

RUNS = Path("runs/mouth")
INPUT = "N x 9 x 56 x 80, RGB, 0 to 1: the mouth at rest, 70 ms ago and now, from straight above"
# How much a kind counts: most mouths show backs, and a network that always says so would not learn
# much else. Its answers are so of a world in which all kinds are as frequent.
KINDS = (0.5, 1.2, 1.5, 1.0)
# How samples are varied: moved by up to so many cells either way, lightness and colours by so much
# (standard deviation of the logarithm of a channel), noise up to so much of full light, and the
# share whose channels change places. By judgement: less, and few samples are learnt by heart; more,
# and cards are not to be seen.
MOVED, GAIN, NOISE, SWAPPED = 3, 0.12, 0.03, 0.6
# How much each answer counts beside the phase, in the loss. Chosen by trying.
WEIGHTS = {"shift": 2.0, "kind": 1.0, "hand": 0.2, "together": 0.8}
# How much oftener than it is seen a "yes" counts: two together are one sample in ten.
RARE = {"hand": 1.0, "together": 4.0}


def bank_of(name: str, capacity: int) -> Bank:
    """Return the bank of samples called so."""
    size = (WIDTH, 3 * HEIGHT)
    return Bank(RUNS / name, capacity, size=size, shape=(5,), kind=np.float32)


def make(split: str, bank: Bank, maker: int, makers: int) -> None:
    """Fill a maker's share of a bank."""
    # What is there already was made by another seed: a run that goes on makes new samples.
    seed = 1 + maker + makers * bank.ready()
    fill(bank, mixed(seed, split=split), maker=maker, makers=makers)


def stacked(pictures: Tensor) -> Tensor:
    """Return N x 3 P x 56 x 80 of N x 3 x (P x 56) x 80: the patches as channels."""
    return torch.cat(torch.split(pictures, HEIGHT, 2), 1)


def varied(x: Tensor, generator: torch.Generator) -> Tensor:
    """Return samples (N x 3 P x 56 x 80, of P patches), some mirrored, some in other colours.

    All are moved a little, in other light and with noise.
    """
    patches = x.shape[1] // 3
    mirrored = torch.rand(len(x), generator=generator) < 0.5  # across the exit
    x[mirrored] = x[mirrored].flip(2)
    swapped = torch.rand(len(x), generator=generator) < SWAPPED
    order = torch.randperm(3, generator=generator)
    x[swapped] = x[swapped][:, torch.cat([order + 3 * patch for patch in range(patches)])]
    across, along = torch.randint(0, 2 * MOVED + 1, (2,), generator=generator).tolist()
    x = nn.functional.pad(x, (MOVED,) * 4, mode="replicate")
    x = x[:, :, across : across + HEIGHT, along : along + WIDTH]
    gain = torch.exp(GAIN * torch.randn(len(x), 3, generator=generator)).repeat(1, patches)
    # One picture of noise for all: to make one for each takes longer than to train on it.
    noise = NOISE * torch.randn(1, *x.shape[1:], generator=generator)
    noise = noise * torch.rand(len(x), 1, 1, 1, generator=generator)
    return torch.addcmul(noise, x, gain[:, :, None, None]).clamp_(0, 1)


class Training(Loop):
    """A run of the network."""

    def __init__(self, arguments: argparse.Namespace, held_out: Bank) -> None:
        net = MouthNet()
        super().__init__(net, bank_of("train", arguments.bank), arguments)
        self.held_out = held_out
        if arguments.resume:
            pictures, _ = self.held_out.slice(0, self.held_out.capacity)
            restore(net, Path(arguments.resume), stacked(pictures))
            self.average.module.load_state_dict(self.net.state_dict())

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return samples as seen, and the answers."""
        pictures, answers = self.bank.sample(self.arguments.batch, self.generator)
        x = varied(stacked(pictures), self.generator)
        # At times the rest is only what is seen now: the network must not lean on it alone.
        blind = max(1, len(x) // 16)
        x[:blind, :6] = x[:blind, 6:].repeat(1, 2, 1, 1)
        return x, answers

    def loss(self, found: Tensor, truth: Tensor) -> Tensor:
        """Return the mean loss over the answers that there are."""
        phase, shift, kind, hand, together = truth.unbind(1)
        total = _entropy(found[:, :3], phase)
        known = ~shift.isnan() & (shift < 1.6)
        off = nn.functional.smooth_l1_loss(found[known, 3], shift[known], beta=0.05)
        total = total + WEIGHTS["shift"] * off + WEIGHTS["kind"] * _off_kind(found[:, 4:8], kind)
        for column, name, answer in ((8, "hand", hand), (9, "together", together)):
            known = answer >= 0
            wrong = nn.functional.binary_cross_entropy_with_logits(
                found[known, column],
                answer[known],
                pos_weight=torch.tensor(RARE[name], device=found.device),
            )
            total = total + WEIGHTS[name] * wrong
        return total

    def measured(self) -> str:
        """Return how good it is on held-out decks and shoes."""
        return measure(self.average.module, self.held_out)


def _entropy(logits: Tensor, truth: Tensor, weights: Tensor | None = None) -> Tensor:
    return nn.functional.cross_entropy(logits, truth.long(), weights, ignore_index=-1)


def _off_kind(logits: Tensor, kind: Tensor) -> Tensor:
    """Return the mean loss of kinds, and of pictures that show anything but the cut card."""
    weights = torch.tensor(KINDS, device=logits.device)
    loss = _entropy(logits, torch.where(kind == NO_CUT, -1.0, kind), weights)
    asked = logits[kind == NO_CUT]
    others = asked[:, [k for k in range(asked.shape[1]) if k != Kind.CUT]]
    off = torch.logsumexp(asked, 1) - torch.logsumexp(others, 1)
    return loss + off.sum() / max(len(off), 1)


@torch.no_grad()
def measure(net: nn.Module, bank: Bank) -> str:
    """Return in words how often phase and kind are right over a bank, how far off shifts are."""
    net.eval()
    pictures, truth = bank.slice(0, bank.capacity)
    found = torch.cat([net(part) for part in torch.split(stacked(pictures), 256)])
    phase, shift, kind = truth[:, 0], truth[:, 1], truth[:, 2]
    rows = []
    for which in range(3):
        mine = found[phase == which, :3].argmax(1)
        rows.append("/".join(f"{(mine == other).float().mean():.1%}" for other in range(3)))
    known = ~shift.isnan() & (shift < 1.3)
    off = (found[known, 3] - shift[known]).abs().median()
    kinds = [f"{(found[kind == k, 4:8].argmax(1) == k).float().mean():.0%}" for k in range(4)]
    rights = "/".join(kinds)
    no_cut = (found[kind == NO_CUT, 4:8].argmax(1) == int(Kind.CUT)).float().mean()
    return (
        f"phases {' '.join(rows)}, shift off by {off:.3f} depths, kinds right {rights}, "
        f"cut card where none is {no_cut:.1%}"
    )


def export(checkpoint: Path, target: Path) -> Path:
    """Write a checkpoint as ONNX with its labels and preprocessing in the metadata."""
    net = MouthNet()
    net.load_state_dict(torch.load(checkpoint, weights_only=True))
    facts = {"labels": ",".join(LABELS), "input": INPUT}
    return export_onnx(net, example(), target, ("patches", "values"), facts)


def main() -> None:
    """Make samples, train, measure, export."""
    command = parser(__doc__, minutes=15, bank=30_000, held_out=600, batch=64, every=60)
    torch.set_num_threads(1)
    Recipe(RUNS / "mouth.pt", bank_of, make, Training, export).run(command.parse_args())


if __name__ == "__main__":
    main()
