"""What goes bad slowly: where the camera stands, and how well cards are read.

Gives events when a limit is passed and when all is well again. Knows neither files nor what
happens at the table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vision.game.events import CardRead, Event, Noticed
from vision.sight.detection.classifier import Look
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import TableView
from vision.sight.quality.camera_shift import Layout
from vision.sight.quality.view import Patience

LEAST_CARDS = 20
CARDS = 40
LOOKS = 300
# What has passed its limit must fall clearly below it before it counts as mended.
MENDED = 0.8


@dataclass(frozen=True, slots=True)
class PlaceLimits:
    """From how many mm on the camera has moved, and stands too far off to be read by."""

    moved_mm: float
    lost_mm: float
    every_ms: int


class Place:
    """Where the camera stands against its calibration, or against the first picture at rest."""

    def __init__(self, view: TableView, limits: PlaceLimits, layout: Image | None = None) -> None:
        self._view = view
        self._limits = limits
        self._layout = None if layout is None else Layout(layout, view)
        # Two looks have to agree.
        self._moved = Patience(limits.every_ms)
        self._lost = Patience(limits.every_ms)
        self._next_at: int | None = None

    @property
    def blind(self) -> str | None:
        """Why nothing can be read from where the camera stands, or `None`."""
        return self._lost.reason

    def look(self, image: Image, at: int) -> tuple[Event, ...]:
        """Take a picture of a table at rest; return what is to be told of its place."""
        if self._limits.moved_mm <= 0 or (self._next_at is not None and at < self._next_at):
            return ()
        self._next_at = at + self._limits.every_ms
        if self._layout is None:
            self._layout = Layout(image, self._view)
            return ()
        shift = self._layout.shift(image)
        return () if shift is None else self._judge(shift.worst_mm, at)

    def _judge(self, way_mm: float, at: int) -> tuple[Event, ...]:
        events: list[Event] = []
        words = f"By {way_mm:.1f} mm; calibrate it anew."
        if self._moved.take(words if self._beyond(way_mm, self._limits.moved_mm) else None, at):
            over = self._moved.reason is None
            detail = "" if over else words
            events.append(Noticed(at, "CAMERA_MOVED", detail=detail, over=over))
        lost = f"the camera has moved by {way_mm:.0f} mm; calibrate it anew"
        self._lost.take(lost if way_mm > self._limits.lost_mm else None, at)
        return tuple(events)

    def _beyond(self, way_mm: float, limit_mm: float) -> bool:
        return way_mm > limit_mm * (1.0 if self._moved.reason is None else MENDED)


@dataclass(frozen=True, slots=True)
class TrustLimits:
    """Which share of cards may stay unread, and how far single looks may become less sure."""

    abstained_share: float
    confidence_drop: float


class Trust:
    """How well the cards are read: the share left unread, and how sure single looks are."""

    def __init__(self, limits: TrustLimits) -> None:
        self._limits = limits
        self._unread: dict[int, bool] = {}
        self._sure: deque[float] = deque(maxlen=LOOKS)
        self._usual: float | None = None
        self._poor = Patience(0)

    def looks(self, looks: Sequence[Look]) -> None:
        """Take what the classifier said of some cards; what shows no face says nothing."""
        faces = (look for look in looks if look.readable >= 0.5)
        self._sure.extend(float(np.exp(look.log_p.max())) for look in faces)
        if self._usual is None and len(self._sure) == LOOKS:
            self._usual = float(np.mean(self._sure))

    def take(self, events: Iterable[Event], at: int) -> tuple[Event, ...]:
        """Take the events of a picture; return what is to be told."""
        for event in events:
            if isinstance(event, CardRead):
                self._unread[event.order] = event.card is None
                if len(self._unread) > CARDS:
                    del self._unread[next(iter(self._unread))]
        poor = self._reason()
        if not self._poor.take(poor, at):
            return ()
        return (Noticed(at, "READING_POOR", detail=poor or "", over=poor is None),)

    def begin_shoe(self) -> None:
        """Begin a run of cards: orders begin anew."""
        self._unread.clear()

    @property
    def abstained_share(self) -> float:
        """The share of the last cards that stayed unread, 0 while they are few."""
        few = len(self._unread) < LEAST_CARDS
        return 0.0 if few else sum(self._unread.values()) / len(self._unread)

    @property
    def confidence(self) -> float | None:
        """How sure single looks were lately on average, `None` before there are enough."""
        return float(np.mean(self._sure)) if len(self._sure) == LOOKS else None

    def _reason(self) -> str | None:
        scale = 1.0 if self._poor.reason is None else MENDED
        share = self.abstained_share
        if share > self._limits.abstained_share * scale:
            return (
                f"{share:.0%} of the last {len(self._unread)} cards unread; look at light and lens."
            )
        now = self.confidence
        if now is None or self._usual is None:
            return None
        if self._usual - now > self._limits.confidence_drop * scale:
            return f"Looks are {now:.0%} sure, at first {self._usual:.0%}; look at light and lens."
        return None
