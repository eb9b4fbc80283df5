"""Detector and classifier put together from their model files; the one place that does so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vision.edge.model import Model, load, packaged
from vision.errors import ConfigurationError
from vision.sight.classifier import RANKS, SUITS, Classifier
from vision.sight.detector import KINDS, Detector

OUTPUT_NAMES = {"detector": len(KINDS), "classifier": RANKS + SUITS + 1}


@dataclass(frozen=True, slots=True, eq=False)
class Eyes:
    """What the program sees with, and the hashes of the files it came from."""

    detector: Detector
    classifier: Classifier
    hashes: dict[str, str]


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
    return Eyes(
        Detector(
            finder,
            sizes=(int(settings["size_px"]),),
            threshold=settings["threshold"],
            overlap=settings["overlap"],
        ),
        Classifier(
            reader,
            temperature=reader.settings["temperature"],
            readable_temperature=reader.settings["readable_temperature"],
        ),
        {model.name: model.sha256 for model in (finder, reader)},
    )


def _load(path: Path, kind: str, threads: int) -> Model:
    model = load(path, threads=threads)
    wanted = OUTPUT_NAMES[kind]
    if len(model.labels) != wanted:
        raise ConfigurationError(
            f"{path}: its card lists {len(model.labels)} labels, but a {kind} has {wanted}; "
            f"check [models] {kind} in the table file"
        )
    return model
