"""Reading with an enrolled deck: what the classifier observes, and whether a card is of that deck.

The faces are read by the generic classifier. Each readable face is then compared with the captured
face it was read as, and each back with the captured back: the observation holds how unlike they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.classifier import CROP_SIZE, LEAST_READABLE, Classifier, Observation
from vision.sight.geometry.plane import Image, Points, rectify


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
    `alike` (53 x 2) is the mean and the spread of how alike other observations of each face, and
    last at the back, are to it (inverse hyperbolic tangent of the likeness).
    """

    faces: NDArray[np.uint8]
    backs: NDArray[np.uint8]
    alike: NDArray[np.float64]


class DeckClassifier(Classifier):
    """Reads cards of one enrolled deck; a card or a back of another deck is strange."""

    def __init__(self, generic: Classifier, deck: Deck) -> None:
        self._generic = generic
        self._deck = deck

    def of_crops(self, crops: Sequence[Image]) -> tuple[Observation, ...]:
        """Return the classifier's observation of each rectified card, and how strange it is.

        Nothing else of an observation changes: covers, blur and shade make cards of the own deck
        strange, too, so that only several observations together say that a card is foreign.
        """
        if not crops:
            return ()
        observations = self._generic.of_crops(crops)
        return tuple(
            self._judged(crop, observation)
            for crop, observation in zip(crops, observations, strict=True)
        )

    def strange_backs(self, image: Image, quads: Sequence[Points]) -> tuple[float, ...]:
        """Return how strange the backs of cards given by quads are, as `Observation.strange`."""
        return self.strange_back_crops([rectify(image, quad, CROP_SIZE) for quad in quads])

    def strange_back_crops(self, crops: Sequence[Image]) -> tuple[float, ...]:
        """Return how strange the backs of rectified cards are; 0 where no back was captured."""
        if not len(self._deck.backs):
            return (0.0,) * len(crops)
        return tuple(self._strangeness(crop, self._deck.backs[0], -1) for crop in crops)

    def _judged(self, crop: Image, observation: Observation) -> Observation:
        # Of a poor outline, or covered, it reads as no card rather than one: unread, not foreign.
        if observation.confidence < LEAST_READABLE:
            return observation
        best = int(observation.log_p.argmax())
        return replace(observation, strange=self._strangeness(crop, self._deck.faces[best], best))

    def _strangeness(self, crop: Image, face: Image, row: int) -> float:
        usual, spread = self._deck.alike[row]
        return float(max(0.0, (usual - spread_evenly(likeness(crop, face))) / spread))


# --- how alike two cards are ----------------------------------------------------------------------


Grey = NDArray[np.float32]

# The constants below were chosen on held-out decks on simulated tables.
# The card is compared in this many parts: fewer, and a covering hand spoils most of them; more,
# and a part holds too little print to correlate.
COLUMNS, ROWS = 3, 5
# Margin left out at the card's edge, and how far a part may lie off its place, px of the crop
# (96 x 136): about the error of a box. Larger, pips of other cards match; smaller, own ones do not.
RIM, PLAY = 5, 7
# Parts with less print than this, as a share of the fullest one, are bare paper and left out.
BARE = 0.3
# No part with a standard deviation below this, grey levels, counts as printed: it is camera noise.
LEAST_SPREAD = 1.0
# Likenesses above this are taken for it: the arctanh of 1 is infinite.
MOST_ALIKE = 0.999


def likeness(card: Image, face: Image) -> float:
    """Return how alike a card and a captured face are, -1 to 1, whichever end is up.

    It is the median over the printed parts of the face of their best correlation with about the
    same place of the card: light, a shift, and whatever covers less than half change it little.
    """
    wide = cv2.copyMakeBorder(_grey(card), PLAY, PLAY, PLAY, PLAY, cv2.BORDER_REPLICATE)
    seen = np.asarray(wide, np.float32)
    return max(_matched(seen, _grey(face)), _matched(seen, _grey(face)[::-1, ::-1]))


def spread_evenly(alike: float) -> float:
    """Return a likeness on a scale on which observations of one card spread about evenly."""
    return float(np.arctanh(min(alike, MOST_ALIKE)))


def _grey(card: Image) -> Grey:
    soft = cv2.GaussianBlur(cv2.cvtColor(card, cv2.COLOR_BGR2GRAY), (0, 0), 0.7)
    return np.asarray(soft, np.float32)


def _matched(seen: Grey, face: Grey) -> float:
    width, height = CROP_SIZE
    x = np.linspace(RIM, width - RIM, COLUMNS + 1).astype(int)
    y = np.linspace(RIM, height - RIM, ROWS + 1).astype(int)
    parts = [(x[i], y[j], x[i + 1], y[j + 1]) for j in range(ROWS) for i in range(COLUMNS)]
    spreads = [float(face[y0:y1, x0:x1].std()) for x0, y0, x1, y1 in parts]
    least = max(BARE * max(spreads), LEAST_SPREAD)
    found = [
        float(
            cv2.matchTemplate(
                seen[y0 : y1 + 2 * PLAY, x0 : x1 + 2 * PLAY],
                np.ascontiguousarray(face[y0:y1, x0:x1]),
                cv2.TM_CCOEFF_NORMED,
            ).max()
        )
        for (x0, y0, x1, y1), spread in zip(parts, spreads, strict=True)
        if spread >= least
    ]
    return float(np.median(found)) if found else 0.0
