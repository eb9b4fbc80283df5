"""Pictures are looked at beside the work of the log, in order, and every failure comes out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from vision.app import reader
from vision.app.reader import SeenShot, SightLoop
from vision.camera.decoding import Outage, Shot
from vision.errors import OutsideError
from vision.game.events import Event, TimePassed
from vision.sight.geometry.plane import Frame

IMAGE = np.zeros((4, 4, 3), np.uint8)


def shots(count: int, fails: Exception | None = None) -> Iterator[Shot | Outage]:
    """Yield so many shots, and then perhaps fail."""
    for at in range(count):
        yield Shot(Frame(IMAGE, at, at), time.monotonic())
    if fails is not None:
        raise fails


def events_of(shot: Shot | Outage) -> list[Event]:
    """Return an event of that shot."""
    assert isinstance(shot, Shot)
    return [TimePassed(shot.frame.at)]


@pytest.mark.parametrize("threaded", [False, True])
def test_sight_loop_gives_every_shot_with_its_events_in_order(threaded: bool) -> None:
    """With or without a thread the run sees the same."""
    loop = SightLoop(shots(50), events_of, lambda: None, threaded=threaded)
    assert [seen.events for seen in loop] == [(TimePassed(at),) for at in range(50)]
    loop.close()


@pytest.mark.parametrize("threaded", [False, True])
def test_sight_loop_passes_on_what_ends_it(threaded: bool) -> None:
    """What was seen before a camera failed for good is taken first; then the run hears of it."""
    loop = SightLoop(shots(3, OutsideError("gone")), events_of, lambda: None, threaded=threaded)
    taken: list[SeenShot] = []
    with pytest.raises(OutsideError, match="gone"):
        taken.extend(loop)
    assert len(taken) == 3
    loop.close()


def test_sight_goes_on_while_the_disk_is_slow() -> None:
    """A write that takes long stops no look, until AHEAD pictures wait."""
    looked: list[int] = []
    enough = threading.Event()

    def look(shot: Shot | Outage) -> list[Event]:
        looked.append(1)
        if len(looked) == reader.AHEAD:
            enough.set()
        return []

    loop = SightLoop(shots(100), look, lambda: None, threaded=True)
    for _ in loop:
        assert enough.wait(20), "sight waited for the disk"
        time.sleep(0.3)
        # One that the run has, those that wait, and one that waits for room.
        assert len(looked) <= reader.AHEAD + 2
        break
    loop.close()


def test_sight_is_changed_between_two_looks_only() -> None:
    """A new shoe, which the log's side announces, never begins in the middle of a look."""
    looking, shoes = threading.Event(), []

    def begin_shoe(name: str) -> None:
        assert not looking.is_set()
        shoes.append(name)

    def look(shot: Shot | Outage) -> list[Event]:
        looking.set()
        time.sleep(0.002)
        looking.clear()
        return []

    loop = SightLoop(shots(40), look, lambda: None, threaded=True)
    for number, _ in enumerate(loop):
        if number < 10:
            loop.call(partial(begin_shoe, str(number)))
    assert shoes == [str(number) for number in range(10)]
    loop.close()
