"""Train the detector of the usual pipeline: `python -m models.evaluate.baseline.train`.

Ultralytics' network, 52 faces and a back, boxes round whole cards (from above a table an index is 8
px wide, and pips say as much), trained by Ultralytics' trainer with its own augmentation on scenes
of the training part. The nano begins with the first layers of our detector, in the place of weights
that know everyday things. Weights are AGPL-3.0 and not published.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import cv2
import numpy as np
import torch
from ultralytics.models import YOLO

from datasets.faces.sprites import NAMES
from datasets.training.overhead import overhead
from datasets.training.scene import Label, Still, overlaps, stills
from models.networks.yolo_obb import BoxTrainer
from models.train.detector import describe
from vision.sight.geometry.plane import Image

RUNS = Path("runs/baseline")
CLASSES = (*NAMES, "back")
# Stills, and the pieces cut out round their cards, px: small ones show as many cards in less time,
# and the network, made of convolutions, reads whole tables.
STILL, PIECE = 640, 192
# A card is 45 to 86 px wide: `pipeline.PX_PER_MM` shows it at 66, and the trainer scales besides.
SCALES = (0.45, 0.85)
# Less of a card in sight, or of its box in a piece, its class is a guess; the last is all of it.
LEAST_VISIBLE, LEAST_INSIDE, WHOLE = 0.3, 0.5, 0.99
# Pieces at any place for each still: chips and print are no cards either.
ANYWHERE = 0.15
# Ultralytics' batch, first learning rate, most passes (the time ends it before) and seed.
BATCH, RATE, EPOCHS, SEED = 32, 0.002, 100, 1
# Every second still is of a dealt table from above, which is what will be read.
TABLES: Callable[..., Iterator[Still]] = partial(overhead, scales=SCALES)
SHOWN = (TABLES, stills, TABLES, overlaps)
SEEDS = {"train": 40_000_000, "test": 41_000_000}


def class_of(label: Label) -> int | None:
    """Return the class of a card; None for cut cards, foreign faces, and cards mostly hidden."""
    name = label.card or label.kind
    return CLASSES.index(name) if label.visible >= LEAST_VISIBLE and name in CLASSES else None


def pieces(rng: np.random.Generator, still: Still) -> Iterator[tuple[Image, str]]:
    """Yield pieces of a still, so that each card is in one, with labels as Ultralytics has them."""
    known = [(class_of(label), label.quad) for label in still.labels]
    cards = [(n, quad.min(axis=0), quad.max(axis=0)) for n, quad in known if n is not None]
    left = list(cards)
    while left or rng.random() < ANYWHERE:
        low, high = left.pop(0)[1:] if left else (np.full(2, PIECE), np.zeros(2))
        first, last = np.minimum(high - PIECE, low), np.maximum(high - PIECE, low)
        x, y = (int(v) for v in rng.uniform(first, last).clip(0, STILL - PIECE))
        lines = []
        for number, low, high in cards:
            inside = np.clip(np.array([low, high]) - (x, y), 0, PIECE) / PIECE
            share = (inside[1] - inside[0]).prod() * PIECE**2 / (high - low).prod()
            if share > LEAST_INSIDE:
                box = (*inside.mean(axis=0), *(inside[1] - inside[0]))
                lines.append(f"{number} {' '.join(f'{v:.5f}' for v in box)}\n")
            left = [card for card in left if card[1] is not low or share < WHOLE]
        yield np.ascontiguousarray(still.image[y : y + PIECE, x : x + PIECE]), "".join(lines)


def make(folder: Path, split: str, wanted: int) -> None:
    """Draw `wanted` pieces of a split ("train" or "test") into a folder."""
    images, labels = folder / "images" / split, folder / "labels" / split
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    rng, size = np.random.default_rng(SEEDS[split]), (STILL, STILL)
    drawn = cycle([draw(SEEDS[split] + n, split=split, size=size) for n, draw in enumerate(SHOWN)])
    made = (piece for stream in drawn for piece in pieces(rng, next(stream)))
    for number, (image, lines) in zip(range(wanted), made, strict=False):
        (labels / f"{number:06d}.txt").write_text(lines, "utf-8")
        cv2.imwrite(str(images / f"{number:06d}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 95])


def train(data: Path, arguments: argparse.Namespace) -> Path:
    """Train within the time bound; return the last checkpoint."""
    name = f"train-{arguments.size}"
    YOLO(f"yolo11{arguments.size}.yaml").train(
        trainer=BoxTrainer, data=str(data), imgsz=PIECE, batch=BATCH, nbs=BATCH, epochs=EPOCHS,
        time=arguments.minutes / 60, device=0 if torch.cuda.is_available() else "cpu", workers=0,
        cache="ram", optimizer="AdamW", lr0=RATE, amp=False, deterministic=False, seed=SEED,
        # Ultralytics' own augmentation; no card is mirrored, none much smaller than on a film.
        fliplr=0.0, scale=0.25, mosaic=0.3, close_mosaic=1, val=False, plots=False,
        project=str(RUNS.resolve()), name=name, exist_ok=True,
    )  # fmt: skip
    return RUNS / name / "weights" / "last.pt"


def main() -> None:
    """Parse the arguments, draw the pieces that are wanting, train, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=20_000, help="drawn pieces to train on")
    parser.add_argument("--held-out", type=int, default=1000, help="pieces of held-out decks")
    parser.add_argument("--minutes", type=float, default=120, help="how long to train")
    parser.add_argument("--size", choices=["n", "s"], default="n", help="nano or small")
    parser.add_argument("--data", type=Path, default=RUNS / "data")
    parser.add_argument("--measure", type=Path, metavar="PT", help="only measure a checkpoint")
    arguments = parser.parse_args()
    for split, wanted in (("train", arguments.pieces), ("test", arguments.held_out)):
        if not (arguments.data / "labels" / split).is_dir():
            make(arguments.data, split, wanted)
    data = describe(arguments.data, CLASSES)
    weights = arguments.measure or train(data, arguments)
    found = YOLO(weights).val(data=str(data), imgsz=PIECE, device="cpu", plots=False).box
    best = int(found.f1_curve.mean(axis=0).argmax()) / (found.f1_curve.shape[1] - 1)
    print(
        f"{weights}: mAP50 {found.map50:.3f}, mAP50-95 {found.map:.3f}, best threshold {best:.2f}"
    )


if __name__ == "__main__":
    main()
