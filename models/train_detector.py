"""Train and export the card detector: `python -m models.train_detector`.

Stills are rendered once to disk, then a YOLO with oriented boxes is trained on them from nothing
by ultralytics (AGPL-3.0: it is used here and for export alone). Uses a GPU if there is one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
from pathlib import Path

import cv2
import torch
from ultralytics import YOLO

from datasets.scene import stills
from vision.sight.detector import KINDS

RUNS = Path("runs/detector")
SIZE = 416
SEED_FAMILY = {"train": 0, "test": 500_000}


def make(folder: Path, split: str, *, first: int, count: int) -> None:
    """Render stills number `first` to `first + count` with labels; those there already stay."""
    images, labels = folder / "images" / split, folder / "labels" / split
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    seed = SEED_FAMILY[split] + first
    for number, still in zip(range(first, first + count), stills(seed, split=split), strict=False):
        name = f"{number:06d}"
        if (images / f"{name}.jpg").exists():
            continue
        height, width = still.image.shape[:2]
        lines = []
        for label in still.labels:
            points = (label.quad / (width, height)).clip(0, 1).reshape(-1)
            numbers = " ".join(f"{v:.5f}" for v in points)
            lines.append(f"{KINDS.index(label.kind)} {numbers}")
        (labels / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        cv2.imwrite(str(images / f"{name}.jpg"), still.image, [cv2.IMWRITE_JPEG_QUALITY, 92])


def make_all(folder: Path, *, train: int, held_out: int, makers: int) -> Path:
    """Render both parts in `makers` processes; return the description ultralytics reads."""
    share = train // makers
    jobs = [("train", i * share, share) for i in range(makers)] + [("test", 0, held_out)]
    with multiprocessing.Pool(makers) as pool:
        pool.starmap(_make, [(folder, *job) for job in jobs])
    names = "\n".join(f"  {i}: {kind}" for i, kind in enumerate(KINDS))
    path = folder / "data.yaml"
    path.write_text(
        f"path: {folder.resolve()}\ntrain: images/train\nval: images/test\nnames:\n{names}\n",
        "utf-8",
    )
    return path


def _make(folder: Path, split: str, first: int, count: int) -> None:
    cv2.setNumThreads(1)
    make(folder, split, first=first, count=count)


def train(data: Path, arguments: argparse.Namespace) -> Path:
    """Train within the time bound; return the best checkpoint."""
    gpu = torch.cuda.is_available()
    model = YOLO(arguments.resume or "yolo11n-obb.yaml")
    model.train(
        data=str(data),
        imgsz=SIZE,
        epochs=arguments.epochs,
        time=arguments.minutes / 60,
        batch=64 if gpu else 16,
        device=0 if gpu else "cpu",
        workers=8 if gpu else 1,
        amp=gpu,
        optimizer="AdamW",
        lr0=0.002,
        lrf=0.02,
        warmup_epochs=0.2,
        cos_lr=True,
        # A mirrored card is no card; turning and colour are in the stills already.
        fliplr=0.0,
        flipud=0.0,
        mosaic=0.0,
        degrees=0.0,
        translate=0.1,
        scale=0.3,
        hsv_h=0.015,
        hsv_s=0.4,
        hsv_v=0.3,
        erasing=0.0,
        save_period=1,
        plots=False,
        val=True,
        seed=arguments.seed,
        project=str(RUNS.resolve()),
        name="train",
        exist_ok=True,
        verbose=True,
    )
    return RUNS / "train" / "weights" / "best.pt"


def export(checkpoint: Path, target: Path) -> Path:
    """Export a checkpoint to ONNX with free picture size, and put it at `target`."""
    made = YOLO(checkpoint).export(
        format="onnx", imgsz=SIZE, dynamic=True, simplify=False, opset=17, device="cpu"
    )
    shutil.copy(made, target)
    return target


def main() -> None:
    """Parse the arguments, make the data, train, export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stills", type=int, default=12_000, help="pictures to train on")
    parser.add_argument("--held-out", type=int, default=600, help="pictures to measure on")
    parser.add_argument("--makers", type=int, default=2, help="processes that render")
    parser.add_argument("--minutes", type=float, default=75, help="how long to train")
    parser.add_argument("--epochs", type=int, default=40, help="at most so many passes")
    parser.add_argument("--resume", help="a checkpoint to start from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data-only", action="store_true", help="render the stills and stop")
    parser.add_argument("--folder", type=Path, default=RUNS / "data")
    arguments = parser.parse_args()
    data = make_all(
        arguments.folder,
        train=arguments.stills,
        held_out=arguments.held_out,
        makers=arguments.makers,
    )
    if not arguments.data_only:
        print(export(train(data, arguments), RUNS / "detector.onnx"))


if __name__ == "__main__":
    main()
