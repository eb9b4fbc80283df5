"""Whether the camera can see the table: dark, dazzled, empty, blurred, covered, glare, lamps.

A picture is measured and compared with what is usual at this table, which is learned from the
first pictures that are good and follows slowly. `Watch` adds time. Knows nothing of cards.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.events import Event, Noticed
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import TableView

DARK = 14.0
BRIGHT = 245.0
LEAST_CONTRAST = 4.0
BLOWN_OUT = 250
GRID = (12, 8)
# A cell of the picture has something to show if it is so steep, in levels over two pixels.
LEAST_STEEP = 1.0
GONE_SHARE = 0.3
LOOK_EVERY_MS = 200
LEARN_LOOKS = 15
FOLLOW = 0.0005


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on sight counts as lost or poor; shares are of what is usual, or of an area."""

    blurred_share: float
    covered_share: float
    glare_share: float
    dim_share: float
    patience_ms: int


class Patience:
    """A reason that has to last, and to be gone as long, before it counts."""

    def __init__(self, patience_ms: int) -> None:
        self.reason: str | None = None
        self._patience_ms = patience_ms
        self._differs_since: int | None = None

    def take(self, reason: str | None, at: int) -> bool:
        """Take the reason of the moment; return whether the lasting one came or went."""
        if (reason is None) == (self.reason is None):
            self._differs_since = None
            return False
        self._differs_since = at if self._differs_since is None else self._differs_since
        if at - self._differs_since < self._patience_ms:
            return False
        self.reason, self._differs_since = reason, None
        return True


def sharpness(image: Image) -> float:
    """Return how steep the steepest hundredth of a picture is, in levels over two pixels."""
    rows = image[::8, :, 1].astype(np.int16)
    steps = np.abs(rows[:, 2:] - rows[:, :-2])
    # These are the edges, which blur takes first; the rest is felt and noise.
    return float(np.percentile(steps, 99))


def steepness(image: Image) -> NDArray[np.float32]:
    """Return how steep each cell of the picture is on average, 8 x 12, less its noise."""
    green = cv2.blur(np.ascontiguousarray(image[::4, ::4, 1]), (3, 3)).astype(np.float32)
    steps = np.abs(green[:, 2:] - green[:, :-2])
    return np.asarray(cv2.resize(steps, GRID, interpolation=cv2.INTER_AREA), np.float32)


def blind_reason(image: Image) -> str | None:
    """Say why nothing can be seen in a picture, by itself; or `None`."""
    low, middle, high = np.percentile(image[::8, ::8], (2, 50, 98))
    if high < DARK * 2 and middle < DARK:
        return "the picture is dark"
    if low > BRIGHT:
        return "the picture is dazzled"
    if high - low < LEAST_CONTRAST:
        return "the picture is empty"
    return None


@dataclass(slots=True, eq=False)
class Usual:
    """What is usual at this table: sharpness, brightness, and how steep each cell is."""

    sharp: float
    level: float
    steep: NDArray[np.float32]
    looks: int = 1

    def follow(self, now: Usual) -> None:
        """Learn from a good picture: quickly at first, then only what changes very slowly."""
        self.looks += 1
        share = 1 / self.looks if self.looks <= LEARN_LOOKS else FOLLOW
        self.sharp += share * (now.sharp - self.sharp)
        self.level += share * (now.level - self.level)
        self.steep += share * (now.steep - self.steep)


class Watch:
    """Tell when sight is lost or poor and when it is back; some patience either way."""

    def __init__(self, view: TableView, limits: Limits) -> None:
        self._limits = limits
        self._view = view
        self._usual: Usual | None = None
        self._lost = Patience(self._limits.patience_ms)
        self._poor = Patience(self._limits.patience_ms)
        self._looked_at: int | None = None
        self._areas: tuple[tuple[str, slice, slice], ...] = ()

    @property
    def blind(self) -> str | None:
        """Why the table cannot be seen, or `None`."""
        return self._lost.reason

    def look(self, image: Image, at: int) -> tuple[Event, ...]:
        """Take a picture (one in 200 ms is looked at); return what is to be told of the light.

        Whether sight is lost is kept in `blind`.
        """
        if self._looked_at is not None and 0 <= at - self._looked_at < LOOK_EVERY_MS:
            return ()
        self._looked_at = at
        events: list[Event] = []
        now = self._measure(image)
        lost = blind_reason(image) or self._against_usual(now)
        self._lost.take(lost, at)
        poor = None if lost else self._light(image, now)
        # What cannot be seen at all is not called poor as well; a poor light stays so meanwhile.
        if not lost and self._poor.take(poor, at):
            events.append(Noticed(at, "LIGHT", detail=poor or "", over=poor is None))
        if not lost and not poor:
            self._learn(now)
        return tuple(events)

    def _measure(self, image: Image) -> Usual:
        level = float(np.median(image[::8, ::8, 1]))
        return Usual(sharpness(image), max(level, 1.0), steepness(image))

    def _learn(self, now: Usual) -> None:
        if self._usual is None:
            self._usual = now
        else:
            self._usual.follow(now)

    def _against_usual(self, now: Usual) -> str | None:
        usual, limits = self._usual, self._limits
        if usual is None:
            return None
        # A dimmed picture is as much less steep as it is less bright, and no less sharp for that.
        dimmed = min(1.0, now.level / usual.level)
        shows = usual.steep > LEAST_STEEP
        gone = now.steep[shows] < GONE_SHARE * dimmed * usual.steep[shows]
        blurred = now.sharp < limits.blurred_share * dimmed * usual.sharp
        covered = bool(gone.size) and float(gone.mean()) > limits.covered_share
        if blurred or covered:
            return "the view is blurred or covered"
        return None

    def _light(self, image: Image, now: Usual) -> str | None:
        usual, share = self._usual, self._limits.dim_share
        if usual is not None and not share <= now.level / usual.level <= 1 / max(share, 1e-6):
            return f"Brightness {now.level:.0f}, usually {usual.level:.0f}."
        for name, rows, columns in self._places(image):
            blown_out = image[rows, columns].min(axis=2) >= BLOWN_OUT
            if blown_out.mean() > self._limits.glare_share:
                return f"Glare on {name}."
        return None

    def _places(self, image: Image) -> tuple[tuple[str, slice, slice], ...]:
        """Return the slots as rectangles of the picture, every fourth pixel."""
        if not self._areas:
            height, width = image.shape[:2]
            found = []
            for slot, area in self._view.slots.items():
                corners = self._view.homography.to_px(area)
                (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
                rows = slice(max(0, int(y0)), min(height, int(y1)), 4)
                columns = slice(max(0, int(x0)), min(width, int(x1)), 4)
                if len(range(height)[rows]) and len(range(width)[columns]):
                    found.append((slot.name, rows, columns))
            self._areas = tuple(found)
        return self._areas
