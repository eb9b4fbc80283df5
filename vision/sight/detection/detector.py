"""Find the cards in a picture: their kind, and their four corners.

A first network gives oriented boxes: the picture is letterboxed, the output decoded into pixels
of the full picture, and of boxes that overlap the surest is kept. A box is the smallest one round
a card and about a tenth of a card's width off (`deploy/reading.md`), so a second, small network
looks at each card again, at full size, and moves the corners onto the card's own. Both networks
are given as `infer` callables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, product
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.sight.geometry.plane import Image, Points, rectify, shared_area

Tensor = NDArray[np.float32]
Infer = Callable[[Tensor], Tensor]
Window = tuple[int, int, int, int]  # left, top, right, bottom of a part of a picture, pixels

# The sides of the detector's input are multiples of this, in pixels: YOLO's coarsest grid. The
# network refuses any other size.
STRIDE = 32
# Grey level (0 to 255) round a letterboxed picture: Ultralytics' own, so that of the training. With
# another one the network sees an edge that it was never shown.
PADDING = 114
# A pass larger than TILE_PX goes over the picture in tiles of that size, which overlap by SHARED_PX
# (pixels of the network's input): a card 90 wide, 1.4 times as long, that is cut by the edge of one
# tile is whole in the next. Larger tiles need more memory; a smaller overlap loses cards.
TILE_PX, SHARED_PX = 1248, 256
# Pixels of the picture from the edge of a part that is looked at by itself: a box that comes nearer
# is of a thing cut by the edge. More drops whole cards near it; at 0 parts of cards are kept.
CUT_PX = 2

# The corner finder's network sees so many times the box's width and height. It was trained so
# (`models.train.corners`): with another value every corner is misplaced.
GROWTH = 1.4
# The corner finder's input, width and height in pixels; as trained, the network takes no other.
INPUT_SIZE = (72, 96)
# The corners of a unit square (no unit), clockwise as seen, edge 0-1 a short side.
UNIT = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
# Where the box's corners lie in the corner finder's input, as shares of its sides, 0 to 1.
NOMINAL = ((UNIT - 0.5) / GROWTH + 0.5).astype(np.float32)
# The furthest that a corner may be moved, as a share of the sides of the input: enough for
# nearly all boxes of partly covered cards in drawn stills. Further, and a wrong
# answer replaces a usable box; less, and more boxes stay uncorrected.
FURTHEST = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A loaded network: `model(tensor)` runs it and returns its first output.

    `settings` is the card's `[settings]` table; `run` is the session's: the names of the outputs
    that are wanted, and the tensor by the name of its input.
    """

    name: str
    sha256: str
    settings: dict[str, float]
    labels: tuple[str, ...]
    run: Callable[[list[str], dict[str, Tensor]], list[Tensor]]
    input: str
    output: str

    def __call__(self, tensor: Tensor) -> Tensor:
        """Run the network on one input tensor."""
        return self.run([self.output], {self.input: tensor})[0]


class Kind(StrEnum):
    """What a detection shows; the order is the network's class order."""

    FACE = "face"
    BACK = "back"
    CUT = "cut"
    HAND = "hand"


KINDS = tuple(Kind)
HAND = KINDS.index(Kind.HAND)  # the number of that class


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A card found in a picture.

    `quad` is 4 x 2 pixels of the full picture, clockwise as seen, edge 0-1 a short side;
    `score` is 0 to 1.
    """

    quad: Points
    kind: Kind
    score: float


class Boxes(NamedTuple):
    """Boxes as the network gives them: n x 4 x 2 pixels, numbers of their kinds, scores 0 to 1."""

    quads: Points
    kinds: NDArray[np.intp]
    scores: NDArray[np.float32]

    def of(self, which: NDArray[np.bool_]) -> Boxes:
        """Return those of which n truths say so."""
        return Boxes(self.quads[which], self.kinds[which], self.scores[which])

    def all(self) -> list[Detection]:
        """Return all of them."""
        return [
            Detection(quad, KINDS[kind], float(score))
            for quad, kind, score in zip(*self, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Letterbox:
    """How a picture is scaled and padded to fit the network: `x_net = x * scale + left`."""

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
        """Return the picture as the network's input: 1 x 3 x H x W, RGB, 0 to 1.

        Shrinking averages areas, as it did for the training pictures: plain bilinear sampling
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
        return batch([canvas])

    def back(self, points: Points) -> Points:
        """Return network points (… x 2) as points of the picture."""
        offset = np.array([self.left, self.top], np.float32)
        return ((points - offset) / np.float32(self.scale)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Span:
    """A tile along one side of a picture, in pixels; it keeps the cards with a centre in `own`."""

    start: int
    end: int
    own: tuple[float, float]


def spans(length: int, tile: int, shared: int) -> list[Span]:
    """Cut a length into tiles that overlap by at least `shared`; their `own` parts do not."""
    if length <= tile:
        return [Span(0, length, (-math.inf, math.inf))]
    count = math.ceil((length - shared) / (tile - shared))
    starts = [round(i * (length - tile) / (count - 1)) for i in range(count)]
    bounds = [(later + start + tile) / 2 for start, later in pairwise(starts)]
    owned = pairwise([-math.inf, *bounds, math.inf])
    return [Span(start, start + tile, own) for start, own in zip(starts, owned, strict=True)]


# --- the corners of a card -----------------------------------------------------------------------


class CornerFinder:
    """Moves the corners of detected quads to the card's own.

    `infer` maps N x 3 x 96 x 72 (RGB, 0 to 1) to N x 8: by how much each corner is to be moved in x
    and y, as shares of the input's sides.
    """

    def __init__(self, infer: Infer) -> None:
        self._infer = infer

    def __call__(self, image: Image, quads: Sequence[Points]) -> list[Points]:
        """Return a better quad for each (4 x 2 pixels, clockwise, edge 0-1 a short side).

        A second call with the result comes nearer still: the card is then seen straightened.
        """
        if not quads:
            return []
        given = [np.asarray(quad, np.float32) for quad in quads]
        frames = [grown(quad, GROWTH) for quad in given]
        crops = [rectify(image, frame - np.float32(0.5), INPUT_SIZE) for frame in frames]
        shifts = self._infer(batch(crops)).reshape(-1, 4, 2)
        return [_upright(_moved(*trio)) for trio in zip(given, frames, shifts, strict=True)]


def grown(quad: Points, factor: float) -> Points:
    """Return the quad (4 x 2) enlarged by a factor, in its own perspective."""
    matrix = cv2.getPerspectiveTransform(UNIT, np.asarray(quad, np.float32))
    larger = ((UNIT - 0.5) * factor + 0.5).astype(np.float32)
    found = cv2.perspectiveTransform(larger[None], matrix)[0]
    # A steep perspective turns over far from the card: enlarge without it there.
    if _convex(found):
        return np.asarray(found, np.float32)
    middle = np.asarray(quad, np.float32).mean(axis=0)
    return np.asarray(middle + (quad - middle) * factor, np.float32)


def _moved(quad: Points, frame: Points, shift: Points) -> Points:
    """Return a quad with its corners moved by `shift` (4 x 2 shares of its frame's sides)."""
    matrix = cv2.getPerspectiveTransform(UNIT, frame)
    found = cv2.perspectiveTransform((NOMINAL + shift)[None].astype(np.float32), matrix)[0]
    good = np.abs(shift).max() <= FURTHEST and _convex(found)
    return np.asarray(found, np.float32) if good else quad


def _upright(quad: Points) -> Points:
    """Return the corners from a short side on: a nearly square box may have begun at a long one.

    Only a card that leans by more than 44 degrees looks shorter than it is wide.
    """
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return np.roll(quad, 1, axis=0) if edges[0] + edges[2] > edges[1] + edges[3] else quad


def _convex(quad: Points) -> bool:
    """Whether a quad is convex and clockwise as seen (y down)."""
    edges = np.roll(quad, -1, axis=0) - quad
    following = np.roll(edges, -1, axis=0)
    return bool((edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0] > 0).all())


def batch(crops: Sequence[Image]) -> Tensor:
    """Return crops (H x W x 3, BGR) as one N x 3 x H x W tensor, RGB, 0 to 1."""
    planes = np.stack(crops)[..., ::-1].transpose(0, 3, 1, 2)
    return np.ascontiguousarray(planes, np.float32) * np.float32(1 / 255)


# --- the cards of a picture ----------------------------------------------------------------------


class Detector:
    """Finds cards in pictures of which the longer side is scaled to `size` pixels.

    `infer` maps 1 x 3 x H x W to 1 x (4 + classes + 1) x N: centre x, centre y, width, height,
    one score per class, angle in radians. Detections with a score under `threshold` are dropped,
    and the weaker of two that overlap by more than `overlap` (intersection over union). `corners`
    turns boxes into the cards' true outlines.
    """

    def __init__(
        self,
        infer: Infer,
        *,
        size: int = 416,
        threshold: float = 0.4,
        overlap: float = 0.6,
        corners: CornerFinder | None = None,
    ) -> None:
        self._infer = infer
        self._corners = corners
        self._size = size
        self._threshold = threshold
        self._overlap = overlap

    def __call__(self, image: Image, *, threshold: float | None = None) -> tuple[Detection, ...]:
        """Return the cards of a picture (H x W x 3, BGR), surest first, from a `threshold` on."""
        least = self._threshold if threshold is None else threshold
        found = suppress(self.boxes(image, self._size, least), self._overlap)
        if self._corners is None or not found:
            return found
        # Two boxes of one card become the same outline twice: suppress again.
        return suppress(self.outlined(image, found), self._overlap)

    def scale(self, width: int, height: int) -> float:
        """Return how many pixels of the network's input a pixel of such a picture becomes."""
        return self._size / max(width, height)

    def window(
        self, points: Points, width: int, height: int, within: Window | None = None
    ) -> Window:
        """Return the part of such pictures that shows some points (n x 2 px), in whole strides.

        It lies `within` another part, where one is given.
        """
        stride = STRIDE / self.scale(width, height)
        low, high = bounds(points)
        # Never less than was asked for: a stride is more than a card, which would be cut.
        strides = np.ceil((high - low) / stride)
        # Even sides: a picture is halved many times quicker where both halves are alike.
        first, last = np.array(within or (0, 0, width, height)).reshape(2, 2)
        side = np.minimum((strides * stride).astype(int) // 2 * 2, last - first)
        begin = np.clip((low + high - side) / 2, first, last - side).astype(int) // 2 * 2
        left, top, right, bottom = (int(edge) for edge in (*begin, *(begin + side)))
        return left, top, right, bottom

    def cards_and_hands(
        self, image: Image, least: float, window: Window | None = None
    ) -> tuple[Detection, ...]:
        """Return the boxes of cards and of hands, without outlines, from a score on (0 to 1).

        With a `window` those in it: no card that it cuts, of hands what it shows.
        """
        height, width = image.shape[:2]
        left, top, right, bottom = window or (0, 0, width, height)
        corner = np.array((left, top), np.float32)
        found = self._pass(image[top:bottom, left:right], self.scale(width, height), least)
        # What ends at an edge of the part that is none of the picture goes on beyond it.
        low = np.where(corner > 0, corner + CUT_PX, -math.inf)
        beyond = np.array((right, bottom), np.float32)
        high = np.where(beyond < (width, height), beyond - CUT_PX, math.inf)
        quads = found.quads + corner
        whole = ((quads >= low) & (quads <= high)).all(axis=(1, 2))
        return self.once(found._replace(quads=quads).of(whole | (found.kinds == HAND)).all())

    def once(self, found: Sequence[Detection]) -> tuple[Detection, ...]:
        """Return those that no surer one overlaps, of cards and then of hands."""
        hands = [box for box in found if box.kind is Kind.HAND]
        cards = [box for box in found if box.kind is not Kind.HAND]
        return (*suppress(cards, self._overlap), *suppress(hands, self._overlap))

    def boxes(self, image: Image, size: int, threshold: float) -> list[Detection]:
        """Return the boxes of cards, doubles included, of a picture scaled to `size` pixels."""
        found = self._pass(image, size / max(image.shape[:2]), threshold)
        return found.of(found.kinds != HAND).all()

    def _pass(self, image: Image, scale: float, least: float) -> Boxes:
        """Return the boxes of one pass, in tiles where the scaled picture is large."""
        tile, shared = round(TILE_PX / scale), round(SHARED_PX / scale)
        tiles = []
        for down, across in product(*(spans(side, tile, shared) for side in image.shape[:2])):
            part = image[down.start : down.end, across.start : across.end]
            box = Letterbox.fit(part.shape[1], part.shape[0], round(scale * max(part.shape[:2])))
            seen = decode(self._infer(box.apply(part)), box, least)
            quads = seen.quads + np.array((across.start, down.start), np.float32)
            x, y = quads.mean(axis=1).T
            own = (across.own[0] <= x) & (x < across.own[1])
            own &= (down.own[0] <= y) & (y < down.own[1])
            tiles.append(seen._replace(quads=quads).of(own))
        return Boxes(*map(np.concatenate, zip(*tiles, strict=True)))

    def outlined(self, image: Image, found: Sequence[Detection]) -> list[Detection]:
        """Return the detections with corners nearer to the cards' own."""
        if self._corners is None:
            return list(found)
        quads = self._corners(image, [d.quad for d in found])
        return [replace(d, quad=quad) for d, quad in zip(found, quads, strict=True)]


def bounds(points: Points) -> Points:
    """Return the corners (2 x 2: left, top; right, bottom) of what holds n x 2 points upright."""
    return np.stack([points.min(axis=0), points.max(axis=0)])


def decode(output: Tensor, box: Letterbox, threshold: float) -> Boxes:
    """Turn the network's output (1 x (5 + classes) x N) into boxes in picture pixels."""
    scores = output[0, 4:-1]
    best = scores.max(axis=0)
    keep = best >= threshold
    rows = output[0][:, keep].T
    quads = box.back(corners(rows[:, :4], rows[:, -1]))
    return Boxes(quads, scores[:, keep].argmax(axis=0), best[keep])


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
    """Keep the surest of detections that cover the same area, whatever their kind."""
    return tuple(found[i] for i in surest([d.quad for d in found], [d.score for d in found], most))


def surest(quads: ArrayLike, scores: ArrayLike, most: float) -> list[int]:
    """Return the indices of quads that no surer one overlaps by more than `most`, surest first.

    OpenCV's `NMSBoxesRotated` is not used: it takes a quad that lies wholly in another for a double
    of it, so a card is lost in a surer box of two cards.
    """
    shapes = np.asarray(quads, np.float32).reshape(-1, 4, 2)
    low, high = shapes.min(axis=1), shapes.max(axis=1)
    areas = np.array([cv2.contourArea(shape) for shape in shapes])
    left = np.ones(len(shapes), bool)
    surest: list[int] = []
    for i in np.argsort(-np.asarray(scores), kind="stable").tolist():
        if not left[i]:
            continue
        surest.append(i)
        left[i] = False
        # Quads that lie apart, or differ more in size, cannot overlap by so much: a quick test.
        near = left & (low < high[i]).all(axis=1) & (high > low[i]).all(axis=1)
        near &= np.minimum(areas, areas[i]) > most * np.maximum(areas, areas[i])
        # Nor where the upright boxes round them share less than the quads would have to.
        both = (np.minimum(high, high[i]) - np.maximum(low, low[i])).prod(axis=1)
        near &= both * (1 + most) > 0.999 * most * (areas + areas[i])
        for j in np.flatnonzero(near).tolist():
            shared = shared_area(shapes[i], shapes[j])
            left[j] = shared / (areas[i] + areas[j] - shared) <= most
    return surest
