"""Make card events of the frames of one camera: motion gate, detector, tracker, reader.

The pipeline also reports where it sees poorly, and why it is blind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from vision.config.table import TableConfig, WatchSection
from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.game.events import Event
from vision.inference.load import ModelSet
from vision.sight.deck.classifier import DeckClassifier
from vision.sight.detection.classifier import Look
from vision.sight.detection.face_check import Faces
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.quality.drift import Place, PlaceLimits, Trust, TrustLimits
from vision.sight.quality.view import Limits, Watch
from vision.sight.reading.reader import Reader, StrangeBacks
from vision.sight.reading.resume import ResumeState
from vision.sight.tracking.motion_gate import MotionGate
from vision.sight.tracking.tracker import Tracker


def layout_of(config: TableConfig) -> Image | None:
    """Return the picture of the empty layout; ConfigurationError if it cannot be used.

    `None` where the table file names none.
    """
    path = config.view.layout
    if not path:
        return None
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    if image is None or image.shape[:2] != (config.camera.height, config.camera.width):
        raise ConfigurationError(
            f"view.layout: {path} is no picture of {config.camera.width} x {config.camera.height} "
            "px; calibrate the table anew, or leave the key empty"
        )
    return np.asarray(image, np.uint8)


def limits_of(watch: WatchSection) -> tuple[Limits, PlaceLimits, TrustLimits]:
    """Return from where on picture, place and reading are poor."""
    picture = Limits(
        blurred_share=watch.blurred_share,
        covered_share=watch.covered_share,
        glare_share=watch.glare_share,
        dim_share=watch.dim_share,
        patience_ms=round(1000 * watch.patience_s),
    )
    place = PlaceLimits(watch.moved_mm, watch.lost_mm, round(1000 * watch.moved_every_s))
    return picture, place, TrustLimits(watch.abstained_share, watch.confidence_drop)


def _strange_backs(models: ModelSet) -> StrangeBacks | None:
    """Return the check for backs other than the enrolled deck's; `None` without such a deck."""
    learnt = models.classifier
    return learnt.strange_backs if isinstance(learnt, DeckClassifier) else None


class SightPipeline:
    """Card events from the frames of one camera; `looked` counts frames looked at closely."""

    def __init__(self, config: TableConfig, models: ModelSet, *, decks: int) -> None:
        view = config.view.table_view()
        self._camera = config.camera
        self._look_every_ms = 1000 / config.models.looks_per_s
        self._detector = models.detector
        self._gate = MotionGate()
        self._view = view
        self._tracker = Tracker(view)
        self._classifier = models.classifier
        self._faces = Faces(self._classifier, self._in_a_slot)
        self._reader = Reader(
            view,
            self._classify,
            error_bound=config.reader.error_bound,
            decks=decks,
            strange_backs=_strange_backs(models),
        )
        picture, place, trust = limits_of(config.watch)
        self._watch = Watch(view, picture)
        self._place = Place(view, place, layout_of(config))
        self._trust = Trust(trust)
        self._next_look_at = 0.0
        self.looked = 0

    def begin_shoe(self, order: int, read: Iterable[Card] = ()) -> None:
        """Begin a run of cards; after a restart with the next order and the faces read so far."""
        self._reader.begin_shoe(order=order, read=read)
        self._trust.begin_shoe()

    def restore(self, recall: ResumeState) -> None:
        """Expect the cards that lay there when the log ended."""
        self._reader.restore(recall)

    def blind(self) -> dict[str, str | None]:
        """Return why nothing can be seen, by picture and by place; `None` where it can."""
        return {"picture": self._watch.blind, "place": self._place.blind}

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return what happened by this frame; ConfigurationError if its size is not calibrated."""
        self._camera.check_size(frame)
        moving = self._gate.moving(frame)
        poor = list(self._watch.look(frame.image, frame.at))
        if not moving:
            poor += self._place.look(frame.image, frame.at)
        seen = self._cards(frame) if moving or self._reader.waiting else ()
        return (*poor, *seen, *self._trust.take(seen, frame.at))

    def _cards(self, frame: Frame) -> tuple[Event, ...]:
        # Frames between two looks cost next to nothing; the rate is in the time of the pictures,
        # so a file gives the same events however fast it is read.
        if frame.at < self._next_look_at:
            return ()
        self._next_look_at = max(
            self._next_look_at + self._look_every_ms, frame.at + self._look_every_ms / 2
        )
        self.looked += 1
        found = self._faces(frame, self._detector(frame.image))
        tracks = self._tracker.update(found, frame.at, frame.image)
        return self._reader.update(tracks, frame)

    def _in_a_slot(self, quad: Points) -> bool:
        pose, _ = self._view.locate(quad)
        return self._view.slot_of(pose) is not None

    def _classify(self, image: Image, quads: Sequence[Points]) -> Sequence[Look]:
        looks = self._classifier(image, quads)
        self._trust.looks(looks)
        return looks
