"""Measure an exported network that tells the cut card: `python -m models.evaluate.cut [ONNX]`.

Pairs of held-out decks, hands and films, drawn at random, go through ONNX Runtime. How its answers
are used is measured on films, with the decoder: `models.evaluate.follow_streams`. With `--ship` the
file goes to `models/` and its card is written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from datasets.mouth.pairs import pairs
from models.networks.classifier import onnx_runner
from models.networks.model_card import measure_or_ship
from models.train.cut import INPUT, bank_of
from models.train.mouth import stacked
from models.train.sample_bank import fill

# Seed of the held-out pairs: another one than any training's.
SEED = 60_003
# Odds by which something is surely told.
SURE = 20.0
Values = NDArray[np.float32]


def samples(count: int) -> tuple[Values, Values]:
    """Return held-out pairs (N x 18 x 56 x 80, RGB, 0 to 1) and which show the cut card."""
    bank = bank_of(f"measured-{SEED}", count)
    fill(bank, pairs(SEED + bank.ready(), split="test"))
    pictures, truth = bank.slice(0, count)
    return stacked(pictures).numpy(), truth.numpy()[:, 0]


def measure(model: Path, count: int) -> dict[str, dict[str, str | int]]:
    """Return how often the log odds of a model file are right, and how often surely so."""
    patches, truth = samples(count)
    _, run = onnx_runner(model, threads=1)
    odds = np.concatenate([run(part) for part in np.array_split(patches, 16)])[:, 0]
    cut, other, sure = odds[truth > 0], odds[truth == 0], np.log(SURE)
    measured: dict[str, str | int] = {
        "pairs": len(truth),
        "cut_card_right": f"{(cut > 0).sum()} of {len(cut)}",
        "others_right": f"{(other < 0).sum()} of {len(other)}",
        "cut_card_told_by_20_to_1": f"{(cut > sure).sum()} of {len(cut)}",
        "others_told_so_falsely": f"{(other > sure).sum()} of {len(other)}",
    }
    return {"measured": measured}


def main() -> None:
    """Measure; print it, or ship the file with its card."""
    card = {
        "name": "cut",
        "task": "whether what leaves the shoe's mouth is the cut card, beside a card before it",
        "network": "CutNet, 0.1 million parameters, most of them those of MouthNet",
        "input": INPUT,
        "labels": ["cut"],
    }
    measure_or_ship(__doc__, ("samples", 1200), measure, card)


if __name__ == "__main__":
    main()
