"""Check whether the camera can see the table: dark, dazzled, empty, blurred, covered, badly lit.

A picture is measured and compared with what is usual at this table: that is learned from the first
good pictures and follows slowly. `ViewCheck` adds time: a reason has to last before it counts.
`ReadingTrend` reports when more cards stay unread than before.

`gauges` measures what a person sets at a camera: light, focus, and how large a card is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.events import Condition, CoupSeen, Event
from vision.sight.geometry.plane import Frame, Image, Pose, TableView

# The values below were set by judgement and confirmed on drawn films of different tables: each
# fault of `tests/sight/quality/test_view.py` is found, a clean deal raises none. Levels: 0 to 255.

# A picture is dark if its middle level is below DARK and its brightest below twice that, dazzled if
# its darkest level is above BRIGHT, empty if the two differ by less than LEAST_CONTRAST (the noise
# of a covered lens). Further towards the middle, and dim or plain tables make the reader blind.
DARK, BRIGHT, LEAST_CONTRAST = 14.0, 245.0, 4.0
# A pixel is blown out if all its channels reach this level: a card's white paper stays below in a
# right exposure. Lower, and cards count as glare; at 255, and compression hides real glare.
BLOWN_OUT = 250
# Columns and rows of the cells that are compared. Fewer miss a cloth over a part of the table; more
# take a dealer's arm for one.
GRID = (12, 8)
# A cell has print to lose if it is so steep, in levels over two pixels: bare felt less its noise is
# below. Lower, and cells of noise count as covered.
LEAST_STEEP = 1.0
# A cell shows nothing any more below this share of its usual steepness (0 to 1). Higher, and soft
# shadows count as cover; lower, and a cloth with folds does not.
GONE_SHARE = 0.3
# What is usual is the mean of so many good pictures (4 s); then every one counts by FOLLOW (no
# unit), so that it takes 1000 of them, 8 minutes, to follow a change by two thirds. Quicker, and a
# lens that fogs slowly becomes usual; slower, and daylight that changes raises alerts.
LEARN_PICTURES, FOLLOW = 8, 0.001
# What has passed its limit must fall below this share of it before it counts as over: without the
# gap a value near the limit would raise and end the alert by turns. Chosen by judgement.
OVER_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """When the view counts as lost or poor; the values are the table file's, section `[watch]`."""

    blurred_share: float  # of the usual sharpness; below it the view is lost
    covered_share: float  # of the cells with print that show none; above it the view is lost
    glare_share: float  # of a slot's pixels that are blown out; above it the light is poor
    dim_share: float  # of the usual brightness; below it, or above its inverse, the light is poor
    patience_ms: int  # how long a reason has to last, and to be gone, before it counts


def sharpness(image: Image) -> float:
    """Return the steepness of the steepest hundredth of a picture, in levels over two pixels."""
    rows = cv2.extractChannel(image[::8], 1)
    steps = np.asarray(cv2.absdiff(rows[:, 2:], rows[:, :-2]), np.uint8)
    # Only the steepest are edges, which blur takes first; the rest is felt and noise.
    return percentiles(steps, (99,))[0]


def percentiles(levels: Image, wanted: Sequence[float]) -> list[float]:
    """Return percentiles of levels (any shape, 0 to 255), to a level: counted, not sorted."""
    flat = np.ascontiguousarray(levels).reshape(1, -1)
    below = np.cumsum(cv2.calcHist([flat], [0], None, [256], [0, 256]))
    return [float(np.searchsorted(below, share / 100 * below[-1])) for share in wanted]


def steepness(image: Image) -> NDArray[np.float32]:
    """Return the mean steepness of each cell of the picture, 8 x 12, with its noise smoothed."""
    green = cv2.blur(np.ascontiguousarray(image[::4, ::4, 1]), (3, 3))
    steps = np.asarray(cv2.absdiff(green[:, 2:], green[:, :-2]), np.float32)
    return np.asarray(cv2.resize(steps, GRID, interpolation=cv2.INTER_AREA), np.float32)


def blind_reason(image: Image) -> str | None:
    """Return why nothing can be seen in a picture, judged by itself; or `None`."""
    low, middle, high = percentiles(image[::8, ::8], (2, 50, 98))
    if high < DARK * 2 and middle < DARK:
        return "the picture is dark"
    if low > BRIGHT:
        return "the picture is dazzled"
    if high - low < LEAST_CONTRAST:
        return "the picture is empty"
    return None


@dataclass(slots=True, eq=False)
class ViewMeasurement:
    """Sharpness, brightness, and steepness of each cell: of a picture, or usual at the table."""

    sharp: float
    level: float
    steep: NDArray[np.float32]
    observations: int = 1

    def follow(self, now: ViewMeasurement) -> None:
        """Learn from a good picture: quickly at first, then very slowly."""
        self.observations += 1
        share = 1 / self.observations if self.observations <= LEARN_PICTURES else FOLLOW
        self.sharp += share * (now.sharp - self.sharp)
        self.level += share * (now.level - self.level)
        self.steep += share * (now.steep - self.steep)


class ViewCheck:
    """Finds when the view of the table is lost or poor, and when it is good again."""

    def __init__(self, view: TableView, limits: ViewLimits) -> None:
        self._limits = limits
        self._view = view
        self._usual: ViewMeasurement | None = None
        self._lost = Condition("VIEW_LOST", limits.patience_ms)
        self._poor = Condition("LIGHT", limits.patience_ms)
        self.unseen: str | None = None  # why the last picture showed nothing, however short that is

    @property
    def blind(self) -> str | None:
        """Why the table cannot be seen, or `None`."""
        return self._lost.reason

    def look(self, frame: Frame) -> tuple[Event, ...]:
        """Take a frame, some a second; return an event if the light changed.

        Whether this one shows nothing is kept in `unseen`, whether the view is lost in `blind`.
        """
        at, image = frame.at, frame.image
        level = percentiles(image[::8, ::8, 1], (50,))[0]
        now = ViewMeasurement(sharpness(image), max(level, 1.0), steepness(image))
        lost = self.unseen = blind_reason(image) or self._against_usual(now)
        self._lost.take(lost, at)
        poor = None if lost else self._light(image, now)
        # A lost view is not reported as poor as well; poor light stays poor meanwhile.
        events = () if lost else self._poor.take(poor, at)
        if not lost and not poor:
            if self._usual is None:
                self._usual = now
            else:
                self._usual.follow(now)
        return events

    def _against_usual(self, now: ViewMeasurement) -> str | None:
        usual, limits = self._usual, self._limits
        if usual is None:
            return None
        # A dimmed picture loses as much steepness as brightness, and is not blurred by that.
        dimmed = min(1.0, now.level / usual.level)
        shows = usual.steep > LEAST_STEEP
        gone = now.steep[shows] < GONE_SHARE * dimmed * usual.steep[shows]
        blurred = now.sharp < limits.blurred_share * dimmed * usual.sharp
        covered = bool(gone.size) and float(gone.mean()) > limits.covered_share
        if blurred or covered:
            return "the view is blurred or covered"
        return None

    def _light(self, image: Image, now: ViewMeasurement) -> str | None:
        usual, share = self._usual, self._limits.dim_share
        if usual is not None and not share <= now.level / usual.level <= 1 / max(share, 1e-6):
            return f"Brightness {now.level:.0f}, usually {usual.level:.0f}."
        for slot, area in self._view.slots.items():
            corners = np.maximum(self._view.homography.to_px(area), 0).astype(int)
            (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
            part = np.ascontiguousarray(image[y0:y1:4, x0:x1:4])  # every fourth pixel will do
            if not part.size:
                continue
            blown_out = cv2.countNonZero(cv2.inRange(part, (BLOWN_OUT,) * 3, (255,) * 3))
            if blown_out * part.shape[2] > self._limits.glare_share * part.size:
                return f"Glare on {slot.name}."
        return None


# --- how cards are read --------------------------------------------------------------------------


# Over how many of the last cards the share left unread is taken, and from how many on: about eight
# coups, and four. Chosen by judgement. More react later; fewer let one bad coup raise the alert.
CARDS, LEAST_CARDS = 40, 20


class ReadingTrend:
    """The share of the last cards left unread, against the most that may stay so, 0 to 1."""

    def __init__(self, abstained_share: float) -> None:
        self._most = abstained_share
        self._unread: dict[int, bool] = {}
        self._poor = Condition("READING_POOR")

    def update(self, events: Iterable[Event], at: int) -> tuple[Event, ...]:
        """Take what sight says of a frame; return an event if reading became poor or good again."""
        for event in events:
            if isinstance(event, CoupSeen):
                known = (card for card in event.cards if card.card is not None or card.declined)
                self._unread.update((card.order, card.card is None) for card in known)
                while len(self._unread) > CARDS:
                    del self._unread[next(iter(self._unread))]
        return self._poor.take(self._reason(), at)

    def begin_shoe(self) -> None:
        """Begin a run of cards, whose orders count from 1 again."""
        self._unread.clear()

    def _reason(self) -> str | None:
        scale, cards = 1.0 if self._poor.reason is None else OVER_SHARE, len(self._unread)
        share = sum(self._unread.values()) / cards if cards >= LEAST_CARDS else 0.0
        if share > self._most * scale:
            return f"{share:.0%} of the last {cards} cards unread; look at light and lens."
        return None


# --- what a person sets ---------------------------------------------------------------------------


# Levels of the middle pixel, 0 to 255, between which light is good. Chosen by judgement on drawn
# films, whose layouts have 50 to 120: darker, and print drowns in the camera's noise; brighter, and
# white cards are blown out.
LEVELS = (35.0, 190.0)
# A picture is blurred where its steepest edge, over two pixels, is less than this share of its
# whole contrast. Chosen on blurred pictures of the table with cards.
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


def gauges(image: Image, view: TableView | None) -> tuple[Gauge, ...]:
    """Return light and focus of a picture (H x W x 3, BGR), of a measured table a card's size."""
    green = image[::4, :, 1]
    level = float(np.median(green[:, ::4]))
    dark = "give more light" if level < LEVELS[0] else "give less light, or shorten the exposure"
    found = (
        Gauge("light", level, *LEVELS, 255.0, dark),
        Gauge("focus", focus(green), SHARP_SHARE, 2.0, 1.0, "focus the lens"),
    )
    if view is None:
        return found
    middles = (area.mean(axis=0).tolist() for area in view.slots.values())
    cards = [view.quad_px(Pose(x, y, 90.0)) for x, y in middles]
    wide = min(float(np.linalg.norm(card[1] - card[0])) for card in cards)
    size = ("card width in pixels", wide, CARD_PX, 1e4, 3 * CARD_PX, "hang the camera nearer")
    return (*found, Gauge(*size))
