"""Cards as a detector finds them, for the network that finds their true corners.

A picture is cut out round a card with much of what lies about it; its label is where the four
corners truly are. Must not train anything.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.crops import smallest_box
from datasets.paint import Image, Points
from datasets.scene import stills
from vision.sight.corners import grown
from vision.sight.geometry import rectify

# A picture shows GROWTH times the card's width and height: room for the shifts of training.
GROWTH = 1.75
SIZE = (112, 152)
_SIDES = (416, 832, 1248)
_LEAST_VISIBLE = 0.25
_LEAST_PX = 20.0


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
            if label.visible >= _LEAST_VISIBLE and wide >= _LEAST_PX:
                yield outline(rng, still.image, label.quad)


def outline(rng: np.random.Generator, image: Image, quad: Points) -> tuple[Image, Points]:
    """Cut one card out, framed by the box round it or, as often, by itself, either end up."""
    frame = smallest_box(quad) if rng.random() < 0.5 else quad
    if rng.random() < 0.5:
        frame, quad = np.roll(frame, 2, axis=0), np.roll(quad, 2, axis=0)
    frame = grown(frame, GROWTH)
    picture = rectify(image, (frame - 0.5).astype(np.float32), SIZE)
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(frame.astype(np.float32), unit)
    corners = cv2.perspectiveTransform(quad.astype(np.float32)[None], matrix)[0]
    return np.asarray(picture), np.asarray(corners, np.float32)
