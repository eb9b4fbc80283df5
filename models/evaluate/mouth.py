"""Measure an exported network of the mouth: `python -m models.evaluate.mouth [ONNX]`.

Mouths of held-out decks, hands and films, drawn at random, go through ONNX Runtime. How its answers
are used is measured on films, with the decoder: `models.evaluate.following`. With `--ship` the file
goes to `models/` and its card is written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from datasets.mouth.samples import mixed
from datasets.mouth.shoes import Kind
from models.networks.classifier import onnx_runner
from models.networks.model_card import measure_or_ship
from models.train.mouth import INPUT, bank_of, stacked
from models.train.sample_bank import fill
from vision.sight.detection.mouth import LABELS

# Seed of the held-out samples: another one than any training's.
SEED = 60_002
PHASES = ("rest", "partly", "wholly")
KINDS = ("back", "face", "cut", "none")
Values = NDArray[np.float32]


def samples(count: int) -> tuple[Values, Values]:
    """Return held-out patches (N x 9 x 56 x 80, RGB, 0 to 1) and answers, drawn once."""
    bank = bank_of(f"measured-{SEED}", count)
    fill(bank, mixed(SEED + bank.ready(), split="test"))
    pictures, truth = bank.slice(0, count)
    return stacked(pictures).numpy(), truth.numpy()


def measure(model: Path, count: int) -> dict[str, dict[str, str | int | float]]:
    """Return what a model file answers rightly."""
    patches, truth = samples(count)
    _, run = onnx_runner(model, threads=1)
    found = np.concatenate([run(part) for part in np.array_split(patches, 16)])
    return {"measured": right(found, truth)}


def right(found: Values, truth: Values) -> dict[str, str | int | float]:
    """Return what of the answers (N x 10) is right, of the true ones (N x 5)."""
    phase, shift, kind, hand, together = truth.T
    predicted, shown = found[:, :3].argmax(1), found[:, 4:8].argmax(1)
    far = (~np.isnan(shift)) & (shift < 1.3)
    is_out = phase > 0
    others, two = is_out & (kind >= 0) & (kind != Kind.CUT), is_out & (together == 1)
    one = is_out & (together == 0)
    return {
        "samples": len(truth),
        **{f"{name}_right": _share(predicted, phase, which) for which, name in enumerate(PHASES)},
        "shift_off_card_depths": round(float(np.median(abs(found[far, 3] - shift[far]))), 3),
        **{f"{name}_right": _share(shown, kind, which) for which, name in enumerate(KINDS)},
        "out_and_taken_for_the_cut_card": f"{(shown[others] == Kind.CUT).sum()} of {others.sum()}",
        "hand_right": f"{((found[:, 8] > 0) == (hand > 0)).sum()} of {len(truth)}",
        "two_together": f"{(found[two, 9] > 0).sum()} of {two.sum()}",
        "one_taken_for_two": f"{(found[one, 9] > 0).sum()} of {one.sum()}",
    }


def _share(predicted: Values, truth: Values, which: int) -> str:
    mine = predicted[truth == which]
    return f"{(mine == which).sum()} of {len(mine)}"


def main() -> None:
    """Measure; print it, or ship the file with its card."""
    card = {
        "name": "mouth",
        "task": "whether a card is out of the shoe's mouth, how far, and what it shows",
        "network": "MouthNet, 0.1 million parameters",
        "input": INPUT,
        "labels": list(LABELS),
    }
    measure_or_ship(__doc__, ("samples", 1200), measure, card)


if __name__ == "__main__":
    main()
