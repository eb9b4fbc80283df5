"""Pixels and millimetres: the table plane, its places, and true card rectangles.

Pixels are x right, y down in the full picture; millimetres lie on the table plane, x right and
y down as seen. Knows nothing of what a card shows, of time, or of files.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.game.events import Slot
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.lens import Lens
from vision.sight.geometry.polygons import distance_inside, shared_area

POKER_MM = (63.0, 88.0)
MIN_SLOT_SHARE = 0.35


@dataclass(frozen=True, slots=True, eq=False)
class Homography:
    """The map between the picture and the table plane.

    `matrix` takes the pixels of a perfect picture to millimetres; `lens` says how the real one
    differs, `None` for not at all.
    """

    matrix: NDArray[np.float64]
    lens: Lens | None = None
    _inverse: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_inverse", np.linalg.inv(self.matrix))

    @classmethod
    def fit(cls, image_px: ArrayLike, table_mm: ArrayLike, lens: Lens | None = None) -> Homography:
        """Fit the plane to four or more point pairs (n x 2 each), seen through a lens.

        ValueError when the points are too few, do not pair up, or lie on one line.
        """
        px, mm = np.asarray(image_px, np.float64), np.asarray(table_mm, np.float64)
        if px.shape != mm.shape or px.ndim != 2 or px.shape[1] != 2 or len(px) < 4:
            raise ValueError(
                f"the table plane needs four or more pairs of points; "
                f"got {px.shape} in the picture and {mm.shape} on the table"
            )
        for name, points in (("picture", px), ("table", mm)):
            if np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] < 1.0:
                raise ValueError(f"the points of the table plane lie on one line in the {name}")
        straight = px if lens is None else lens.straighten(px)
        matrix = cv2.findHomography(straight, mm)[0]
        if matrix is None or abs(np.linalg.det(matrix)) < 1e-12:
            raise ValueError("no plane fits the point pairs: check that their order is the same")
        return cls(np.asarray(matrix, np.float64), lens)

    def to_mm(self, points: ArrayLike) -> Points:
        """Take pixels (n x 2, or one point) to millimetres of the same shape."""
        return _project(self.matrix, points if self.lens is None else self.lens.straighten(points))

    def to_px(self, points: ArrayLike) -> Points:
        """Take millimetres (n x 2, or one point) to pixels of the same shape."""
        straight = _project(self._inverse, points)
        return straight if self.lens is None else self.lens.bend(straight).astype(np.float32)


def _project(matrix: NDArray[np.float64], points: ArrayLike) -> Points:
    lifted = np.asarray(points, np.float64) @ matrix[:, :2].T
    lifted += matrix[:, 2]
    return np.asarray(lifted[..., :2] / lifted[..., 2:], np.float32)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a card lies: centre in mm, and the direction of its long axis in degrees, 0 to 180."""

    x: float
    y: float
    angle: float

    @property
    def centre(self) -> tuple[float, float]:
        """The centre, in millimetres."""
        return (self.x, self.y)

    def distance(self, other: Pose) -> float:
        """Return the distance of the centres, in millimetres."""
        return math.hypot(self.x - other.x, self.y - other.y)

    def turn(self, other: Pose) -> float:
        """Return the angle between the long axes, 0 to 90 degrees."""
        difference = abs(self.angle - other.angle) % 180.0
        return min(difference, 180.0 - difference)


def card_rectangle(pose: Pose, size_mm: tuple[float, float] = POKER_MM) -> Points:
    """Return the corners (4 x 2 mm) of a card, clockwise as seen, edge 0-1 a short side."""
    angle = math.radians(pose.angle)
    ux, uy = math.cos(angle) * size_mm[1] / 2, math.sin(angle) * size_mm[1] / 2
    vx, vy = math.sin(angle) * size_mm[0] / 2, -math.cos(angle) * size_mm[0] / 2
    signs = ((-1, -1), (-1, 1), (1, 1), (1, -1))
    return np.array(
        [(pose.x + a * ux + b * vx, pose.y + a * uy + b * vy) for a, b in signs], np.float32
    )


def fit_rectangle(quad_mm: Points, size_mm: tuple[float, float] = POKER_MM) -> tuple[Pose, float]:
    """Lay a card of known size on a quad as well as it goes.

    `quad_mm` is 4 x 2, clockwise; either side may come first. Returns the pose and the root mean
    square distance of the corners in mm (closed form: rigid Procrustes fit, no scale).
    """
    corners = [complex(float(x), float(y)) for x, y in quad_mm]
    centre = sum(corners) / 4
    half_long, half_short = size_mm[1] / 2, size_mm[0] / 2
    template = [complex(-half_long, half_short), complex(-half_long, -half_short)]
    template += [-template[0], -template[1]]
    fits = []
    for start in (0, 1):
        turned = [corners[(start + i) % 4] - centre for i in range(4)]
        pull = sum(t.conjugate() * c for t, c in zip(template, turned, strict=True))
        turn = pull / abs(pull) if pull else 1.0
        squares = (abs(c - t * turn) ** 2 for t, c in zip(template, turned, strict=True))
        fits.append((math.sqrt(sum(squares) / 4), math.degrees(cmath.phase(turn)) % 180.0))
    misfit, degrees = min(fits)
    return Pose(centre.real, centre.imag, degrees), misfit


def rectify(image: Image, quad: Points, size: tuple[int, int]) -> Image:
    """Cut a quad out of a picture as an upright rectangle.

    `quad` is 4 x 2 pixels, clockwise, edge 0-1 becomes the upper edge; `size` is (width, height).
    Large quads are averaged down, not sampled, so that thin strokes survive.
    """
    source = np.asarray(quad, np.float32)
    edges = np.linalg.norm(np.roll(source, -1, axis=0) - source, axis=1)
    shrink = max((edges[0] + edges[2]) / 2 / size[0], (edges[1] + edges[3]) / 2 / size[1])
    factor = int(np.clip(round(float(shrink)), 1, 4))
    width, height = size[0] * factor, size[1] * factor
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    # Pixel centres lie at whole numbers, corners of the crop half a pixel before the first.
    matrix = cv2.getPerspectiveTransform(source, target - np.float32(0.5))
    crop = cv2.warpPerspective(image, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    if factor > 1:
        crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    return cast(Image, crop)


@dataclass(frozen=True, slots=True, eq=False)
class TableView:
    """One camera's view of one table: the plane, and its places as polygons in millimetres.

    `mouth` is where a card leaving the shoe is first seen; cards within `discard` are ignored.
    """

    homography: Homography
    slots: Mapping[Slot, Points]
    mouth: Points
    discard: Points | None = None
    card_mm: tuple[float, float] = POKER_MM

    def locate(self, quad_px: Points) -> tuple[Pose, float]:
        """Snap a detected quad (4 x 2 pixels) to the card that would have been seen so.

        Returns the pose and the misfit in mm. An oriented box is no card seen in perspective but
        the smallest box around it, so the fit is corrected by what the box of the fitted card
        itself would have given; any other quad is taken as the four corners.
        """
        pose, misfit = fit_rectangle(self.homography.to_mm(quad_px), self.card_mm)
        if not _is_box(quad_px):
            return pose, misfit
        seen = box_around(self.quad_px(pose))
        again, _ = fit_rectangle(self.homography.to_mm(seen), self.card_mm)
        turn = (pose.angle - again.angle + 90.0) % 180.0 - 90.0
        x, y = 2 * pose.x - again.x, 2 * pose.y - again.y
        return Pose(x, y, (pose.angle + turn) % 180.0), misfit

    def rectangle(self, pose: Pose) -> Points:
        """Return the corners of a card lying so, 4 x 2 mm."""
        return card_rectangle(pose, self.card_mm)

    def quad_px(self, pose: Pose) -> Points:
        """Return the corners of a card lying so, 4 x 2 pixels: what to rectify."""
        return self.homography.to_px(self.rectangle(pose))

    def slot_of(self, pose: Pose) -> Slot | None:
        """Return the slot that holds the card's centre, or else a fair share of its area."""
        for slot, area in self.slots.items():
            if distance_inside(pose.centre, area) >= 0:
                return slot
        corners = self.rectangle(pose)
        shares = {slot: shared_area(corners, area) for slot, area in self.slots.items()}
        best = max(shares, key=shares.__getitem__, default=None)
        enough = MIN_SLOT_SHARE * self.card_mm[0] * self.card_mm[1]
        return best if best is not None and shares[best] >= enough else None

    def in_mouth(self, pose: Pose, margin_mm: float = 0.0) -> bool:
        """Whether a card's centre lies in the shoe's mouth, or within a margin of it."""
        return distance_inside(pose.centre, self.mouth) >= -margin_mm

    def in_discard(self, pose: Pose) -> bool:
        """Whether a card's centre lies in the discard area."""
        return self.discard is not None and distance_inside(pose.centre, self.discard) >= 0


def box_around(quad_px: Points) -> Points:
    """Return the smallest turned box around a quad, clockwise, edge 0-1 a short side."""
    box = cv2.boxPoints(cv2.minAreaRect(np.asarray(quad_px, np.float32)))
    first, second = math.dist(box[0], box[1]), math.dist(box[1], box[2])
    order = (1, 2, 3, 0) if first > second else (0, 1, 2, 3)
    return np.asarray(box[order, :], np.float32)


def _is_box(quad_px: Points) -> bool:
    corners = [complex(float(x), float(y)) for x, y in quad_px]
    edges = [corners[(i + 1) % 4] - corners[i] for i in range(4)]
    for one, other in zip(edges, [*edges[1:], edges[0]], strict=True):
        along = (one.conjugate() * other).real
        if abs(along) > 0.01 * max(abs(one) * abs(other), 1e-6):
            return False
    return True
