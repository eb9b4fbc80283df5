"""The three networks that read cards, as the rest of sight is given them."""

from __future__ import annotations

from dataclasses import dataclass

from vision.sight.deck.classifier import FeatureReader
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import Detector


@dataclass(frozen=True, slots=True, eq=False)
class CardModels:
    """Detector (with its corner finder) and classifier, ready to look at pictures.

    `features` gives the classifier's inner features, which an enrolled deck is learnt from; `None`
    where the classifier file has none.
    """

    detector: Detector
    classifier: Classifier
    features: FeatureReader | None = None
