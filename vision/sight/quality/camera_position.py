"""Measure how far the camera has moved since its calibration, and report when it is too far.

A picture is compared with one of the layout taken at the calibration. Small features of the print
are followed from one to the other; the motion of the whole table is the one that most of them
agree on, so that hands, cards, chips and lamps do not count. `CameraPosition` compares at
intervals, while the table is at rest, and gives an event when a limit is passed and when the
camera is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.events import Condition, Event
from vision.sight.geometry.plane import Frame, Image, Points, TableView
from vision.sight.quality.view import OVER_SHARE

# The values below were set by judgement and confirmed on drawn tables (see
# `tests/sight/quality/test_camera_position.py`): shifts of 0 to 150 mm are measured within 0.5 mm,
# also with arms, cards and dimmed lamps in sight, and none is claimed where the layout is hidden.
# Pixels are of the reduced picture.

# Width in px to which pictures are reduced. Larger is slower; smaller loses the thin print.
WORK_WIDTH = 960
# The most features followed, their least distance in px, and their least strength as a share of
# the strongest. Fewer leave too little when an arm covers the layout; weaker ones are noise.
MOST_FEATURES, FEATURE_GAP_PX, FEATURE_QUALITY = 400, 9, 0.03
# Side in px of the window that is followed, and how often the picture is halved to follow further.
# A smaller window takes one piece of print for another; each level doubles the reach.
WINDOW_PX, PYRAMID_LEVELS = 21, 4
# A feature counts if, followed there and back, it ends within this many px of where it began.
# Larger admits features that were lost.
BACK_PX = 0.5
# Features agree on a motion within this many px. Larger blurs the measurement, smaller than the
# noise of a feature finds no motion at all.
AGREE_PX = 1.0
# How many features must agree to claim a motion, and which share of all. Lower, and chance matches
# are taken for a motion; higher, and an arm over the layout hides a real one.
LEAST_AGREEING, LEAST_SHARE = 16, 0.3
# The share of the picture's width and height (0 to 1) over which the agreeing features must spread.
# Lower, and one thing that was moved on the table is taken for the camera.
LEAST_SPREAD = 0.12
# For the search of the whole picture: the most features, how many must agree (more, as chance
# matches are commoner), and how much nearer the best match must be than the second (Lowe's ratio).
FAR_FEATURES, FAR_AGREEING, FAR_RATIO = 800, 25, 0.75
# Each side of a picture is reduced by this (no unit) before a wide blur. More saves nothing that
# counts, and is no longer small beside the narrowest blur, 12 px.
COARSER = 4

Grey = NDArray[np.uint8]


class ReferenceLayout:
    """The layout as it was seen at the calibration, to be compared with later pictures."""

    def __init__(self, picture: Image, view: TableView) -> None:
        """Take a picture (H x W x 3, BGR) of the table, the emptier the better."""
        self._view = view
        self._size = picture.shape[:2]
        self._scale = min(1.0, WORK_WIDTH / picture.shape[1])
        self._grey = _prepared(picture, self._scale)
        found = cv2.goodFeaturesToTrack(self._grey, MOST_FEATURES, FEATURE_QUALITY, FEATURE_GAP_PX)
        none = np.zeros((0, 1, 2), np.float32)
        self._features = none if found is None else np.asarray(found, np.float32)

    def shift(self, picture: Image) -> Points | None:
        """Return how far the middle of each slot has moved (n x 2 mm), or `None`.

        That is where too few features agree, or the picture has another size than that of the
        calibration.
        """
        if picture.shape[:2] != self._size or len(self._features) < LEAST_AGREEING:
            return None
        now = _prepared(picture, self._scale)
        matrix = self._near(now)
        matrix = self._far(now) if matrix is None else matrix
        return None if matrix is None else self._shift_of(matrix)

    def _near(self, now: Grey) -> NDArray[np.float64] | None:
        """Follow each feature a short way; return the motion that most of them share, if any."""
        there, found = _followed(self._grey, now, self._features)
        back, found_back = _followed(now, self._grey, there)
        off = np.linalg.norm((back - self._features).reshape(-1, 2), axis=1)
        good = found & found_back & (off < BACK_PX)
        # After a long way only chance matches are left: most of the layout must take part.
        least = max(LEAST_AGREEING, round(LEAST_SHARE * len(self._features)))
        return self._agreed(self._features[good], there[good], least)

    def _far(self, now: Grey) -> NDArray[np.float64] | None:
        """Look for the layout anywhere in the picture: a knock may move it by a hand's breadth."""
        sift = cv2.SIFT.create(FAR_FEATURES)
        keys, descriptors = sift.detectAndCompute(self._grey, None)
        keys_now, descriptors_now = sift.detectAndCompute(now, None)
        if descriptors is None or descriptors_now is None or len(descriptors_now) < 2:
            return None
        pairs = cv2.BFMatcher().knnMatch(descriptors, descriptors_now, k=2)
        sure = [best for best, second in pairs if best.distance < FAR_RATIO * second.distance]
        old = np.array([keys[pair.queryIdx].pt for pair in sure], np.float32).reshape(-1, 1, 2)
        new = np.array([keys_now[pair.trainIdx].pt for pair in sure], np.float32).reshape(-1, 1, 2)
        return self._agreed(old, new, FAR_AGREEING)

    def _agreed(self, old: Points, new: Points, least: int) -> NDArray[np.float64] | None:
        """Return the motion that at least `least` features agree on, `None` where fewer do."""
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
        return np.asarray(matrix, np.float64)

    def _shift_of(self, matrix: NDArray[np.float64]) -> Points:
        middles = np.array([area.mean(axis=0) for area in self._view.slots.values()], np.float32)
        pixels = self._view.homography.to_px(middles) * self._scale
        moved = cv2.perspectiveTransform(pixels[:, None], matrix)[:, 0] / self._scale
        return self._view.homography.to_mm(moved) - middles


def _followed(old: Grey, new: Grey, points: Points) -> tuple[Points, NDArray[np.bool_]]:
    """Return where points of one picture (n x 1 x 2) are in another, and which were found."""
    window = (WINDOW_PX, WINDOW_PX)
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        old, new, points, points.copy(), winSize=window, maxLevel=PYRAMID_LEVELS
    )
    return np.asarray(there, np.float32), np.asarray(found).ravel() == 1


def _prepared(picture: Image, scale: float) -> Grey:
    """Return the picture reduced and grey, with its local brightness and contrast evened out."""
    size = (round(picture.shape[1] * scale), round(picture.shape[0] * scale))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY).astype(np.float32)
    # Blurs in px: 12 is wider than print and narrower than lamps and shadows, 24 evens the contrast
    # round each letter; the 4 levels keep the noise of bare felt from being raised to print.
    flat = grey - _blurred(grey, 12)
    contrast = np.sqrt(_blurred(flat * flat, 24)) + 4.0
    return cast(Grey, np.clip(flat / contrast * 40 + 128, 0, 255).astype(np.uint8))


def _blurred(grey: NDArray[np.float32], sigma_px: float) -> NDArray[np.float32]:
    """Return a picture blurred by a Gaussian much wider than `COARSER` px.

    What is left after so wide a blur is known from a reduced picture, at a fortieth of the cost.
    """
    height, width = grey.shape
    size = (max(1, width // COARSER), max(1, height // COARSER))
    small = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(small, (0, 0), sigma_px / COARSER)
    return np.asarray(cv2.resize(blurred, (width, height)), np.float32)


@dataclass(frozen=True, slots=True)
class PositionLimits:
    """When the camera counts as moved; the values are the table file's, section `[watch]`."""

    moved_mm: float  # reported as moved beyond this; 0: the position is not measured
    lost_mm: float  # beyond this no card can be assigned to its slot: the table is blind
    every_ms: int  # from one measurement to the next; two of them have to agree


class CameraPosition:
    """Where the camera stands against its calibration, or else the first picture at rest."""

    def __init__(self, view: TableView, limits: PositionLimits, layout: Image | None) -> None:
        self._view = view
        self._limits = limits
        self._layout = None if layout is None else ReferenceLayout(layout, view)
        # A reason that lasts for one interval has been measured twice.
        self._moved = Condition("CAMERA_MOVED", limits.every_ms)
        self._lost = Condition("VIEW_LOST", limits.every_ms)
        self._next_at: int | None = None
        self._by_layout: str | None = None  # how far it has moved, if too far

    @property
    def blind(self) -> str | None:
        """Why nothing can be read from where the camera stands, or `None`."""
        return self._lost.reason

    def look(
        self, frame: Frame, by_cards: str | None = None, *, at_rest: bool = True
    ) -> tuple[Event, ...]:
        """Take a frame; return an event if the camera moved or came back.

        It is compared with the layout where the table is `at_rest`. `by_cards`: in words, how far
        the cards lie from where they should.
        """
        at, limits = frame.at, self._limits
        if limits.moved_mm <= 0:
            return ()
        if at_rest and (self._next_at is None or at >= self._next_at):
            self._next_at = at + limits.every_ms
            self._measure(frame)
        if by_cards and self._moved.reason is None:
            return self._moved.report(by_cards, at)  # so many cards are no accident
        return self._moved.take(self._by_layout or by_cards, at)

    def _measure(self, frame: Frame) -> None:
        """Compare with the layout; what is not found there leaves what was found before."""
        if self._layout is None:
            self._layout = ReferenceLayout(frame.image, self._view)
        shift = self._layout.shift(frame.image)
        if shift is None:
            return
        way_mm = np.hypot(*shift.T).max()
        lost = f"the camera has moved by {way_mm:.0f} mm; calibrate it again"
        self._lost.take(lost if way_mm > self._limits.lost_mm else None, frame.at)
        least_mm = self._limits.moved_mm * (1.0 if self._moved.reason is None else OVER_SHARE)
        moved = f"By {way_mm:.1f} mm; calibrate it again."
        self._by_layout = moved if way_mm > least_mm else None
