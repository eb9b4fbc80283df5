"""Train and export the network that finds a card's true corners: `python -m models.train.corners`.

Pictures are made by a process of their own into a bank on disk while training goes on. Boxes as a
detector gives them are drawn again at each step: shifted, too large, too small, turned.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from datasets.training.outlines import GROWTH as ROOM
from datasets.training.outlines import SIZE, outlines
from models.networks.classifier import CornerNet, export_onnx
from models.networks.restore import restore
from models.train.classifier import augment
from models.train.loop import Loop, Recipe, parser
from models.train.sample_bank import Bank, fill
from vision.sight.detection.detector import GROWTH, INPUT_SIZE, NOMINAL

RUNS = Path("runs/corners")
INPUT = "N x 3 x 96 x 72, RGB, 0 to 1, a card's box and 0.4 of it more"
LABELS = tuple(f"{axis}{corner}" for corner in range(4) for axis in "xy")
# Height over width of a poker card (63 x 88 mm).
TALL = 88 / 63


def bank_of(name: str, capacity: int) -> Bank:
    """Return the bank of pictures called so."""
    return Bank(RUNS / name, capacity, size=SIZE, shape=(4, 2), kind=np.float32)


def make(split: str, bank: Bank, maker: int, makers: int) -> None:
    """Fill a maker's share of a bank."""
    fill(bank, outlines(1 + maker, split=split), maker=maker, makers=makers)


def boxed(
    pictures: Tensor, corners: Tensor, generator: torch.Generator, *, loose: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return what the network sees of N pictures through boxes drawn at random, and its answers.

    Pictures are N x 3 x 152 x 112, corners N x 4 x 2 (0 to 1 of the picture); returned are
    N x 3 x 96 x 72 and N x 8 shifts. `loose` scales how far off the boxes are.
    """
    count = len(pictures)

    def normal(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator)

    # One box in five is as far off again: a card half covered, or two taken for one.
    worse = loose * (1 + (torch.rand(count, generator=generator) < 0.2).float())
    scale = (0.08 * normal(1) * worse[:, None]).exp() * (0.05 * normal(2) * worse[:, None]).exp()
    turn = math.radians(3.5) * normal() * worse
    shift = 0.07 * normal(2) * worse[:, None] * torch.tensor([1.0, 1 / TALL]) / ROOM * 2
    zoom = GROWTH / ROOM * scale
    cos, sin = turn.cos(), turn.sin()
    wide, high = zoom.unbind(1)
    # A picture's units are widths across and heights down: turning must not shear.
    rows = [wide * cos, -high * sin * TALL, wide * sin / TALL, high * cos]
    linear = torch.stack(rows, 1).reshape(count, 2, 2)
    matrix = torch.cat([linear, shift[:, :, None]], 2)
    size = [count, 3, INPUT_SIZE[1], INPUT_SIZE[0]]
    grid = nn.functional.affine_grid(matrix, size, align_corners=False)
    seen = nn.functional.grid_sample(
        pictures, grid, padding_mode="border", align_corners=False, mode="bilinear"
    )
    centred = (corners * 2 - 1 - shift[:, None]).transpose(1, 2)
    inside = torch.linalg.solve(linear, centred).transpose(1, 2) / 2 + 0.5
    return seen, (inside - torch.tensor(NOMINAL)).reshape(count, 8)


class Training(Loop):
    """A run of the corner finder."""

    def __init__(self, arguments: argparse.Namespace, held_out: Bank) -> None:
        super().__init__(CornerNet(), bank_of("train", arguments.bank), arguments)
        self.held_out = held_out
        if arguments.resume:
            pictures, corners = self.held_out.slice(0, 256)
            seen, _ = boxed(pictures, corners, torch.Generator().manual_seed(1))
            restore(self.net, arguments.resume, seen.to(self.device))

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return cards as seen through random boxes, and the shifts of their corners."""
        pictures, corners = self.bank.sample(self.arguments.batch, self.generator)
        seen, truth = boxed(pictures, corners, self.generator)
        return augment(seen, self.generator, turned=False), truth

    def loss(self, found: Tensor, truth: Tensor) -> Tensor:
        """Return the mean loss, in shares of the width seen: absolute but round at the bottom."""
        weight = torch.tensor([1.0, TALL] * 4, device=found.device)
        return nn.functional.smooth_l1_loss(found * weight, truth * weight, beta=0.01)

    def measured(self) -> str:
        """Return how far off corners are on held-out designs, in percent of a card's width."""
        before, after = measure(self.average.module, self.held_out, self.device)
        return f"corners off by {after:.2%} of a card's width (boxes: {before:.2%})"


@torch.no_grad()
def measure(net: nn.Module, bank: Bank, device: torch.device) -> tuple[float, float]:
    """Return the median distance of corners before and after, in card widths, over a bank."""
    net.eval()
    generator = torch.Generator().manual_seed(1)
    pictures, corners = bank.slice(0, bank.capacity)
    seen, truth = boxed(pictures, corners, generator)
    parts = [net(part.to(device)).cpu() for part in torch.split(seen, 256)]
    weight = torch.tensor([GROWTH, GROWTH * TALL])

    def off(gap: Tensor) -> float:
        return float((gap.reshape(-1, 4, 2) * weight).norm(dim=2).mean(1).median())

    return off(truth), off(torch.cat(parts) - truth)


def export(checkpoint: Path, target: Path) -> Path:
    """Write a checkpoint as ONNX with its labels and preprocessing in the metadata."""
    net = CornerNet()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    facts = {"labels": " ".join(LABELS), "input": INPUT, "licence": "Apache-2.0"}
    example = torch.rand(2, 3, INPUT_SIZE[1], INPUT_SIZE[0])
    return export_onnx(net, example, target, ("cards", "shifts"), facts)


def main() -> None:
    """Make pictures, train, measure, export."""
    arguments = parser(__doc__, minutes=25, bank=50_000, held_out=1_000).parse_args()
    Recipe(RUNS / "corners.pt", bank_of, make, Training, export).run(arguments)


if __name__ == "__main__":
    main()
