"""Cards as a detector finds them, for the network that finds their true corners.

A picture is cut out round a card with much of what lies about it; its label is where the four
corners truly are.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.detector import UNIT, grown
from vision.sight.geometry.plane import rectify

from ..render.paint import Image, Points
from .crops import smallest_box
from .scene import Label, stills

# A picture shows GROWTH times the card's width and height: room for the shifts of training.
GROWTH = 1.75
SIZE = (112, 152)
_SIDES = (416, 832, 1248)
_LEAST_VISIBLE = 0.15
_LEAST_PX = 20.0
# Cards quite in sight are the most and the easiest: of them this share is kept.
_IN_SIGHT, _KEPT = 0.98, 0.5
# How far off the box of a card wholly out of sight is, in shares of its sides: the
# detector's boxes are further off the more of a card is covered.
_ADRIFT = 0.2


def outlines(seed: int, *, split: str = "train") -> Iterator[tuple[Image, NDArray[np.float32]]]:
    """Yield pictures (152 x 112 x 3, BGR) and corners (4 x 2, 0 to 1 of the picture) for ever.

    Corners are clockwise, edge 0 to 1 a short side, the one nearer the picture's top first.
    """
    rng = np.random.default_rng([{"train": 1, "test": 2}[split], 6, seed])
    sources = [stills(seed * 3 + i, split=split, size=(s, s)) for i, s in enumerate(_SIDES)]
    while True:
        still = next(sources[int(rng.choice(3, p=(0.45, 0.35, 0.2)))])
        for label in still.labels:
            wide = float(np.linalg.norm(label.quad[1] - label.quad[0]))
            if label.visible < _LEAST_VISIBLE or wide < _LEAST_PX:
                continue
            if label.visible < _IN_SIGHT or rng.random() < _KEPT:
                yield outline(rng, still.image, label)


def outline(rng: np.random.Generator, image: Image, label: Label) -> tuple[Image, Points]:
    """Cut one card out, framed by the box round it or, as often, by itself, either end up.

    The less of it is in sight, the further off is the box.
    """
    quad = label.quad
    frame = _adrift(rng, smallest_box(quad) if rng.random() < 0.5 else quad, 1 - label.visible)
    if rng.random() < 0.5:
        frame, quad = np.roll(frame, 2, axis=0), np.roll(quad, 2, axis=0)
    frame = grown(frame, GROWTH)
    picture = rectify(image, (frame - 0.5).astype(np.float32), SIZE)
    matrix = cv2.getPerspectiveTransform(frame.astype(np.float32), UNIT)
    corners = cv2.perspectiveTransform(quad.astype(np.float32)[None], matrix)[0]
    return np.asarray(picture), np.asarray(corners, np.float32)


def _adrift(rng: np.random.Generator, frame: Points, hidden: float) -> Points:
    """Return a frame moved and scaled along its sides as a detector does with a covered card."""
    far = _ADRIFT * hidden
    scale, shift = np.exp(rng.normal(0, far, 2)), rng.normal(0, far, 2)
    corners = (UNIT - 0.5) * scale + 0.5 + shift
    matrix = cv2.getPerspectiveTransform(UNIT, frame.astype(np.float32))
    return np.asarray(cv2.perspectiveTransform(corners[None].astype(np.float32), matrix)[0])
