"""Every outline that the cards of a lone picture may have, to be read before any is believed.

A lone picture is worth more time than a frame: doubles are kept, weak boxes too, and a box may be
only a part of a card, whose whole is then tried. Knows pixels only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np

from vision.sight.detection.detector import Detection, Detector, Kind, suppress
from vision.sight.geometry.frame import Image, Points

THRESHOLD = 0.1
WIDEST_PX = 150
# A picture full of clutter has thousands of weak boxes: the surest are tried.
MOST_TRIED = 600
# Boxes, and in the end outlines, that share more than this (intersection over union) are the same.
SAME_BOX, SAME_OUTLINE = 0.85, 0.92
# A card is so many times as long as it is wide; a box that differs by more than this factor may
# be a part of one.
LENGTH, ODD = 1.4, 1.12
# The score of an outline that no box shows: next to nothing.
SUPPOSED = 1e-3
# An outline of less than this length to width may be one that lies across.
NEARLY_SQUARE = 1.2


def boxes(detector: Detector, image: Image, sizes: Sequence[int]) -> list[Detection]:
    """Return the boxes of what may be a card in a picture (H x W x 3, BGR), doubles too.

    The surest come first.
    """
    found = detector.boxes(image, sizes, threshold=THRESHOLD, widest=WIDEST_PX)
    return list(suppress(found, SAME_BOX))[:MOST_TRIED]


def wholes(found: Sequence[Detection]) -> list[Detection]:
    """Return the whole cards that faces of odd proportions may be a part of.

    `found` has the surest first.
    """
    return _each(found, completed)[:MOST_TRIED]


def outlines(detector: Detector, image: Image, found: Sequence[Detection]) -> list[Detection]:
    """Return the outlines that boxes may stand for, bettered once and twice."""
    once = detector.outlined(image, found)
    twice = detector.outlined(image, once)
    kept = suppress([*once, *twice], SAME_OUTLINE)
    return [*kept, *_each(kept, _turned)]


def completed(quad: Points) -> list[Points]:
    """Return the whole cards that a box of odd proportions may be a part of.

    A card may go on at either short side, or at either long one; a short box may also be the end
    of a card that lies across.
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


def _turned(quad: Points) -> list[Points]:
    """Return the outline from its other side where it cannot be told which is the short one."""
    return [np.roll(quad, 1, axis=0)] if _ratio(quad) < NEARLY_SQUARE else []


def _ratio(quad: Points) -> float:
    """Return the length of a quad as a share of its width."""
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return float((edges[1] + edges[3]) / max(edges[0] + edges[2], 1e-6))


def _longer(quad: Points, factor: float) -> list[Points]:
    """Return the quad made longer by a factor, at its lower end and at its upper one."""
    a, b, c, d = quad
    down = np.array([a, b, b + (c - b) * factor, a + (d - a) * factor], np.float32)
    up = np.array([d + (a - d) * factor, c + (b - c) * factor, c, d], np.float32)
    return [whole for whole in (down, up) if cv2.isContourConvex(whole)]


def _each(found: Sequence[Detection], others: Callable[[Points], list[Points]]) -> list[Detection]:
    """Return the faces again with the other outlines that they may have, not seen so."""
    faces = (d for d in found if d.kind is Kind.FACE)
    return [
        replace(face, quad=quad, score=SUPPOSED) for face in faces for quad in others(face.quad)
    ]
