"""Train and export the card classifier: `python -m models.train.classifier`.

Crops are made by a process of their own into a bank on disk while training goes on, so that
training never waits for data and early epochs see what is there. Uses a GPU if there is one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

from datasets.faces.registry import deck_names
from datasets.training.crops import NO_CARD, Truth, crops
from datasets.training.signs import Sight
from models.networks.classifier import WIDTHS, CardNet, export_onnx
from models.networks.precision import quick
from models.networks.restore import restore
from models.train.loop import Loop, Recipe, parser
from models.train.real_photographs import crops_of
from models.train.sample_bank import Bank, fill
from vision.game.cards import RANK_LETTERS, SUIT_LETTERS
from vision.inference.load import for_pictures
from vision.sight.detection.classifier import CROP_SIZE

RUNS = Path("runs/classifier")
INPUT = "N x 3 x 136 x 96, RGB, 0 to 1, rectified card with a short side on top"
LABELS = (*RANK_LETTERS, *SUIT_LETTERS, "rank seen", "suit seen", "back seen")
# The share of photographs in a step. They teach what print and cameras are like: of 175 cards of
# films by another renderer a network named 143 with a third of it (and 290,000 drawn crops), 158
# with it (and 700,000). More would teach their few cards.
REAL_SHARE = 0.08
# What the answers of a teacher weigh, against the truth: see `kept`.
KEPT_WEIGHT = 1.0
# What a rank or suit that cannot be seen weighs in the loss, against one that can: there all names
# are to be equally likely. Heavier, and half-covered cards are read with too much doubt.
UNSEEN_WEIGHT = 0.1


def loss_of(logits: Tensor, truth: Tensor) -> Tensor:
    """Return the mean loss: ranks and suits, and whether each can be seen.

    `truth` is N x 4, as `datasets.training.crops.Truth`. A sign that may be seen counts as one that
    is, so that blurred and half-covered ones teach doubt; whether it can be seen is then not asked.
    Labels are not smoothed: that would teach every clear card the same doubt as a covered one.
    """
    card = truth[:, 0].clamp(max=NO_CARD - 1)
    sides = ((logits[:, :13], card // 4), (logits[:, 13:17], card % 4))
    total = logits.new_zeros(())
    for (side, name), sight in zip(sides, truth[:, 1:3].T, strict=True):
        log_p = side.log_softmax(dim=1)
        named = -log_p.gather(1, name[:, None])[:, 0]
        total = total + torch.where(sight > 0, named, -UNSEEN_WEIGHT * log_p.mean(dim=1)).mean()
    sight = truth[:, 1:]
    seen = nn.functional.binary_cross_entropy_with_logits(
        logits[:, 17:], (sight == Sight.CLEAR).float(), reduction="none"
    )
    return total + torch.where(sight == Sight.DOUBT, 0.0, seen).sum(dim=1).mean()


def kept(logits: Tensor, taught: Tensor, truth: Tensor) -> Tensor:
    """Return how far answers are from those of a teacher (logits, N x 20) where it is right.

    The divergence of ranks and of suits, averaged over the crops. New crops teach new signs, and
    cost what was known of others: without it, jacks of films by another renderer were nearly taken
    for threes.
    """
    card = truth[:, 0].clamp(max=NO_CARD - 1)
    total = logits.new_zeros(())
    for side, name in ((slice(0, 13), card // 4), (slice(13, 17), card % 4)):
        right = (taught[:, side].argmax(dim=1) == name) | (truth[:, 0] == NO_CARD)
        before, now = taught[:, side].log_softmax(dim=1), logits[:, side].log_softmax(dim=1)
        total = total + (right * (before.exp() * (before - now)).sum(dim=1)).mean()
    return total


def augment(pictures: Tensor, generator: torch.Generator, *, turned: bool = True) -> Tensor:
    """Vary light, colour and noise; turn half of the cards by 180° and shift all; never mirror.

    `pictures` is N x 3 x H x W, 0 to 1. Cheap changes that make a stored crop worth seeing again.
    """
    count = len(pictures)

    def draw(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    pictures = pictures * draw(0.75, 1.25, 1, 1, 1) * draw(0.92, 1.08, 3, 1, 1)
    pictures = pictures + draw(-0.06, 0.06, 1, 1, 1)
    noise = torch.randn(pictures.shape, generator=generator)
    pictures = (pictures + noise * draw(0, 0.03, 1, 1, 1)).clamp(0, 1)
    if not turned:
        return pictures
    pictures = torch.where(draw(0, 1, 1, 1, 1) < 0.5, pictures.flip((2, 3)), pictures)
    shift = [int(v) for v in torch.randint(-3, 4, (2,), generator=generator)]
    return pictures.roll(shift, (2, 3))


class Training(Loop):
    """A run of the classifier."""

    def __init__(
        self, arguments: argparse.Namespace, held_out: Bank, widths: tuple[int, ...] = WIDTHS
    ) -> None:
        super().__init__(CardNet(widths), bank_of("train", arguments.bank), arguments)
        self.held_out = held_out
        self.real = real_bank(arguments.real) if arguments.real else None
        self.teacher = CardNet(widths).to(self.device) if arguments.teacher else None
        for net, exported in ((self.net, arguments.resume), (self.teacher, arguments.teacher)):
            if net is not None and exported:
                crops, _ = self.held_out.slice(0, 512)
                restore(net, exported, crops.to(self.device))

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return crops, varied, and of each the truth (N x 4), then the teacher's logits if any."""
        real = round(REAL_SHARE * self.arguments.batch) if self.real else 0
        parts = [self.bank.sample(self.arguments.batch - real, self.generator)]
        if self.real:
            parts.append(self.real.sample(real, self.generator))
        crops, labels = (torch.cat(column) for column in zip(*parts, strict=True))
        crops = augment(crops, self.generator)
        if self.teacher is None:
            return crops, labels
        with torch.no_grad(), quick(self.device.type):
            taught = self.teacher.eval()(crops)
        return crops, torch.cat([labels, taught.float()], dim=1)

    def loss(self, found: Tensor, truth: Tensor) -> Tensor:
        """Return the mean loss of ranks, suits and whether they can be seen."""
        labels, taught = truth[:, : len(Truth._fields)].long(), truth[:, len(Truth._fields) :]
        loss = loss_of(found, labels)
        return loss if self.teacher is None else loss + KEPT_WEIGHT * kept(found, taught, labels)

    def measured(self) -> str:
        """Return how many held-out crops are read right, and rightly seen or not."""
        right, seen = measure(self.average.module, self.held_out, self.device)
        return f"held-out right {right:.2%}  seen {seen:.2%}"


def bank_of(name: str, capacity: int, folder: Path | None = None) -> Bank:
    """Return the bank of crops called so."""
    return Bank((folder or RUNS) / name, capacity, size=CROP_SIZE, shape=(len(Truth._fields),))


def real_bank(folder: Path) -> Bank:
    """Return a bank of all crops out of a folder of labelled photographs."""
    found = list(crops_of(folder, for_pictures(threads=1)))
    bank = bank_of(f"real-{folder.name}", len(found))
    fill(bank, found)
    return bank


def make(split: str, bank: Bank, maker: int, makers: int, *, seed: int = 1) -> None:
    """Fill a maker's share of a bank."""
    fill(bank, crops(seed + maker, split=split), maker=maker, makers=makers)


@torch.no_grad()
def logits_of(net: nn.Module, bank: Bank, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the network's logits and the labels over a whole bank."""
    net.eval()
    outputs, labels = [], []
    for start in range(0, bank.ready(), 512):
        crops, truth = bank.slice(start, start + 512)
        outputs.append(net(crops.to(device)).cpu())
        labels.append(truth)
    return torch.cat(outputs), torch.cat(labels)


def measure(net: nn.Module, bank: Bank, device: torch.device) -> tuple[float, float]:
    """Return the share of clear cards read right, and of clear or hidden signs told as such."""
    logits, truth = logits_of(net, bank, device)
    readable = (truth[:, 1:3] == Sight.CLEAR).all(dim=1)
    card = logits[:, :13].argmax(1) * 4 + logits[:, 13:17].argmax(1)
    right = (card == truth[:, 0])[readable].float().mean().item()
    sure = truth[:, 1:] != Sight.DOUBT
    seen = ((logits[:, 17:] > 0) == (truth[:, 1:] == Sight.CLEAR))[sure].float().mean().item()
    return right, seen


def export(checkpoint: Path, target: Path, widths: tuple[int, ...] = WIDTHS) -> Path:
    """Write a checkpoint as ONNX with its labels and preprocessing in the metadata."""
    net = CardNet(widths)
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    facts = {"labels": " ".join(LABELS), "input": INPUT, "licence": "Apache-2.0"}
    return export_onnx(net, torch.rand(2, 3, 136, 96), target, ("crops", "logits"), facts)


def main() -> None:
    """Make crops, train, measure, export."""
    settings = parser(__doc__, minutes=60, bank=120_000, held_out=4_000)
    settings.add_argument(
        "--real", type=Path, help="labelled photographs to mix in: see real_photographs.py"
    )
    settings.add_argument(
        "--teacher", type=Path, help="an exported .onnx whose right answers are kept"
    )
    arguments = settings.parse_args()
    # Of the drawn ones alone it forgets the printed ones: see datasets/ART.md.
    print(f"{len(deck_names('train'))} designs, {len(deck_names('test'))} held out", flush=True)
    Recipe(RUNS / "classifier.pt", bank_of, make, Training, export).run(arguments)


if __name__ == "__main__":
    main()
