"""Draw a calibration on the picture it was made from, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import cv2
import numpy as np

from vision.sight.geometry.plane import Image, Points, Pose, TableView

# Distance between grid lines, and between those with figures, mm.
GRID_MM, BOLD_MM = 50, 200
# Lines farther away are not drawn, mm: a camera that sees the horizon has many.
FAR_MM = 3000
# Points by which a line is drawn: a lens bends it.
STEPS = 24
Colour = tuple[int, int, int]
GRID, SLOT, MOUTH, DISCARD, CARD = (
    (170, 170, 170),
    (80, 255, 255),
    (80, 160, 255),
    (255, 170, 80),
    (80, 255, 80),
)


def drawn(image: Image, view: TableView, seen: Sequence[Points]) -> Image:
    """Return the picture with grid, slots, mouth, discard, and a card's outline in each slot.

    `seen` are outlines (4 x 2 px) of what the plane was fitted to.
    """
    pen = _Pen(image, view)
    pen.grid()
    for outline in seen:
        pen.pixels(outline, (255, 80, 255))
    for slot, area in view.slots.items():
        pen.area(area, SLOT, slot.name)
        pen.area(view.rectangle(_lying(area)), CARD, "")
    pen.area(view.mouth, MOUTH, "mouth")
    if view.discard is not None:
        pen.area(view.discard, DISCARD, "discard")
    return pen.picture


def _lying(area: Points) -> Pose:
    """Return a card in the middle of a slot, along its longer side."""
    (x, y), (width, height), angle = cv2.minAreaRect(np.asarray(area, np.float32))
    return Pose(x, y, (angle if width > height else angle + 90.0) % 180.0)


class _Pen:
    def __init__(self, image: Image, view: TableView) -> None:
        self.picture = np.asarray(image // 4 * 3, np.uint8)
        self._view = view
        self._scale = max(image.shape[:2]) / 1400

    def grid(self) -> None:
        """Draw lines of whole millimetres, the round ones with their figures."""
        height, width = self.picture.shape[:2]
        plane = self._view.homography
        corners = plane.to_mm([[0, 0], [width, 0], [width, height], [0, height]])
        low, high = np.clip([corners.min(axis=0), corners.max(axis=0)], -FAR_MM, FAR_MM)
        first = np.ceil(low / GRID_MM) * GRID_MM + 0.0  # -0 would be written so
        xs, ys = (np.arange(first[i], high[i], GRID_MM) for i in (0, 1))
        for x in xs:
            self._line((x, low[1]), (x, high[1]), bold=x % BOLD_MM == 0)
        for y in ys:
            self._line((low[0], y), (high[0], y), bold=y % BOLD_MM == 0)
        for x, y in product(xs[xs % BOLD_MM == 0], ys[ys % BOLD_MM == 0]):
            self._words(f"{x:.0f},{y:.0f}", plane.to_px([x, y]), GRID, 0.4)

    def area(self, area: Points, colour: Colour, name: str) -> None:
        """Draw a polygon of the table (n x 2 mm) with its name."""
        around = zip(area, np.roll(area, -1, axis=0), strict=True)
        points = np.concatenate([np.linspace(a, b, STEPS) for a, b in around])
        pixels = self._view.homography.to_px(points)
        self.pixels(pixels, colour)
        if name:
            self._words(name, pixels.min(axis=0) - (0, 4 * self._scale), colour, 0.55)

    def pixels(self, outline: Points, colour: Colour) -> None:
        """Draw an outline (n x 2 px)."""
        self._stroke(outline, colour, 2, closed=True)

    def _line(self, start: tuple[float, float], end: tuple[float, float], *, bold: bool) -> None:
        points = self._view.homography.to_px(np.linspace(start, end, 2 * STEPS))
        self._stroke(points, GRID if bold else (130, 130, 130), 1, closed=False)

    def _stroke(self, line: Points, colour: Colour, weight: int, *, closed: bool) -> None:
        thick = max(1, round(weight * self._scale))
        eighths = np.round(np.clip(line, -20000, 20000) * 8).astype(np.int32)
        cv2.polylines(self.picture, [eighths], closed, colour, thick, cv2.LINE_AA, 3)

    def _words(self, text: str, place: Points, colour: Colour, size: float) -> None:
        corner = (int(place[0]) + 2, int(place[1]))
        for tint, weight in (((0, 0, 0), 4), (colour, 1)):
            cv2.putText(
                self.picture, text, corner, cv2.FONT_HERSHEY_SIMPLEX, size * self._scale, tint,
                max(1, round(weight * self._scale)), cv2.LINE_AA,
            )  # fmt: skip
