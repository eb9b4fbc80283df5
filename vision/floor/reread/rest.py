"""Find where a recording may be cut: a table that lies still and empty for a moment.

Whether it does at a frame follows from the frames of that moment alone, so that whoever looks for
the first such frame from an earlier one on finds the same: the reader of a piece its end, and the
reader of the next piece its beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.detector import Seen
from vision.sight.geometry.frame import Frame, Image
from vision.sight.geometry.plane import TableView
from vision.sight.motion_gate import thumbnail
from vision.sight.quality.view import blind_reason

# For how long, in ms, the table must lie still. A reader that begins needs half a second to learn
# the empty slots (`vision.sight.following.places`) and the mouth. Shorter, and it knows neither;
# longer, and quick dealers leave no place to cut: our simulator's rests 0.7 s between two coups.
STILL_MS = 600
# Levels (0 to 255) by which a cell of the thumbnail may change and count as still, and times the
# noise: as in the motion gate. Higher cuts through a slow hand, lower finds no place in a noisy
# picture.
STILL_LEVELS, STILL_NOISE = 5.0, 6.0
# How often in a second of film a still table is searched for cards: each costs one inference.
CHECKS_A_SECOND = 8

# A box whose corners lie this far (root mean square) from a card's is a chip, a phone or two cards:
# larger, and chips pass; smaller, and cards half under a hand are lost.
MAX_MISFIT_MM = 25.0

Thumbnail = NDArray[np.float32]


class RestFinder:
    """Takes frame after frame; says of each whether the table has been still and empty up to it."""

    def __init__(self, view: TableView, see: Callable[[Image], Seen], rate: Fraction) -> None:
        self._view = view
        self._see = see
        self.length = max(1, round(STILL_MS * rate / 1000))
        self._step = max(1, round(rate / CHECKS_A_SECOND))
        self._past: deque[tuple[int, Thumbnail]] = deque()

    def is_rest(self, frame: Frame) -> bool:
        """Take a frame; return whether a piece may begin its count of events with it."""
        number, now = frame.index, thumbnail(frame.luma)
        if self._past and (self._past[-1][0] != number - 1 or _moved(now, self._past[-1][1])):
            self._past.clear()
        self._past.append((number, now))
        while number - self._past[0][0] > self.length:
            self._past.popleft()
        is_due = number % self._step == 0 and number - self._past[0][0] == self.length
        return is_due and not _moved(now, self._past[0][1]) and self._is_empty(frame.image)

    def _is_empty(self, image: Image) -> bool:
        """Whether a picture shows the table with no card and no hand over it."""
        if blind_reason(image) is not None:
            return False
        seen = self._see(image)
        found = [self._view.locate(box.quad) for box in seen.cards]
        lying = [
            pose
            for pose, misfit in found
            if misfit <= MAX_MISFIT_MM
            and not self._view.in_mouth(pose)
            and not self._view.in_discard(pose)
        ]
        return not lying and not seen.hands


def _moved(now: Thumbnail, then: Thumbnail) -> bool:
    """Whether anything as large as a card's corner differs between two thumbnails."""
    if now.shape != then.shape:
        return True
    difference = now - then
    size = np.abs(difference - np.median(difference[::2, ::2]))
    noise = 1.5 * float(np.median(size[::2, ::2]))
    return bool(cv2.blur(size, (2, 2)).max() > max(STILL_LEVELS, STILL_NOISE * noise))
