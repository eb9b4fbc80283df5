"""The true corners of a card that a detector has boxed: also in perspective, also partly covered.

The box is the smallest turned one round the card and a tenth of a card's width off; a small
network looks at the card again, from the full picture, and says how far each corner is from where
the box has it. Knows pixels only; it is given an `infer` callable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.classifier import batch
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import rectify

Tensor = NDArray[np.float32]
Infer = Callable[[Tensor], Tensor]

# The network sees GROWTH times the box's width and height, at this size in pixels.
GROWTH = 1.4
INPUT_SIZE = (72, 96)
UNIT = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
# Where the box's corners lie in what the network sees, 0 to 1.
NOMINAL = ((UNIT - 0.5) / GROWTH + 0.5).astype(np.float32)
# A corner further than this from its box, in shares of what is seen, is no correction any more.
FURTHEST = 0.25


class CornerFinder:
    """Moves the corners of detected quads to the card's own.

    `infer` maps N x 3 x 96 x 72 (RGB, 0 to 1) to N x 8: x and y of the four corners, as shares of
    what is seen, from where the box has them.
    """

    def __init__(self, infer: Infer) -> None:
        self._infer = infer

    def __call__(self, image: Image, quads: Sequence[Points]) -> list[Points]:
        """Return a better quad for each (4 x 2 pixels, clockwise, edge 0-1 a short side).

        Given again what it returned, it sees the card straightened, and is nearer still.
        """
        if not quads:
            return []
        given = [np.asarray(quad, np.float32) for quad in quads]
        frames = [grown(quad, GROWTH) for quad in given]
        crops = [rectify(image, frame - np.float32(0.5), INPUT_SIZE) for frame in frames]
        shifts = self._infer(batch(crops)).reshape(-1, 4, 2)
        return [_upright(_moved(*trio)) for trio in zip(given, frames, shifts, strict=True)]


def grown(quad: Points, factor: float) -> Points:
    """Return the quad (4 x 2) larger by a factor, in its own perspective."""
    matrix = cv2.getPerspectiveTransform(UNIT, np.asarray(quad, np.float32))
    larger = ((UNIT - 0.5) * factor + 0.5).astype(np.float32)
    found = cv2.perspectiveTransform(larger[None], matrix)[0]
    # Far out, a steep perspective turns over: there the plain enlargement does.
    if _convex(found):
        return np.asarray(found, np.float32)
    middle = np.asarray(quad, np.float32).mean(axis=0)
    return np.asarray(middle + (quad - middle) * factor, np.float32)


def _moved(quad: Points, frame: Points, shift: Points) -> Points:
    """Return the corners that `shift` (4 x 2) makes of a quad seen in its frame."""
    matrix = cv2.getPerspectiveTransform(UNIT, frame)
    found = cv2.perspectiveTransform((NOMINAL + shift)[None].astype(np.float32), matrix)[0]
    good = np.abs(shift).max() <= FURTHEST and _convex(found)
    return np.asarray(found, np.float32) if good else quad


def _upright(quad: Points) -> Points:
    """Return the corners from a short side on: a box nearly square may have begun at a long one.

    Only what leans by more than 44 degrees looks shorter than it is wide.
    """
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return np.roll(quad, 1, axis=0) if edges[0] + edges[2] > edges[1] + edges[3] else quad


def _convex(quad: Points) -> bool:
    """Whether a quad is convex and clockwise as seen (y down)."""
    edges = np.roll(quad, -1, axis=0) - quad
    following = np.roll(edges, -1, axis=0)
    return bool((edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0] > 0).all())
