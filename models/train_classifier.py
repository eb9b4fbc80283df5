"""Train, calibrate and export the card classifier: `python -m models.train_classifier`.

Crops are made by a process of their own into a bank on disk while training goes on, so that
training never waits for data and early epochs see what is there. Uses a GPU if there is one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from models.bank import CropBank, fill
from models.network import CardNet

RUNS = Path("runs/classifier")
FIRST_STOCK = 4096
WARM_UP_STEPS = 60


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss: rank and suit where a card is readable, readability everywhere."""
    readable = labels < 52
    target = labels[readable]
    smooth = 0.02
    ranks = nn.functional.cross_entropy(logits[readable, :13], target // 4, label_smoothing=smooth)
    suits = nn.functional.cross_entropy(logits[readable, 13:17], target % 4, label_smoothing=smooth)
    gate = nn.functional.binary_cross_entropy_with_logits(logits[:, 17], readable.float())
    return ranks + suits + gate


def augment(crops: Tensor, generator: torch.Generator) -> Tensor:
    """Vary light, colour and noise and turn half of the cards by 180°; never mirror.

    `crops` is N x 3 x H x W, 0 to 1. Cheap changes that make a stored crop worth seeing again.
    """
    count = len(crops)

    def draw(low: float, high: float, *shape: int) -> Tensor:
        uniform = torch.rand(count, *shape, generator=generator)
        return (low + (high - low) * uniform).to(crops.device)

    crops = torch.where(draw(0, 1, 1, 1, 1) < 0.5, crops.flip((2, 3)), crops)
    crops = crops * draw(0.75, 1.25, 1, 1, 1) * draw(0.92, 1.08, 3, 1, 1)
    crops = crops + draw(-0.06, 0.06, 1, 1, 1)
    noise = torch.randn(crops.shape, generator=generator).to(crops.device)
    shift = [int(v) for v in torch.randint(-3, 4, (2,), generator=generator)]
    return (crops + noise * draw(0, 0.03, 1, 1, 1)).clamp(0, 1).roll(shift, (2, 3))


def schedule(share: float, steps: int) -> float:
    """Return the learning rate's factor at a share (0 to 1) of the time: warm up, then cosine."""
    return min(1.0, steps / WARM_UP_STEPS) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))


class Training:
    """One run: the network, its running average (which is what is kept) and its data."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.arguments = arguments
        self.bank = CropBank(RUNS / "train", arguments.bank)
        self.held_out = CropBank(RUNS / "held_out", arguments.held_out)
        # This memory format trains half as fast again on a CPU.
        self.net = CardNet().to(self.device).to(memory_format=torch.channels_last)
        if arguments.resume:
            self.net.load_state_dict(torch.load(arguments.resume, map_location=self.device))
        self.average = torch.optim.swa_utils.AveragedModel(
            self.net,
            multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995),  # type: ignore[no-untyped-call]
            use_buffers=True,
        )
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=arguments.rate, weight_decay=0.02
        )
        self.generator = torch.Generator().manual_seed(arguments.seed)
        self.steps = 0

    def run(self) -> Path:
        """Train for the given minutes, saving as it goes; return the checkpoint."""
        path = RUNS / "classifier.pt"
        begun = said = time.monotonic()
        losses: list[float] = []
        while (spent := (time.monotonic() - begun) / 60) < self.arguments.minutes:
            losses.append(self.step(spent / self.arguments.minutes))
            if time.monotonic() - said > self.arguments.every:
                said = time.monotonic()
                self.say(spent, sum(losses) / len(losses))
                losses.clear()
                torch.save(self.average.module.state_dict(), path)
        torch.save(self.average.module.state_dict(), path)
        return path

    def step(self, share: float) -> float:
        """Take one step at a share (0 to 1) of the time; return its loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.arguments.rate * schedule(share, self.steps)
        crops, labels = self.bank.sample(self.arguments.batch, self.generator)
        crops = augment(crops.to(self.device), self.generator)
        crops = crops.contiguous(memory_format=torch.channels_last)
        self.net.train()
        loss = loss_of(self.net(crops), labels.to(self.device))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimiser.step()
        self.average.update_parameters(self.net)
        self.steps += 1
        return loss.item()

    def say(self, spent: float, loss: float) -> None:
        """Print how far the training is and what it measures on held-out designs."""
        right, gate = measure(self.average.module, self.held_out, self.device)
        print(
            f"{spent:6.1f} min  step {self.steps}  bank {self.bank.ready()}  loss {loss:.3f}  "
            f"held-out right {right:.2%}  readability {gate:.2%}  "
            f"{self.steps * self.arguments.batch / (60 * spent):.0f} crops/s",
            flush=True,
        )


def train(arguments: argparse.Namespace) -> Path:
    """Start the makers, wait for a first stock, train; return the checkpoint."""
    training = Training(arguments)
    makers = [
        multiprocessing.Process(
            target=fill, args=(training.bank, 1 + i, arguments.makers, "train"), daemon=True
        )
        for i in range(arguments.makers)
    ]
    for maker in makers:
        maker.start()
    fill(training.held_out, 1, 1, "test")
    while training.bank.ready() < min(FIRST_STOCK, arguments.bank):
        time.sleep(0.5)
    path = training.run()
    for maker in makers:
        maker.terminate()
    return path


@torch.no_grad()
def logits_of(net: nn.Module, bank: CropBank, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the network's logits and the labels over a whole bank."""
    net.eval()
    outputs, labels = [], []
    for start in range(0, bank.ready(), 512):
        crops, truth = bank.slice(start, start + 512)
        outputs.append(net(crops.to(device)).cpu())
        labels.append(truth)
    return torch.cat(outputs), torch.cat(labels)


def measure(net: nn.Module, bank: CropBank, device: torch.device) -> tuple[float, float]:
    """Return the share of readable cards read right, and of crops with readability right."""
    logits, labels = logits_of(net, bank, device)
    readable = labels < 52
    card = logits[:, :13].argmax(1) * 4 + logits[:, 13:17].argmax(1)
    right = (card == labels)[readable].float().mean().item()
    gate = ((logits[:, 17] > 0) == readable).float().mean().item()
    return right, gate


def main() -> None:
    """Parse the arguments, train, and say where the checkpoint is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long to train")
    parser.add_argument("--bank", type=int, default=120_000, help="crops kept on disk")
    parser.add_argument("--held-out", type=int, default=4_000, help="crops to measure on")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--makers", type=int, default=1, help="processes that make crops")
    parser.add_argument("--every", type=float, default=60, help="seconds between measurements")
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    print(train(arguments))


if __name__ == "__main__":
    main()
