"""How alike two rectified cards are, part by part: whether a card shows the very face captured.

The classifier is trained to see what designs have in common; this compares what sets them apart.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.geometry.frame import Image

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
    """Return a likeness on a scale on which looks at one card spread about evenly."""
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
