"""Polygons: what is one, how deep a point lies in it, what two convex ones share.

Knows numbers only; they may be pixels or millimetres.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import ArrayLike

from vision.sight.geometry.frame import Points


def polygon(points: ArrayLike) -> Points:
    """Check and return a polygon (n x 2, n at least 3); ValueError when it encloses nothing."""
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


def shared_part(first: Points, second: Points) -> Points:
    """Return the corners (n x 2, none if apart) of what is common to two convex polygons."""
    return np.array([(c.real, c.imag) for c in _shared(first, second)], np.float32).reshape(-1, 2)


def _shared(first: Points, second: Points) -> list[complex]:
    """Cut off, edge by edge of the second, what of the first is beyond it.

    OpenCV's own function is not used: where edges lie on one line, as in cards that lie in a row,
    it errs by whole cards.
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
    return [complex(x, y) for x, y in hull[:, 0].tolist()]


def _within(shape: list[complex], start: complex, end: complex) -> list[complex]:
    """Return what of a convex shape is on the inner side of an edge."""
    way = (end - start).conjugate()
    sides = [(way * (corner - start)).imag for corner in shape]
    kept: list[complex] = []
    for number, (corner, side) in enumerate(zip(shape, sides, strict=True)):
        before, its_side = shape[number - 1], sides[number - 1]
        if (side >= 0) != (its_side >= 0):
            kept.append(before + (corner - before) * its_side / (its_side - side))
        if side >= 0:
            kept.append(corner)
    return kept
