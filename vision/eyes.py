"""Detector and classifier put together from their model files; the one place that does so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.edge.canary import Canary, Read
from vision.edge.canary import load as load_canary
from vision.edge.model import Model, load, packaged
from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.sight.classifier import RANKS, SUITS, Classifier
from vision.sight.detector import KINDS, Detector, Kind
from vision.sight.frame import Image

LEAST_SURE = 0.5
OUTPUT_NAMES = {"detector": len(KINDS), "classifier": RANKS + SUITS + 1}


@dataclass(frozen=True, slots=True, eq=False)
class Eyes:
    """What the program sees with, and the hashes of the files it came from."""

    detector: Detector
    classifier: Classifier
    hashes: dict[str, str]
    canary: Canary | None = None


def open_eyes(
    detector: Path | None = None,
    classifier: Path | None = None,
    *,
    threads: int = 1,
) -> Eyes:
    """Load both models (`None`: the packaged ones).

    ConfigurationError if a file is missing, damaged or not a model of that kind.
    """
    finder = _load(detector or packaged("detector"), "detector", threads)
    reader = _load(classifier or packaged("classifier"), "classifier", threads)
    settings = finder.settings
    seen_by = Detector(
        finder,
        sizes=(int(settings["size_px"]),),
        threshold=settings["threshold"],
        overlap=settings["overlap"],
    )
    read_by = Classifier(
        reader,
        temperature=reader.settings["temperature"],
        readable_temperature=reader.settings["readable_temperature"],
    )
    hashes = {model.name: model.sha256 for model in (finder, reader)}
    return Eyes(seen_by, read_by, hashes, load_canary(_reading(seen_by, read_by)))


def _reading(detector: Detector, classifier: Classifier) -> Read:
    """Return who reads the test picture: the same way that a frame goes, without time."""

    def read(image: Image) -> list[tuple[str, float, float]]:
        faces = [found for found in detector(image) if found.kind is Kind.FACE]
        looks = classifier(image, [face.quad for face in faces])
        found = []
        for face, look in zip(faces, looks, strict=True):
            best = int(np.argmax(look.log_p))
            sure = look.readable * float(np.exp(look.log_p[best])) > LEAST_SURE
            x, y = face.quad.mean(axis=0)
            found.append((str(Card.of(best)) if sure else "", float(x), float(y)))
        return found

    return read


def _load(path: Path, kind: str, threads: int) -> Model:
    model = load(path, threads=threads)
    wanted = OUTPUT_NAMES[kind]
    if len(model.labels) != wanted:
        raise ConfigurationError(
            f"{path}: its card lists {len(model.labels)} labels, but a {kind} has {wanted}; "
            f"check [models] {kind} in the table file"
        )
    return model
