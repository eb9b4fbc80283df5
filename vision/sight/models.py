"""The networks that find and read cards, loaded and ready, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from vision.sight.deck.classifier import FeatureReader
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Detector


@dataclass(frozen=True, slots=True, eq=False)
class CardModels:
    """The detector, with its corner finder, and the classifier.

    `features` gives the classifier's inner features, from which an enrolled deck is learnt; `None`
    where the classifier file has none.
    """

    detector: Detector
    classifier: Classifier
    features: FeatureReader | None = None
