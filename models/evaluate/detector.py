"""Measure an exported detector on held-out stills: `python -m models.evaluate.detector [ONNX]`.

The stills come from decks, backs, tables and seeds
that training never saw; they go through the same letterbox, decoding and suppression as at the
table.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from datasets.training.scene import Label, Still, stills
from models.networks.classifier import onnx_runner
from models.networks.model_card import measure_or_ship
from vision.sight.detection.detector import KINDS, Detection, Detector
from vision.sight.geometry.plane import Image, overlap

# Seed of the held-out stills: another one than any training's.
SEED = 70_001
# Side of the stills, px, as the detector is trained.
SIZE = 416
# A card is found where an outline overlaps it by this share (of both together).
LEAST_OVERLAP = 0.5
# Classes of the card's width, from each of these up.
WIDTHS_PX = (0, 14, 20, 30, 45, 70, 1000)
# What ships in the card. Threshold and overlap were chosen by trying: a lower threshold finds more
# covered cards and more false ones.
SETTINGS = {"size_px": SIZE, "threshold": 0.4, "overlap": 0.6}
LICENCE = (
    "AGPL-3.0: trained with ultralytics, whose owner holds that weights trained with it are "
    "under the same licence; see the README for what that means and how to put in another"
)


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over all stills; `wrong_kind` cards are found but called another kind."""

    cards: int
    found: int
    wrong_kind: int
    false: int
    by_width: dict[str, tuple[int, int]]
    corner_error: float


def pair(labels: list[Label], found: tuple[Detection, ...]) -> dict[int, int]:
    """Match labels to detections one to one, best overlap first."""
    scored = sorted(
        (
            (overlap(label.quad, d.quad), i, j)
            for i, label in enumerate(labels)
            for j, d in enumerate(found)
        ),
        reverse=True,
    )
    matched: dict[int, int] = {}
    for value, i, j in scored:
        if value >= LEAST_OVERLAP and i not in matched and j not in matched.values():
            matched[i] = j
    return matched


def corner_error(label: Label, quad: np.ndarray) -> float:
    """Return the mean distance of corners as a share of the card's width; a half turn is none."""
    width = float(np.linalg.norm(label.quad[1] - label.quad[0]))
    turns = (quad, np.roll(quad, 2, axis=0))
    return min(float(np.linalg.norm(label.quad - q, axis=1).mean()) for q in turns) / width


def held_out(count: int) -> Iterator[Still]:
    """Yield stills that no detector was trained on."""
    return itertools.islice(stills(SEED, split="test", size=(SIZE, SIZE)), count)


def score(detector: Callable[[Image], tuple[Detection, ...]], shown: Iterable[Still]) -> Score:
    """Run a detector over stills and compare with their labels."""
    tally: Counter[str] = Counter()
    wide: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    errors: list[float] = []
    for still in shown:
        labels = [label for label in still.labels if label.visible >= 0.25]
        found = detector(still.image)
        matched = pair(list(still.labels), found)
        at = {id(still.labels[i]): found[j] for i, j in matched.items()}
        tally["false"] += len(found) - len(matched)
        for label in labels:
            width = float(np.linalg.norm(label.quad[1] - label.quad[0]))
            low = max(w for w in WIDTHS_PX if w <= width)
            band = f"from {low} px"
            tally["cards"] += 1
            wide[band] += 1
            if (match := at.get(id(label))) is not None:
                tally["found"] += 1
                hit[band] += 1
                tally["wrong_kind"] += match.kind != label.kind
                errors.append(corner_error(label, match.quad))
    return Score(
        tally["cards"],
        tally["found"],
        tally["wrong_kind"],
        tally["false"],
        {band: (hit[band], wide[band]) for band in sorted(wide, key=lambda b: int(b.split()[1]))},
        float(np.median(errors)) if errors else 1.0,
    )


def milliseconds(session: ort.InferenceSession) -> float:
    """Return the median time of one run at the size of a 16:9 table view."""
    tensor = np.random.default_rng(1).random((1, 3, 256, SIZE), np.float32)
    times = []
    for _ in range(40):
        begun = time.perf_counter()
        session.run(None, {session.get_inputs()[0].name: tensor})
        times.append(time.perf_counter() - begun)
    return 1000 * float(np.median(times))


def measure(model: Path, count: int) -> dict[str, Any]:
    """Return the tables of a model card for an exported file, measured on `count` stills."""
    session, run = onnx_runner(model, threads=1)
    detector = Detector(run, threshold=SETTINGS["threshold"], overlap=SETTINGS["overlap"])
    result = score(detector, held_out(count))
    return {
        "settings": SETTINGS,
        "measured": {
            "stills": count,
            "cards_a_quarter_or_more_in_sight": result.cards,
            "found_pct": round(100 * result.found / result.cards, 2),
            "wrong_kind_pct": round(100 * result.wrong_kind / max(result.found, 1), 2),
            "false_per_still": round(result.false / count, 3),
            "median_corner_error_pct_of_width": round(100 * result.corner_error, 2),
            "ms_416x256_one_thread": round(milliseconds(session), 1),
        },
        "found_by_card_width": {
            band: f"{hit} of {of}" for band, (hit, of) in result.by_width.items()
        },
    }


def main() -> None:
    """Measure; print it, or ship the file with its card."""
    card = {
        "name": "detector",
        "task": "cards and hands with oriented boxes, at tables and in single pictures",
        "network": "YOLO11n, oriented boxes, 4 classes",
        "labels": [str(kind) for kind in KINDS],
        "licence": LICENCE,
        "input": "1 x 3 x H x W, RGB, 0 to 1, letterboxed with grey 114, sides multiples of 32",
    }
    measure_or_ship(__doc__, ("stills", 400), measure, card)


if __name__ == "__main__":
    main()
