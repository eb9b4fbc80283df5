"""Export and measure the network that finds a card's corners, and write its card.

`python -m models.evaluate.corners [CHECKPOINT]`. Cards of held-out designs, in boxes as far off
as a detector's, go through ONNX Runtime and the same code as at the table. A file that is exported
already (.onnx) is measured only.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import onnx
import torch

from datasets.training.crops import smallest_box
from datasets.training.scene import stills
from models.evaluate.detector import corner_error
from models.networks.classifier import CornerNet, onnx_runner
from models.networks.model_card import HERE, checkpoint_file, told, write_card
from vision.sight.detection.detector import INPUT_SIZE, CornerFinder
from vision.sight.geometry.frame import Points

RUNS = Path("runs/corners")
TARGET = HERE / "corners.onnx"
SEED = 60_001
SIDE = 832
LOOSE = 0.07
SHARES = (0.25, 0.5, 0.75, 0.98)
INPUT = "N x 3 x 96 x 72, RGB, 0 to 1, a card's box and 0.4 of it more"
LABELS = [f"{axis}{corner}" for corner in range(4) for axis in "xy"]


def export(checkpoint: Path, target: Path) -> None:
    """Write the ONNX file with its labels and preprocessing in the metadata."""
    net = CornerNet()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    net.eval()
    torch.onnx.export(
        net,
        (torch.rand(2, 3, INPUT_SIZE[1], INPUT_SIZE[0]),),
        str(target),
        input_names=["cards"],
        output_names=["shifts"],
        dynamic_axes={"cards": {0: "cards"}, "shifts": {0: "cards"}},
        opset_version=17,
        dynamo=False,
    )
    model = onnx.load(str(target))
    facts = {"labels": " ".join(LABELS), "input": INPUT, "licence": "Apache-2.0"}
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, str(target))


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
    """Return what a model card says of an exported file, by table."""
    _, run = onnx_runner(model, threads=1)
    found = errors(CornerFinder(run), count)
    one = np.random.default_rng(1).random((1, 3, INPUT_SIZE[1], INPUT_SIZE[0]), np.float32)
    begun = time.perf_counter()
    for _ in range(50):
        run(one)
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
    """Export, measure, write the card, print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "checkpoint", type=checkpoint_file, nargs="?", default=str(RUNS / "corners.pt")
    )
    parser.add_argument("--stills", type=int, default=200)
    parser.add_argument("--trained", default="", help="how this one was trained, for its card")
    arguments = parser.parse_args()
    if arguments.checkpoint.suffix == ".onnx":
        print(told(measure(arguments.checkpoint, arguments.stills)))
        return
    export(arguments.checkpoint, TARGET)
    tables = measure(TARGET, arguments.stills)
    command = f"python -m models.evaluate.corners models/corners.onnx --stills {arguments.stills}"
    tables["measured"] = {"command": command, **tables["measured"]}
    card = {
        "name": "corners",
        "task": "the true corners of a card that a detector has boxed",
        "network": "CornerNet, residual, 0.4 million parameters",
        "licence": "Apache-2.0; trained without ultralytics",
        "recipe": "python -m models.train.corners && python -m models.evaluate.corners",
        "trained": arguments.trained,
        "input": INPUT,
        "labels": LABELS,
        **tables,
    }
    print(write_card(TARGET, card).read_text("utf-8"))


if __name__ == "__main__":
    main()
