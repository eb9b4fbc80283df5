"""The vision pipeline of one table: from a frame to what is seen of a coup, and when nothing is.

The motion gate lets a frame through while something moves; then the detector finds cards and hands,
the mouth's network sees the shoe, and the follower says what became of the coup. Beside them the
view, the camera's position and the trend of reading are checked, which gives events when the table
is seen or read poorly.

`SightSupervisor` makes events of a picture. Camera, picture, models and test picture may each be a
reason to be blind; the table gets an event when the first comes and when the last goes. With a live
source the models work in a thread of their own, so that the clock of the caller notices models that
hang.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Container, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from vision.app.restore import read_cards, resumed
from vision.camera.decoding import Outage, Shot
from vision.config.profiles import load_profile
from vision.config.table import TableConfig, WatchSection, path_of
from vision.errors import ConfigurationError, OutsideError
from vision.game.coup.state import Table
from vision.game.events import Event, ViewBack, ViewLost
from vision.game.rules import Dealing, Rules
from vision.inference.load import ModelSet, SelfTest, open_models
from vision.metrics.counters import SightCounts
from vision.pictures import open_picture
from vision.sight.detection.detector import Detection, Kind
from vision.sight.detection.mouth import MouthSight, mouth_outline
from vision.sight.drawing import SightView
from vision.sight.following.follower import BURN_REPORTED, BURN_SEEN, Follower, Sight
from vision.sight.following.places import FaceCheck, SlotWatch, TableBoxes, slot_corners, watched
from vision.sight.geometry.plane import Frame, Image
from vision.sight.motion_gate import MotionGate, WatchedPart
from vision.sight.quality.camera_position import CameraPosition, PositionLimits
from vision.sight.quality.table_fit import TableFit
from vision.sight.quality.view import ReadingTrend, ViewCheck, ViewLimits
from vision.sight.reading.faces import FaceReader, Limits

# From one check of view, position and reading to the next, in ms: often enough for `[watch]
# patience_s`. Shorter costs time only; longer, and a single bad picture decides.
CHECK_EVERY_MS = 500
# For so long, ms, boxes that were found stand where nothing changes: a card that the detector
# overlooks, or a change too slight for the thumbnail, is missed for so long. Shorter costs time.
SAME_MS = 1000
# The same while a card is to be read: each box is a little another, and so is the look.
READING_MS = 300


def layout_of(config: TableConfig) -> Image | None:
    """Return the picture of the empty layout, `None` where none is named; ConfigurationError."""
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
    cv2.setNumThreads(settings.threads)  # pictures too: waking others costs more than it saves
    return open_models(settings.paths(), threads=settings.threads, deck=deck)


def rules_of(config: TableConfig) -> Rules:
    """Return the rules by which the table deals; ConfigurationError where its profile has none."""
    return load_profile(config.profile).dealt(Dealing(config.dealing)).rules


def limits_of(watch: WatchSection) -> tuple[ViewLimits, PositionLimits]:
    """Return the limits of the view, the camera's position and the trend of reading."""
    view = ViewLimits(
        blurred_share=watch.blurred_share,
        covered_share=watch.covered_share,
        glare_share=watch.glare_share,
        dim_share=watch.dim_share,
        patience_ms=round(1000 * watch.patience_s),
    )
    position = PositionLimits(watch.moved_mm, watch.lost_mm, round(1000 * watch.moved_every_s))
    return view, position


class SightPipeline:
    """Card events from one camera's frames; `looked` counts the frames given to the detector.

    `view` is what was made of the last of them, once `keep_view` was called.
    """

    def __init__(self, config: TableConfig, models: ModelSet, *, rules: Rules) -> None:
        view = config.view.table_view()
        self._camera = config.camera
        self._look_every_ms = 1000 / config.models.looks_per_s
        self._gate = MotionGate()
        self._mouth = MouthSight(view, models.mouth, models.cut)
        self._size = (self._camera.width, self._camera.height)
        self._mouth_gate = WatchedPart(self._gate, mouth_outline(view), self._size)
        self._area = WatchedPart(self._gate, watched(view), self._size)
        self._slots = WatchedPart(self._gate, slot_corners(view), self._size)
        self._boxes = TableBoxes(models.detector, view, self._size)
        self._looked_at = -SAME_MS  # when all of it was looked at
        self._mouth_values = np.zeros(0, np.float32)
        self._places = SlotWatch(view)
        self._face_check = FaceCheck(models.classifier, view)
        limits = Limits(config.reader.error_bound, config.reader.allege_odds)
        faces = FaceReader(view, models, limits, decks=rules.decks)
        self._follower = Follower(
            view, models.symbols, faces, rules, allege_odds=limits.allege_odds
        )
        view_limits, position_limits = limits_of(config.watch)
        self._view_check = ViewCheck(view, view_limits)
        self._position = CameraPosition(view, position_limits, layout_of(config))
        self._trend = ReadingTrend(config.watch.abstained_share)
        self._fit = TableFit(view, rules.deal_order, models.classifier)
        # Why nothing can be seen or believed: the picture, the camera's position, the table file.
        self.blind: dict[str, str | None] = {"picture": None, "position": None}
        self._unseen: str | None = None  # why the picture checked last shows nothing
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

        No more is reported of cards with the orders in `past`: they lie there of the shoe before.
        """
        self._follower.change_shoe(table.next_order, read_cards(table), past=bool(past))
        self._trend.begin_shoe()
        self._fit.begin_shoe()

    def restore(self, table: Table, at: int) -> None:
        """Continue the shoe of the log, with the cards that lay on the table when it ended."""
        burn = BURN_REPORTED if table.shoe.burning else BURN_SEEN
        self._follower.begin_shoe(table.next_order, read_cards(table), burn=burn)
        self._follower.restore(at, table.shoe.sight, resumed(table))
        self._fit.begin_shoe(table.shoe.sight)

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return the events of a frame; ConfigurationError if it has not the calibrated size."""
        if frame.size != self._size:
            self._camera.check_size(frame)
        moving = self._gate.moving(frame)
        frame.still = not moving
        unseen_before = self._unseen
        mouth_due = self._mouth_gate.due(frame.at)
        # With the mouth, for which the colours are converted anyway.
        check = self._gate.sudden or (mouth_due and frame.at >= self._next_check_at)
        poor = self._check(frame, moving=moving) if check else ()
        if self._unseen or self.blind["picture"] or self.blind["position"]:
            self._follower.miss()
            return poor
        if self._gate.sudden and not unseen_before:
            self._mouth.relight(self._gate.light)
        if mouth_due or not self._mouth_values.size:
            self._mouth_values = self._mouth.values(frame.image, frame.at)
        sight = self._look(frame) if moving or self._follower.waiting else None
        if sight is None and not mouth_due:
            return poor
        seen = self._follower.see(frame.at, self._mouth_values, sight, still_at=self._gate.still_at)
        if sight is not None:
            self._fit.look(frame.at, frame.image, sight.places, sight.boxes)
        believed = self._fit.take(frame.at, self._follower.out, seen)
        self.blind["table file"] = self._fit.reason
        self._fresh_events += believed
        if self._keeps_view and sight is not None:
            self.view = self._drawn(frame.at, sight, believed)
        return (*poor, *believed)

    def _check(self, frame: Frame, *, moving: bool) -> tuple[Event, ...]:
        """Return the events of how well the table is seen, and its cards are read."""
        self._next_check_at = frame.at + CHECK_EVERY_MS
        view = self._view_check.look(frame)
        # A view of which nothing is believed has its one reason already.
        believed = not self._fit.reason
        drift = self._fit.drift() if believed else None
        position = self._position.look(frame, drift, at_rest=not moving)
        self._unseen = self._view_check.unseen
        self.blind |= {"picture": self._view_check.blind, "position": self._position.blind}
        trend = self._trend.update(self._fresh_events, frame.at)
        self._fresh_events.clear()
        return (*view, *position, *trend)

    def _look(self, frame: Frame) -> Sight | None:
        """Return what a look at a frame gives, `None` if the last was too short a time ago."""
        # The rate is in the time of the pictures: a file gives the same however fast it is read.
        if frame.at < self._next_look_at:
            return None
        self._next_look_at = max(
            self._next_look_at + self._look_every_ms, frame.at + self._look_every_ms / 2
        )
        self.looked += 1
        found = self._look_for_boxes(frame)
        checked = self._face_check(frame, found)
        return Sight(frame.image, checked, self._places.look(checked, frame.image, frame.at))

    def _look_for_boxes(self, frame: Frame) -> tuple[Detection, ...]:
        """Return what the detector finds; what has not changed since it looked shows the same.

        While no card is on its way and all are read, a hand beside the slots says nothing; while
        one is to be read, a change anywhere is a reason to look at all.
        """
        parts: tuple[WatchedPart, ...] = (self._area, self._slots)
        change = (self._area if self._follower.waiting else self._slots).change()
        reading = self._follower.faces.waiting
        is_old = not 0 <= frame.at - self._looked_at < (READING_MS if reading else SAME_MS)
        if is_old or (reading and change is not None):
            self._looked_at = frame.at
            self._boxes.look(frame.image)
        elif change is not None:
            parts = parts if self._follower.waiting else (self._slots,)
            self._boxes.renew(frame.image, change)
        else:
            parts = ()
        for part in parts:
            part.keep()
        return self._boxes.found

    def _drawn(self, at: int, sight: Sight, events: Sequence[Event]) -> SightView:
        hands = tuple(box for box in sight.boxes if box.kind is Kind.HAND)
        found = tuple(box for box in sight.boxes if box.kind is not Kind.HAND)
        follower = self._follower
        return SightView(at, found, hands, follower.cards(), follower.likeliest(), tuple(events))


# --- the supervisor ------------------------------------------------------------------------------

# Time of the pictures until a test picture that was misread is tried again: soon, because the table
# is blind meanwhile, but not on each frame, because a try costs as much as a look.
CANARY_AGAIN_MS = 5_000

# Four looks at a live source take longer than this, though pictures came between them: they are too
# few. A card is reported when it was seen to lie three times, and the last of a coup may lie for
# two seconds only. `python -m tests.chaos.rare_looks` reads films so.
ENOUGH, SELDOM_MS = 4, 1_500
REGULAR_MS = 5_000  # when they were enough for so long, the table is seen again
# Seconds that the end of a run waits for models that are late: a loaded machine takes as long for a
# look. A program that ends while a model works ends with an error.
CLOSE_S = 4.0


# What a look at a frame gives: events, and the reasons to be blind that were looked into.
_Seen = tuple[tuple[Event, ...], dict[str, str | None]]


class SightSupervisor:
    """Supervises a table's sight. A recording waits for its models as long as they take.

    A model that does not answer for [watch] `models_give_up_s` ends the run with OutsideError: only
    a new start of the program helps. `canary_every_s` is in the time of the pictures.
    """

    def __init__(
        self,
        pipeline: SightPipeline,
        self_test: SelfTest | None,
        watch: WatchSection,
        *,
        live: bool,
    ) -> None:
        self._pipeline = pipeline
        self._self_test = self_test
        self._watch = watch
        self._canary_at: int | None = None
        self._live = live
        self._frames: queue.SimpleQueue[tuple[Frame, Future[_Seen]]] = queue.SimpleQueue()
        if live:
            threading.Thread(target=self._work, name="sight", daemon=True).start()
        self._late: tuple[int, Future[_Seen]] | None = None
        self._reasons: dict[str, str] = {}  # to be blind, by what gives them
        self._last_at = 0
        self._observed_at: deque[int] = deque(maxlen=ENOUGH)
        self._seldom_at: int | None = None
        self._outages = 0
        self._canary_failures = 0

    @property
    def counts(self) -> SightCounts:
        """What has been counted so far."""
        blind, complaint = bool(self._reasons), self._reasons.get("canary")
        return SightCounts(
            self._pipeline.looked, self._outages, blind, self._canary_failures, complaint
        )

    def close(self) -> None:
        """Wait for models that have not answered yet, but not for ever."""
        if self._late is not None:
            wait([self._late[1]], CLOSE_S)

    def take(self, shot: Shot | Outage) -> list[Event]:
        """Return the events of a shot."""
        if isinstance(shot, Outage):
            self._outages += not self._reasons
            self._observed_at.clear()
            since = max(self._last_at, shot.since)
            self._last_at = max(self._last_at, shot.at)
            return self._put("camera", shot.reason, since)
        keeping_up = self._keeping_up(shot) if self._late is None else []
        self._last_at = max(self._last_at, shot.frame.at)
        return [*keeping_up, *self._look(shot.frame)]

    def _put(self, name: str, reason: str | None, at: int) -> list[Event]:
        """Take a reason to be blind in, or with `None` out; return what the table is to hear."""
        before = bool(self._reasons)
        if reason is not None:
            self._reasons[name] = reason
            return [] if before else [ViewLost(at, reason)]
        self._reasons.pop(name, None)
        return [ViewBack(at)] if before and not self._reasons else []

    def _keeping_up(self, shot: Shot) -> list[Event]:
        """Return the events of too few looks; a recording waits for them.

        It is the machine that is judged: pictures that did not come are the camera's business.
        """
        if not self._live or self._pipeline.looked < 2:  # the first look takes long
            return []
        at, times, before = shot.frame.at, self._observed_at, self._last_at
        if shot.damaged or not shot.skipped:
            times.clear()
        times.append(at)
        if len(times) == ENOUGH and at - times[0] > SELDOM_MS:
            self._seldom_at = at
            words = f"only {ENOUGH} pictures were looked at in {(at - times[0]) / 1000:.1f} s"
            return self._put("looks", words, before)
        if self._seldom_at is not None and at - self._seldom_at > REGULAR_MS:
            self._seldom_at = None
            return self._put("looks", None, at)
        return []

    def _look(self, frame: Frame) -> list[Event]:
        camera = self._put("camera", None, frame.at)
        if not self._live:
            return [*camera, *self._events_of(self._see(frame), frame.at)]
        patience_s = self._watch.models_stall_s
        if self._late is None:
            self._late = frame.at, Future()
            self._frames.put((frame, self._late[1]))
        else:
            # Frames that come meanwhile are not seen: the table hears of that as a lost view.
            patience_s = 0.1
        return [*camera, *self._answer(self._late, frame.at, patience_s)]

    def _answer(self, late: tuple[int, Future[_Seen]], at: int, patience_s: float) -> list[Event]:
        """Wait for the models; events that come late count from now on."""
        began_at, future = late
        if wait([future], patience_s).done:
            self._late = None
            return [*self._events_of(future.result(), at), *self._put("models", None, at)]
        give_up_s = self._watch.models_give_up_s
        if at - began_at > round(1000 * give_up_s):
            raise OutsideError(
                f"the models have not answered for {give_up_s:g} s; start the reader "
                "again (the service does so by itself) and see that the machine is not overloaded"
            )
        words = f"the models have not answered for {self._watch.models_stall_s:g} s"
        return self._put("models", words, began_at)

    def _work(self) -> None:
        """Look at frames in order; a model that never answers blocks only this thread."""
        while True:
            frame, future = self._frames.get()
            try:
                future.set_result(self._see(frame))
            except BaseException as error:  # raised again in the thread that waits
                future.set_exception(error)

    def _see(self, frame: Frame) -> _Seen:
        self_test = self._try_canary(frame.at)
        events = self._pipeline.see(frame)
        return events, {**self_test, **self._pipeline.blind}

    def _try_canary(self, at: int) -> dict[str, str | None]:
        """Have the test picture read when it is due; after a failure it is so much sooner."""
        if self._self_test is None or (self._canary_at is not None and at < self._canary_at):
            return {}
        complaint = self._self_test.complaint()
        every_ms = round(1000 * self._watch.canary_every_s)
        self._canary_at = at + (every_ms if complaint is None else CANARY_AGAIN_MS)
        self._canary_failures += complaint is not None
        return {"canary": complaint}

    def _events_of(self, seen: _Seen, at: int) -> list[Event]:
        """Return the events, none from before `at`, and those of the reasons to be blind."""
        events = [replace(event, at=max(event.at, at)) for event in seen[0]]
        for name, reason in seen[1].items():
            events += self._put(name, reason, at)
        return events
