"""Parity of the training framework and ONNX Runtime: `python -m models.parity`.

The same fixed pictures go through the checkpoint in torch and through the exported file with this
project's own letterbox, decoding and suppression; what comes out must be the same cards.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from ultralytics.models import YOLO

from datasets.crops import crops
from datasets.scene import stills
from models.card import HERE, checkpoint_file
from models.network import CardNet, CornerNet, onnx_runner
from vision.sight.classifier import batch
from vision.sight.corners import INPUT_SIZE
from vision.sight.detector import Detection, Detector, Letterbox
from vision.sight.frame import Image
from vision.sight.polygons import overlap

SEED = 80_001
SAME_SHIFT = 1e-4
CHECKPOINTS = {
    "detector": "runs/detector/train/weights/best.pt",
    "corners": "runs/corners/corners.pt",
    "classifier": "runs/classifier/classifier.pt",
}


@dataclass(frozen=True, slots=True)
class Parity:
    """How far two runs of one model lie apart."""

    largest_gap: float
    cards: int
    unmatched: int


def detector_parity(
    checkpoint: Path, exported: Path, pictures: list[Image], *, threshold: float = 0.4
) -> Parity:
    """Compare raw outputs (largest absolute gap) and final cards of both runs on BGR pictures."""
    model = YOLO(checkpoint).model
    assert isinstance(model, torch.nn.Module)  # noqa: S101
    model = model.float().eval()
    _, run = onnx_runner(exported, threads=1)

    def in_torch(tensor: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            output = model(torch.from_numpy(tensor))
        return np.asarray((output[0] if isinstance(output, tuple) else output).numpy())

    gap, cards, unmatched = 0.0, 0, 0
    for picture in pictures:
        box = Letterbox.fit(picture.shape[1], picture.shape[0], 416)
        tensor = box.apply(picture)
        gap = max(gap, float(np.abs(in_torch(tensor) - run(tensor)).max()))
        ours = Detector(run, threshold=threshold)(picture)
        theirs = Detector(in_torch, threshold=threshold)(picture)
        cards += len(theirs)
        unmatched += abs(len(ours) - len(theirs))
        unmatched += sum(not _same(a, b) for a, b in zip(ours, theirs, strict=False))
    return Parity(gap, cards, unmatched)


def _same(a: Detection, b: Detection) -> bool:
    return a.kind == b.kind and abs(a.score - b.score) < 1e-3 and overlap(a.quad, b.quad) > 0.99


def classifier_parity(checkpoint: Path, exported: Path, pictures: list[Image]) -> Parity:
    """Compare the logits (largest absolute gap) and the best reads of both runs on BGR crops."""
    net = CardNet()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    net.eval()
    _, run = onnx_runner(exported, threads=1)
    tensor = batch(pictures)
    with torch.no_grad():
        expected = net(torch.from_numpy(tensor)).numpy()
    found = run(tensor)
    heads = (slice(0, 13), slice(13, 17))
    differ = sum(
        int((found[:, head].argmax(1) != expected[:, head].argmax(1)).sum()) for head in heads
    )
    return Parity(float(np.abs(found - expected).max()), len(pictures), differ)


def corners_parity(checkpoint: Path, exported: Path, pictures: list[Image]) -> Parity:
    """Compare the shifts of corners (largest absolute gap) of both runs on pictures of cards."""
    net = CornerNet()
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    net.eval()
    _, run = onnx_runner(exported, threads=1)
    tensor = batch([np.asarray(cv2.resize(p, INPUT_SIZE), np.uint8) for p in pictures])
    with torch.no_grad():
        gaps = np.abs(net(torch.from_numpy(tensor)).numpy() - run(tensor)).max(axis=1)
    return Parity(float(gaps.max()), len(pictures), int((gaps > SAME_SHIFT).sum()))


def main() -> None:
    """Compare the checkpoints of `runs/` with the shipped files on fixed pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for network, default in CHECKPOINTS.items():
        parser.add_argument(f"--{network}", type=checkpoint_file, default=default)
    arguments = parser.parse_args()
    scenes = [s.image for s in itertools.islice(stills(SEED, split="test"), 20)]
    faces = [crop for crop, _ in itertools.islice(crops(SEED, split="test"), 200)]
    found = detector_parity(arguments.detector, HERE / "detector.onnx", scenes)
    print(f"detector: {found.cards} cards, {found.unmatched} differ, gap {found.largest_gap:.2g}")
    shifted = corners_parity(arguments.corners, HERE / "corners.onnx", faces)
    print(
        f"corners: {shifted.cards} cards, {shifted.unmatched} differ, gap {shifted.largest_gap:.2g}"
    )
    read = classifier_parity(arguments.classifier, HERE / "classifier.onnx", faces)
    print(f"classifier: {read.cards} crops, {read.unmatched} differ, gap {read.largest_gap:.2g}")


if __name__ == "__main__":
    main()
