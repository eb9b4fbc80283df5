"""Cards in a picture: what lies where, with four corners.

Letterbox, decoding of the network's oriented boxes, suppression of doubles, and the way back to
pixels of the full picture. Knows pixels only; it is given an `infer` callable and never opens a
model file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, product

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.corners import CornerFinder
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import overlap

Tensor = NDArray[np.float32]
Infer = Callable[[Tensor], Tensor]

STRIDE = 32
PADDING = 114
# A pass larger than this goes over the picture in tiles of this size, which overlap by the second:
# a card of `WIDEST_PX` that is cut by the edge of one is whole in the next.
TILE_PX, SHARED_PX = 1248, 256
# Cards wider than this in the network's input are larger than those it was trained on: where a
# smaller pass sees them too, that one is believed.
WIDEST_PX = 90


class Kind(StrEnum):
    """What a detection shows; the order is the network's class order."""

    FACE = "face"
    BACK = "back"
    CUT = "cut"


KINDS = tuple(Kind)


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A card found in a picture.

    `quad` is 4 x 2 pixels of the full picture, clockwise as seen, edge 0-1 a short side;
    `score` is 0 to 1.
    """

    quad: Points
    kind: Kind
    score: float


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How a picture was scaled and padded to fit the network: `x_net = x * scale + left`."""

    scale: float
    left: int
    top: int
    width: int
    height: int

    @classmethod
    def fit(cls, width: int, height: int, size: int) -> Letterbox:
        """Fit a picture into `size` pixels on its longer side, padded to whole strides."""
        scale = size / max(width, height)
        inner_w, inner_h = max(1, round(width * scale)), max(1, round(height * scale))
        net_w, net_h = (math.ceil(side / STRIDE) * STRIDE for side in (inner_w, inner_h))
        return cls(scale, (net_w - inner_w) // 2, (net_h - inner_h) // 2, net_w, net_h)

    def apply(self, image: Image) -> Tensor:
        """Return the picture as the network wants it: 1 x 3 x H x W, RGB, 0 to 1.

        Shrinking averages areas, as the training pictures were made: plain bilinear sampling
        would skip most pixels of a 1080p frame. Halving first is the same average, much faster.
        """
        inner_w = max(1, round(image.shape[1] * self.scale))
        inner_h = max(1, round(image.shape[0] * self.scale))
        while image.shape[1] >= 2 * inner_w and image.shape[0] >= 2 * inner_h:
            half = (image.shape[1] // 2, image.shape[0] // 2)
            image = np.asarray(cv2.resize(image, half, interpolation=cv2.INTER_AREA), np.uint8)
        method = cv2.INTER_AREA if self.scale < 1 else cv2.INTER_LINEAR
        inner = cv2.resize(image, (inner_w, inner_h), interpolation=method)
        canvas = np.full((self.height, self.width, 3), PADDING, np.uint8)
        canvas[self.top : self.top + inner_h, self.left : self.left + inner_w] = inner
        return np.asarray(cv2.dnn.blobFromImage(canvas, 1 / 255, swapRB=True), np.float32)

    def back(self, points: Points) -> Points:
        """Return network points (… x 2) as points of the picture."""
        offset = np.array([self.left, self.top], np.float32)
        return ((points - offset) / np.float32(self.scale)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Span:
    """A tile along one side of a picture, in pixels; what has its middle in `own` is its own."""

    start: int
    end: int
    own: tuple[float, float]


def spans(length: int, tile: int, shared: int) -> list[Span]:
    """Cut a length into tiles that overlap by at least `shared`; every place is one tile's own."""
    if length <= tile:
        return [Span(0, length, (-math.inf, math.inf))]
    count = math.ceil((length - shared) / (tile - shared))
    starts = [round(i * (length - tile) / (count - 1)) for i in range(count)]
    bounds = [(later + start + tile) / 2 for start, later in pairwise(starts)]
    owned = pairwise([-math.inf, *bounds, math.inf])
    return [Span(start, start + tile, own) for start, own in zip(starts, owned, strict=True)]


class Detector:
    """Finds cards; one pass over the picture for each of `sizes` (longer side, pixels).

    `infer` maps 1 x 3 x H x W to 1 x (4 + classes + 1) x N: centre x, centre y, width, height,
    one score per class, angle in radians. Detections under `threshold` are dropped; of two that
    overlap by more than `overlap` (intersection over union) the weaker is. `corners` turns boxes
    into the cards' true outlines.
    """

    def __init__(
        self,
        infer: Infer,
        *,
        sizes: tuple[int, ...] = (416,),
        threshold: float = 0.4,
        overlap: float = 0.6,
        corners: CornerFinder | None = None,
    ) -> None:
        self._infer = infer
        self._corners = corners
        self._sizes = sizes
        self._threshold = threshold
        self._overlap = overlap

    def __call__(
        self,
        image: Image,
        sizes: tuple[int, ...] | None = None,
        *,
        threshold: float | None = None,
    ) -> tuple[Detection, ...]:
        """Return the cards of a picture (H x W x 3, BGR), surest first.

        `sizes` and `threshold` stand in for the detector's own.
        """
        found = self.boxes(image, sizes or self._sizes, threshold=threshold)
        kept = suppress(found, self._overlap)
        if self._corners is None or not kept:
            return kept
        # Two boxes of one card become one outline twice: they are told apart once more.
        return suppress(self.outlined(image, kept), self._overlap)

    def boxes(
        self,
        image: Image,
        sizes: Sequence[int],
        *,
        threshold: float | None = None,
        widest: float = WIDEST_PX,
    ) -> list[Detection]:
        """Return the boxes of all passes as they come, doubles too.

        Cards wider than `widest` pixels of a pass count in the smallest pass only.
        """
        least = self._threshold if threshold is None else threshold
        found: list[Detection] = []
        for size in sizes:
            scale = size / max(image.shape[:2])
            seen = self._pass(image, scale, least)
            if size > min(sizes):
                seen = [d for d in seen if short_side(d.quad) * scale <= widest]
            found += seen
        return found

    def _pass(self, image: Image, scale: float, least: float) -> list[Detection]:
        """Return the boxes of one pass, in tiles where the scaled picture is a large one."""
        tile, shared = round(TILE_PX / scale), round(SHARED_PX / scale)
        found: list[Detection] = []
        for down, across in product(*(spans(side, tile, shared) for side in image.shape[:2])):
            part = image[down.start : down.end, across.start : across.end]
            box = Letterbox.fit(part.shape[1], part.shape[0], round(scale * max(part.shape[:2])))
            for seen in decode(self._infer(box.apply(part)), box, least):
                quad = seen.quad + np.array((across.start, down.start), np.float32)
                x, y = quad.mean(axis=0)
                if across.own[0] <= x < across.own[1] and down.own[0] <= y < down.own[1]:
                    found.append(replace(seen, quad=quad))
        return found

    def outlined(self, image: Image, found: Sequence[Detection]) -> list[Detection]:
        """Return the detections with outlines nearer to the cards' own, where it can."""
        if self._corners is None:
            return list(found)
        quads = self._corners(image, [d.quad for d in found])
        return [replace(d, quad=quad) for d, quad in zip(found, quads, strict=True)]


def decode(output: Tensor, box: Letterbox, threshold: float) -> list[Detection]:
    """Turn the network's output (1 x (5 + classes) x N) into detections in picture pixels."""
    return [
        Detection(quad, KINDS[number], score)
        for quad, number, score in oriented(output, box, threshold)
    ]


def oriented(
    output: Tensor, box: Letterbox, threshold: float
) -> Iterator[tuple[Points, int, float]]:
    """Yield quad (picture pixels), class number and score of each box at least so sure."""
    rows = output[0].T
    scores = rows[:, 4:-1]
    numbers = scores.argmax(axis=1)
    best = scores[np.arange(len(rows)), numbers]
    keep = best >= threshold
    quads = box.back(corners(rows[keep, :4], rows[keep, -1]))
    for quad, number, score in zip(quads, numbers[keep], best[keep], strict=True):
        yield quad, int(number), float(score)


def corners(boxes: Tensor, angles: Tensor) -> Points:
    """Return N x 4 x 2 corners of N oriented boxes (cx, cy, w, h; radians), short side first."""
    centre, size = boxes[:, :2], boxes[:, 2:4]
    wide = size[:, 0] > size[:, 1]
    angle = np.where(wide, angles + np.float32(math.pi / 2), angles)
    half = np.sort(size, axis=1) / 2
    across = np.stack([np.cos(angle), np.sin(angle)], axis=1) * half[:, :1]
    along = np.stack([-np.sin(angle), np.cos(angle)], axis=1) * half[:, 1:]
    points = [-across - along, across - along, across + along, along - across]
    return np.stack([centre + point for point in points], axis=1).astype(np.float32)


def short_side(quad: Points) -> float:
    """Return the length of a quad's first edge, its short side, in pixels."""
    return float(np.linalg.norm(quad[1] - quad[0]))


def suppress(found: list[Detection], most: float) -> tuple[Detection, ...]:
    """Keep the surest of detections that cover the same place, whatever their kind."""
    return tuple(found[i] for i in surest([d.quad for d in found], [d.score for d in found], most))


def surest(quads: Sequence[Points], scores: Sequence[float], most: float) -> list[int]:
    """Return which quads no surer one overlaps by more than `most`, the surest first.

    OpenCV's own function is not used: to it a quad that lies whole in another is the same one,
    a card the same as a box of two cards.
    """
    places = np.asarray(quads, np.float32).reshape(-1, 4, 2)
    low, high = places.min(axis=1), places.max(axis=1)
    areas = np.array([cv2.contourArea(place) for place in places])
    left = np.ones(len(places), bool)
    kept: list[int] = []
    for i in np.argsort(-np.asarray(scores), kind="stable").tolist():
        if not left[i]:
            continue
        kept.append(i)
        left[i] = False
        # What lies apart, or differs more in size, cannot overlap so far: that is quickly seen.
        near = left & (low < high[i]).all(axis=1) & (high > low[i]).all(axis=1)
        near &= np.minimum(areas, areas[i]) > most * np.maximum(areas, areas[i])
        for j in np.flatnonzero(near).tolist():
            left[j] = overlap(places[i], places[j]) <= most
    return kept
