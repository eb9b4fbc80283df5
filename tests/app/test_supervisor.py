"""Never blind unawares: every reason not to see is told once, and its end too."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from tests.seen import out
from vision.app.pipeline import SightPipeline, SightSupervisor
from vision.camera.decoding import Outage, Shot
from vision.config.table import WatchSection
from vision.errors import OutsideError
from vision.game.events import CoupSeen, Event, ViewBack, ViewLost
from vision.inference.load import SelfTest
from vision.sight.geometry.plane import Frame, Image

IMAGE = np.zeros((4, 4, 3), np.uint8)


@dataclass
class Seer:
    """Sees a card in every frame, is as blind as it is told to be, and can be made to hang."""

    reasons: dict[str, str | None] = field(default_factory=dict)
    free: threading.Event = field(default_factory=threading.Event)
    looked: int = 0

    def __post_init__(self) -> None:
        self.free.set()

    def see(self, frame: Frame) -> tuple[Event, ...]:
        """Return a card out, when free."""
        assert self.free.wait(60)
        return (out(frame.at, frame.index),)

    @property
    def blind(self) -> dict[str, str | None]:
        """Return the reasons as set."""
        return dict(self.reasons)


def supervisor(
    seer: Seer, canary: SelfTest | None = None, stall_s: float | None = None
) -> SightSupervisor:
    """Return a lookout that reads the test picture every 10 s and gives up after 30 s."""
    patience = {} if stall_s is None else {"models_stall_s": stall_s}
    watch = WatchSection(canary_every_s=10.0, models_give_up_s=30.0).model_copy(update=patience)
    return SightSupervisor(cast("SightPipeline", seer), canary, watch, live=stall_s is not None)


def shot(at: int, skipped: int = 0) -> Shot:
    """Return a picture of that moment, numbered by it, before which others were skipped."""
    return Shot(Frame(IMAGE, at, at), 0.0, skipped)


def blindness(events: list[Event]) -> list[Event]:
    """Return what was said of being blind."""
    return [event for event in events if isinstance(event, ViewLost | ViewBack)]


def test_outage_is_reported_from_the_last_picture_on() -> None:
    """What passed unseen began with the last picture, not when the fault was noticed."""
    watch = supervisor(Seer())
    watch.take(shot(1000))
    assert watch.take(Outage(2600, "camera lost", since=1000)) == [ViewLost(1000, "camera lost")]
    assert watch.take(Outage(3100, "camera lost", since=1000)) == []
    assert watch.take(shot(5000)) == [ViewBack(5000), out(5000, 5000)]
    assert watch.counts.outages == 1


def takes(watch: SightSupervisor, *times: int, skipped: int) -> list[Event]:
    """Return what is said of being blind while pictures of these moments are taken."""
    return blindness([event for at in times for event in watch.take(shot(at, skipped))])


def test_machine_that_looks_too_seldom_is_blind_until_it_keeps_up() -> None:
    """Between looks half a second apart a card may come and go; a recording waits for its looks."""
    watch = supervisor(Seer(looked=2), stall_s=1.5)
    assert takes(watch, 1000, 2000, 2200, 2400, skipped=9) == []
    words = "only 4 pictures were looked at in 2.0 s"
    assert takes(watch, 4000, skipped=9) == [ViewLost(2400, words)]
    assert takes(watch, *range(4400, 10_401, 400), skipped=9) == [ViewBack(10_000)]
    recording = supervisor(Seer(looked=2))
    assert takes(recording, *range(1000, 20_000, 2000), skipped=9) == []


def test_camera_that_sends_few_pictures_or_pauses_is_no_slow_machine() -> None:
    """What did not come is not missed by the machine: a pause is for [camera] stall_s to judge."""
    watch = supervisor(Seer(looked=2), stall_s=1.5)
    assert takes(watch, *range(1000, 20_000, 700), skipped=0) == []
    assert takes(watch, 20_100, 20_200, 20_300, skipped=2) == []
    assert takes(watch, 21_750, skipped=0) == []
    assert takes(watch, 21_850, 21_950, skipped=2) == []


def test_outage_does_not_count_as_time_without_a_look() -> None:
    """The looks before it and those after it are not four in a row."""
    watch = supervisor(Seer(looked=2), stall_s=1.5)
    takes(watch, 1000, 1100, 1200, skipped=2)
    reported = blindness([*watch.take(Outage(2600, "camera lost")), *watch.take(shot(4000, 2))])
    assert [type(event) for event in reported] == [ViewLost, ViewBack]
    assert takes(watch, 4100, 4200, 4300, skipped=2) == []


def test_reasons_overlap_and_only_the_last_end_is_reported() -> None:
    """A camera that comes back into the dark does not make a table seen."""
    seer = Seer()
    watch = supervisor(seer)
    watch.take(Outage(1000, "camera lost"))
    seer.reasons = {"picture": "the picture is dark"}
    reported = blindness([*watch.take(shot(2000)), *watch.take(shot(2100))])
    assert [type(event) for event in reported] in ([], [ViewBack, ViewLost])
    assert watch.counts.blind
    seer.reasons = {"picture": None}
    assert blindness(watch.take(shot(3000))) == [ViewBack(3000)]
    assert not watch.counts.blind


def test_models_that_hang_are_reported_by_another_clock_and_their_answer_is_kept() -> None:
    """The stall is said while the call still hangs; what it saw counts when it comes back."""
    seer = Seer()
    watch = supervisor(seer, stall_s=0.2)
    assert watch.take(shot(1000)) == [out(1000, 1000)]
    seer.free.clear()
    reported = watch.take(shot(1100))
    assert blindness(reported) == reported
    assert reported == [ViewLost(1100, "the models have not answered for 0.2 s")]
    assert watch.take(shot(1400)) == []
    assert watch.counts.blind
    seer.free.set()
    reported = []
    for at in range(1500, 4000, 100):
        reported += watch.take(shot(at))
        if not watch.counts.blind:
            break
    assert [type(event) for event in reported[:2]] == [CoupSeen, ViewBack]
    assert isinstance(reported[0], CoupSeen)
    assert reported[0].cards[0].order == 1100
    assert reported[0].at >= 1500
    assert out(9000, 9000) in watch.take(shot(9000))


def test_models_that_never_answer_end_the_run_in_order() -> None:
    """After the patience only a new start helps, and the words say so."""
    seer = Seer()
    watch = supervisor(seer, stall_s=0.05)
    seer.free.clear()
    watch.take(shot(1000))
    watch.take(shot(30_900))
    with pytest.raises(OutsideError, match="start the reader again"):
        watch.take(shot(31_100))
    seer.free.set()


def test_models_error_reaches_the_run() -> None:
    """A fault in the other thread is no silence."""

    class Broken(Seer):
        def see(self, frame: Frame) -> tuple[Event, ...]:
            raise OutsideError("disk")

    with pytest.raises(OutsideError, match="disk"):
        supervisor(Broken(), stall_s=30.0).take(shot(1000))


def test_canary_is_read_at_the_start_and_on_its_timer() -> None:
    """A failure is said loudly with the cure, tried again soon, and its end is said."""
    answers = [("As", 2.0, 2.0)]
    asked: list[int] = []

    def ask(_: Image) -> list[tuple[str, float, float]]:
        asked.append(1)
        return answers

    watch = supervisor(Seer(), SelfTest(IMAGE, (("As", 2.0, 2.0),), ask))
    assert blindness(watch.take(shot(0))) == []
    for at in range(100, 10_000, 100):
        assert blindness(watch.take(shot(at))) == []
    assert len(asked) == 1
    answers[0] = ("Ks", 2.0, 2.0)
    (lost,) = blindness(watch.take(shot(10_000)))
    assert isinstance(lost, ViewLost)
    assert "0 of 1 cards of the test picture" in lost.reason
    assert "shoe-reader check" in lost.reason
    assert watch.counts.canary_failures == 1
    answers[0] = ("As", 2.0, 2.0)
    assert blindness(watch.take(shot(14_900))) == []
    assert blindness(watch.take(shot(15_000))) == [ViewBack(15_000)]
