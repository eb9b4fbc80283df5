"""Compare one network that finds and names cards with two: `-m models.evaluate.compare_stages`.

Both begin with the shipped detector. For the same minutes one goes on as a detector of all 52
faces, while the other keeps the detector as it is and trains a classifier from nothing. Both are
then measured on the same held-out stills, 1,248 pixels wide as a table camera has them, exported,
on one thread of ONNX Runtime; the one network at several sizes of its input.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import torch

from datasets.training.scene import Label, stills
from models.evaluate.ablations import Small, Variant, stock
from models.evaluate.detector import LEAST_OVERLAP, SETTINGS
from models.networks.classifier import onnx_runner
from models.networks.model_card import SHIPPED
from models.train import detector
from models.train.classifier import bank_of, export, make
from models.train.loop import parser
from vision.game.cards import Card
from vision.inference.load import open_models
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import KINDS, Kind, Letterbox, decode, surest
from vision.sight.geometry.plane import Image, Points, overlap

FOLDER = Path("runs/stages")
FACES = [str(Card.of(number)) for number in range(52)]
CLASSES = [*FACES, *(kind for kind in KINDS if kind is not Kind.FACE), "foreign"]
# Side of the held-out stills, px, and their seed: another one than any training's.
SIDE, SEED = 1248, 90_001
# Threshold of the one network: that of the shipped detector.
LEAST_SURE = 0.4

# The smallest costs what two stages do for a few cards, the largest sees every pixel.
SIZES = (480, 832, SIDE)

Named = list[tuple[Points, str]]
Ways = dict[str, Callable[[Image], Named]]


def class_of(label: Label) -> int:
    """Return the class of a card for the network that names cards itself."""
    if label.kind != Kind.FACE:
        return CLASSES.index(label.kind)
    return CLASSES.index(label.card or "foreign")


def one_stage(arguments: argparse.Namespace) -> Ways:
    """Train the detector of all faces; return what names the cards of a picture, by input size."""
    for split, count in (("train", arguments.stills), ("test", 40)):
        classes = detector.Classes(CLASSES, class_of=class_of)
        detector.make(FOLDER, split, first=0, count=count, classes=classes)
    arguments.resume, arguments.rate = SHIPPED / "detector.onnx", 0.0015
    data = detector.describe(FOLDER, CLASSES)
    checkpoint = detector.train(data, arguments, FOLDER)
    exported = detector.export(checkpoint, FOLDER / "faces.onnx", CLASSES)
    _, infer = onnx_runner(exported, threads=1)

    def at(size: int) -> Callable[[Image], Named]:
        def name(image: Image) -> Named:
            box = Letterbox.fit(image.shape[1], image.shape[0], size)
            found = decode(infer(box.apply(image)), box, LEAST_SURE)
            kept = surest(found.quads, found.scores, SETTINGS["overlap"])
            return [(found.quads[i], CLASSES[found.kinds[i]]) for i in kept]

        return name

    return {f"one, {size} px": at(size) for size in SIZES}


def two_stages(arguments: argparse.Namespace) -> Ways:
    """Train a classifier for the shipped detector; return what names the cards of a picture."""
    arguments.resume, arguments.rate = None, 2e-3
    training = Small(arguments, stock(Variant("all"), arguments.bank), None)
    exported = FOLDER / "classifier.onnx"
    export(training.run(FOLDER / "classifier.pt"), exported)
    _, infer = onnx_runner(exported, threads=1)
    detector, classifier = open_models(threads=1).detector, Classifier(infer)

    def name(image: Image) -> Named:
        faces = [found.quad for found in detector(image) if found.kind is Kind.FACE]
        observations = classifier(image, faces)
        return [
            (quad, FACES[int(look.log_p.argmax())])
            for quad, look in zip(faces, observations, strict=True)
            if look.readable > 0.5
        ]

    return {"two": name}


def row(title: str, name: Callable[[Image], Named], count: int) -> str:
    """Return how many cards are found and named right, and the time that a still takes."""
    tally: Counter[str] = Counter()
    times = []
    for still in itertools.islice(stills(SEED, split="test", size=(SIDE, SIDE)), count):
        begun = time.perf_counter()
        named = name(still.image)
        times.append(time.perf_counter() - begun)
        for label in still.labels:
            if label.kind != Kind.FACE or label.card is None or label.visible < 0.75:
                continue
            near = {face for quad, face in named if overlap(label.quad, quad) >= LEAST_OVERLAP}
            tally["cards"] += 1
            tally["found"] += bool(near)
            tally["right"] += near == {label.card}
    shares = (f"{tally[what] / max(tally['cards'], 1):.1%}" for what in ("found", "right"))
    return f"| {title} | {' | '.join(shares)} | {1000 * float(np.median(times)):.0f} |"


def main() -> None:
    """Train both and print a row for each."""
    settings = parser(__doc__, minutes=12, bank=12_000, held_out=1_000)
    settings.add_argument("--stills", type=int, default=3_000, help="stills for the one network")
    settings.add_argument("--measured", type=int, default=200, help="stills to measure on")
    settings.add_argument("--epochs", type=int, default=40, help="at most so many passes of it")
    arguments = settings.parse_args()
    arguments.real = None
    torch.manual_seed(arguments.seed)
    cv2.setNumThreads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    make("test", bank_of("held_out", arguments.held_out), 0, 1)
    print("| stages | cards found and named | named right | ms |\n|---|---|---|---|", flush=True)
    for train in (two_stages, one_stage):
        for title, name in train(arguments).items():
            print(row(title, name, arguments.measured), flush=True)


if __name__ == "__main__":
    main()
