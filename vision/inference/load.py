"""Detector, corner finder and classifier from their model files; the one place that does so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.inference.deck_file import open_deck
from vision.inference.onnx_model import Model, load, packaged
from vision.inference.self_test import Read, SelfTest
from vision.inference.self_test import load as load_self_test
from vision.sight.deck.classifier import DeckClassifier
from vision.sight.detection.classifier import RANKS, SUITS, Classifier
from vision.sight.detection.corners import CornerFinder
from vision.sight.detection.detector import KINDS, Detector, Kind
from vision.sight.geometry.frame import Image
from vision.sight.models import CardModels

LEAST_SURE = 0.5
OUTPUT_NAMES = {"detector": len(KINDS), "corners": 2 * 4, "classifier": RANKS + SUITS + 1}


@dataclass(frozen=True, slots=True, eq=False)
class ModelSet(CardModels):
    """The networks of a table, the SHA-256 of each file by name, and the test of what they see."""

    hashes: dict[str, str] = field(default_factory=dict)
    self_test: SelfTest | None = None


def open_models(
    detector: Path | None = None,
    classifier: Path | None = None,
    corners: Path | None = None,
    *,
    threads: int = 1,
    deck: Path | None = None,
) -> ModelSet:
    """Load the models (`None`: the packaged ones), and an enrolled deck if there is one.

    ConfigurationError if a file is missing, damaged or not a model of that kind, or if the deck is
    not one to read with.
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
    read_by = generic
    if deck is not None:
        enrolled, hashes["deck"] = open_deck(deck, reader.sha256)
        read_by = DeckClassifier(generic, enrolled)
    # The test picture shows no house deck: it is read without one.
    return ModelSet(seen_by, read_by, hashes, load_self_test(_reading(seen_by, generic)))


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
