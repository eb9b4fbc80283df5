"""The training of our own networks: what the recipes of all but the detector share.

Takes steps for a given time, keeps a running average of the weights, saves as it goes. Uses a GPU
if there is one; convolutions run in bfloat16 where that is quicker.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.networks.precision import quick
from models.networks.rate import schedule
from models.train.sample_bank import Bank

# Pictures in the bank before training begins: fewer are learnt by heart while the bank fills.
FIRST_STOCK = 4096


class Loop(ABC):
    """One run: a network, its running average (which is what is kept) and its data."""

    def __init__(self, net: nn.Module, bank: Bank, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.bank = bank
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # This memory format trains half as fast again on a CPU.
        self.net = net.to(self.device).to(memory_format=torch.channels_last)
        self.average = torch.optim.swa_utils.AveragedModel(
            self.net,
            multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998),  # type: ignore[no-untyped-call]
            use_buffers=True,
        )
        self.optimiser = torch.optim.AdamW(
            self.net.parameters(), lr=arguments.rate, weight_decay=0.02
        )
        self.generator = torch.Generator(self.device).manual_seed(arguments.seed)
        self.steps = 0

    @abstractmethod
    def batch(self) -> tuple[Tensor, Tensor]:
        """Return pictures (N x 3 x H x W, RGB, 0 to 1) and what the network should answer.

        What it makes with `generator` is made on the run's device.
        """

    @abstractmethod
    def loss(self, found: Tensor, truth: Tensor) -> Tensor:
        """Return the loss of the network's answers."""

    @abstractmethod
    def measured(self) -> str:
        """Return, in words, how good the average is on held-out designs."""

    def step(self, share: float) -> float:
        """Take one step at a share (0 to 1) of the time; return its loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.arguments.rate * schedule(share, self.steps)
        with self.device:
            pictures, truth = self.batch()
        pictures = pictures.contiguous(memory_format=torch.channels_last)
        self.net.train()
        with quick(self.device.type):
            found = self.net(pictures)
        loss = self.loss(found.float(), truth)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
        self.optimiser.step()
        self.average.update_parameters(self.net)
        self.steps += 1
        return loss.item()

    def run(self, path: Path) -> Path:
        """Train for the given minutes or steps, saving to `path` as it goes; return it."""
        begun = printed = time.monotonic()
        losses: list[float] = []
        while (share := self._share(spent := (time.monotonic() - begun) / 60)) < 1:
            losses.append(self.step(share))
            if time.monotonic() - printed > self.arguments.every:
                printed = time.monotonic()
                self._print(spent, sum(losses) / len(losses))
                losses.clear()
                torch.save(self.average.module.state_dict(), path)
        torch.save(self.average.module.state_dict(), path)
        return path

    def _share(self, spent: float) -> float:
        """Return how much of the run is over, 0 to 1, after `spent` minutes."""
        if self.arguments.steps:
            return float(self.steps / self.arguments.steps)
        return float(spent / self.arguments.minutes)

    def _print(self, spent: float, loss: float) -> None:
        rate = self.steps * self.arguments.batch / (60 * spent)
        print(
            f"{spent:6.1f} min  step {self.steps}  bank {self.bank.ready()}  loss {loss:.4f}  "
            f"{self.measured()}  {rate:.0f} pictures/s",
            flush=True,
        )


def train(loop: Loop, path: Path, maker: Callable[[int, int], None]) -> None:
    """Start the makers, wait for a first stock, train, and save the checkpoint.

    `maker(number, of)` fills that maker's share of the loop's bank.
    """
    count = loop.arguments.makers
    makers = [
        multiprocessing.Process(target=maker, args=(i, count), daemon=True) for i in range(count)
    ]
    for process in makers:
        process.start()
    while loop.bank.ready() < min(FIRST_STOCK, loop.bank.capacity):
        time.sleep(0.5)
    loop.run(path)
    for process in makers:
        process.terminate()


class Recipe(NamedTuple):
    """What differs between the recipes.

    `bank_of(name, capacity)` is a bank of samples; `make(split, bank, maker, makers)` fills a
    maker's share of one; `training` begins a run, given the held-out bank; `export` writes a
    checkpoint as ONNX.
    """

    checkpoint: Path
    bank_of: Callable[[str, int], Bank]
    make: Callable[[str, Bank, int, int], None]
    training: Callable[[argparse.Namespace, Bank], Loop]
    export: Callable[[Path, Path], Path]

    def run(self, arguments: argparse.Namespace) -> None:
        """Make the held-out samples, train, export, and print the path of the exported file."""
        torch.manual_seed(arguments.seed)
        held_out = self.bank_of("held_out", arguments.held_out)
        self.make("test", held_out, 0, 1)
        loop = self.training(arguments, held_out)
        train(loop, self.checkpoint, partial(self.make, "train", loop.bank))
        print(self.export(self.checkpoint, self.checkpoint.with_suffix(".onnx")))


def parser(description: str | None, **defaults: float) -> argparse.ArgumentParser:
    """Return a parser of the settings that every run has, with this recipe's defaults."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--minutes", type=float, help="how long to train")
    found.add_argument("--steps", type=int, help="how many steps to train instead")
    found.add_argument("--bank", type=int, help="pictures kept on disk")
    found.add_argument("--held-out", type=int, help="pictures to measure on")
    found.add_argument("--batch", type=int, default=64)
    found.add_argument("--rate", type=float, default=2e-3, help="first learning rate")
    found.add_argument("--makers", type=int, default=1, help="processes that make pictures")
    found.add_argument("--every", type=float, default=60, help="seconds between measurements")
    found.add_argument("--resume", type=Path, help="an exported .onnx to go on from")
    found.add_argument("--seed", type=int, default=1)
    found.set_defaults(**defaults)
    return found
