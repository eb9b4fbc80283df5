"""Train and export the card detector: `python -m models.train.detector`.

Stills are rendered once to disk, then a YOLO with oriented boxes is trained on them from nothing
by ultralytics (AGPL-3.0: it is used here and for export alone). Uses a GPU if there is one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import onnx
import torch
from ultralytics.models import YOLO

from datasets.training.overhead import overhead
from datasets.training.scene import Label, Still, overlaps, stills
from models.networks.yolo_obb import Trainer
from models.train.real_stills import Overlay, outlined, views
from vision.inference.load import for_pictures
from vision.sight.detection.detector import KINDS, Kind
from vision.sight.geometry.plane import Image, Points, shared_area, shared_part

RUNS = Path("runs/detector")
# The network is fully convolutional: it is trained on pieces of stills, with cards as large (in
# pixels) as it will meet, at a third of the cost, and runs on whole ones.
STILL, PIECE = 416, 256
# Pieces in a step, without and with a GPU, which takes no longer for many; processes to read them.
BATCH, WORKERS = (16, 256), max(1, (os.cpu_count() or 1) // 2 - 1)
LEAST_IN_PIECE = 0.3
NETWORK = "yolo11n-obb.yaml"
INPUT = "1 x 3 x H x W, RGB, 0 to 1, letterboxed with grey 114, sides multiples of 32"
SEED_FAMILY = {"train": 0, "test": 500_000}
# What it is shown by turns. Every second still has cards on one another: two under one outline were
# what `read` missed most.
SHOWN: tuple[Callable[..., Iterator[Still]], ...] = (overlaps, stills, overlaps, overhead)
# Between the seeds of these streams, above any number of stills: no two show the same.
TURN = 1_000_000


def kind_of(label: Label) -> int:
    """Return the detector's class of a card."""
    return KINDS.index(Kind(label.kind))


class Classes(NamedTuple):
    """What a detector learns to tell, and which of it a card is."""

    names: Sequence[str]
    class_of: Callable[[Label], int] = kind_of


CLASSES = Classes(KINDS)


def make(folder: Path, split: str, *, first: int, count: int, classes: Classes = CLASSES) -> None:
    """Render stills number `first` to `first + count`, five pieces each."""
    images, labels = folder / "images" / split, folder / "labels" / split
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    seed = SEED_FAMILY[split] + first
    made = mixed(seed, split)
    for number, still in zip(range(first, first + count), made, strict=False):
        for part, (picture, labels_of) in enumerate(pieces(still, classes)):
            name = f"{number:06d}_{part}"
            (labels / f"{name}.txt").write_text("\n".join(labels_of) + "\n", "utf-8")
            cv2.imwrite(str(images / f"{name}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 92])


def make_real(folder: Path, photographs: Path, part: slice = slice(None)) -> None:
    """Add pieces of labelled photographs, and of these with further cards laid on theirs."""
    rng = np.random.default_rng(1)
    images, labels = folder / "images" / "train", folder / "labels" / "train"
    models, cards = for_pictures(threads=1), Overlay(rng)
    for number, shown in enumerate(outlined(photographs, models, part)):
        for laid, (image, quads) in enumerate((shown, cards.lay(*shown))):
            for view, (piece, moved) in enumerate(views(rng, image, quads, PIECE)):
                lines = [
                    line for quad in moved if (line := line_of(KINDS.index(Kind.FACE), quad, 0, 0))
                ]
                name = f"real_{number:04d}_{laid}{view:02d}"
                (labels / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
                cv2.imwrite(str(images / f"{name}.jpg"), piece, [cv2.IMWRITE_JPEG_QUALITY, 92])


def pieces(still: Still, classes: Classes = CLASSES) -> Iterator[tuple[Image, list[str]]]:
    """Yield a still's four corners, and all of it made smaller: there large cards are whole."""
    cards = [(classes.class_of(label), label.quad) for label in still.labels]
    if Kind.HAND in classes.names:
        cards += [(classes.names.index(Kind.HAND), quad) for quad in still.hands]
    for x, y in product((0, STILL - PIECE), repeat=2):
        lines = [line_of(number, quad, x, y) for number, quad in cards]
        piece = np.ascontiguousarray(still.image[y : y + PIECE, x : x + PIECE])
        yield piece, [line for line in lines if line]
    scale = PIECE / STILL
    whole = cv2.resize(still.image, (PIECE, PIECE), interpolation=cv2.INTER_AREA)
    lines = [line_of(number, quad * np.float32(scale), 0, 0) for number, quad in cards]
    yield np.asarray(whole, np.uint8), [line for line in lines if line]


def mixed(seed: int, split: str) -> Iterator[Still]:
    """Yield stills for ever, those of `SHOWN` by turns."""
    shown = [
        make(seed + number * TURN, split=split, size=(STILL, STILL))
        for number, make in enumerate(SHOWN)
    ]
    for stream in cycle(shown):
        yield next(stream)


def line_of(number: int, corners: Points, x: int, y: int) -> str:
    """Return the label of a card in the piece at (x, y), "" if outside, as ultralytics reads it.

    A card that the edge cuts keeps the smallest rectangle round what is left of it.
    """
    quad = corners - np.array([x, y], np.float32)
    frame = np.array([[0, 0], [PIECE, 0], [PIECE, PIECE], [0, PIECE]], np.float32)
    inside, whole = shared_area(quad, frame), cv2.contourArea(quad)
    if inside < LEAST_IN_PIECE * whole:
        return ""
    if inside < 0.999 * whole:
        quad = np.asarray(cv2.boxPoints(cv2.minAreaRect(shared_part(quad, frame))), np.float32)
    numbers = " ".join(f"{v:.5f}" for v in (quad / PIECE).clip(0, 1).reshape(-1))
    return f"{number} {numbers}"


def make_all(folder: Path, *, train: int, held_out: int, makers: int) -> Path:
    """Render both parts in `makers` processes; return their description."""
    share = train // makers
    jobs = [("train", i * share, share) for i in range(makers)] + [("test", 0, held_out)]
    with multiprocessing.Pool(makers) as pool:
        pool.starmap(_make, [(folder, *job) for job in jobs])
    return describe(folder)


def describe(folder: Path, classes: Sequence[str] = KINDS) -> Path:
    """Write the description of the data that ultralytics reads, and return its path."""
    names = "\n".join(f"  {i}: {name}" for i, name in enumerate(classes))
    path = folder / "data.yaml"
    path.write_text(
        f"path: {folder.resolve()}\ntrain: images/train\nval: images/test\nnames:\n{names}\n",
        "utf-8",
    )
    return path


def _make(folder: Path, split: str, first: int, count: int) -> None:
    cv2.setNumThreads(1)
    make(folder, split, first=first, count=count)


def train(
    data: Path,
    arguments: argparse.Namespace,
    runs: Path = RUNS,
    *,
    network: str | Path = NETWORK,
    trainer: Callable[..., object] = Trainer,
) -> Path:
    """Train within the time bound, in a folder of `runs`; return the best checkpoint."""
    gpu = torch.cuda.is_available()
    begin = Path(arguments.resume) if arguments.resume else None
    exported = begin if begin and begin.suffix == ".onnx" else None
    model = YOLO(network if exported or not begin else begin)
    model.train(
        trainer=partial(trainer, exported=exported),
        data=str(data),
        imgsz=PIECE,
        epochs=arguments.epochs,
        time=arguments.minutes / 60,
        batch=BATCH[gpu],
        # One step of the optimiser a batch: there are few batches to waste.
        nbs=BATCH[gpu],
        device=0 if gpu else "cpu",
        workers=WORKERS,
        # `Quick` sees to that.
        amp=False,
        deterministic=False,
        optimizer="AdamW",
        lr0=arguments.rate,
        lrf=0.02,
        warmup_epochs=0.0 if arguments.resume else 0.3,
        cos_lr=True,
        # A mirrored card is no card; turning and colour are in the stills already.
        fliplr=0.0,
        flipud=0.0,
        mosaic=0.0,
        degrees=0.0,
        translate=0.1,
        scale=0.45,
        hsv_h=0.015,
        hsv_s=0.4,
        hsv_v=0.3,
        erasing=0.0,
        plots=False,
        val=True,
        seed=arguments.seed,
        project=str(runs.resolve()),
        name="train",
        exist_ok=True,
        verbose=True,
    )
    return runs / "train" / "weights" / "best.pt"


def export(checkpoint: Path, target: Path, classes: Sequence[str] = KINDS) -> Path:
    """Export a checkpoint to ONNX with free picture size, and put it at `target`."""
    made = YOLO(checkpoint).export(
        format="onnx", imgsz=STILL, dynamic=True, simplify=False, opset=17, device="cpu"
    )
    model = onnx.load(made)
    # The exporter's own notes name folders of the machine it ran on.
    del model.metadata_props[:]
    facts = {"labels": " ".join(classes), "input": INPUT, "licence": "AGPL-3.0"}
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, target)
    return target


def main() -> None:
    """Parse the arguments, make the data, train, export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--stills", type=int, default=6_000, help="stills to train on, five pieces each"
    )
    parser.add_argument("--held-out", type=int, default=150, help="stills to stop by")
    parser.add_argument("--makers", type=int, default=2, help="processes that render")
    parser.add_argument("--minutes", type=float, default=75, help="how long to train")
    parser.add_argument("--epochs", type=int, default=40, help="at most so many passes")
    parser.add_argument("--resume", help="a checkpoint, or an exported .onnx, to start from")
    parser.add_argument("--rate", type=float, default=0.0015, help="first learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data-only", action="store_true", help="render the stills and stop")
    parser.add_argument("--data", type=Path, help="the data.yaml of pieces made before")
    parser.add_argument("--folder", type=Path, default=RUNS / "data")
    parser.add_argument(
        "--real", type=Path, help="labelled photographs to mix in: see real_stills.py"
    )
    arguments = parser.parse_args()
    data = arguments.data or make_all(
        arguments.folder,
        train=arguments.stills,
        held_out=arguments.held_out,
        makers=arguments.makers,
    )
    if arguments.real:
        make_real(data.parent, arguments.real)
    if not arguments.data_only:
        print(export(train(data, arguments), RUNS / "detector.onnx"))


if __name__ == "__main__":
    main()
