"""Fit the table plane and the lens to things of known form that lie flat on the table.

A marker sheet, a card or a list of measured points is such a thing: its form in millimetres and
where its points are seen. All are fitted together by least squares in the picture: one plane, one
lens, and for each thing where it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import approx_fprime, least_squares

from vision.sight.geometry.plane import Homography, Lens

Vector = NDArray[np.float64]
Size = tuple[int, int]

# Millimetres are divided by this inside the solver, so that all figures are near 1.
UNIT_MM = 500.0
# Random draws behind a stated uncertainty: 60 give it to a tenth (1 / sqrt(2 * 60)).
DRAWS = 60
# Root mean square error that no corner is found better than, px, whatever the residuals say.
CORNER_NOISE_PX = 0.02
# Lens models, from none to the fullest that a table needs.
LENSES: tuple[tuple[str, ...], ...] = ((), ("k1",), ("k1", "k2"), ("k1", "k2", "p1", "p2"))


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """Something flat: its form (n x 2 mm, y down as seen) and where it is seen (n x 2 pixels)."""

    form_mm: Vector
    seen_px: Vector
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneFit:
    """A fitted plane with its lens, and how well it fits.

    The frame of the plane is that of the first thing. `misfit_mm` is the root mean square distance
    per thing between where its points are seen and where they should be, on the table.
    """

    plane: Homography
    misfit_mm: Vector
    _problem: _Problem
    _values: Vector

    def uncertainty_mm(self, pixels: ArrayLike) -> Vector:
        """Return how far off (1 sigma, mm) the plane may put each of these pixels (n x 2).

        What a shift or a turn of the whole frame would put right does not count.
        """
        rng = np.random.default_rng(0)
        there = self.plane.to_mm(pixels).astype(np.float64)
        spread = self._problem.spread(self._values)
        root = np.linalg.cholesky(spread + 1e-15 * np.eye(len(spread)))
        total = np.zeros(len(there))
        for _ in range(DRAWS):
            values = self._values + root @ rng.standard_normal(len(root))
            other = self._problem.plane(values).to_mm(pixels).astype(np.float64)
            total += ((rigid(other, there).apply(other) - there) ** 2).sum(axis=1)
        return np.sqrt(total / DRAWS)


@dataclass(frozen=True, slots=True)
class Rigid:
    """A turn and a shift of the plane: `p -> turn p + shift` on complex numbers x + iy."""

    turn: complex
    shift: complex

    def apply(self, points: ArrayLike) -> Vector:
        """Return points (n x 2) turned and shifted."""
        xy = np.asarray(points, np.float64)
        moved = self.turn * (xy[..., 0] + 1j * xy[..., 1]) + self.shift
        return np.stack([moved.real, moved.imag], axis=-1)


def rigid(points: ArrayLike, target: ArrayLike) -> Rigid:
    """Return the turn and shift that bring points (n x 2) best onto others, without scaling."""
    start, end = (np.asarray(p, np.float64) @ np.array([1, 1j]) for p in (points, target))
    pull = np.vdot(start - start.mean(), end - end.mean())
    turn = complex(pull / abs(pull)) if abs(pull) > 1e-12 else 1 + 0j
    return Rigid(turn, complex(end.mean() - turn * start.mean()))


def in_frame(plane: Homography, frame: Rigid) -> Homography:
    """Return the plane with its millimetres turned and shifted."""
    (c, s), (x, y) = ((each.real, each.imag) for each in (frame.turn, frame.shift))
    return Homography(np.array([[c, -s, x], [s, c, y], [0, 0, 1]]) @ plane.matrix, plane.lens)


def fit(things: Sequence[Thing], size: Size, *, lenses: int = len(LENSES) - 1) -> PlaneFit:
    """Fit plane and lens to things seen in pictures of `size` (width, height).

    Of the lens models, from none to `LENSES[lenses]`, the one that best explains what is seen for
    the figures it takes (Bayesian information) is kept. ValueError where no plane fits.
    """
    problems = [_Problem(things, size, names) for names in LENSES[: lenses + 1]]
    problems = [problems[0], *(p for p in problems[1:] if p.count < p.seen)]
    values = problems[0].first_guess()
    found: list[tuple[float, int, Vector]] = []
    for i, problem in enumerate(problems):
        start = problem.widened(values)
        values = least_squares(problem.off, start, method="lm", x_scale="jac").x
        lens = problem.lens(values)
        if lens is None or not lens.folds(size):
            found.append((problem.score(values), i, values))
    _, kept, values = min(found, key=lambda solution: solution[0])
    # The uncertainty must not rest on a perfect lens only because no lens could be fitted.
    sure = max(kept, min(1, len(problems) - 1))
    return PlaneFit(*problems[kept].outcome(values), problems[sure], problems[sure].widened(values))


class _Problem:
    """The least squares problem: figures for plane, lens, and the place of each thing but one."""

    def __init__(self, things: Sequence[Thing], size: Size, names: tuple[str, ...]) -> None:
        self._things = things
        self._size = size
        self._names = names
        width, height = size
        self._to_pixels = np.array([[width, 0, width / 2], [0, width, height / 2], [0, 0, 1.0]])
        self._form = np.concatenate([thing.form_mm for thing in things]) / UNIT_MM
        self._seen = np.concatenate([thing.seen_px for thing in things])
        self._which = np.repeat(np.arange(len(things)), [len(t.form_mm) for t in things])
        self._head = 8 + len(names)
        self.count = self._head + 3 * (len(things) - 1)
        self.seen = self._seen.size

    def lens(self, values: Vector) -> Lens | None:
        """Return the lens that these figures stand for."""
        if not self._names:
            return None
        factors: dict[str, Any] = dict(zip(self._names, values[8:].tolist(), strict=False))
        width, height = self._size
        return Lens(float(width), (width / 2, height / 2), **factors)

    def plane(self, values: Vector) -> Homography:
        """Return the plane that these figures stand for."""
        shrink = np.diag([1 / UNIT_MM, 1 / UNIT_MM, 1.0])
        there = self._to_pixels @ np.append(values[:8], 1.0).reshape(3, 3) @ shrink
        return Homography(np.linalg.inv(there), self.lens(values))

    def outcome(self, values: Vector) -> tuple[Homography, Vector]:
        """Return the plane, and the root mean square misfit of each thing in mm."""
        plane = self.plane(values)
        off = plane.to_mm(self._seen) - self._places(values) * UNIT_MM
        square = (off**2).sum(axis=1)
        return plane, np.sqrt(np.bincount(self._which, square) / np.bincount(self._which))

    def spread(self, values: Vector) -> NDArray[np.float64]:
        """Return the covariance of the figures, from the misfit in the picture."""
        residual = self.off(values)
        pull = approx_fprime(values, self.off)
        free = max(1, len(residual) - self.count)
        variance = float(residual @ residual) / free + CORNER_NOISE_PX**2
        return np.asarray(np.linalg.pinv(pull.T @ pull) * variance, np.float64)

    def score(self, values: Vector) -> float:
        """Return the Bayesian information criterion of a solution; less is better."""
        residual = self.off(values)
        mean = float(residual @ residual) / len(residual) + CORNER_NOISE_PX**2
        return len(residual) * float(np.log(mean)) + self.count * float(np.log(len(residual)))

    def first_guess(self) -> Vector:
        """Return figures to start from: the largest thing settles the plane, the others follow."""
        sizes = [np.prod(np.ptp(thing.seen_px, axis=0)) for thing in self._things]
        order = int(np.argmax(sizes))
        plane = Homography.fit(self._things[order].seen_px, self._things[order].form_mm)
        first = self._things[0]
        frame = rigid(plane.to_mm(first.seen_px), first.form_mm)
        plane = in_frame(plane, frame)
        matrix = np.linalg.inv(self._to_pixels) @ np.linalg.inv(plane.matrix)
        matrix = matrix @ np.diag([UNIT_MM, UNIT_MM, 1.0])
        values = [*(matrix / matrix[2, 2]).ravel()[:8].tolist(), *(0.0 for _ in self._names)]
        for thing in self._things[1:]:
            place = rigid(thing.form_mm / UNIT_MM, plane.to_mm(thing.seen_px) / UNIT_MM)
            values += [float(np.angle(place.turn)), place.shift.real, place.shift.imag]
        return np.array(values)

    def widened(self, values: Vector) -> Vector:
        """Return the figures of the next simpler lens as a start for this one."""
        more = self.count - len(values)
        return np.insert(values, self._head - more, np.zeros(more))

    def _places(self, values: Vector) -> Vector:
        """Return where the points of all things lie, in units of the plane."""
        rest = np.vstack([np.zeros((1, 3)), values[self._head :].reshape(-1, 3)])[self._which]
        cos, sin = np.cos(rest[:, 0]), np.sin(rest[:, 0])
        x, y = self._form.T
        return np.column_stack([cos * x - sin * y + rest[:, 1], sin * x + cos * y + rest[:, 2]])

    def off(self, values: Vector) -> Vector:
        """Return the residuals: seen minus predicted positions, px, flat and sign reversed."""
        matrix = np.append(values[:8], 1.0).reshape(3, 3)
        lifted = self._places(values) @ matrix[:, :2].T + matrix[:, 2]
        straight = lifted[:, :2] / lifted[:, 2:] * self._size[0] + np.array(self._size) / 2
        lens = self.lens(values)
        seen = straight if lens is None else lens.bend(straight)
        return np.asarray((seen - self._seen).ravel(), np.float64)


def upright(plane: Homography, size: Size) -> Homography:
    """Return the plane with x to the right and y down as seen, its origin at the picture's edge."""
    width, height = size
    middle = np.array([[width / 2 - 50, height / 2], [width / 2 + 50, height / 2]])
    left, right = plane.to_mm(middle).astype(np.float64) @ np.array([1, 1j])
    turn = complex(abs(right - left) / (right - left))
    turned = in_frame(plane, Rigid(turn, 0j))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]])
    low = np.floor(turned.to_mm(corners).min(axis=0))
    return in_frame(turned, Rigid(1 + 0j, complex(-low[0], -low[1])))
