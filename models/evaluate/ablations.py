"""Train small classifiers that differ in one thing: `python -m models.evaluate.ablations`.

Each is trained from nothing for the same number of steps on as many crops, and measured on the same
held-out crops and, where photographs are named, on every second of them, which no run has seen.
The figures show which difference matters; they are far below those of a whole training.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from datasets.faces.registry import deck_names
from datasets.training.crops import crops
from models.evaluate.classifier import seconds_per_card
from models.networks.classifier import WIDTHS, onnx_runner
from models.train.classifier import RUNS, Training, bank_of, export, make, measure
from models.train.loop import parser
from models.train.real_photographs import COPIES, crops_of
from models.train.sample_bank import Bank, fill
from vision.inference.load import for_pictures
from vision.sight.detection.classifier import CROP_SIZE

# Numbers of designs trained on.
DESIGNS = (5, 10, 20, 40)
PIXELS_OF = ("blur", "glare", "hands")


@dataclass(frozen=True, slots=True)
class Variant:
    """What a run is trained on, and how wide the stages of its network are.

    Which decks (none: all), what is left out, whether photographs are mixed in.
    """

    name: str
    decks: tuple[str, ...] = ()
    without: frozenset[str] = field(default_factory=frozenset)
    photographs: bool = False
    widths: tuple[int, ...] = WIDTHS


def variants(*, photographs: bool) -> Iterator[Variant]:
    """Yield every variant, the whole recipe first; fewer designs are a part of more."""
    names = deck_names("train")
    mixed = [names[int(i)] for i in np.random.default_rng(1).permutation(len(names))]
    yield Variant(f"all {len(names)} designs, rendered only")
    if photographs:
        yield Variant("the same and photographs", photographs=True)
    for count in DESIGNS:
        yield Variant(f"{count} designs", tuple(mixed[:count]))
    for thing in PIXELS_OF:
        yield Variant(f"without {thing}", without=frozenset({thing}))
    for words, times in (("half the", 0.5), ("double the", 2)):
        yield Variant(f"{words} width of all stages", widths=tuple(int(times * w) for w in WIDTHS))


class Small(Training):
    """A run of the classifier on a bank and photographs of its own."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        bank: Bank,
        real: Bank | None,
        widths: tuple[int, ...] = WIDTHS,
    ) -> None:
        super().__init__(arguments, bank_of("held_out", arguments.held_out), widths)
        self.bank, self.real = bank, real

    def right_on(self, bank: Bank) -> float:
        """Return the share of a bank's readable cards read right.

        Of the weights as they are: the running average is still far behind after so few steps.
        """
        return measure(self.net, bank, self.device)[0]


def stock(variant: Variant, size: int) -> Bank:
    """Return the variant's own crops, made now."""
    name = "-".join(["ablate", *sorted(variant.without), str(len(variant.decks) or "all")])
    bank = bank_of(name, size)
    fill(bank, crops(77_000, decks=variant.decks, without=variant.without))
    return bank


def halves(folder: Path) -> tuple[Bank, Bank]:
    """Return crops of photographs: one card for training, the next one for measuring, in turn."""
    found = list(crops_of(folder, for_pictures(threads=1)))
    banks = []
    for half in (0, 1):
        mine = [crop for i, crop in enumerate(found) if i // COPIES % 2 == half]
        bank = bank_of(f"ablate-real-{half}", len(mine))
        fill(bank, mine)
        banks.append(bank)
    return banks[0], banks[1]


def main() -> None:
    """Train every variant and print a row for each."""
    settings = parser(__doc__, minutes=60, steps=500, bank=12_000, held_out=4_000)
    settings.add_argument("--real", type=Path, help="labelled photographs: see real.py")
    settings.add_argument("--only", default="", help="run only the variants named with this")
    arguments = settings.parse_args()
    real = halves(arguments.real) if arguments.real else None
    arguments.real = None
    make("test", bank_of("held_out", arguments.held_out), 0, 1)
    print(
        "| trained on | held-out crops right | photographs right | ms a card |\n|---|---|---|---|"
    )
    for variant in variants(photographs=real is not None):
        if arguments.only not in variant.name:
            continue
        torch.manual_seed(arguments.seed)
        learned = real[0] if real and variant.photographs else None
        run = Small(arguments, stock(variant, arguments.bank), learned, variant.widths)
        checkpoint = run.run(RUNS / "ablate.pt")
        seen = f"{run.right_on(real[1]):.1%}" if real else "-"
        took = milliseconds(checkpoint, variant)
        print(
            f"| {variant.name} | {run.right_on(run.held_out):.1%} | {seen} | {took:.2f} |",
            flush=True,
        )


def milliseconds(checkpoint: Path, variant: Variant) -> float:
    """Return what one crop takes on one thread, exported."""
    target = checkpoint.with_suffix(".onnx")
    export(checkpoint, target, variant.widths)
    _, infer = onnx_runner(target, threads=1)
    return 1000 * seconds_per_card(infer, np.zeros((1, 3, *CROP_SIZE[::-1]), np.float32))


if __name__ == "__main__":
    main()
