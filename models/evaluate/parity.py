"""Parity of the training framework and ONNX Runtime: `python -m models.evaluate.parity`.

The same fixed pictures go through the checkpoint in torch and through the exported file with this
project's own letterbox, decoding and suppression; what comes out must be the same cards. Without
checkpoints, as in a fresh clone, `--restored` gives torch the weights of the exported files: that
shows that both compute the same, not that the weights are those once trained.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from ultralytics.models import YOLO

from datasets.training.crops import crops
from datasets.training.scene import stills
from models.evaluate.detector import SIZE
from models.networks.classifier import CardNet, CornerNet, onnx_runner
from models.networks.model_card import SHIPPED, checkpoint_file
from models.networks.restore import restore
from models.networks.yolo_obb import QuickOBB
from models.train.detector import NETWORK
from vision.sight.detection.detector import (
    INPUT_SIZE,
    KINDS,
    Detection,
    Detector,
    Letterbox,
    Tensor,
    batch,
)
from vision.sight.geometry.plane import Image, overlap

# Seed of the pictures.
SEED = 80_001
# Shifts of corners, as shares of the picture, that count as the same.
SAME_SHIFT = 1e-4
CHECKPOINTS = {
    "detector": "runs/detector/train/weights/best.pt",
    "corners": "runs/corners/corners.pt",
    "classifier": "runs/classifier/classifier.pt",
}
FILES = {network: SHIPPED / f"{network}.onnx" for network in CHECKPOINTS}


@dataclass(frozen=True, slots=True)
class Parity:
    """How far two runs of one model lie apart."""

    largest_gap: float
    cards: int
    unmatched: int


def trained(net: nn.Module, checkpoint: Path) -> nn.Module:
    """Return the network with the weights of a checkpoint."""
    net.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    return net


def trained_detector(checkpoint: Path) -> nn.Module:
    """Return the network of a checkpoint of ultralytics."""
    model = YOLO(checkpoint).model
    assert isinstance(model, nn.Module)  # noqa: S101
    return model.float()


def restored(net: nn.Module, exported: Path, pictures: Tensor) -> nn.Module:
    """Return the network with the weights of an exported file; pictures as for `restore`."""
    restore(net, exported, torch.from_numpy(pictures))
    return net


def detector_parity(
    net: nn.Module, exported: Path, pictures: list[Image], *, threshold: float = 0.4
) -> Parity:
    """Compare raw outputs (largest absolute gap) and final cards of both runs on BGR pictures."""
    net.eval()
    _, run = onnx_runner(exported, threads=1)

    def in_torch(tensor: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            output = net(torch.from_numpy(tensor))
        return np.asarray((output[0] if isinstance(output, tuple) else output).numpy())

    gap, cards, unmatched = 0.0, 0, 0
    for picture in pictures:
        tensor = letterboxed(picture)
        gap = max(gap, float(np.abs(in_torch(tensor) - run(tensor)).max()))
        ours = Detector(run, threshold=threshold)(picture)
        theirs = Detector(in_torch, threshold=threshold)(picture)
        cards += len(theirs)
        unmatched += abs(len(ours) - len(theirs))
        unmatched += sum(not _same(a, b) for a, b in zip(ours, theirs, strict=False))
    return Parity(gap, cards, unmatched)


def letterboxed(picture: Image) -> Tensor:
    """Return a picture as the detector sees it, 1 x 3 x H x W."""
    return Letterbox.fit(picture.shape[1], picture.shape[0], SIZE).apply(picture)


def _same(a: Detection, b: Detection) -> bool:
    return a.kind == b.kind and abs(a.score - b.score) < 1e-3 and overlap(a.quad, b.quad) > 0.99


def classifier_parity(net: nn.Module, exported: Path, pictures: list[Image]) -> Parity:
    """Compare the logits (largest absolute gap) and the best reads of both runs on BGR crops."""
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


def corners_parity(net: nn.Module, exported: Path, pictures: list[Image]) -> Parity:
    """Compare the shifts of corners (largest absolute gap) of both runs on pictures of cards."""
    net.eval()
    _, run = onnx_runner(exported, threads=1)
    tensor = corners_input(pictures)
    with torch.no_grad():
        gaps = np.abs(net(torch.from_numpy(tensor)).numpy() - run(tensor)).max(axis=1)
    return Parity(float(gaps.max()), len(pictures), int((gaps > SAME_SHIFT).sum()))


def corners_input(pictures: list[Image]) -> Tensor:
    """Return pictures of cards as the corner finder sees them, N x 3 x H x W."""
    return batch([np.asarray(cv2.resize(p, INPUT_SIZE), np.uint8) for p in pictures])


def checkpoints(arguments: argparse.Namespace) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Return detector, corner finder and classifier as trained; ArgumentTypeError if one lacks."""
    path = {network: checkpoint_file(str(getattr(arguments, network))) for network in CHECKPOINTS}
    return (
        trained_detector(path["detector"]),
        trained(CornerNet(), path["corners"]),
        trained(CardNet(), path["classifier"]),
    )


def shipped(scenes: list[Image], faces: list[Image]) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Return the same three with the weights of the shipped files."""
    seen = np.concatenate([letterboxed(scene) for scene in scenes])
    detector = QuickOBB(NETWORK, nc=len(KINDS), verbose=False)  # type: ignore[no-untyped-call]
    return (
        restored(detector, FILES["detector"], seen),
        restored(CornerNet(), FILES["corners"], corners_input(faces)),
        restored(CardNet(), FILES["classifier"], batch(faces)),
    )


def main() -> None:
    """Compare the networks in torch with the shipped files on fixed pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for network, default in CHECKPOINTS.items():
        parser.add_argument(f"--{network}", type=Path, default=default, help="its checkpoint")
    parser.add_argument("--restored", action="store_true", help="weights of the shipped files")
    arguments = parser.parse_args()
    try:
        networks = None if arguments.restored else checkpoints(arguments)
    except argparse.ArgumentTypeError as error:
        parser.error(f"{error}, or give --restored")
    scenes = [s.image for s in itertools.islice(stills(SEED, split="test"), 20)]
    faces = [crop for crop, _ in itertools.islice(crops(SEED, split="test"), 200)]
    detector, corners, classifier = networks or shipped(scenes, faces)
    for name, found in (
        ("detector", detector_parity(detector, FILES["detector"], scenes)),
        ("corners", corners_parity(corners, FILES["corners"], faces)),
        ("classifier", classifier_parity(classifier, FILES["classifier"], faces)),
    ):
        print(f"{name}: {found.cards} cards, {found.unmatched} differ, gap {found.largest_gap:.2g}")


if __name__ == "__main__":
    main()
