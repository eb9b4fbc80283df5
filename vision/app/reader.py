"""Run one table: put all parts together, and loop from pictures to events to durable messages.

`SightLoop` has pictures looked at ahead of the log, in another thread, so that none waits until
what the one before it came to is on the disk, published and printed. Only a few pictures are ahead
at a time; then sight waits, and a live source drops pictures meanwhile. A recording that is read as
fast as it goes is looked at without a thread, step by step.
"""

from __future__ import annotations

import gc
import logging
import os
import queue
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.machine import ClockWatch, OverloadWatch, PictureLoad
from vision.app.pipeline import SightPipeline, SightSupervisor, models_of, rules_of
from vision.app.restore import ended_cards
from vision.app.run_log import Destinations, Input, new_boot
from vision.camera.decoding import Ahead, Outage, Shot
from vision.camera.source import is_live, open_source
from vision.clock import CLOCK, now_ms
from vision.config.identity import identify
from vision.config.table import TableConfig
from vision.errors import ShoeReaderError
from vision.game.events import Event, ShoeStarted, TimePassed
from vision.game.outputs import CardSeen
from vision.metrics.counters import Metrics
from vision.pictures import GreyPictures
from vision.sight.drawing import SightView
from vision.sight.geometry.plane import Frame
from vision.wire.session import Step

# Seconds from one look after the machine to the next. The rates and alarms of those who watch
# `health` expect it, and systemd hears as often that the reader is alive: at most a third of
# WatchdogSec, so that one that is late is not ended.
TICK_S = 1.0

log = logging.getLogger(__name__)
# Milliseconds from one look at the colours to the next: a camera turns to its night mode any time.
COLOURS_EVERY_MS = 60_000
# Pictures that sight may be ahead of the log: a third of a second at 30 a second, longer than a
# good disk ever takes, and of 1080p 31 MB (93 MB with the colours of all) while the disk is slow.
# Fewer stop sight for every slow write, more take memory and hide a slow disk for longer.
AHEAD = 10
# Seconds that the end of the thread is waited for: longer than a look takes on a loaded machine. A
# thread that is within a model when the program ends makes it end with an error.
JOIN_S = 4.0
# Objects made, beyond those that go, before garbage is searched for: Python's 700 come at once.
GARBAGE = 10_000


@dataclass(frozen=True, slots=True)
class SeenShot:
    """A shot, its events, and what sight made of it, where somebody looks.

    `age_s` is how old the picture was when it was looked at, `took_s` how long that took.
    """

    shot: Shot | Outage
    events: tuple[Event, ...]
    view: SightView | None
    age_s: float
    took_s: float


class SightLoop:
    """The shots of a source with their events, in order."""

    def __init__(
        self,
        shots: Iterator[Shot | Outage],
        look: Callable[[Shot | Outage], list[Event]],
        view: Callable[[], SightView | None],
        *,
        threaded: bool,
    ) -> None:
        """Look at nothing yet; `look` gives the events of a shot, `view` what was made of it."""
        self._shots = shots
        self._look = look
        self._view = view
        self._threaded = threaded
        self._ahead: Ahead[SeenShot] | None = None
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def call(self, change: Callable[[], None]) -> None:
        """Have sight changed before its next look."""
        self._calls.put(change)

    def __iter__(self) -> Iterator[SeenShot]:
        seen = map(self._see, self._shots)
        if self._threaded:
            self._ahead = Ahead(seen, AHEAD, "pictures")
            return iter(self._ahead.get, None)
        return seen

    def close(self) -> None:
        """End the thread, after the look that it is at."""
        if self._ahead is not None:
            self._ahead.close(JOIN_S)

    def _see(self, shot: Shot | Outage) -> SeenShot:
        while not self._calls.empty():
            self._calls.get()()
        began_s = time.monotonic()
        age_s = began_s - shot.taken_s if isinstance(shot, Shot) else 0.0
        events = tuple(self._look(shot))
        return SeenShot(shot, events, self._view(), age_s, time.monotonic() - began_s)


class RunListener(Protocol):
    """Follows a run."""

    def take(self, step: Step) -> None:
        """Take a step that is in the log."""


class Viewer(RunListener, Protocol):
    """Shows a run picture by picture."""

    def show(self, frame: Frame, seen: SightView | None) -> None:
        """Take a picture, and what sight made of it or of the last one it looked at."""


class MachineChecks:
    """Looks after the machine once a second: its clock, disk, link, speed, what is to be kept.

    `health` are the figures published last, at `health_at_s` by the monotonic clock.
    """

    def __init__(
        self, config: TableConfig, journal: Journal, recorder: EvidenceRecorder, metrics: Metrics
    ) -> None:
        """Look after the machine of a run that these are the parts of."""
        self._journal, self._recorder, self._metrics = journal, recorder, metrics
        # A recording has its own time, and no reports on the clock.
        self._clock = ClockWatch(CLOCK) if is_live(config.camera.source) else None
        self._overload = OverloadWatch(config.models.looks_per_s)
        self._loads: list[PictureLoad] = []
        self._due_s = 0.0
        self._greys, self._colours_due = GreyPictures(), 0
        self.health: dict[str, object] = {}
        self.health_at_s = time.monotonic()

    def note(self, seen: SeenShot) -> None:
        """Count a picture, or that none came."""
        shot = seen.shot
        self._metrics.damaged += shot.damaged
        if isinstance(shot, Outage):
            self._overload.pause()
            self._loads.clear()
            return
        self._metrics.frames += 1
        self._metrics.skipped += shot.skipped
        self._metrics.age.append(seen.age_s)
        self._loads.append(PictureLoad(shot.skipped, seen.age_s, seen.took_s))

    def are_due(self, now_s: float) -> bool:
        """Whether it is time for them, by the monotonic clock."""
        if now_s < self._due_s:
            return False
        self._due_s = now_s + TICK_S
        return True

    def reports(self, shot: Shot | Outage, at: int, *, quiet: bool) -> list[Input]:
        """Return what is to be reported at `at` (Unix ms); `quiet`: the table waits for nothing."""
        notify("WATCHDOG=1")
        if isinstance(shot, Shot) and shot.frame.at >= self._colours_due:
            self._colours_due = shot.frame.at + COLOURS_EVERY_MS
            self._greys.note(shot.frame.image, "the picture of this table")
        loads, self._loads = self._loads, []
        return [
            *(self._clock.reports(at, quiet=quiet) if self._clock else ()),
            *self._journal.reports(at),
            *self._recorder.reports(at),
            *self._overload.reports(at, loads),
        ]

    def publish(self, run_at: int) -> None:
        """Publish the figures; delete what is to go at that time of the run, Unix ms."""
        at = now_ms()
        figures = {**self._metrics.health(), **self._journal.figures(at)}
        self.health = {**figures, "overload": self._overload.condition.reason}
        self.health_at_s = time.monotonic()
        self._journal.link.publish_health(at, self.health)
        self._journal.tidy(run_at)


class TableReader:
    """The reader of a table, for one run."""

    works_ahead = True  # pictures are looked at while what came of those before is written

    def __init__(
        self,
        config: TableConfig,
        destinations: Destinations,
        listener: RunListener,
        *,
        speed: float = 1.0,
        new_shoe: bool = False,
    ) -> None:
        """Open models, log and source, in the order in which their faults are cheapest to mend.

        `speed` paces a file (1: real time, 0: as fast as it goes); `new_shoe` begins a shoe even
        where the log ends within another.
        """
        self.config = config
        self._listener = listener
        models = models_of(config)
        self._viewer: Viewer | None = None
        self._models = tuple(f"{name} sha256:{digest}" for name, digest in models.hashes.items())
        self._identity = identify(config, models.hashes).signature
        self._pipeline = SightPipeline(config, models, rules=rules_of(config))
        self._recorder = EvidenceRecorder(config, destinations.log)
        self._journal = self._open_journal(config, destinations)
        self._new_shoe = new_shoe
        self._shoes = self._journal.table.shoes
        self._supervisor = SightSupervisor(
            self._pipeline, models.self_test, config.watch, live=is_live(config.camera.source)
        )
        self.metrics = Metrics(lambda: self._supervisor.counts)
        # A recording read fast runs ahead of the clock, and a clock may have been set back.
        CLOCK.not_before(self._journal.table.clock)
        self._at = now_ms()
        self.checks = MachineChecks(config, self._journal, self._recorder, self.metrics)
        self._sight = SightLoop(
            self._open_shots(speed),
            self._supervisor.take,
            lambda: self._pipeline.view,
            threaded=speed > 0 and self.works_ahead,
        )
        self._waits_until: int | None = None

    def _open_journal(self, config: TableConfig, destinations: Destinations) -> Journal:
        return Journal(config, destinations, self._recorder)

    def _open_shots(self, speed: float) -> Iterator[Shot | Outage]:
        try:
            return self._open_source(speed)
        except ShoeReaderError:
            self._journal.close()
            raise

    def _open_source(self, speed: float) -> Iterator[Shot | Outage]:
        return open_source(self.config.camera, speed=speed, start_ms=self._at)

    @property
    def complaint(self) -> str:
        """Why the broker has no connection, for people; empty when all is well."""
        return self._journal.link.complaint

    def show_to(self, viewer: Viewer) -> None:
        """Show the run to a viewer too; to be called before it begins."""
        self._pipeline.keep_view()
        self._viewer = viewer

    def run(self) -> None:
        """Read the source to its end; whatever ends it, the run is closed in order."""
        with self._journal:
            self._start()
            # What is there by now stays: to go through it again and again stops sight for 60 ms.
            gc.collect()
            gc.freeze()
            usual = gc.get_threshold()
            gc.set_threshold(GARBAGE)
            try:
                self._begin()
                notify("READY=1")
                for seen in self._sight:
                    self._take(seen)
            finally:
                notify("STOPPING=1")
                gc.unfreeze()
                gc.set_threshold(*usual)
                self._sight.close()
                self._supervisor.close()
                self._stop()

    def _start(self) -> None:
        begun = self._journal.start(self._at, new_boot(), self._models, self._identity)
        self._report(begun)

    def _stop(self) -> None:
        try:
            self._advance([*self._recorder.finish(self._at), *self._recorder.reports(self._at)])
        finally:
            self._report(self._journal.stop(self._at))

    def _begin(self) -> None:
        table = self._journal.table
        if not table.shoe.name or self._new_shoe:
            name = datetime.fromtimestamp(self._at / 1000, UTC).strftime("%Y%m%d-%H%M%S")
            self._advance([ShoeStarted(self._at, name)])
        else:
            self._shoes = table.shoes
            self._pipeline.restore(table, self._at)

    def _take(self, seen: SeenShot) -> None:
        began_s = time.monotonic()
        shot = seen.shot
        self._note(seen)
        if isinstance(shot, Shot):
            self._recorder.look(shot.frame)
        events: list[Input] = [*self._recorder.ended(self._at), *seen.events]
        if self._waits_until is not None and self._waits_until <= self._at:
            events.append(TimePassed(self._at))
        events += self._journal.link.orders(self._at)
        self._advance(events)
        if self._viewer is not None and isinstance(shot, Shot):
            self._viewer.show(shot.frame, seen.view)
        ended_s = time.monotonic()
        if isinstance(shot, Shot):
            self.metrics.frame.append(seen.took_s + ended_s - began_s)
            if seen.events:
                self.metrics.event.append(ended_s - shot.taken_s)
        if self.checks.are_due(ended_s):
            self._advance(self.checks.reports(shot, self._at, quiet=self._waits_until is None))
            self.checks.publish(self._at)

    def _note(self, seen: SeenShot) -> None:
        """Set the time of the run, and count."""
        shot = seen.shot
        self._at = max(self._at, shot.at) if isinstance(shot, Outage) else shot.frame.at
        self.checks.note(seen)

    def _advance(self, events: Sequence[Input]) -> None:
        if not events:
            return
        before = self._journal.table
        steps = self._journal.take(events)
        for output in (output for step in steps for output in step.outputs):
            if isinstance(output, CardSeen):
                self.metrics.cards_out += output.event in ("out", "found")
                self.metrics.cards_read += output.event == "read" and output.card is not None
                self.metrics.cards_unread += output.event == "read" and output.card is None
        self._report(steps)
        table = self._journal.table
        if table.shoes != self._shoes:
            self._shoes = table.shoes
            begin = partial(self._pipeline.begin_shoe, table, past=ended_cards(before))
            self._sight.call(begin)

    def _report(self, steps: tuple[Step, ...]) -> None:
        if steps:
            self._waits_until = steps[-1].session.table.waits_until
        for step in steps:
            self._listener.take(step)
            if self._viewer is not None:
                self._viewer.take(step)


def notify(words: str) -> None:
    """Report to systemd (sd_notify) where the unit asks for it: ready, alive, stopping.

    A manager that does not read its reports, so that they fill its queue, holds up no table.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.setblocking(False)
            # A name that begins with @ is of Linux's abstract sockets.
            wire.sendto(words.encode(), "\0" + address[1:] if address[0] == "@" else address)
    except OSError as error:
        log.warning(
            "systemd does not receive the reader's reports: %s; see NotifyAccess= in the unit",
            error,
        )
