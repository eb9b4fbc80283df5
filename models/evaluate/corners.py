"""Measure an exported corner finder: `python -m models.evaluate.corners [ONNX]`.

Cards of held-out designs, in boxes as far off as a detector's, go through ONNX Runtime and the same
code as at the table. With `--ship` the file goes to `models/` and its card is written.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np

from datasets.training.crops import smallest_box
from datasets.training.scene import stills
from models.evaluate.detector import corner_error
from models.networks.classifier import onnx_runner
from models.networks.model_card import measure_or_ship
from models.train.corners import INPUT, LABELS
from vision.sight.detection.detector import INPUT_SIZE, CornerFinder
from vision.sight.geometry.plane import Points

# Seed of the held-out stills: another one than any training's.
SEED = 60_001
# Side of the stills, px, at which cards have the sizes that they have at a table.
SIDE = 832
# How far boxes are off, as a share of the card's width (standard deviation): as the detector's.
LOOSE = 0.07
# Classes of the share of a card in sight: from each of these up.
SHARES = (0.25, 0.5, 0.75, 0.98)


def off_box(rng: np.random.Generator, quad: Points) -> Points:
    """Return the smallest box round a card (4 x 2 px), moved and scaled as detectors do."""
    box = smallest_box(quad)
    wide = float(np.linalg.norm(box[1] - box[0]))
    middle = box.mean(axis=0)
    moved = (box - middle) * np.exp(rng.normal(0, LOOSE)) + middle
    return np.asarray(moved + rng.normal(0, LOOSE, 2) * wide, np.float32)


def errors(finder: CornerFinder, count: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return the corner errors (card widths) of boxes and of outlines by share in sight."""
    rng = np.random.default_rng(SEED)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for still in itertools.islice(stills(SEED, split="test", size=(SIDE, SIDE)), count):
        labels = [label for label in still.labels if label.visible >= SHARES[0]]
        boxes = [off_box(rng, label.quad) for label in labels]
        for label, box, quad in zip(labels, boxes, finder(still.image, boxes), strict=True):
            share = max(s for s in SHARES if s <= label.visible)
            before, after = found.setdefault(f"from {share:.0%} in sight", ([], []))
            before.append(corner_error(label, box))
            after.append(corner_error(label, quad))
    return dict(sorted(found.items()))


def measure(model: Path, count: int) -> dict[str, dict[str, str | int | float]]:
    """Return the tables of a model card for an exported file."""
    _, run = onnx_runner(model, threads=1)
    found = errors(CornerFinder(run), count)
    card = np.random.default_rng(1).random((1, 3, INPUT_SIZE[1], INPUT_SIZE[0]), np.float32)
    begun = time.perf_counter()
    for _ in range(50):
        run(card)
    per_card = (time.perf_counter() - begun) / 50
    return {
        "measured": {
            "cards": sum(len(before) for before, _ in found.values()),
            "ms_per_card_one_thread": round(1000 * per_card, 2),
        },
        "median_corner_error_pct_of_width": {
            share: f"{len(before)} cards: boxes {100 * np.median(before):.1f}, "
            f"outlines {100 * np.median(after):.1f}"
            for share, (before, after) in found.items()
        },
    }


def main() -> None:
    """Measure; print it, or ship the file with its card."""
    card = {
        "name": "corners",
        "task": "the true corners of a card that a detector has boxed",
        "network": "CornerNet, residual, 0.4 million parameters",
        "input": INPUT,
        "labels": list(LABELS),
    }
    measure_or_ship(__doc__, ("stills", 200), measure, card)


if __name__ == "__main__":
    main()
