"""Propose the outlines that the cards of a single picture may have, to be read by the classifier.

The detector goes over the picture in passes of growing size, further only where what it found is
small for the pass. Its weak boxes are kept for a second round, and where a box may show only a part
of a card, outlines of the whole card are tried there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from vision.sight.detection.detector import Detection, Detector, Kind, short_side, suppress
from vision.sight.geometry.plane import Image, Points

# The values below were set by trying on drawn stills and on photographs of the training part; what
# is read with them is in `deploy/reading.md`.

# Sizes of the detector's passes, pixels of the longer side. The small ones find cards that fill the
# picture, the large ones small cards in large pictures (in tiles). Fewer miss cards of the sizes
# between; more cost time.
PASSES = (128, 160, 224, 416, 832, 1248, 2496, 4992)
# Up to this pass all are run, a larger one only if the one before it found cards narrower than
# SMALL_PX (pixels of the network's input), or none. A higher pass, or a width, costs time in every
# picture; a lower one loses small cards that lie among large ones.
EVERY_PASS, SMALL_PX = 832, 30
# Boxes that share more than SAME_PLACE (intersection over union) mostly become one outline: of
# these the first round tries TRIED_THERE. More cost time; fewer leave more to the second round.
SAME_PLACE, TRIED_THERE = 0.6, 4
# From this score on (0 to 1) a box counts for that, and is tried in the first round. Lower costs
# time; higher leaves more to the second round.
LIKELY = 0.25
# No pass but the smallest enlarges the picture by more than this factor: blown up further it shows
# nothing new. Lower misses small cards in small pictures.
LARGEST_ENLARGEMENT = 1.3
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
# Higher reads one outline several times; lower loses one of two cards that lie nearly as one.
SAME_BOX, SAME_OUTLINE = 0.85, 0.92
# A card is LENGTH times as long as it is wide (88 / 63 mm); a box that differs by more than the
# factor ODD may show a part of one. Lower ODD tries whole cards in vain; higher misses parts.
LENGTH, ODD = 1.4, 1.12
# The score (0 to 1) of an outline that no box shows: next to nothing, so that it never outweighs a
# detected one and is never given unread.
SUPPOSED = 1e-3
# The score of an outline that was read before: above any of the detector's, so that it stays.
KNOWN = 2.0
# An outline of less than this length to width may lie across: its short side is uncertain. Lower
# leaves steeply seen cards unread; higher reads every card twice.
NEARLY_SQUARE = 1.2


def passes_for(image: Image) -> tuple[int, ...]:
    """Return the passes that a picture is worth: those not far beyond its size."""
    longest = LARGEST_ENLARGEMENT * max(image.shape[:2])
    return tuple(size for size in PASSES if size <= max(PASSES[0], longest))


def boxes(
    detector: Detector,
    image: Image,
    *,
    thorough: bool = False,
    passes: dict[int, list[Detection]] | None = None,
) -> list[Detection]:
    """Return the boxes of possible cards (picture H x W x 3, BGR), doubles too, surest first.

    `thorough` goes one pass further. `passes` keeps what each pass over the picture saw, by size.
    """
    found: list[Detection] = []
    passes = {} if passes is None else passes
    longest = max(image.shape[:2])
    for number, size in enumerate(sizes := passes_for(image)):
        if size > EVERY_PASS and not _goes_on(found, sizes[number - 1] / longest):
            if not thorough:
                break
            thorough = False
        widest = WIDEST_PX / size * longest if number else longest
        if size not in passes:
            passes[size] = detector.boxes(image, size, THRESHOLD)
        found += [box for box in passes[size] if short_side(box.quad) <= widest]
    faces = [box for box in found if box.kind is not Kind.CUT]
    return list(suppress(faces, SAME_BOX))[:MOST_TRIED]


def surest_of_each(found: Sequence[Detection]) -> list[Detection]:
    """Return the likely boxes, of those that lie as one does the surest few."""
    left, surest = [box for box in found if box.score >= LIKELY], list[Detection]()
    for _ in range(TRIED_THERE):
        surest += (top := suppress(left, SAME_PLACE))
        left = [box for box in left if box not in top]
    return surest


def _goes_on(found: Sequence[Detection], scale: float) -> bool:
    """Whether a larger pass may show more than one at this scale: cards are small, or not found."""
    widths = [short_side(box.quad) * scale for box in found if box.score >= LIKELY]
    return min(widths, default=0.0) < SMALL_PX


def wholes(found: Sequence[Detection]) -> list[Detection]:
    """Return the whole cards of which faces of odd proportions may be a part.

    `found` has the surest first.
    """
    faces = (d for d in found if d.kind is Kind.FACE)
    supposed = (
        replace(face, quad=quad, score=SUPPOSED) for face in faces for quad in completed(face.quad)
    )
    return list(supposed)[:MOST_TRIED]


def outlines(
    detector: Detector, image: Image, found: Sequence[Detection], known: Sequence[Detection] = ()
) -> list[Detection]:
    """Return the outlines that boxes may stand for, their corners corrected twice.

    With outlines that are `known` those corrected once, too, and none that is one of these.
    """
    once = suppress(detector.outlined(image, found), SAME_OUTLINE)
    tried = [*(once if known else ()), *detector.outlined(image, once)]
    every = [replace(card, score=KNOWN) for card in known] + tried
    return [card for card in suppress(every, SAME_OUTLINE) if card.score < KNOWN]


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


def ways(quad: Points) -> list[Points]:
    """Return the outline, and begun at its other side where it is uncertain which one is short."""
    return [quad, np.roll(quad, 1, axis=0)] if _ratio(quad) < NEARLY_SQUARE else [quad]


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
