"""Pictures, and how their pixels map to millimetres: lens, plane, card rectangles, areas.

Pixels are x right, y down in the full picture; millimetres lie on the table plane, x right and
y down as seen. A point goes from the picture to the table in two steps: the lens is undone
(Brown and Conrady's model with OpenCV's names k1, k2, p1, p2), then a homography maps the straight
picture to the plane. Only points are mapped; pictures stay as they are, but for `rectify` and
`Overhead`, which resample them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.game.events import Slot

Image = NDArray[np.uint8]
Points = NDArray[np.float32]

# Width and height of a poker-size card in mm, the usual casino format (2.5 x 3.5 in); the default
# where the table file names no size. Another size shifts every fitted pose and rectified crop.
POKER_MM = (63.0, 88.0)
# Share of a card's area (0 to 1) that must lie in a slot when its centre lies in none. Chosen by
# judgement: lower, and a card between two slots is assigned to one; higher, and a card laid across
# the border of its slot is reported as outside.
MIN_SLOT_SHARE = 0.35
# When the iteration that undoes a lens stops: after 40 rounds, or at a step below 1e-5. Measured at
# the corners of a 1080p picture with k1 = -0.25: OpenCV's default of 5 rounds leaves 3.8 px, 20
# leave 0.001 px. Too few move every card near the edge.
PRECISE = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 40, 1e-5)
# Two edges are at right angles if the cosine between them is at most this (0.6 degrees). A
# detector's box has exact right angles but for rounding; larger, and a card's true outline in
# slight perspective is corrected as if it were a box.
RIGHT_ANGLE_COSINE = 0.01


# --- pictures ------------------------------------------------------------------------------------


class Coded(Protocol):
    """A picture as its source codes it: the brightness (height x width) is there, BGR is made."""

    @property
    def luma(self) -> Image:
        """The brightness, in the levels of the source."""

    def bgr(self) -> Image:
        """Return the picture as height x width x 3, BGR."""


Pixels = Image | Coded


class Frame:
    """A picture, its Unix time in milliseconds and its running number.

    `still`, once sight has looked at it: nothing in it has moved for a second.
    Any thread may ask for anything; two that need the colours first at once both convert them.
    """

    __slots__ = ("_image", "_pixels", "at", "index", "still")

    def __init__(self, image: Pixels, at: int, index: int) -> None:
        self.at = at
        self.index = index
        self.still = False
        self._pixels = image
        self._image: Image | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.luma.shape
        return width, height

    @property
    def luma(self) -> Image:
        """The brightness (height x width): the source's own, of a BGR picture its green."""
        return self._pixels[:, :, 1] if isinstance(self._pixels, np.ndarray) else self._pixels.luma

    @property
    def has_colours(self) -> bool:
        """Whether `image` costs nothing any more."""
        return self._image is not None or isinstance(self._pixels, np.ndarray)

    @property
    def image(self) -> Image:
        """The picture (height x width x 3, BGR); made at the first need and kept."""
        if isinstance(self._pixels, np.ndarray):
            return self._pixels
        image = self._image
        if image is None:
            image = self._image = self._pixels.bgr()
        return image


# --- polygons ------------------------------------------------------------------------------------


def polygon(points: ArrayLike) -> Points:
    """Return the points as a polygon (n x 2, n at least 3); ValueError if it encloses no area."""
    corners = np.asarray(points, np.float32)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise ValueError(f"a polygon needs three or more points, got numbers {corners.shape}")
    if abs(cv2.contourArea(corners)) < 1.0:
        raise ValueError("the polygon encloses no area")
    return corners


def distance_inside(point: Sequence[float], area: Points) -> float:
    """Return how deep a point lies in a polygon: positive inside, negative outside, in its unit."""
    return float(cv2.pointPolygonTest(area, (float(point[0]), float(point[1])), True))


def shared_area(first: Points, second: Points) -> float:
    """Return the area common to two convex polygons, in the square of their unit."""
    left = _shared(first, second)
    following = [*left[1:], *left[:1]]
    return sum((a.conjugate() * b).imag for a, b in zip(left, following, strict=True)) / 2


def overlap(first: Points, second: Points) -> float:
    """Return the area common to two convex polygons as a share of what either covers, 0 to 1."""
    areas = cv2.contourArea(first), cv2.contourArea(second)
    shared = shared_area(first, second) if all(areas) else 0.0
    return shared / (sum(areas) - shared) if shared else 0.0


def covered(image: Image, outline: Points) -> Image:
    """Return a picture (H x W x 3), all black beyond the hull of points (n x 2 px)."""
    mask, hull = np.zeros(image.shape[:2], np.uint8), cv2.convexHull(outline)
    cv2.fillConvexPoly(mask, np.rint(hull).astype(np.int32), 255)
    return cast(Image, cv2.bitwise_and(image, image, mask=mask))


def shared_part(first: Points, second: Points) -> Points:
    """Return the corners (n x 2, none if apart) of the part common to two convex polygons."""
    return np.array([(c.real, c.imag) for c in _shared(first, second)], np.float32).reshape(-1, 2)


def _shared(first: Points, second: Points) -> list[complex]:
    """Clip the first polygon by each edge of the second in turn.

    OpenCV's own function is not used: where edges lie on one line, as those of cards in a row do,
    its result is wrong by whole cards.
    """
    left, edges = _around(first), _around(second)
    for start, end in zip(edges, [*edges[1:], edges[0]], strict=True):
        left = _within(left, start, end)
        if not left:
            break
    return left


def _around(points: Points) -> list[complex]:
    """Return the corners of the convex hull, clockwise as seen (y down)."""
    hull = cv2.convexHull(np.asarray(points, np.float32), clockwise=False)
    corners: list[complex] = hull.view(np.complex64).ravel().tolist()
    return corners


def _within(shape: list[complex], start: complex, end: complex) -> list[complex]:
    """Return the part of a convex shape that lies on the inner side of an edge."""
    way = (end - start).conjugate()
    sides = [(way * (corner - start)).imag for corner in shape]
    if min(sides) >= 0:
        return shape
    inner: list[complex] = []
    for number, (corner, side) in enumerate(zip(shape, sides, strict=True)):
        before, its_side = shape[number - 1], sides[number - 1]
        if (side >= 0) != (its_side >= 0):
            inner.append(before + (corner - before) * its_side / (its_side - side))
        if side >= 0:
            inner.append(corner)
    return inner


# --- lens ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lens:
    """A lens with distortion; k1, k2, p1, p2 count in units of `focal_px` from `centre_px`."""

    focal_px: float
    centre_px: tuple[float, float]
    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0

    def bend(self, points: ArrayLike) -> NDArray[np.float64]:
        """Map points of an undistorted picture (n x 2, or one point; pixels) to the real one."""
        arm = (np.asarray(points, np.float64) - self.centre_px) / self.focal_px
        x, y = arm[..., 0], arm[..., 1]
        r2 = x * x + y * y
        radial = 1 + r2 * (self.k1 + r2 * self.k2)
        seen_x = x * radial + 2 * self.p1 * x * y + self.p2 * (r2 + 2 * x * x)
        seen_y = y * radial + 2 * self.p2 * x * y + self.p1 * (r2 + 2 * y * y)
        return np.stack([seen_x, seen_y], axis=-1) * self.focal_px + self.centre_px

    def straighten(self, points: ArrayLike) -> Points:
        """Map points of the real picture (n x 2, or one point; pixels) to an undistorted one."""
        seen = np.asarray(points, np.float64)
        focal, (x, y) = self.focal_px, self.centre_px
        matrix = np.array([[focal, 0, x], [0, focal, y], [0, 0, 1]])
        factors = np.array([self.k1, self.k2, self.p1, self.p2])
        flat = seen.reshape(-1, 1, 2)
        straight = cv2.undistortImagePoints(flat, matrix, factors, None, PRECISE)
        return np.asarray(straight, np.float32).reshape(seen.shape)

    def folds(self, size: tuple[int, int]) -> bool:
        """Whether the model maps two points of a picture (width, height) to one.

        No real lens does: the figures come from a fit that failed.
        """
        x, y = self.centre_px
        reach = np.hypot(max(x, size[0] - x), max(y, size[1] - y))
        # The distorted distance must still grow where the picture's corner lies.
        r = np.linspace(0, 2 * reach / self.focal_px, 200)
        seen = r * (1 + self.k1 * r**2 + self.k2 * r**4)
        grows = np.diff(seen) > 0
        last = len(r) - 1 if grows.all() else int(np.argmin(grows))
        return bool(seen[last] * self.focal_px < reach)


# --- table plane ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Homography:
    """The map between the picture and the table plane.

    `matrix` maps the pixels of an undistorted picture to millimetres; `lens` distorts the real
    one, `None` where it does not.
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
        """Map pixels (n x 2, or one point) to millimetres of the same shape."""
        return _project(self.matrix, points if self.lens is None else self.lens.straighten(points))

    def to_px(self, points: ArrayLike) -> Points:
        """Map millimetres (n x 2, or one point) to pixels of the same shape."""
        straight = _project(self._inverse, points)
        return straight if self.lens is None else self.lens.bend(straight).astype(np.float32)


def _project(matrix: NDArray[np.float64], points: ArrayLike) -> Points:
    lifted = np.asarray(points, np.float64) @ matrix[:, :2].T
    lifted += matrix[:, 2]
    return np.asarray(lifted[..., :2] / lifted[..., 2:], np.float32)


class Overhead:
    """The table plane as a small picture seen from straight above, resampled from a camera's.

    It has `size` (width, height) cells of `cell_mm`; the corner of the first lies at `origin`
    (2,) mm. Where each cell lies in the camera's picture is computed once, so that undoing a lens
    costs nothing per picture.
    """

    def __init__(
        self, plane: Homography, origin: Points, cell_mm: float, size: tuple[int, int]
    ) -> None:
        self._size = size
        width, height = size
        self._maps = None
        if plane.lens is None:
            grid = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
            pixels = plane.to_px(grid * cell_mm + origin)
            self._matrix = cv2.getPerspectiveTransform(pixels, grid - np.float32(0.5))
            return
        cells = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1) + 0.5
        pixels = plane.to_px(cells * cell_mm + origin)
        x, y = (np.ascontiguousarray(pixels[:, :, i]) for i in (0, 1))
        self._maps = cv2.convertMaps(x, y, cv2.CV_16SC2)

    def __call__(self, image: Image) -> Image:
        """Return the picture of the plane (height x width x 3); beyond the edge it is repeated."""
        if self._maps is None:
            above = cv2.warpPerspective(
                image, self._matrix, self._size, borderMode=cv2.BORDER_REPLICATE
            )
        else:
            whole, parts = self._maps
            above = cv2.remap(
                image, whole, parts, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
            )
        return np.asarray(above, np.uint8)


# --- cards ---------------------------------------------------------------------------------------


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

    def towards(self, other: Pose, share: float) -> Pose:
        """Return the pose a share of the way (0 to 1) to another, angles the short way round."""
        turn = (other.angle - self.angle + 90.0) % 180.0 - 90.0
        return Pose(
            self.x + share * (other.x - self.x),
            self.y + share * (other.y - self.y),
            (self.angle + share * turn) % 180.0,
        )

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
    """Fit a card of known size to a quad (closed form: rigid Procrustes fit, no scale).

    `quad_mm` is 4 x 2, clockwise; either side may come first. Returns the pose and the root mean
    square distance of the corners in mm.
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


class Cutter:
    """Cuts a quad out of pictures as an upright rectangle.

    `quad` is 4 x 2 pixels, clockwise, edge 0-1 becomes the upper edge; `size` is (width, height).
    Large quads are averaged down, not sampled, so that thin strokes survive.
    """

    def __init__(self, quad: Points, size: tuple[int, int]) -> None:
        source = np.asarray(quad, np.float32)
        edges = np.linalg.norm(source[[1, 2, 3, 0]] - source, axis=1).tolist()
        shrink = max((edges[0] + edges[2]) / 2 / size[0], (edges[1] + edges[3]) / 2 / size[1])
        factor = min(max(round(shrink), 1), 4)
        self._size = size
        self._fine = width, height = size[0] * factor, size[1] * factor
        target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        # Pixel centres lie at whole numbers, corners of the crop half a pixel before the first.
        self._matrix = cv2.getPerspectiveTransform(source, target - np.float32(0.5))

    def __call__(self, image: Image) -> Image:
        """Return the rectangle (height x width x 3); beyond the picture its edge is repeated."""
        crop = cv2.warpPerspective(image, self._matrix, self._fine, borderMode=cv2.BORDER_REPLICATE)
        if self._fine != self._size:
            crop = cv2.resize(crop, self._size, interpolation=cv2.INTER_AREA)
        return cast(Image, crop)


def rectify(image: Image, quad: Points, size: tuple[int, int]) -> Image:
    """Cut a quad out of one picture, as a `Cutter` does."""
    return Cutter(quad, size)(image)


# --- table ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TableView:
    """One camera's view of one table: the plane, and the table's areas as polygons in mm.

    A card that leaves is first seen in `mouth`, on its way to `exit` (2 mm; `None`: not known);
    cards within `discard` are ignored.
    """

    homography: Homography
    slots: Mapping[Slot, Points]
    mouth: Points
    discard: Points | None = None
    card_mm: tuple[float, float] = POKER_MM
    exit: Points | None = None

    @property
    def areas(self) -> dict[str, Points]:
        """The slots by name, `MOUTH`, and `DISCARD` where there is one."""
        areas = {**{slot.name: area for slot, area in self.slots.items()}, "MOUTH": self.mouth}
        return areas if self.discard is None else {**areas, "DISCARD": self.discard}

    def locate(self, quad_px: Points) -> tuple[Pose, float]:
        """Return the pose of the card in a detected quad (4 x 2 pixels), and the misfit in mm.

        An oriented box is the smallest box around a card, not its outline in perspective, so the
        fit is corrected by the error that the fitted card's own box gives; any other quad is taken
        as the card's four corners.
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
        """Return the corners of a card in that pose, 4 x 2 mm."""
        return card_rectangle(pose, self.card_mm)

    def quad_px(self, pose: Pose) -> Points:
        """Return the corners of a card in that pose, 4 x 2 pixels, to be rectified."""
        return self.homography.to_px(self.rectangle(pose))

    def slot_of(self, pose: Pose) -> Slot | None:
        """Return the slot with the card's centre, or else with a large share of its area."""
        for slot, area in self.slots.items():
            if distance_inside(pose.centre, area) >= 0:
                return slot
        corners = self.rectangle(pose)
        shares = {slot: shared_area(corners, area) for slot, area in self.slots.items()}
        best = max(shares, key=shares.__getitem__, default=None)
        enough = MIN_SLOT_SHARE * self.card_mm[0] * self.card_mm[1]
        return best if best is not None and shares[best] >= enough else None


def box_around(area: Points) -> Points:
    """Return the smallest turned box around a polygon, clockwise, edge 0-1 a short side."""
    box = cv2.boxPoints(cv2.minAreaRect(np.asarray(area, np.float32)))
    first, second = math.dist(box[0], box[1]), math.dist(box[1], box[2])
    return np.asarray(box[[1, 2, 3, 0] if first > second else [0, 1, 2, 3]], np.float32)


def _is_box(quad_px: Points) -> bool:
    """Whether a quad has right angles only, as an oriented box has."""
    corners = [complex(float(x), float(y)) for x, y in quad_px]
    edges = [corners[(i + 1) % 4] - corners[i] for i in range(4)]
    return all(
        abs((one.conjugate() * two).real) <= RIGHT_ANGLE_COSINE * max(abs(one) * abs(two), 1e-6)
        for one, two in zip(edges, edges[1:] + edges[:1], strict=True)
    )
