"""A second opinion on which side of a card is up, from the full picture.

The detector sees a card small: a court in the frame of its pips can look like a back there, and a
face that nobody looks at is never read. Knows pixels only; it is given who looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Frame, Image, Points

# A back is no face for a guess: it has to read as one card at full size.
LEAST_SURE = 0.98
# What was seen of a card that has hardly moved holds for a while: backs lie for seconds.
AGAIN_MS = 400
SAME_PLACE_PX = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class _Verdict:
    """Whether what lay at a place (2,) was a face, and when it was looked at."""

    place: Points
    at: int
    face: bool


class Faces:
    """Tells backs that read as a card as faces.

    `classify` looks at quads (4 x 2 pixels) of a picture; `worth_it` says of a quad whether a face
    may lie there at all.
    """

    def __init__(
        self,
        classify: Callable[[Image, Sequence[Points]], Sequence[Look]],
        worth_it: Callable[[Points], bool],
    ) -> None:
        self._classify = classify
        self._worth_it = worth_it
        self._known: list[_Verdict] = []

    def __call__(self, frame: Frame, found: Sequence[Detection]) -> list[Detection]:
        """Return what was found in a frame, with the kinds that are true at full size."""
        self._known = [one for one in self._known if 0 <= frame.at - one.at < AGAIN_MS]
        backs = [one for one in found if one.kind is Kind.BACK and self._worth_it(one.quad)]
        new = [one.quad for one in backs if self._verdict(one.quad) is None]
        looks = self._classify(frame.image, new) if new else ()
        for quad, look in zip(new, looks, strict=True):
            self._known.append(_Verdict(quad.mean(axis=0), frame.at, look.confidence >= LEAST_SURE))
        turned = {id(one) for one in backs if self._verdict(one.quad)}
        return [replace(one, kind=Kind.FACE) if id(one) in turned else one for one in found]

    def _verdict(self, quad: Points) -> bool | None:
        place = quad.mean(axis=0)
        for one in self._known:
            if float(np.abs(one.place - place).max()) <= SAME_PLACE_PX:
                return one.face
        return None
