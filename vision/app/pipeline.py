"""The vision pipeline of one table: from a frame to card events.

The motion gate lets a frame through while something moves; then the detector finds cards, the
tracker follows them, and the reader gives card events. Beside them the view, the camera's position
and the trend of reading are checked, which gives events when the table is seen or read poorly.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

import numpy as np

from vision.config.table import TableConfig, WatchSection
from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.game.events import Event, Noticed
from vision.inference.load import ModelSet
from vision.pictures import open_picture
from vision.sight.deck.classifier import DeckClassifier
from vision.sight.detection.classifier import FaceCheck
from vision.sight.drawing import SightView
from vision.sight.geometry.frame import Frame, Image
from vision.sight.geometry.plane import Pose, TableView
from vision.sight.mouth.measurement import MouthMeter
from vision.sight.mouth.patch import MouthPatch, mouth_outline
from vision.sight.mouth.signs import MouthEvent
from vision.sight.mouth.watcher import MouthWatcher
from vision.sight.quality.camera_position import CameraPosition, PositionLimits
from vision.sight.quality.reading_trend import ReadingTrend, ReadingTrendLimits
from vision.sight.quality.view import ViewCheck, ViewLimits
from vision.sight.reading.reader import CardReader, StrangeBacks
from vision.sight.reading.resume import ResumeState
from vision.sight.tracking.motion_gate import MotionGate, PartGate
from vision.sight.tracking.regions import RegionDetector
from vision.sight.tracking.tracker import Tracker


def layout_of(config: TableConfig) -> Image | None:
    """Return the picture of the empty layout; ConfigurationError if it cannot be used.

    `None` where the table file names none.
    """
    path = config.view.layout
    if not path:
        return None
    image = open_picture(Path(path))
    if image is None or image.shape[:2] != (config.camera.height, config.camera.width):
        raise ConfigurationError(
            f"view.layout: {path} is no picture of {config.camera.width} x {config.camera.height} "
            "px; calibrate the table again, or leave the key empty"
        )
    return image


def limits_of(watch: WatchSection) -> tuple[ViewLimits, PositionLimits, ReadingTrendLimits]:
    """Return the limits of the view, the camera's position and the trend of reading."""
    view = ViewLimits(
        blurred_share=watch.blurred_share,
        covered_share=watch.covered_share,
        glare_share=watch.glare_share,
        dim_share=watch.dim_share,
        patience_ms=round(1000 * watch.patience_s),
    )
    position = PositionLimits(watch.moved_mm, watch.lost_mm, round(1000 * watch.moved_every_s))
    return view, position, ReadingTrendLimits(watch.abstained_share, watch.confidence_drop)


def _strange_backs(models: ModelSet) -> StrangeBacks | None:
    """Return what compares backs with the enrolled deck's; `None` where no deck is enrolled."""
    classifier = models.classifier
    return classifier.strange_backs if isinstance(classifier, DeckClassifier) else None


def _mouth_watcher(models: ModelSet, view: TableView) -> MouthWatcher | None:
    """Return the watcher of the shoe's mouth; `None` where its network is not there."""
    if models.mouth is None:
        return None
    return MouthWatcher(MouthMeter(MouthPatch(view), models.mouth))


def card_length_px(view: TableView) -> float:
    """Return how long a card is in the picture, in pixels, where it is seen largest."""
    middles = [area.mean(axis=0) for area in (*view.slots.values(), view.mouth)]
    quads = [view.quad_px(Pose(float(x), float(y), 0.0)) for x, y in middles]
    return max(
        float(np.linalg.norm(quad - np.roll(quad, 1, axis=0), axis=1).max()) for quad in quads
    )


class SightPipeline:
    """Card events from one camera's frames; `looked` counts the frames given to the detector.

    `view` is what was made of the last of them, once `keep_view` was called.
    """

    def __init__(self, config: TableConfig, models: ModelSet, *, decks: int) -> None:
        view = config.view.table_view()
        self._camera = config.camera
        self._look_every_ms = 1000 / config.models.looks_per_s
        self._regions = RegionDetector(models.detector, margin_px=card_length_px(view))
        self._gate = MotionGate()
        self._table = view
        self._mouth = _mouth_watcher(models, view)
        self._signs: list[MouthEvent] = []
        size = (self._camera.width, self._camera.height)
        self._mouth_gate = PartGate(self._gate, mouth_outline(view), size)
        self._tracker = Tracker(view)
        self._face_check = FaceCheck(models.classifier, view)
        self._reader = CardReader(
            models.classifier,
            error_bound=config.reader.error_bound,
            decks=decks,
            strange_backs=_strange_backs(models),
            face_down=config.dealing == "punto-first",
        )
        view_limits, position_limits, trend_limits = limits_of(config.watch)
        self._view_check = ViewCheck(view, view_limits)
        self._position = CameraPosition(view, position_limits, layout_of(config))
        self._trend = ReadingTrend(trend_limits)
        self._next_look_at = 0.0
        self._keeps_view = False
        self.looked = 0
        self.view: SightView | None = None

    def keep_view(self) -> None:
        """From now on keep in `view` what was made of the frame looked at last."""
        self._keeps_view = True

    def begin_shoe(self, order: int, read: Iterable[Card] = (), past: Container[int] = ()) -> None:
        """Begin a run of cards; after a restart with the next order and the faces read so far.

        Nothing more is told of cards with the orders in `past`: they lie there of the shoe before.
        """
        self._reader.begin_shoe(order=order, read=read, past=past)
        self._trend.begin_shoe()

    def restore(self, resume: ResumeState) -> None:
        """Expect the cards that lay on the table when the log ended."""
        self._reader.restore(resume)

    def blind(self) -> dict[str, str | None]:
        """Return why nothing can be seen, from the picture and from the camera's position."""
        return {"picture": self._view_check.blind, "position": self._position.blind}

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return the events of a frame; ConfigurationError if it has not the calibrated size."""
        self._camera.check_size(frame)
        moving = self._gate.moving(frame)
        poor = list(self._view_check.look(frame))
        if not moving:
            poor += self._position.look(frame)
        if self._mouth is not None and self._mouth_gate.due(frame.at):
            self._signs += self._mouth.look(frame.image, frame.at)
        wanted = moving or self._signs or self._reader.waiting
        seen = self._cards(frame) if wanted else ()
        return (*poor, *seen, *self._trend.update(seen, frame.at))

    def _cards(self, frame: Frame) -> tuple[Event, ...]:
        """Return the card events of a frame, none if the last look was too short a time ago."""
        # The rate is in the time of the pictures, so that a file gives the same events however fast
        # it is read.
        if frame.at < self._next_look_at:
            return ()
        self._next_look_at = max(
            self._next_look_at + self._look_every_ms, frame.at + self._look_every_ms / 2
        )
        self.looked += 1
        seen = self._regions.see(frame.image, frame.at, self._gate)
        checked = self._face_check(frame, seen.cards)
        signs, self._signs = self._signs, []
        tracks = self._tracker.update(
            checked.detections,
            frame.at,
            frame.image,
            mouth=signs if self._mouth else None,
            hands=[self._table.homography.to_mm(hand.quad) for hand in seen.hands],
        )
        read = self._reader.update(tracks, frame)
        for looks in (checked.looks, read.looks):
            self._trend.add_looks(looks)
        events = (*self._findings(frame.at), *read.events)
        if self._keeps_view:
            tracker, names = self._tracker.snapshot(), self._reader.names()
            boxes = (checked.detections, seen.hands)
            self.view = SightView(frame.at, *boxes, tracker, names, events)
        return events

    def _findings(self, at: int) -> tuple[Event, ...]:
        """Return what the tracker found besides the tracks of cards."""
        found = [
            Noticed(each.at, each.code, detail=each.detail) for each in self._tracker.findings()
        ]
        exposed = [Noticed(at, "EXPOSED_IN_SHOE")] if self._tracker.newly_exposed() else []
        return (*found, *exposed)
