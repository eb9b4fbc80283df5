"""An enrolled deck at work: the classifier sharpened to one deck, and cards that are not of it.

Knows pixels and numbers; how a deck is learnt is `enrolment_fit`, where it is kept, `deck_file`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vision.sight.deck.head import Head, Table
from vision.sight.deck.likeness import likeness, spread_evenly
from vision.sight.detection.classifier import CROP_SIZE, LEAST_READABLE, Classifier, Look
from vision.sight.detection.detector import Tensor, batch
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import rectify

# Gives logits (N x 18) and features (N x D) of N crops.
Run = Callable[[Tensor], tuple[Tensor, Tensor]]
CHUNK = 256
# One look so far from the deck's own says nothing of the face.
STRANGE_AT_ONCE = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What the classifier says of N crops: log-probabilities, features, readability (N,)."""

    log_p: Table
    features: Table
    readable: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Deck:
    """A house deck as learnt.

    `faces` (52 x 136 x 96 x 3, BGR) are its captured cards, `backs` (B x 136 x 96 x 3) its back.
    `alike` (53 x 2) is the mean and the spread of how alike other looks at each face, and last at
    the back, are to it (inverse hyperbolic tangent of the likeness).
    """

    head: Head
    faces: NDArray[np.uint8]
    backs: NDArray[np.uint8]
    alike: NDArray[np.float64]


class FeatureReader:
    """The classifier with its features; `run` gives logits and features of a batch."""

    def __init__(self, classifier: Classifier, run: Run) -> None:
        self._classifier = classifier
        self._run = run

    def __call__(self, crops: Sequence[Image]) -> Said:
        """Return what is said of rectified cards (136 x 96 x 3, BGR; at least one)."""
        parts = [self._run(batch(crops[at : at + CHUNK])) for at in range(0, len(crops), CHUNK)]
        looks = [look for logits, _ in parts for look in self._classifier.looks(logits)]
        return Said(
            np.array([look.log_p for look in looks]),
            np.concatenate([features for _, features in parts]),
            np.array([look.readable for look in looks]),
        )


class DeckClassifier(Classifier):
    """Reads cards of one enrolled deck; a card or a back of another one is called strange."""

    def __init__(self, read: FeatureReader, deck: Deck) -> None:
        self._read = read
        self._deck = deck

    def of_crops(self, crops: Sequence[Image]) -> tuple[Look, ...]:
        """Return one look for each rectified card; a strange one is not readable."""
        if not crops:
            return ()
        said = self._read(crops)
        rows = self._deck.head(said.log_p, said.features)
        return tuple(
            self._judged(crop, Look(row, float(readable)))
            for crop, row, readable in zip(crops, rows, said.readable, strict=True)
        )

    def strange_backs(self, image: Image, quads: Sequence[Points]) -> tuple[float, ...]:
        """Return how strange the backs of cards given by their quads are, as `Look.strange`."""
        return self.strange_back_crops([rectify(image, quad, CROP_SIZE) for quad in quads])

    def strange_back_crops(self, crops: Sequence[Image]) -> tuple[float, ...]:
        """Return how strange the backs of rectified cards are; 0 where no back was captured."""
        if not len(self._deck.backs):
            return (0.0,) * len(crops)
        return tuple(self._strangeness(crop, self._deck.backs[0], -1) for crop in crops)

    def _judged(self, crop: Image, look: Look) -> Look:
        if look.readable < LEAST_READABLE:
            return look
        best = int(look.log_p.argmax())
        strange = self._strangeness(crop, self._deck.faces[best], best)
        readable = look.readable if strange < STRANGE_AT_ONCE else 0.0
        return replace(look, readable=readable, strange=strange)

    def _strangeness(self, crop: Image, face: Image, row: int) -> float:
        usual, spread = self._deck.alike[row]
        return float(max(0.0, (usual - spread_evenly(likeness(crop, face))) / spread))
