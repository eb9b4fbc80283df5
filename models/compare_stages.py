"""Compare one network that finds and names cards with two: `python -m models.compare_stages`.

Both begin with the shipped detector. For the same minutes one goes on as a detector of all 52
faces, while of the other the detector stays as it is and a classifier is trained from nothing.
Both are then measured on the same held-out stills, 1,248 pixels wide as a table camera has them.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import torch
from ultralytics.engine.results import Results
from ultralytics.models import YOLO

from datasets.scene import Label, stills
from models import train_detector
from models.ablate import Small, Variant, stock
from models.card import HERE
from models.loop import parser
from models.measure_detector import LEAST_OVERLAP, overlap
from models.train_classifier import bank_of, make
from vision.eyes import open_eyes
from vision.game.cards import Card
from vision.sight.classifier import Classifier
from vision.sight.detector import KINDS, Kind
from vision.sight.frame import Image, Points

FOLDER = Path("runs/stages")
FACES = [str(Card.of(number)) for number in range(52)]
CLASSES = [*FACES, *(kind for kind in KINDS if kind is not Kind.FACE), "foreign"]
SIDE, SEED = 1248, 90_001
LEAST_SURE = 0.4

Named = list[tuple[Points, str]]


def class_of(label: Label) -> int:
    """Return the class of a card for the network that names cards itself."""
    if label.kind != Kind.FACE:
        return CLASSES.index(label.kind)
    return CLASSES.index(label.card or "foreign")


def one_stage(arguments: argparse.Namespace) -> Callable[[Image], Named]:
    """Train the detector of all faces; return what names the cards of a picture."""
    for split, count in (("train", arguments.stills), ("test", 40)):
        train_detector.make(FOLDER, split, first=0, count=count, class_of=class_of)
    arguments.resume, arguments.rate = HERE / "detector.onnx", 0.0015
    data = train_detector.describe(FOLDER, CLASSES)
    checkpoint = train_detector.train(data, arguments, FOLDER)
    model = YOLO(checkpoint)

    def name(image: Image) -> Named:
        found = model.predict(image, imgsz=arguments.size, conf=LEAST_SURE, verbose=False)
        boxes = cast(list[Results], found)[0].obb
        if boxes is None:
            return []
        quads = np.asarray(boxes.xyxyxyxy, np.float32)
        return [(q, CLASSES[int(c)]) for q, c in zip(quads, np.asarray(boxes.cls), strict=True)]

    return name


def two_stages(arguments: argparse.Namespace) -> Callable[[Image], Named]:
    """Train a classifier for the shipped detector; return what names the cards of a picture."""
    arguments.resume, arguments.rate = None, 2e-3
    training = Small(arguments, stock(Variant("all"), arguments.bank), None)
    training.run(FOLDER / "classifier.pt")
    training.net.eval()

    @torch.no_grad()
    def infer(crops: np.ndarray) -> np.ndarray:
        return np.asarray(training.net(torch.from_numpy(crops)).numpy(), np.float32)

    detector, classifier = open_eyes().detector, Classifier(infer)

    def name(image: Image) -> Named:
        faces = [found.quad for found in detector(image) if found.kind is Kind.FACE]
        looks = classifier(image, faces)
        return [
            (quad, FACES[int(look.log_p.argmax())])
            for quad, look in zip(faces, looks, strict=True)
            if look.readable > 0.5
        ]

    return name


def row(title: str, name: Callable[[Image], Named], count: int) -> str:
    """Return how many cards are found and named right, and the time that a still takes."""
    tally: Counter[str] = Counter()
    times = []
    for still in itertools.islice(stills(SEED, split="test", size=(SIDE, SIDE)), count):
        begun = time.perf_counter()
        said = name(still.image)
        times.append(time.perf_counter() - begun)
        for label in still.labels:
            if label.kind != Kind.FACE or label.card is None or label.visible < 0.75:
                continue
            near = {face for quad, face in said if overlap(label.quad, quad) >= LEAST_OVERLAP}
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
    settings.add_argument("--size", type=int, default=480, help="input of the one network, px")
    settings.add_argument("--epochs", type=int, default=40, help="at most so many passes of it")
    arguments = settings.parse_args()
    arguments.real = None
    torch.manual_seed(arguments.seed)
    FOLDER.mkdir(parents=True, exist_ok=True)
    make("test", bank_of("held_out", arguments.held_out), 0, 1)
    print("| stages | cards found and named | named right | ms |\n|---|---|---|---|", flush=True)
    for title, made in (("two", two_stages), ("one", one_stage)):
        print(row(title, made(arguments), arguments.measured), flush=True)


if __name__ == "__main__":
    main()
