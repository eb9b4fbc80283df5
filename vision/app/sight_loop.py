"""Have the pictures of a source looked at in a thread of their own.

So no picture waits until what the one before it came to is on the disk, published and printed. Only
a few pictures are ahead at a time; then sight waits, and a live source drops pictures meanwhile. A
recording that is read as fast as it goes is looked at without a thread, step by step.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vision.camera.source import Outage, Shot
from vision.game.events import Event
from vision.sight.drawing import SightView

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
