"""Reading with an enrolled deck: the classifier's looks, and whether a card is of that deck at all.

The faces are read by the generic classifier. Each readable face is then compared with the captured
face it was read as, and each back with the captured back: the look holds how unlike they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vision.sight.deck.likeness import likeness, spread_evenly
from vision.sight.detection.classifier import CROP_SIZE, LEAST_READABLE, Classifier, Look
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import rectify


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """The captured cards of a deck: N crops (136 x 96 x 3, BGR), their cards (N,), and backs."""

    crops: NDArray[np.uint8]
    cards: NDArray[np.int64]
    backs: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Deck:
    """An enrolled deck.

    `faces` (52 x 136 x 96 x 3, BGR) are its captured cards, `backs` (B x 136 x 96 x 3) its back.
    `alike` (53 x 2) is the mean and the spread of how alike other looks at each face, and last at
    the back, are to it (inverse hyperbolic tangent of the likeness).
    """

    faces: NDArray[np.uint8]
    backs: NDArray[np.uint8]
    alike: NDArray[np.float64]


class DeckClassifier(Classifier):
    """Reads cards of one enrolled deck; a card or a back of another deck is strange."""

    def __init__(self, generic: Classifier, deck: Deck) -> None:
        self._generic = generic
        self._deck = deck

    def of_crops(self, crops: Sequence[Image]) -> tuple[Look, ...]:
        """Return the classifier's look at each rectified card, and how strange it is.

        Nothing else of a look changes: covers, blur and shade make cards of the own deck strange,
        too, so that only several looks together say that a card is foreign.
        """
        if not crops:
            return ()
        looks = self._generic.of_crops(crops)
        return tuple(self._judged(crop, look) for crop, look in zip(crops, looks, strict=True))

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
        return replace(look, strange=self._strangeness(crop, self._deck.faces[best], best))

    def _strangeness(self, crop: Image, face: Image, row: int) -> float:
        usual, spread = self._deck.alike[row]
        return float(max(0.0, (usual - spread_evenly(likeness(crop, face))) / spread))
