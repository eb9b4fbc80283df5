"""A slow disk and a clock that leaps are reported, and that they are over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from vision.app.machine import (
    BURST,
    BURST_MS,
    GOOD_IN_A_ROW,
    OVERLOAD_S,
    REFUSED_S,
    Burst,
    ClockWatch,
    LinkWatch,
    OverloadWatch,
    PictureLoad,
    SlowDisk,
)
from vision.clock import SteadyClock
from vision.game.events import Event, Noticed
from vision.mqtt.lanes import SetAside


class Hand:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.wall_s = 1_000_000.0

    def pass_s(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self.now_s += seconds
        self.wall_s += seconds


def test_slow_disk_is_reported_once_and_once_more_when_it_is_quick_again() -> None:
    """It is over only when many writes in a row were quick."""
    disk = SlowDisk()
    assert disk.reports(1, [0.01]) == ()
    slow = Noticed(2, "LOG", detail="The disk is slow: 1.3 s a write.")
    assert disk.reports(2, [0.01, 1.3]) == (slow,)
    for _ in range(GOOD_IN_A_ROW - 1):
        assert disk.reports(3, [0.01]) == ()
    assert disk.reports(4, [0.01]) == (Noticed(4, "LOG", over=True),)
    assert disk.reports(5, ()) == ()


def test_each_leap_of_the_clock_is_reported_and_that_the_clocks_agree_again() -> None:
    """Two leaps are two reports; a quiet table follows a clock that is ahead at once."""
    hand = Hand()
    clock = SteadyClock(lambda: round(1000 * hand.wall_s), lambda: hand.now_s)
    watch = ClockWatch(clock)
    assert watch.reports(1, quiet=False) == ()
    for leap in ("+5.0", "+3.0"):
        hand.pass_s(1)
        hand.wall_s += float(leap)
        (report,) = watch.reports(2, quiet=False)
        assert (report.code, report.over) == ("CLOCK", False)  # type: ignore[attr-defined]
        assert leap in report.detail  # type: ignore[attr-defined]
    hand.pass_s(1)
    assert watch.reports(3, quiet=False) == ()
    assert watch.reports(4, quiet=True) == (Noticed(4, "CLOCK", over=True),)
    assert watch.reports(5, quiet=True) == ()


def test_messages_that_do_not_get_through_are_reported_until_they_do() -> None:
    """One report when they have waited too long, with the reason, and one when it is over."""
    watch = LinkWatch(lambda: 0.0)
    assert watch.reports(1, "", ()) == ()
    assert watch.reports(2, "no broker", ()) == (Noticed(2, "LINK", detail="no broker"),)
    assert watch.reports(3, "no broker", ()) == ()
    assert watch.reports(4, "", ()) == (Noticed(4, "LINK", over=True),)


def test_picture_that_the_broker_does_not_take_is_reported_for_a_while() -> None:
    """People hear which, how large, that it is kept, and what to change."""
    hand = Hand()
    watch = LinkWatch(lambda: hand.now_s)
    (report,) = watch.reports(1, "", [SetAside("clip/s1-2-a1", 5_000_000)])
    assert isinstance(report, Noticed)
    assert report.code == "LINK"
    for words in ("clip/s1-2-a1 (5.0 MB)", "stays on the table's disk", "max_message_kb"):
        assert words in report.detail
    assert watch.reports(2, "", ()) == ()
    hand.pass_s(REFUSED_S + 1)
    assert watch.reports(3, "", ()) == (Noticed(3, "LINK", over=True),)


def test_run_that_starts_behind_its_own_log_says_so() -> None:
    """A log written under a clock that was ahead is told; small differences are not."""
    hand = Hand()
    clock = SteadyClock(lambda: round(1000 * hand.wall_s), lambda: hand.now_s)
    clock.not_before(clock.now() + 3_600_000)
    (report,) = ClockWatch(clock, lambda: False).reports(1, quiet=True)
    assert isinstance(report, Noticed)
    assert "3600 s ahead of this machine" in report.detail


def test_burst_is_reported_once_and_once_more_when_it_has_stopped() -> None:
    """A few refusals are nobody's business; many within minutes are, until none comes."""
    burst = Burst("ORDERS", "orders refused")
    burst.note(BURST - 1, 1000)
    assert burst.reports(1000) == ()
    burst.note(5, 2000)
    (report,) = burst.reports(2000)
    assert report == Noticed(2000, "ORDERS", detail="10 orders refused or more within minutes.")
    burst.note(1, 3000)
    assert burst.reports(3000) == ()
    assert burst.reports(2999 + BURST_MS) == ()
    assert burst.reports(3000 + BURST_MS) == (Noticed(3000 + BURST_MS, "ORDERS", over=True),)


# --- overload ------------------------------------------------------------------------------------


def overload(
    fps: float, *, skipped: int = 0, age_s: float = 0.02, busy: float = 1.0
) -> tuple[Event, ...]:
    """Return what is reported when so many pictures a second are taken for a while."""
    now = [0.0]
    watch = OverloadWatch(15.0, lambda: now[0])
    found: list[Event] = []
    while now[0] < OVERLOAD_S + 1:
        now[0] += 1 / fps
        found += watch.reports(7, [PictureLoad(skipped, age_s, busy / fps)])
    return tuple(found)


@pytest.mark.parametrize(
    ("load", "words"),
    [
        pytest.param({"fps": 30.0}, "", id="keeps-up"),
        pytest.param({"fps": 15.0, "skipped": 1}, "", id="every-second-is-enough"),
        pytest.param({"fps": 10.0}, "", id="a-slow-camera-gives-no-more"),
        pytest.param({"fps": 1.0, "skipped": 14, "busy": 0.1}, "", id="pictures-come-in-bursts"),
        pytest.param({"fps": 10.0, "skipped": 2}, "10 pictures a second are", id="too-few"),
        pytest.param({"fps": 15.0, "age_s": 0.6}, "pictures are 0.6 s old", id="too-late"),
    ],
)
def test_overload_is_reported_when_looks_fall_below_what_the_table_needs(
    load: dict[str, Any], words: str
) -> None:
    """Results never come late in silence: what gives way is said, with the cure."""
    found = overload(**load)
    if not words:
        assert found == ()
        return
    (report,) = found
    assert isinstance(report, Noticed)
    assert report.code == "OVERLOAD"
    assert words in report.detail
    assert "looks_per_s" in report.detail


@pytest.mark.parametrize("away_s", [3.0, 9.8, 60.0])
def test_camera_that_is_silent_is_no_overload(away_s: float) -> None:
    """A camera that sends nothing, or only damage, and then a lot, is not a machine too slow."""
    now = [0.0]
    watch = OverloadWatch(15.0, lambda: now[0])
    found: list[Event] = []

    def pass_time(seconds: float, taken: Sequence[PictureLoad], step_s: float) -> None:
        until = now[0] + seconds
        while now[0] < until:
            now[0] += step_s
            if not taken:
                watch.pause()
            found.extend(watch.reports(7, taken))

    for _ in range(4):
        pass_time(6.0, [PictureLoad(0, 0.02, 0.06)], 1 / 15)
        pass_time(away_s, [], 0.5)
        found.extend(watch.reports(7, [PictureLoad(150, 0.9, 0.06)]))
    pass_time(11.0, [PictureLoad(0, 0.02, 0.06)], 1 / 15)
    assert found == []
