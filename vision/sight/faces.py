"""A second opinion on which side of a card is up, from the full picture.

The detector sees a card small: a court in the frame of its pips can look like a back there, and a
face that nobody looks at is never read. Knows pixels only; it is given who looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vision.sight.classifier import Look
from vision.sight.detector import Detection, Kind
from vision.sight.frame import Image, Points

# A back is no face for a guess: it has to read as one card at full size.
LEAST_SURE = 0.98


def faces_told(
    image: Image,
    found: Sequence[Detection],
    classify: Callable[[Image, Sequence[Points]], Sequence[Look]],
    worth_it: Callable[[Points], bool],
) -> list[Detection]:
    """Return the detections of a picture, backs that read as a card told as faces.

    `worth_it` says of a quad (4 x 2 pixels) whether a face may lie there at all.
    """
    backs = [one for one in found if one.kind is Kind.BACK and worth_it(one.quad)]
    if not backs:
        return list(found)
    looks = classify(image, [one.quad for one in backs])
    turned = {id(one) for one, look in zip(backs, looks, strict=True) if _reads(look)}
    return [replace(one, kind=Kind.FACE) if id(one) in turned else one for one in found]


def _reads(look: Look) -> bool:
    return look.readable * float(np.exp(look.log_p.max())) >= LEAST_SURE
