"""The three networks that read cards, as the rest of sight is given them."""

from __future__ import annotations

from dataclasses import dataclass

from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Detector


@dataclass(frozen=True, slots=True, eq=False)
class CardModels:
    """Detector (with its corner finder) and classifier, ready to look at pictures."""

    detector: Detector
    classifier: Classifier
