"""Have the pictures of a source looked at, and report when nothing can be seen.

`SightSupervisor` makes events of a picture. Camera, picture, models and test picture may each be a
reason to be blind; the table gets an event when the first comes and when the last goes. With a live
source the models work in a thread of their own, so that the clock of the caller notices models that
hang.

`SightLoop` has this done ahead of the log, in another thread, so that no picture waits until what
the one before it came to is on the disk, published and printed. Only a few pictures are ahead at a
time; then sight waits, and a live source drops pictures meanwhile. A recording that is read as fast
as it goes is looked at without a thread, step by step.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import Protocol

from vision.camera.source import Outage, Shot
from vision.errors import OutsideError
from vision.game.events import Event, ViewBack, ViewLost
from vision.inference.self_test import SelfTest
from vision.sight.drawing import SightView
from vision.sight.geometry.frame import Frame

# Time of the pictures until a test picture that was misread is tried again: soon, because the table
# is blind meanwhile, but not on each frame, because a try costs as much as a look.
CANARY_AGAIN_MS = 5_000

# Four looks at a live source take longer than this, though pictures came between them: they are too
# few. A card is told of when it was seen to lie three times, and the last of a coup may lie for two
# seconds only. `python -m tests.chaos.rare_looks` reads films so.
LOOKS, SELDOM_MS = 4, 1_500
REGULAR_MS = 5_000  # when they were enough for so long, the table is seen again
# Seconds that the end of a run waits for models that are late: a loaded machine takes as long for a
# look. A program that ends while a model works ends with an error.
CLOSE_S = 4.0


class Seer(Protocol):
    """Makes events of frames; `SightPipeline` does."""

    @property
    def looked(self) -> int:
        """How many frames were looked at closely."""

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return the events of this frame."""

    def blind(self) -> dict[str, str | None]:
        """Return every reason to be blind by its name, `None` where it does not hold."""


class Reasons:
    """The reasons to be blind, and the events when the first comes and the last goes."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def get(self, name: str) -> str | None:
        """Return the reason of that name, `None` where it does not hold."""
        return self._held.get(name)

    def put(self, name: str, reason: str | None, at: int) -> list[Event]:
        """Take a reason in, or with `None` out."""
        before = bool(self._held)
        if reason is not None:
            self._held[name] = reason
            return [] if before else [ViewLost(at, reason)]
        self._held.pop(name, None)
        return [ViewBack(at)] if before and not self._held else []


@dataclass(frozen=True, slots=True)
class SightResult:
    """The result of a frame: events, and the reasons to be blind that were looked into."""

    events: tuple[Event, ...]
    blind: dict[str, str | None]


class Worker:
    """A thread that makes calls in order; a call that never returns blocks only the thread."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], SightResult], Future[SightResult]]]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=self._work, name="sight", daemon=True).start()

    def begin(self, call: Callable[[], SightResult]) -> Future[SightResult]:
        """Queue a call; its result comes with the future."""
        future: Future[SightResult] = Future()
        self._calls.put((call, future))
        return future

    def _work(self) -> None:
        while True:
            call, future = self._calls.get()
            try:
                future.set_result(call())
            except BaseException as error:  # raised again in the thread that waits
                future.set_exception(error)


class SightSupervisor:
    """Supervises a table's sight; `stall_s` is how long the models may take, `None` for ever.

    `canary_every_s` is in the time of the pictures. A model that does not answer for `give_up_s`
    ends the run with OutsideError: only a new start of the program helps.
    """

    def __init__(
        self,
        seer: Seer,
        self_test: SelfTest | None,
        *,
        canary_every_s: float,
        stall_s: float | None,
        give_up_s: float,
    ) -> None:
        self._seer = seer
        self._self_test = self_test
        self._canary_every_ms = round(1000 * canary_every_s)
        self._canary_at: int | None = None
        self._stall_s = stall_s
        self._give_up_ms = round(1000 * give_up_s)
        self._worker = Worker() if stall_s is not None else None
        self._late: tuple[int, Future[SightResult]] | None = None
        self._reasons = Reasons()
        self._last_at = 0
        self._looks: deque[int] = deque(maxlen=LOOKS)
        self._seldom_at: int | None = None
        self.outages = 0
        self.canary_failures = 0

    @property
    def looked(self) -> int:
        """How many frames were looked at closely."""
        return self._seer.looked

    @property
    def blind(self) -> bool:
        """Whether nothing that is seen can be relied on."""
        return bool(self._reasons)

    @property
    def canary_complaint(self) -> str | None:
        """What is wrong with the reading of the test picture, `None` when it was right."""
        return self._reasons.get("canary")

    def close(self) -> None:
        """Wait for models that have not answered yet, but not for ever."""
        if self._late is not None:
            wait([self._late[1]], CLOSE_S)

    def take(self, shot: Shot | Outage) -> list[Event]:
        """Return the events of a shot."""
        if isinstance(shot, Outage):
            self.outages += not self._reasons
            self._looks.clear()
            since = max(self._last_at, shot.since)
            self._last_at = max(self._last_at, shot.at)
            return self._reasons.put("camera", shot.reason, since)
        keeping_up = self._keeping_up(shot) if self._late is None else []
        self._last_at = max(self._last_at, shot.frame.at)
        return [*keeping_up, *self._look(shot.frame)]

    def _keeping_up(self, shot: Shot) -> list[Event]:
        """Return the events of too few looks; a recording waits for them.

        It is the machine that is judged: pictures that did not come are the camera's business.
        """
        if self._worker is None or self._seer.looked < 2:  # the first look takes long
            return []
        at, looks, before = shot.frame.at, self._looks, self._last_at
        if shot.damaged or not shot.skipped:
            looks.clear()
        looks.append(at)
        if len(looks) == LOOKS and at - looks[0] > SELDOM_MS:
            self._seldom_at = at
            words = f"only {LOOKS} pictures were looked at in {(at - looks[0]) / 1000:.1f} s"
            return self._reasons.put("looks", words, before)
        if self._seldom_at is not None and at - self._seldom_at > REGULAR_MS:
            self._seldom_at = None
            return self._reasons.put("looks", None, at)
        return []

    def _look(self, frame: Frame) -> list[Event]:
        camera = self._reasons.put("camera", None, frame.at)
        if self._worker is None or self._stall_s is None:
            return [*camera, *self._events_of(self._see(frame), frame.at)]
        patience_s = self._stall_s
        if self._late is None:
            self._late = frame.at, self._worker.begin(lambda: self._see(frame))
        else:
            # Frames that come meanwhile are not seen: the table hears of that as a lost view.
            patience_s = 0.1
        return [*camera, *self._answer(self._late, frame.at, patience_s)]

    def _answer(
        self, late: tuple[int, Future[SightResult]], at: int, patience_s: float
    ) -> list[Event]:
        """Wait for the models; events that come late count from now on."""
        began_at, future = late
        if not wait([future], patience_s).done:
            return self._not_answering(began_at, at)
        self._late = None
        return [*self._events_of(future.result(), at), *self._reasons.put("models", None, at)]

    def _not_answering(self, began_at: int, at: int) -> list[Event]:
        if at - began_at > self._give_up_ms:
            raise OutsideError(
                f"the models have not answered for {self._give_up_ms / 1000:g} s; start the reader "
                "again (the service does so by itself) and see that the machine is not overloaded"
            )
        words = f"the models have not answered for {self._stall_s:g} s"
        return self._reasons.put("models", words, began_at)

    def _see(self, frame: Frame) -> SightResult:
        self_test = self._try_canary(frame.at)
        events = self._seer.see(frame)
        return SightResult(events, {**self_test, **self._seer.blind()})

    def _try_canary(self, at: int) -> dict[str, str | None]:
        """Have the test picture read when it is due; after a failure it is so much sooner."""
        if self._self_test is None or (self._canary_at is not None and at < self._canary_at):
            return {}
        complaint = self._self_test.complaint()
        self._canary_at = at + (self._canary_every_ms if complaint is None else CANARY_AGAIN_MS)
        self.canary_failures += complaint is not None
        return {"canary": complaint}

    def _events_of(self, seen: SightResult, at: int) -> list[Event]:
        """Return the events, none from before `at`, and those of the reasons to be blind."""
        events = [replace(event, at=max(event.at, at)) for event in seen.events]
        for name, reason in seen.blind.items():
            events += self._reasons.put(name, reason, at)
        return events


# Pictures that sight may be ahead of the log: a third of a second at 30 a second, longer than a
# good disk ever takes, and of 1080p 31 MB (93 MB with the colours of all) while the disk is slow.
# Fewer stop sight for every slow write, more take memory and make events later before the slow disk
# is felt.
AHEAD = 10
LOOK_S = 0.1  # seconds of one wait for room; bounds how late the end of the run is noticed
# Seconds that the end of the thread is waited for: longer than a look takes on a loaded machine. A
# thread that is within a model when the program ends makes it end with an error.
JOIN_S = 4.0


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


@dataclass(frozen=True, slots=True)
class _End:
    """The source has ended, or sight has failed."""

    error: BaseException | None = None


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
        self._thread = (
            threading.Thread(target=self._work, name="pictures", daemon=True) if threaded else None
        )
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._seen: queue.Queue[SeenShot | _End] = queue.Queue(AHEAD)
        self._closed = threading.Event()

    def call(self, change: Callable[[], None]) -> None:
        """Have sight changed before its next look."""
        self._calls.put(change)

    def __iter__(self) -> Iterator[SeenShot]:
        if self._thread is None:
            yield from map(self._see, self._shots)
            return
        self._thread.start()
        while isinstance(seen := self._seen.get(), SeenShot):
            yield seen
        if seen.error is not None:
            raise seen.error

    def close(self) -> None:
        """End the thread, after the look that it is at."""
        self._closed.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _work(self) -> None:
        end = _End()
        try:
            for shot in self._shots:
                self._put(self._see(shot))
                if self._closed.is_set():
                    return
        except BaseException as error:  # raised again in the thread that waits
            end = _End(error)
        self._put(end)

    def _put(self, item: SeenShot | _End) -> None:
        while not self._closed.is_set():
            try:
                self._seen.put(item, timeout=LOOK_S)
            except queue.Full:
                continue
            else:
                return

    def _see(self, shot: Shot | Outage) -> SeenShot:
        while not self._calls.empty():
            self._calls.get()()
        began_s = time.monotonic()
        age_s = began_s - shot.taken_s if isinstance(shot, Shot) else 0.0
        events = tuple(self._look(shot))
        return SeenShot(shot, events, self._view(), age_s, time.monotonic() - began_s)
