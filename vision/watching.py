"""One table's sight put together: motion gate, detector, tracker, reader.

Takes frames and gives card events; it knows no rules and nothing of where events go.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vision.config import Camera, TableConfig, View
from vision.errors import ConfigurationError
from vision.eyes import Eyes
from vision.game.cards import Card
from vision.game.events import Event
from vision.sight.frame import Frame
from vision.sight.geometry import TableView
from vision.sight.motion import MotionGate
from vision.sight.reader import Reader
from vision.sight.tracker import Tracker


def table_view(view: View) -> TableView:
    """Return the view of a checked table file as sight uses it."""
    return TableView(
        homography=view.plane(),
        slots={slot: np.asarray(places, np.float32) for slot, places in view.slots_mm.items()},
        mouth=np.asarray(view.mouth_mm, np.float32),
        discard=None if view.discard_mm is None else np.asarray(view.discard_mm, np.float32),
        card_mm=view.card_mm,
    )


def check_size(camera: Camera, frame: Frame) -> None:
    """Refuse a frame whose size is not that of the calibration: ConfigurationError."""
    height, width = frame.image.shape[:2]
    if (width, height) != (camera.width, camera.height):
        raise ConfigurationError(
            f"the picture is {width} x {height} px, but [camera] width and height say "
            f"{camera.width} x {camera.height}: calibrate the view for this picture, or set the "
            "camera to the calibrated size"
        )


class Watcher:
    """Card events from the frames of one camera; `looked` counts frames looked at closely."""

    def __init__(self, config: TableConfig, eyes: Eyes, *, decks: int) -> None:
        view = table_view(config.view)
        self._camera = config.camera
        self._look_every_ms = 1000 / config.models.looks_per_s
        self._detector = eyes.detector
        self._gate = MotionGate()
        self._tracker = Tracker(view)
        self._reader = Reader(
            view, eyes.classifier, error_bound=config.reader.error_bound, decks=decks
        )
        self._next_look_at = 0.0
        self.looked = 0

    def begin_shoe(self, order: int, read: Iterable[Card] = ()) -> None:
        """Begin a run of cards; after a restart with the next order and the faces read so far."""
        self._reader.begin_shoe(order=order, read=read)

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return what happened by this frame; ConfigurationError if its size is not calibrated."""
        check_size(self._camera, frame)
        moving = self._gate.moving(frame) or self._reader.waiting
        # Frames between two looks cost next to nothing; the rate is in the time of the pictures,
        # so a file gives the same events however fast it is read.
        if not moving or frame.at < self._next_look_at:
            return ()
        self._next_look_at = max(
            self._next_look_at + self._look_every_ms, frame.at + self._look_every_ms / 2
        )
        self.looked += 1
        tracks = self._tracker.update(self._detector(frame.image), frame.at, frame.image)
        return self._reader.update(tracks, frame)
