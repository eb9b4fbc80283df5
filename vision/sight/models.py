"""The networks that find and read cards, loaded and ready, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Detector


@dataclass(frozen=True, slots=True, eq=False)
class CardModels:
    """The detector, with its corner finder, and the classifier."""

    detector: Detector
    classifier: Classifier
