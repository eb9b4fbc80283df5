"""Compare networks that find cards: `python -m models.evaluate.compare_detectors`.

Oriented boxes in three widths, and boxes with the four corners as keypoints, each trained from
nothing on the same pieces for the same minutes. Measured on the same held-out stills: what is found
with at most one false card a still, how far corners are off, and the time on one thread.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from ultralytics.nn.tasks import yaml_model_load

from datasets.training.scene import Still
from models.evaluate.detector import SETTINGS, SIZE, Score, held_out, milliseconds, score
from models.networks.classifier import onnx_runner
from models.networks.yolo_obb import CornersTrainer, Trainer
from models.train import detector
from vision.sight.detection.detector import (
    KINDS,
    Detection,
    Detector,
    Infer,
    Kind,
    Letterbox,
    suppress,
)
from vision.sight.geometry.plane import Image, Points

FOLDER = Path("runs/compare_detectors")
# Shares of the width of the largest network of the family; the shipped one has a quarter.
WIDTHS = {"half the width": 0.125, "as it is": 0.25, "half as wide again": 0.375}
LEAST = 0.02
# Above one nothing is found: the last of them is never false.
THRESHOLDS = (*np.geomspace(LEAST, 0.9, 40), 1.01)

Finder = Callable[[Image], tuple[Detection, ...]]


@dataclass(frozen=True, slots=True)
class Network:
    """A network to compare: its description, the pieces it learns from, its trainer and finder."""

    described: str | Path
    data: Path
    trainer: Callable[..., object]
    finder: Callable[[Infer], Finder]


def architecture(width: float) -> Path:
    """Write the description of the network of oriented boxes with a width; return its path."""
    described = yaml_model_load("yolo11n-obb.yaml")  # type: ignore[no-untyped-call]
    depth, _, most = described["scales"]["n"]
    described["scales"] = {"n": [depth, width, most]}
    path = FOLDER / f"width{width}" / "yolo11n-obb.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML too.
    path.write_text(json.dumps(described), "utf-8")
    return path


def with_corners(data: Path) -> Path:
    """Describe the same pieces with boxes and four keypoints instead; return the description."""
    folder = data.parent / "corners"
    for split in ("train", "test"):
        labels, images = folder / "labels" / split, folder / "images" / split
        labels.mkdir(parents=True, exist_ok=True)
        images.mkdir(parents=True, exist_ok=True)
        for path in (data.parent / "labels" / split).glob("*.txt"):
            lines = [corners_line(line) for line in path.read_text("utf-8").splitlines() if line]
            (labels / path.name).write_text("\n".join(lines) + "\n", "utf-8")
            picture = images / f"{path.stem}.jpg"
            if not picture.exists():
                os.link(data.parent / "images" / split / picture.name, picture)
    described = detector.describe(folder)
    with described.open("a", encoding="utf-8") as file:
        file.write("kpt_shape: [4, 2]\n")
    return described


def corners_line(line: str) -> str:
    """Return a label of an oriented box as one of an upright box with keypoints.

    A card looks the same from both ends, and one that the edge cuts from all sides: its corners are
    counted clockwise from the one nearest to the picture's upper left.
    """
    number, *numbers = line.split()
    quad = np.array(numbers, float).reshape(4, 2)
    quad = np.roll(quad, -int(quad.sum(axis=1).argmin()), axis=0)
    low, high = quad.min(axis=0), quad.max(axis=0)
    values = [*((low + high) / 2), *(high - low), *quad.reshape(-1)]
    return f"{number} " + " ".join(f"{v:.5f}" for v in values)


def boxes_finder(infer: Infer) -> Finder:
    """Return what finds cards by oriented boxes."""
    return Detector(infer, threshold=LEAST, overlap=SETTINGS["overlap"])


def corners_finder(infer: Infer) -> Finder:
    """Return what finds cards by keypoints: 1 x (4 + classes + 8) x N out of the network."""

    def find(image: Image) -> tuple[Detection, ...]:
        box = Letterbox.fit(image.shape[1], image.shape[0], SIZE)
        rows = infer(box.apply(image))[0].T
        scores = rows[:, 4 : 4 + len(KINDS)]
        rows, scores = rows[scores.max(axis=1) >= LEAST], scores[scores.max(axis=1) >= LEAST]
        quads = box.back(rows[:, -8:].reshape(-1, 4, 2))
        found = [
            Detection(short_first(quad), KINDS[int(s.argmax())], float(s.max()))
            for quad, s in zip(quads, scores, strict=True)
            if cv2.isContourConvex(quad)
        ]
        cards = [one for one in found if one.kind is not Kind.HAND]
        return suppress(cards, SETTINGS["overlap"])

    return find


def short_first(quad: Points) -> Points:
    """Return a quad with a short side first."""
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return quad if edges[0] + edges[2] <= edges[1] + edges[3] else np.roll(quad, 1, axis=0)


def at_one_false(finder: Finder, shown: Sequence[Still]) -> Score:
    """Return the score at the lowest threshold that gives at most one false card a still."""
    found = [finder(still.image) for still in shown]
    scores = (_score_from(threshold, found, shown) for threshold in THRESHOLDS)
    return next(one for one in scores if one.false <= len(shown))


def _score_from(
    threshold: float, found: Sequence[tuple[Detection, ...]], shown: Sequence[Still]
) -> Score:
    kept = iter([tuple(d for d in some if d.score >= threshold) for some in found])
    return score(lambda _: next(kept), shown)


def networks(data: Path) -> dict[str, Network]:
    """Return the networks to compare, by name."""
    boxes = {
        f"boxes, {words}": Network(architecture(width), data, Trainer, boxes_finder)
        for words, width in WIDTHS.items()
    }
    corners = Network("yolo11n-pose.yaml", with_corners(data), CornersTrainer, corners_finder)
    return {**boxes, "corners as keypoints": corners}


def main() -> None:
    """Train each, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stills", type=int, default=3_000, help="stills to train on")
    parser.add_argument("--held-out", type=int, default=40, help="stills to stop by")
    parser.add_argument("--makers", type=int, default=2, help="processes that render")
    parser.add_argument("--minutes", type=float, default=12, help="how long to train each")
    parser.add_argument("--epochs", type=int, default=40, help="at most so many passes")
    parser.add_argument("--rate", type=float, default=0.0015, help="first learning rate")
    parser.add_argument("--measured", type=int, default=200, help="stills to measure on")
    parser.add_argument("--only", default="", help="run only the networks named with this")
    parser.set_defaults(resume=None, seed=1)
    arguments = parser.parse_args()
    data = detector.make_all(
        FOLDER / "data",
        train=arguments.stills,
        held_out=arguments.held_out,
        makers=arguments.makers,
    )
    shown = list(held_out(arguments.measured))
    rows = ["| network | found | corners off, % of width | ms |", "|---|---|---|---|"]
    for name, network in networks(data).items():
        if arguments.only not in name:
            continue
        runs = FOLDER / name.replace(" ", "_").replace(",", "")
        checkpoint = detector.train(
            network.data, arguments, runs, network=network.described, trainer=network.trainer
        )
        exported = detector.export(checkpoint, runs / "detector.onnx")
        session, infer = onnx_runner(exported, threads=1)
        result = at_one_false(network.finder(infer), shown)
        rows.append(
            f"| {name} | {result.found / result.cards:.1%} | {result.corner_error:.1%} "
            f"| {milliseconds(session):.1f} |"
        )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
