"""The vision pipeline of one table: from a frame to what is seen of a coup.

The motion gate lets a frame through while something moves; then the detector finds cards and hands,
the mouth's network sees the shoe, and the follower says what became of the coup. Beside them the
view, the camera's position and the trend of reading are checked, which gives events when the table
is seen or read poorly.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from vision.app.restore import read_cards, resumed
from vision.config.profiles import load_profile
from vision.config.table import TableConfig, WatchSection, path_of
from vision.errors import ConfigurationError
from vision.game.coup.state import Table
from vision.game.events import Event
from vision.game.rules import Dealing, Rules
from vision.inference.load import ModelSet, Runtime, open_models
from vision.pictures import open_picture
from vision.sight.detection.classifier import FaceCheck, Look
from vision.sight.detection.detector import Kind
from vision.sight.detection.mouth import MouthSight, mouth_outline
from vision.sight.drawing import SightView
from vision.sight.following.follower import BURN_SAID, BURN_SEEN, Follower, Sight
from vision.sight.following.places import LEAST_SCORE, PlacePatches, watched
from vision.sight.geometry.frame import Frame, Image
from vision.sight.motion_gate import MotionGate, PartGate
from vision.sight.quality.camera_position import CameraPosition, PositionLimits
from vision.sight.quality.reading_trend import ReadingTrend, ReadingTrendLimits
from vision.sight.quality.view import ViewCheck, ViewLimits
from vision.sight.reading.faces import FaceReader

# From one check of view, position and reading to the next, in ms: often enough for `[watch]
# patience_s`. Shorter costs time only; longer, and a single bad picture decides.
CHECK_EVERY_MS = 500


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
            f"view.layout: {path} is not a picture of {config.camera.width} x "
            f"{config.camera.height} px; calibrate the table again, or leave the key empty"
        )
    return image


def models_of(config: TableConfig) -> ModelSet:
    """Return the models of a table, with its deck; ConfigurationError where one cannot be used."""
    settings, deck = config.models, path_of(config.deck.path)
    return open_models(
        **settings.paths(), threads=settings.threads, runtime=Runtime(settings.provider), deck=deck
    )


def rules_of(config: TableConfig) -> Rules:
    """Return the rules by which the table deals; ConfigurationError where its profile has none."""
    return load_profile(config.profile).dealt(Dealing(config.dealing)).rules


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


class SightPipeline:
    """Card events from one camera's frames; `looked` counts the frames given to the detector.

    `view` is what was made of the last of them, once `keep_view` was called.
    """

    def __init__(self, config: TableConfig, models: ModelSet, *, rules: Rules) -> None:
        view = config.view.table_view()
        self._camera = config.camera
        self._look_every_ms = 1000 / config.models.looks_per_s
        self._detector = models.detector
        self._gate = MotionGate()
        self._mouth = MouthSight(view, models.mouth)
        self._size = (self._camera.width, self._camera.height)
        self._window = self._detector.window(watched(view), *self._size)
        self._mouth_gate = PartGate(self._gate, mouth_outline(view), self._size)
        self._mouth_values = np.zeros(0, np.float32)
        self._patches = PlacePatches(view)
        self._face_check = FaceCheck(models.classifier, view)
        faces = FaceReader(view, models, error_bound=config.reader.error_bound, decks=rules.decks)
        self._follower = Follower(
            view, models.symbols, faces, rules, allege_odds=config.reader.allege_odds
        )
        view_limits, position_limits, trend_limits = limits_of(config.watch)
        self._view_check = ViewCheck(view, view_limits)
        self._position = CameraPosition(view, position_limits, layout_of(config))
        self._trend = ReadingTrend(trend_limits)
        self._blind: dict[str, str | None] = {}
        self._fresh_looks: list[Look] = []
        self._fresh_events: list[Event] = []
        self._next_check_at = 0
        self._next_look_at = 0.0
        self._keeps_view = False
        self.looked = 0
        self.view: SightView | None = None

    def keep_view(self) -> None:
        """From now on keep in `view` what was made of the frame looked at last."""
        self._keeps_view = True

    def begin_shoe(self, table: Table, past: Container[int]) -> None:
        """Count the cards of a shoe that began while the table was watched.

        Nothing more is told of cards with the orders in `past`: they lie there of the shoe before.
        """
        self._follower.change_shoe(table.next_order, read_cards(table), past=bool(past))
        self._trend.begin_shoe()

    def restore(self, table: Table, at: int) -> None:
        """Continue the shoe of the log, with the cards that lay on the table when it ended."""
        burn = BURN_SAID if table.shoe.burning else BURN_SEEN
        self._follower.begin_shoe(table.next_order, read_cards(table), burn=burn)
        self._follower.restore(at, table.shoe.sight, resumed(table))

    def blind(self) -> dict[str, str | None]:
        """Return why nothing can be seen, from the picture and from the camera's position."""
        return self._blind

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return the events of a frame; ConfigurationError if it has not the calibrated size."""
        if frame.size != self._size:
            self._camera.check_size(frame)
        moving = self._gate.moving(frame)
        frame.still = not moving
        unseen_before = self._view_check.unseen
        check = frame.at >= self._next_check_at or self._gate.sudden
        poor = self._check(frame, moving=moving) if check else ()
        if self._view_check.unseen or any(self._blind.values()):
            self._follower.miss()
            return poor
        if self._gate.sudden and not unseen_before:
            self._mouth.relight(self._gate.light)
        mouth_due = self._mouth_gate.due(frame.at)
        if mouth_due or not self._mouth_values.size:
            self._mouth_values = self._mouth.values(frame.image, frame.at)
        sight = self._look(frame) if moving or self._follower.waiting else None
        if sight is None and not mouth_due:
            return poor
        still = not moving
        seen = self._follower.see(frame.at, self._mouth_values, sight, still=still)
        self._fresh_looks += self._follower.looks
        self._fresh_events += seen
        if self._keeps_view and sight is not None:
            self.view = self._drawn(frame.at, sight, seen)
        return (*poor, *seen)

    def _check(self, frame: Frame, *, moving: bool) -> tuple[Event, ...]:
        """Return the events of how well the table is seen, and its cards are read."""
        self._next_check_at = frame.at + CHECK_EVERY_MS
        view = self._view_check.look(frame)
        position = () if moving else self._position.look(frame)
        self._blind = {"picture": self._view_check.blind, "position": self._position.blind}
        self._trend.add_looks(self._fresh_looks)
        trend = self._trend.update(self._fresh_events, frame.at)
        self._fresh_looks.clear()
        self._fresh_events.clear()
        return (*view, *position, *trend)

    def _look(self, frame: Frame) -> Sight | None:
        """Return what a look at a frame gives, `None` if the last was too short a time ago."""
        # The rate is in the time of the pictures, so that a file gives the same events however fast
        # it is read.
        if frame.at < self._next_look_at:
            return None
        self._next_look_at = max(
            self._next_look_at + self._look_every_ms, frame.at + self._look_every_ms / 2
        )
        self.looked += 1
        found = self._detector.glance(frame.image, LEAST_SCORE, self._window)
        checked = self._face_check(frame, found)
        self._fresh_looks += checked.looks
        return Sight(frame.image, checked.detections, self._patches(frame.image))

    def _drawn(self, at: int, sight: Sight, events: Sequence[Event]) -> SightView:
        hands = tuple(box for box in sight.boxes if box.kind is Kind.HAND)
        found = tuple(box for box in sight.boxes if box.kind is not Kind.HAND)
        follower = self._follower
        return SightView(at, found, hands, follower.cards(), follower.likeliest(), tuple(events))
