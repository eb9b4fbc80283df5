"""The part of the picture round the mouth of the shoe, seen from above and turned to the exit."""

from __future__ import annotations

import cv2
import numpy as np

from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Homography, Overhead, TableView

# Width (along the exit) and height of a patch in cells, and the side of a cell in mm: 200 x 140 mm,
# a card wholly out with a hand on it. Other sizes need another network.
WIDTH, HEIGHT = 80, 56
CELL_MM = 2.5
# The patch begins this far behind the middle of the mouth, mm: the rest lies where cards come out.
BACK_MM = 60.0
# The picture is sampled this much finer than a cell and averaged; at 1, the white rim of a card
# falls between two samples of a large picture.
_FINER = 2


class MouthPatch:
    """The same patch of every picture of one camera; computed once where it lies."""

    def __init__(self, view: TableView) -> None:
        self.way = exit_way(view)
        across = np.array([-self.way[1], self.way[0]])
        middle = view.mouth.mean(axis=0)
        turned = np.eye(3)
        turned[:2, :2] = self.way, across
        turned[:2, 2] = -turned[:2, :2] @ middle
        plane = Homography(turned @ view.homography.matrix, view.homography.lens)
        origin = np.array([-BACK_MM, -HEIGHT * CELL_MM / 2], np.float32)
        fine = (WIDTH * _FINER, HEIGHT * _FINER)
        self._overhead = Overhead(plane, origin, CELL_MM / _FINER, fine)

    def __call__(self, image: Image) -> Image:
        """Return the patch (HEIGHT x WIDTH x 3, BGR); cards leave to the right."""
        fine = self._overhead(image)
        return np.asarray(cv2.resize(fine, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8)


def mouth_outline(view: TableView) -> Points:
    """Return the corners (4 x 2 pixels of the picture) of what a patch shows."""
    way = exit_way(view)
    across = np.array([-way[1], way[0]])
    behind, ahead = -BACK_MM, WIDTH * CELL_MM - BACK_MM
    aside = HEIGHT * CELL_MM / 2
    ends = ((behind, -aside), (ahead, -aside), (ahead, aside), (behind, aside))
    middle = view.mouth.mean(axis=0)
    return view.homography.to_px([middle + x * way + y * across for x, y in ends])


def exit_way(view: TableView) -> Points:
    """Return the unit vector (2,) in mm along which cards leave the shoe.

    Of the four sides of the mouth, the one that faces the slots most.
    """
    mouth = view.mouth.mean(axis=0)
    slots = [area.mean(axis=0) for area in view.slots.values()]
    target = np.mean(slots, axis=0) - mouth if slots else np.array([1.0, 0.0])
    corners = cv2.boxPoints(cv2.minAreaRect(np.asarray(view.mouth, np.float32)))
    side = np.asarray(corners[1] - corners[0], np.float64)
    side /= np.hypot(*side)
    ways = [side, -side, np.array([-side[1], side[0]]), np.array([side[1], -side[0]])]
    return np.asarray(max(ways, key=lambda way: float(way @ target)), np.float64)
