"""Measure what a person sets at a camera: light, focus, and how large a card is in the picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import Pose, TableView

# Levels of the middle pixel, 0 to 255, between which light is good. Chosen by judgement on drawn
# films, whose layouts have 50 to 120: darker, and print drowns in the camera's noise; brighter, and
# white cards are blown out.
LEVELS = (35.0, 190.0)
# A picture is blurred where its steepest edge, over two pixels, is less than this share of its
# whole contrast. Chosen on blurred pictures of the marker sheet.
SHARP_SHARE = 0.3
# Pixels of a card's short side from which 98 of 100 cards are named (deploy/reading.md).
CARD_PX = 40.0


class Gauge(NamedTuple):
    """A measured value, the range in which it is good, the end of its scale, and the cure."""

    name: str
    value: float
    least: float
    most: float
    full: float
    cure: str

    @property
    def good(self) -> bool:
        """Whether the value lies in its range."""
        return self.least <= self.value <= self.most

    def __str__(self) -> str:
        """Return the value in words, with the cure where it is not good."""
        return f"{self.name} {self.value:.3g}" + ("" if self.good else f"; {self.cure}")


def focus(grey: NDArray[np.integer | np.floating]) -> float:
    """Return the steepest edge of a picture (H x W) over two pixels, as a share of its contrast."""
    rows = grey.astype(np.int16)
    steepest = np.percentile(np.abs(rows[:, 2:] - rows[:, :-2]), 99.9)
    low, high = np.percentile(grey, (0.5, 99.5))
    return float(steepest / max(high - low, 1.0))


def gauges(image: Image, view: TableView) -> tuple[Gauge, ...]:
    """Return light, focus and size of a card in a picture (H x W x 3, BGR) of a table."""
    green = image[::4, :, 1]
    level = float(np.median(green[:, ::4]))
    middles = (area.mean(axis=0).tolist() for area in view.slots.values())
    cards = [view.quad_px(Pose(x, y, 90.0)) for x, y in middles]
    wide = min(float(np.linalg.norm(card[1] - card[0])) for card in cards)
    dark = "give more light" if level < LEVELS[0] else "give less light, or shorten the exposure"
    return (
        Gauge("light", level, *LEVELS, 255.0, dark),
        Gauge("focus", focus(green), SHARP_SHARE, 2.0, 1.0, "focus the lens"),
        Gauge("card width in pixels", wide, CARD_PX, 1e4, 3 * CARD_PX, "hang the camera nearer"),
    )
