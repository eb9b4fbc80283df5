"""Cards in a picture: what lies where, with four corners.

Knows pixels only; it is given an `infer` callable and never opens a model file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vision.sight.frame import Points


class Kind(StrEnum):
    """What a detection shows."""

    FACE = "face"
    BACK = "back"
    CUT = "cut"


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A card found in a picture.

    `quad` is 4 x 2 pixels of the full picture, clockwise as seen, edge 0-1 a short side;
    `score` is 0 to 1.
    """

    quad: Points
    kind: Kind
    score: float
