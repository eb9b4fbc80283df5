"""How far the camera has moved since its calibration, told by the layout printed on the table.

Compares a picture with one of the layout as it was calibrated: small features are followed from
the one to the other, and those that agree on one motion of the whole table decide, so that hands,
cards, chips and lamps do not. Knows no files and no time: when to look and when to tell is the
caller's matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.events import Slot
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import TableView

WORK_WIDTH = 960
MOST_FEATURES = 400
FEATURE_GAP_PX = 9
WINDOW_PX = 21
BACK_PX = 0.5
AGREE_PX = 1.0
LEAST_AGREEING = 16
LEAST_SHARE = 0.3
LEAST_SPREAD = 0.12
FAR_AGREEING = 25

Grey = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """How far the places of the table have moved in the picture, in millimetres on the table.

    `at` holds the way (dx, dy) at each slot's middle: what was calibrated as (x, y) is now seen
    as (x + dx, y + dy). `worst_mm` is the longest way. `agreeing` features told so.
    """

    at: Mapping[Slot, tuple[float, float]]
    agreeing: int

    @property
    def worst_mm(self) -> float:
        """The longest way of any slot, in millimetres."""
        return max(math.hypot(*way) for way in self.at.values())


class Layout:
    """The layout as it was seen at the calibration, to be compared with later pictures."""

    def __init__(self, picture: Image, view: TableView) -> None:
        """Take a picture (H x W x 3, BGR) of the table, the emptier the better."""
        self._view = view
        self._size = picture.shape[:2]
        self._scale = min(1.0, WORK_WIDTH / picture.shape[1])
        self._grey = _prepared(picture, self._scale)
        found = cv2.goodFeaturesToTrack(self._grey, MOST_FEATURES, 0.03, FEATURE_GAP_PX)
        none = np.zeros((0, 1, 2), np.float32)
        self._features = none if found is None else np.asarray(found, np.float32)

    def shift(self, picture: Image) -> Shift | None:
        """Return how far the camera has moved, or `None` where too little agrees to tell.

        The picture has the size of the calibration; another size cannot be told either.
        """
        if picture.shape[:2] != self._size or len(self._features) < LEAST_AGREEING:
            return None
        now = _prepared(picture, self._scale)
        found = self._near(now) or self._far(now)
        return None if found is None else self._told(*found)

    def _near(self, now: Grey) -> tuple[NDArray[np.float64], int] | None:
        """Follow each feature a short way; the motion most of them share, if they do."""
        there, found = _followed(self._grey, now, self._features)
        back, found_back = _followed(now, self._grey, there)
        off = np.linalg.norm((back - self._features).reshape(-1, 2), axis=1)
        good = found & found_back & (off < BACK_PX)
        # Of a table moved far only chance matches are left: most of the layout must take part.
        least = max(LEAST_AGREEING, round(LEAST_SHARE * len(self._features)))
        return self._agreed(self._features[good], there[good], least)

    def _far(self, now: Grey) -> tuple[NDArray[np.float64], int] | None:
        """Look for the layout anywhere in the picture: a knock may move it by a hand's breadth."""
        sift = cv2.SIFT.create(800)
        keys, words = sift.detectAndCompute(self._grey, None)
        keys_now, words_now = sift.detectAndCompute(now, None)
        if words is None or words_now is None or len(words_now) < 2:
            return None
        pairs = cv2.BFMatcher().knnMatch(words, words_now, k=2)
        sure = [one for one, other in pairs if one.distance < 0.75 * other.distance]
        old = np.array([keys[pair.queryIdx].pt for pair in sure], np.float32).reshape(-1, 1, 2)
        new = np.array([keys_now[pair.trainIdx].pt for pair in sure], np.float32).reshape(-1, 1, 2)
        return self._agreed(old, new, FAR_AGREEING)

    def _agreed(
        self, old: Points, new: Points, least: int
    ) -> tuple[NDArray[np.float64], int] | None:
        if len(old) < least:
            return None
        matrix, agree = cv2.findHomography(old, new, cv2.USAC_MAGSAC, AGREE_PX, None, 2000, 0.999)
        if matrix is None:
            return None
        inside = old.reshape(-1, 2)[agree.ravel() == 1]
        spread = np.ptp(inside, axis=0) / self._grey.shape[::-1] if len(inside) else np.zeros(2)
        enough = len(inside) >= max(least, LEAST_SHARE * len(old))
        if not enough or spread.min() < LEAST_SPREAD:
            return None
        return np.asarray(matrix, np.float64), len(inside)

    def _told(self, matrix: NDArray[np.float64], agreeing: int) -> Shift:
        middles = np.array([area.mean(axis=0) for area in self._view.slots.values()], np.float32)
        pixels = self._view.homography.to_px(middles) * self._scale
        moved = cv2.perspectiveTransform(pixels[:, None], matrix)[:, 0] / self._scale
        ways = (self._view.homography.to_mm(moved) - middles).tolist()
        at = {slot: (dx, dy) for slot, (dx, dy) in zip(self._view.slots, ways, strict=True)}
        return Shift(at, agreeing)


def _followed(one: Grey, other: Grey, points: Points) -> tuple[Points, NDArray[np.bool_]]:
    """Return where points of one picture (n x 1 x 2) are in another, and which were found."""
    window = (WINDOW_PX, WINDOW_PX)
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        one, other, points, points.copy(), winSize=window, maxLevel=4
    )
    return np.asarray(there, np.float32), np.asarray(found).ravel() == 1


def _prepared(picture: Image, scale: float) -> Grey:
    """Return the picture small and grey, its local brightness and contrast made even."""
    size = (round(picture.shape[1] * scale), round(picture.shape[0] * scale))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY).astype(np.float32)
    flat = grey - cv2.GaussianBlur(grey, (0, 0), 12)
    contrast = np.sqrt(cv2.GaussianBlur(flat * flat, (0, 0), 24)) + 4.0
    return cast(Grey, np.clip(flat / contrast * 40 + 128, 0, 255).astype(np.uint8))
