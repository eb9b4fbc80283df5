"""Propose every outline that the cards of a single picture may have, to be read by the classifier.

A single picture is worth more time than a frame of a film: doubles and weak boxes are kept, and
where a box may show only a part of a card, outlines of the whole card are tried as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np

from vision.sight.detection.detector import Detection, Detector, Kind, suppress
from vision.sight.geometry.frame import Image, Points

# Chooses, of outlines, those that may be of a card.
Promising = Callable[[Sequence[Detection]], Sequence[Detection]]

# The values below were set by trying on drawn stills and on photographs of the training part; what
# is read with them is in `deploy/reading.md`.

# The least score of a box (0 to 1), far below that for frames: the classifier decides. Lower costs
# time; higher loses cards that are mostly covered.
THRESHOLD = 0.1
# The widest card, in pixels of the network's input, that a larger pass may find; wider than in
# frames, as doubles do no harm here. Higher gives parts of cards; lower loses outlines.
WIDEST_PX = 150
# How many boxes are tried at most, the surest first: a picture full of clutter has thousands of
# weak ones. More cost time; fewer lose cards among the clutter.
MOST_TRIED = 600
# Boxes, and in the end outlines, that share more than this (intersection over union) are the same.
# Higher reads the same outline several times; lower loses the better of two.
SAME_BOX, SAME_OUTLINE = 0.85, 0.92
# A card is LENGTH times as long as it is wide (88 / 63 mm); a box that differs by more than the
# factor ODD may show a part of one. Lower ODD tries whole cards in vain; higher misses parts.
LENGTH, ODD = 1.4, 1.12
# The score (0 to 1) of an outline that no box shows: next to nothing, so that it never outweighs a
# detected one and is never given unread.
SUPPOSED = 1e-3
# An outline of less than this length to width may lie across: its short side is uncertain. Lower
# leaves steeply seen cards unread; higher reads every card twice.
NEARLY_SQUARE = 1.2


def boxes(detector: Detector, image: Image, sizes: Sequence[int]) -> list[Detection]:
    """Return the boxes of possible cards (picture H x W x 3, BGR), doubles too, surest first."""
    found = detector.boxes(image, sizes, threshold=THRESHOLD, widest=WIDEST_PX)
    return list(suppress(found, SAME_BOX))[:MOST_TRIED]


def wholes(found: Sequence[Detection]) -> list[Detection]:
    """Return the whole cards of which faces of odd proportions may be a part.

    `found` has the surest first.
    """
    return _each(found, completed)[:MOST_TRIED]


def outlines(
    detector: Detector, image: Image, found: Sequence[Detection], promising: Promising
) -> list[Detection]:
    """Return the outlines that boxes may stand for: corners corrected once, and twice.

    Of those corrected once only the promising ones are followed up: most boxes of a picture full
    of clutter are of nothing.
    """
    once = promising(suppress(detector.outlined(image, found), SAME_OUTLINE))
    kept = suppress([*once, *detector.outlined(image, once)], SAME_OUTLINE)
    return [*kept, *_each(kept, turned)]


def completed(quad: Points) -> list[Points]:
    """Return the whole cards of which a box of odd proportions may be a part.

    A card may continue beyond either short side, or beyond either long one; a short box may also be
    the end of a card that lies across.
    """
    ratio = _ratio(quad)
    if ratio > LENGTH * ODD:
        return [
            np.roll(whole, 1, axis=0)
            for whole in _longer(np.roll(quad, -1, axis=0), ratio / LENGTH)
        ]
    if ratio >= LENGTH / ODD:
        return []
    across = _longer(np.roll(quad, 1, axis=0), LENGTH * ratio) if LENGTH * ratio > 1 else []
    return [*_longer(quad, LENGTH / ratio), *across]


def turned(quad: Points) -> list[Points]:
    """Return the outline begun at its other side, where it is uncertain which one is short."""
    return [np.roll(quad, 1, axis=0)] if _ratio(quad) < NEARLY_SQUARE else []


def _ratio(quad: Points) -> float:
    """Return the ratio of a quad's length to its width."""
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return float((edges[1] + edges[3]) / max(edges[0] + edges[2], 1e-6))


def _longer(quad: Points, factor: float) -> list[Points]:
    """Return the quad lengthened by a factor, once at its lower end and once at its upper."""
    a, b, c, d = quad
    down = np.array([a, b, b + (c - b) * factor, a + (d - a) * factor], np.float32)
    up = np.array([d + (a - d) * factor, c + (b - c) * factor, c, d], np.float32)
    return [whole for whole in (down, up) if cv2.isContourConvex(whole)]


def _each(found: Sequence[Detection], others: Callable[[Points], list[Points]]) -> list[Detection]:
    """Return a detection for each other outline that the faces may have, with the least score."""
    faces = (d for d in found if d.kind is Kind.FACE)
    return [
        replace(face, quad=quad, score=SUPPOSED) for face in faces for quad in others(face.quad)
    ]
