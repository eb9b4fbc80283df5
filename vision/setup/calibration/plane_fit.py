"""Fit the table plane, the lens and where cards lie to what is seen of cards of known size.

All are fitted together by least squares in the picture: one plane, one figure for the lens, and
for each card its place and direction. First to the corners that the reader gives, then to points
along the edges, which are found in the picture where that fit expects them. The loss is robust: an
outline that is not the card's (a printed frame, the wall of a tray) moves the others little, and
shows by its own misfit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from vision.sight.geometry.plane import Homography, Image, Lens, Points

Vector = NDArray[np.float64]
Size = tuple[int, int]

# How far a corner and a point of an edge are off usually, px: measured on drawn tables. From here
# on the loss grows slowly; larger, and a wrong outline bends the plane.
CORNER_PX, EDGE_PX = 1.5, 0.5
# What a lens is expected to do (standard deviation of k1, for a focal length of the picture's
# width): eight cards near the middle say little of it, and would bend it to their own errors.
# Larger follows noise, smaller flattens wide lenses, whose k1 is -0.15.
LENS_SPREAD = 0.08
# So weakly is the frame of the plane held where it began (per length of a card, and per radian);
# without any pull it could slide freely.
HOLD = 1e-3
# A fit settles in some ten rounds; more are a sign that nothing fits.
ROUNDS = 100
# Edges are looked for so far from where they are expected, mm, in turn: as far as the corners of a
# card that touches another are off, then as far as the first look may be.
REACH_MM = (5.0, 2.5)
# Points along each side, and the part of it that is not rounded (shares of its length).
POINTS, STRAIGHT = 14, (0.1, 0.9)
EDGE_POINTS = 4 * POINTS
# An edge falls by at least so many levels over two pixels (the least of the three colours: paper is
# bright in all, cloth in none). Lower takes the cloth's weave; higher loses edges in the shade.
LEAST_EDGE = 16.0


class Seen(NamedTuple):
    """What is seen of cards: m points, each of one `card` (its number) and at `form` on it.

    `form` counts in shares of its sides, -0.5 to 0.5; the point is seen at `px`, and only the
    distance along the unit vector `along` counts, times `weight`.
    """

    card: NDArray[np.intp]
    form: Vector
    px: Vector
    along: Vector
    weight: Vector
    px_per_mm: Vector

    def only(self, wanted: NDArray[np.bool_]) -> Seen:
        """Return those of which m truths say so."""
        card, *others = self
        return Seen(card[wanted], *(part[wanted] for part in others))


@dataclass(frozen=True, slots=True, eq=False)
class PlaneFit:
    """A plane with its lens, and where each card lies on it.

    `centres` (n x 2 mm) and `turns` (n, radians clockwise as seen; 0 has edge 0-1 above); `cost` is
    the robust sum of squares over what was seen, in usual errors, `values` what a better fit
    starts from. x is to the right and y down as seen, from the middle of the picture.
    """

    plane: Homography
    card_mm: tuple[float, float]
    centres: Vector
    turns: Vector
    cost: float
    values: Vector

    def off_mm(self, seen: Seen) -> Vector:
        """Return how far outside its card's edge (m, mm) each point is seen; negative inside."""
        there = self.points(seen.card, seen.form * self.card_mm)
        off = ((seen.px - self.plane.to_px(there)) * seen.along).sum(axis=1)
        return np.asarray(off / seen.px_per_mm, np.float64)

    def outlines_px(self) -> Points:
        """Return the outlines of all cards in the picture, n x 4 x 2 px."""
        return self.plane.to_px(self.corners())

    def points(self, card: NDArray[np.intp], form_mm: Vector) -> Vector:
        """Return where points (m x 2 mm from a card's middle) of cards (m numbers) lie, mm."""
        return _placed(form_mm, self.centres[card], self.turns[card])

    def corners(self) -> Vector:
        """Return the corners of all cards (n x 4 x 2 mm), clockwise, edge 0-1 a short side."""
        n = len(self.centres)
        form_mm = np.tile(FORM * self.card_mm, (n, 1))
        return self.points(np.repeat(np.arange(n), 4), form_mm).reshape(n, 4, 2)


FORM = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def of_corners(outlines: Sequence[Points], weights: Sequence[float]) -> Seen:
    """Return the corners of outlines (4 x 2 px each, edge 0-1 a short side) as what is seen."""
    n = len(outlines)
    form = np.tile(np.repeat(FORM, 2, axis=0), (n, 1))
    px = np.repeat(np.asarray(outlines, np.float64).reshape(-1, 2), 2, axis=0)
    along = np.tile(np.eye(2), (4 * n, 1))
    weight = np.repeat(weights, 8) / CORNER_PX
    return Seen(np.repeat(np.arange(n), 8), form, px, along, weight, np.ones(8 * n))


def paper_of(image: Image) -> Image:
    """Return a picture (H x W x 3) as a grey one in which paper is bright, and cloth is not."""
    return np.asarray(cv2.GaussianBlur(image.min(axis=2), (0, 0), 0.7), np.uint8)


def of_edges(paper: Image, fitted: PlaneFit, cards: Sequence[int], reach_mm: float) -> Seen:
    """Return the points of the edges of some fitted cards that a picture (of `paper_of`) shows.

    They are looked for within a distance of where the fit has them.
    """
    steps = np.linspace(*STRAIGHT, POINTS)[:, None]
    sides = list(zip(FORM, np.roll(FORM, -1, axis=0), strict=True))
    form = np.tile(np.concatenate([a + steps * (b - a) for a, b in sides]), (len(cards), 1))
    outward = np.tile(np.repeat([a + b for a, b in sides], POINTS, axis=0), (len(cards), 1))
    card = np.repeat(cards, EDGE_POINTS)
    form_mm = form * fitted.card_mm
    at, ahead = (
        fitted.plane.to_px(fitted.points(card, there)).astype(np.float64)
        for there in (form_mm, form_mm + outward)
    )
    px_per_mm = np.linalg.norm(ahead - at, axis=1)
    along = (ahead - at) / px_per_mm[:, None]
    away, good = _edge(paper, at, along, reach_mm * float(np.median(px_per_mm)))
    px, weight = at + away[:, None] * along, np.full(len(form), 1 / EDGE_PX)
    return Seen(card, form, px, along, weight, px_per_mm).only(good)


def together(parts: Sequence[Seen]) -> Seen:
    """Return what several pictures show as one."""
    return Seen(*(np.concatenate(one) for one in zip(*parts, strict=True)))


def _edge(
    paper: Image, at: Vector, along: Vector, reach: float
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return how far from each point (m x 2 px) the picture falls the most, and whether it does.

    `along` are unit vectors in whose direction it is looked for, up to `reach` px both ways.
    """
    step = 0.5
    offsets = np.arange(-reach - step, reach + 1.5 * step, step)
    lines = at[:, None] + offsets[None, :, None] * along[:, None]
    inside, outside = (sampled(paper, lines + away * along[:, None]) for away in (-1, 1))
    falls = inside - outside
    best = np.clip(falls.argmax(axis=1), 1, len(offsets) - 2)
    before, most, after = (falls[np.arange(len(best)), best + i] for i in (-1, 0, 1))
    is_top = (most > LEAST_EDGE) & (most >= before) & (most >= after)
    bend = np.minimum(before - 2 * most + after, -1e-6)
    return offsets[best] + step * np.clip((before - after) / (2 * bend), -1, 1), is_top


def sampled(picture: Image, px: Vector) -> Vector:
    """Return the levels of a grey picture at points (n x m x 2, or n x 2 px), without the last."""
    if not px.size:
        return np.zeros(px.shape[:-1])
    rows = px.reshape(len(px), -1, 2).astype(np.float32) - np.float32(0.5)
    found = cv2.remap(picture, rows[..., 0].copy(), rows[..., 1].copy(), cv2.INTER_LINEAR)
    return np.asarray(found, np.float64).reshape(px.shape[:-1])


def fit(
    seen: Seen, card_mm: tuple[float, float], size: Size, start: PlaneFit | Sequence[Points]
) -> PlaneFit:
    """Fit plane, lens and cards to what is seen in pictures of `size` (width, height).

    It starts from an earlier fit, or from outlines of all cards (4 x 2 px each).
    """
    problem = _Problem(seen, card_mm, size, start)
    found = least_squares(
        problem.off, problem.start, loss="soft_l1", max_nfev=ROUNDS, x_scale="jac"
    )
    return problem.outcome(found.x, float(found.cost))


class _Problem:
    """The figures: eight of the plane, one of the lens, three of each card.

    Pixels are counted from the picture's middle in widths, millimetres in lengths of a card.
    """

    def __init__(
        self,
        seen: Seen,
        card_mm: tuple[float, float],
        size: Size,
        start: PlaneFit | Sequence[Points],
    ) -> None:
        self._seen, self._card_mm, self._unit_mm = seen, card_mm, card_mm[1]
        self._width, self._middle = float(size[0]), np.array(size) / 2
        self._form = seen.form * card_mm / self._unit_mm
        self.start = start.values if isinstance(start, PlaneFit) else self._first(start)

    def _first(self, outlines: Sequence[Points]) -> Vector:
        """Return a camera that looks straight down, the cards where they are seen."""
        seen = (np.asarray(outlines, np.float64) - self._middle) / self._width
        up = seen[:, [0, 1]].mean(axis=1) - seen[:, [3, 2]].mean(axis=1)
        length = float(np.median(np.hypot(*up.T)))
        turns = np.arctan2(up[:, 0], -up[:, 1])
        places = np.column_stack([seen.mean(axis=1) / length, turns]).ravel()
        return np.concatenate([[length, 0, 0, 0, length, 0, 0, 0, 0], places])

    def off(self, values: Vector) -> Vector:
        """Return the residuals, in usual errors, and what holds frame and lens."""
        places = values[9:].reshape(-1, 3)[self._seen.card]
        points = _placed(self._form, places[:, :2], places[:, 2])
        matrix = np.append(values[:8], 1.0).reshape(3, 3)
        lifted = points @ matrix[:, :2].T + matrix[:, 2]
        straight = lifted[:, :2] / lifted[:, 2:]
        bent = straight * (1 + values[8] * (straight**2).sum(axis=1, keepdims=True))
        away = bent * self._width + self._middle - self._seen.px
        off = (away * self._seen.along).sum(axis=1) * self._seen.weight
        held = (values[9:] - self.start[9:]) * HOLD
        return np.concatenate([off, [values[8] / LENS_SPREAD], held])

    def outcome(self, values: Vector, cost: float) -> PlaneFit:
        """Return what figures stand for."""
        scale = np.diag([1 / self._unit_mm, 1 / self._unit_mm, 1.0])
        x, y = self._middle.tolist()
        pixels = np.array([[self._width, 0, x], [0, self._width, y], [0, 0, 1.0]])
        matrix = pixels @ np.append(values[:8], 1.0).reshape(3, 3) @ scale
        lens = Lens(self._width, (x, y), float(values[8]))
        places = values[9:].reshape(-1, 3)
        plane = Homography(np.linalg.inv(matrix), lens)
        centres = places[:, :2] * self._unit_mm
        return PlaneFit(plane, self._card_mm, centres, places[:, 2], cost, values)


def _placed(form: Vector, centres: Vector, turns: Vector) -> Vector:
    """Return points (m x 2) turned (m, radians, clockwise as seen) and moved (m x 2)."""
    cos, sin = np.cos(turns), np.sin(turns)
    x, y = form.T
    return np.column_stack([cos * x - sin * y, sin * x + cos * y]) + centres
