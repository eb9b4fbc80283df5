"""Detector, corner finder and classifier from their model files; the one place that does so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vision.deck import open_deck
from vision.edge.canary import Canary, Read
from vision.edge.canary import load as load_canary
from vision.edge.model import Model, load, packaged
from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.sight.classifier import RANKS, SUITS, Classifier, Tensor
from vision.sight.corners import CornerFinder
from vision.sight.detector import KINDS, Detector, Kind
from vision.sight.enrolment import DeckClassifier, FeatureReader
from vision.sight.frame import Image

LEAST_SURE = 0.5
OUTPUT_NAMES = {"detector": len(KINDS), "corners": 2 * 4, "classifier": RANKS + SUITS + 1}


@dataclass(frozen=True, slots=True, eq=False)
class Eyes:
    """What the program sees with, and the hashes of the files it came from."""

    detector: Detector
    classifier: Classifier
    hashes: dict[str, str]
    canary: Canary | None = None
    features: FeatureReader | None = None


def open_eyes(
    detector: Path | None = None,
    classifier: Path | None = None,
    corners: Path | None = None,
    *,
    threads: int = 1,
    deck: Path | None = None,
) -> Eyes:
    """Load the models (`None`: the packaged ones), and an enrolled deck if there is one.

    ConfigurationError if a file is missing, damaged or not a model of that kind, or if the deck is
    not one to read with. `features` of the eyes is for learning a deck.
    """
    finder = _load(detector or packaged("detector"), "detector", threads)
    outliner = _load(corners or packaged("corners"), "corners", threads)
    reader = _load(classifier or packaged("classifier"), "classifier", threads)
    settings = finder.settings
    seen_by = Detector(
        finder,
        sizes=(int(settings["size_px"]),),
        threshold=settings["threshold"],
        overlap=settings["overlap"],
        corners=CornerFinder(outliner),
    )
    generic = Classifier(
        reader,
        temperature=reader.settings["temperature"],
        readable_temperature=reader.settings["readable_temperature"],
    )
    hashes = {model.name: model.sha256 for model in (finder, outliner, reader)}
    features, read_by = _features(reader, generic), generic
    if deck is not None:
        learnt, hashes["deck"] = open_deck(deck, reader.sha256)
        read_by = DeckClassifier(with_features(features), learnt)
    # The test picture shows no house deck: it is read without one.
    return Eyes(seen_by, read_by, hashes, load_canary(_reading(seen_by, generic)), features)


def with_features(features: FeatureReader | None) -> FeatureReader:
    """Return what reads features; ConfigurationError where the classifier gives none."""
    if features is None:
        raise ConfigurationError(
            "[models] classifier: this classifier has no output `features`, which an enrolled deck "
            "needs; use the packaged one, or leave [deck] path empty"
        )
    return features


def _features(model: Model, generic: Classifier) -> FeatureReader | None:
    if not {"logits", "features"} <= set(model.outputs):
        return None

    def run(crops: Tensor) -> tuple[Tensor, Tensor]:
        logits, features = model.run(crops, "logits", "features")
        return logits, features

    return FeatureReader(generic, run)


def _reading(detector: Detector, classifier: Classifier) -> Read:
    """Return who reads the test picture: the same way that a frame goes, without time."""

    def read(image: Image) -> list[tuple[str, float, float]]:
        faces = [found for found in detector(image) if found.kind is Kind.FACE]
        looks = classifier(image, [face.quad for face in faces])
        found = []
        for face, look in zip(faces, looks, strict=True):
            best = int(np.argmax(look.log_p))
            sure = look.confidence > LEAST_SURE
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
