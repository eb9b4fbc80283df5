"""Look only at the part of a table that changed, and keep what was seen in the rest.

How it works. A look compares the thumbnail of the picture with what each cell showed when it was
last looked at. Nothing changed: what was seen still holds, at no cost. A part changed: the detector
looks at a window round it, at the scale of the whole picture, and what lies outside stays as it
was. The window holds every box that it touches, so no card is cut by its edge. A box that is new,
or has just vanished, is looked at a few times more, as a box of a single look may be false. The
whole picture is looked at often enough that a box missed by the thumbnail is missed shortly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.detector import STRIDE, Detection, Detector, Kind, Seen
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import overlap
from vision.sight.tracking.motion_gate import MotionGate

# From one look at the whole picture to the next, in ms, while something moves somewhere. Longer,
# and a card that the last whole look missed stays missed for longer; shorter only costs time. Half
# a second is two thirds of the time for which the tracker waits before it doubts a card.
WHOLE_EVERY_MS = 500
# And so often while nothing changes anywhere: what every look so far missed is missed no longer.
# Ten seconds cost a hundredth of a core; longer, and a card that was never found waits longer.
WHOLE_STILL_MS = 10_000
# A box is looked at until it was seen, or was gone, in so many looks: those that the tracker wants
# before it believes in a card. Fewer, and one false box is repeated until it is believed.
SETTLED_LOOKS = 3
# Two boxes of one kind are the same where they overlap by this share (of both together): boxes of
# a card that lies still do by 0.9. Lower takes a card that slides for one that lies.
SAME_BOX = 0.7
# Pixels of the picture about a box that must lie in the window too: detections jitter by as much.
EDGE_PX = 4
# The least side of a window in strides of the network: a card fills one to three, and is found by
# what is about it. Smaller windows are cheaper and miss more.
LEAST_STRIDES = 5
# A window of more than this share of the picture is no saving worth its risk: all is looked at.
MOST_SHARE = 0.6


class Window(NamedTuple):
    """A part of a picture in whole pixels; right and bottom are beyond it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def area(self) -> int:
        """How many pixels it holds."""
        return (self.right - self.left) * (self.bottom - self.top)

    @classmethod
    def around(cls, corners: NDArray[np.floating], margin: float) -> Self:
        """Return the window about points (n x 2 px), with a margin."""
        low, high = np.floor(corners.min(axis=0) - margin), np.ceil(corners.max(axis=0) + margin)
        return cls(int(low[0]), int(low[1]), int(high[0]), int(high[1]))

    def touches(self, other: Window) -> bool:
        """Whether the two have a pixel in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def joined(self, other: Window) -> Window:
        """Return the smallest window that holds both."""
        low = min(self.left, other.left), min(self.top, other.top)
        return Window(*low, max(self.right, other.right), max(self.bottom, other.bottom))

    def within(self, width: int, height: int) -> Window:
        """Return the part that lies in a picture of that size."""
        low = max(0, self.left), max(0, self.top)
        return Window(*low, min(width, self.right), min(height, self.bottom))


@dataclass(slots=True, eq=False)
class _Known:
    """A box as it was last seen, in how many looks in a row, or in how many it was gone."""

    box: Detection
    looks: int = 1
    gone: int = 0

    @property
    def window(self) -> Window:
        """The part of the picture that shows it."""
        return Window.around(self.box.quad, EDGE_PX)

    @property
    def is_settled(self) -> bool:
        """Whether enough looks agree on it."""
        return self.looks >= SETTLED_LOOKS and not self.gone


class RegionDetector:
    """The detector of one table, which is shown what changed; `margin_px` is a card's length."""

    def __init__(self, detector: Detector, *, margin_px: float) -> None:
        self._detector = detector
        self._margin_px = margin_px
        self._known: list[_Known] = []
        self._shown: NDArray[np.float32] | None = None
        self._whole_at: int | None = None

    def see(self, image: Image, at: int, gate: MotionGate) -> Seen:
        """Return the cards and the hands of a picture, which the gate was shown before."""
        height, width = image.shape[:2]
        window = self._window(width, height, at, gate)
        if window is None:
            self._whole_at, self._shown = at, gate.thumbnail.copy()
            self._take(self._detector.see(image), Window(0, 0, width, height))
        elif window.area:
            self._note_shown(window, width, gate)
            self._take(self._detector.see(image, window), window)
        held = sorted((k.box for k in self._known if not k.gone), key=lambda box: -box.score)
        hands = tuple(box for box in held if box.kind is Kind.HAND)
        return Seen(tuple(box for box in held if box.kind is not Kind.HAND), hands)

    def _window(self, width: int, height: int, at: int, gate: MotionGate) -> Window | None:
        """Return what is to be looked at: nothing, a part, or all (`None`)."""
        shown, whole_at = self._shown, self._whole_at
        if shown is None or whole_at is None or shown.shape != gate.thumbnail.shape:
            return None
        parts = [known.window for known in self._known if not known.is_settled]
        changed = np.argwhere(gate.changes_since(shown))[:, ::-1]
        if len(changed):
            cell = width / shown.shape[1]
            parts.append(Window.around(np.vstack([changed, changed + 1]) * cell, self._margin_px))
        if not 0 <= at - whole_at < (WHOLE_EVERY_MS if parts else WHOLE_STILL_MS):
            return None
        if not parts:
            return Window(0, 0, 0, 0)
        window = self._closed(parts, width, height)
        return window if window.area <= MOST_SHARE * width * height else None

    def _closed(self, parts: Sequence[Window], width: int, height: int) -> Window:
        """Return a window that holds some parts, and every known box that it touches."""
        window = parts[0]
        for part in parts[1:]:
            window = window.joined(part)
        boxes = [known.window for known in self._known]
        while True:
            window = self._whole_strides(window, width, height)
            larger = window
            for box in boxes:
                larger = larger.joined(box) if box.touches(larger) else larger
            larger = larger.within(width, height)
            if larger == window:
                return window
            window = larger

    def _whole_strides(self, window: Window, width: int, height: int) -> Window:
        """Return the window enlarged to whole strides of the network, where the picture has room.

        What would be padded with grey shows the table instead.
        """
        scale = self._detector.scale(width, height)
        left, right = _span(window.left, window.right, width, scale)
        top, bottom = _span(window.top, window.bottom, height, scale)
        return Window(left, top, right, bottom)

    def _note_shown(self, window: Window, width: int, gate: MotionGate) -> None:
        """Remember what the cells of a window showed when it was looked at."""
        if self._shown is None:
            return
        cell = width / self._shown.shape[1]
        rows = slice(math.ceil(window.top / cell), math.ceil(window.bottom / cell))
        columns = slice(math.ceil(window.left / cell), math.ceil(window.right / cell))
        self._shown[rows, columns] = gate.thumbnail[rows, columns]

    def _take(self, seen: Seen, window: Window) -> None:
        """Replace what is known within a window by what was seen there."""
        inside = [known for known in self._known if known.window.touches(window)]
        outside = [known for known in self._known if not known.window.touches(window)]
        fresh: list[_Known] = []
        for box in (*seen.cards, *seen.hands):
            same = next((known for known in inside if _is_same(known.box, box)), None)
            if same is not None:
                inside.remove(same)
            looks = 1 if same is None or same.gone else same.looks + 1
            fresh.append(_Known(box, looks))
        gone = (_Known(known.box, known.looks, known.gone + 1) for known in inside)
        self._known = [*outside, *fresh, *(k for k in gone if k.gone < SETTLED_LOOKS)]


def _span(low: int, high: int, most: int, scale: float) -> tuple[int, int]:
    """Return a side of a window enlarged to whole strides, about its middle, in the picture."""
    strides = max(LEAST_STRIDES, math.ceil((high - low) * scale / STRIDE))
    length = min(most, math.floor(strides * STRIDE / scale))
    start = min(max(0, (low + high - length) // 2), most - length)
    return min(start, max(low, 0)), max(start + length, min(high, most))


def _is_same(one: Detection, other: Detection) -> bool:
    return one.kind is other.kind and overlap(one.quad, other.quad) >= SAME_BOX
