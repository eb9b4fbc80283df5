"""A wall clock that is wrong for a while, and nobody keeps, shuts nobody out."""

from __future__ import annotations

from pathlib import Path

import pytest

from vision.access.command_gate import Gate
from vision.access.users import Credential, User, Users, save_users
from vision.app.machine import ClockWatch
from vision.clock import DOUBTED_MS, SteadyClock
from vision.game.events import Event, Noticed
from vision.wire.commands import RefusedError

NOON = 1_700_000_000_000
HOUR = 3_600_000
PREFIX = "casino/house/table/7/cmd/"


class House:
    """A reader between coups, its clocks, and somebody whose own clock is right."""

    def __init__(self, folder: Path, *, kept: bool = False, ahead: int = 0) -> None:
        self.passed = 0
        self.wrong = ahead
        self.kept = kept
        self.clock = SteadyClock(lambda: NOON + self.passed + self.wrong, lambda: self.passed / 1e3)
        self.watch = ClockWatch(self.clock, lambda: self.kept)
        self._ann = Credential.new("Ann")
        users = {"Ann": User(roles=("inspector",), key=self._ann.public)}
        save_users(folder / "users.json", Users(users=users))
        self.gate = Gate(PREFIX, folder / "users.json", 30_000, self.clock.moments)
        self.reports: list[Event] = []

    def wait(self, seconds: int) -> None:
        """Let so much time pass, a report a second."""
        for _ in range(seconds):
            self.passed += 1000
            self.reports += self.watch.reports(NOON + self.passed, quiet=True)

    def is_taken(self, *, signed_by: int = 0) -> bool:
        """Whether an order is, signed by a clock that is so many milliseconds off."""
        fields = {"by": "Ann", "role": "inspector", "coup": 1}
        signed = self._ann.sign(PREFIX + "void_coup", fields, NOON + self.passed + signed_by)
        try:
            self.gate.admit(self.gate.verify("void_coup", signed))
        except RefusedError:
            return False
        return True


@pytest.mark.parametrize("wrong", [HOUR, -HOUR, 40 * 24 * HOUR], ids=["hour", "back", "days"])
def test_orders_are_taken_while_the_clock_is_wrong_and_at_once_after(
    tmp_path: Path, wrong: int
) -> None:
    """Two minutes of a wrong clock, and no order of a right one is refused; people are told."""
    house = House(tmp_path)
    house.wait(10)
    house.wrong = wrong
    for _ in range(12):
        house.wait(10)
        assert house.is_taken()
    assert abs(house.clock.now() - NOON - house.passed) < 1000
    house.wrong = 0
    for _ in range(12):
        house.wait(10)
        assert house.is_taken()
    codes = [(report.code, report.over) for report in house.reports if isinstance(report, Noticed)]
    assert codes[0] == ("CLOCK", False)
    assert codes[-1] == ("CLOCK", True)


def test_order_signed_by_a_clock_that_was_wrong_too_shuts_out_no_later_one(tmp_path: Path) -> None:
    """A desk on the same machine signs with the same wrong clock, and is right again after."""
    house = House(tmp_path)
    house.wait(10)
    house.wrong = HOUR
    house.wait(10)
    assert house.is_taken(signed_by=HOUR)
    house.wrong = 0
    house.wait(10)
    assert house.is_taken()


def test_clock_set_back_makes_no_old_order_fresh(tmp_path: Path) -> None:
    """Who sets the clock of the machine back finds nothing good that was signed then."""
    house = House(tmp_path)
    house.wait(10)
    house.wrong = -HOUR
    house.wait(10)
    assert not house.is_taken(signed_by=-HOUR)


def test_clock_that_a_time_service_keeps_is_followed(tmp_path: Path) -> None:
    """A machine that starts in the wrong year is right once its time service has set it."""
    house = House(tmp_path, ahead=-HOUR)
    house.wait(10)
    house.wrong, house.kept = 0, True
    house.wait(2)
    assert house.clock.now() == NOON + house.passed
    assert house.is_taken()


def test_small_correction_by_hand_is_followed_between_coups(tmp_path: Path) -> None:
    """Somebody who sets the clock right by seconds need not start the reader again."""
    house = House(tmp_path)
    house.wait(10)
    house.wrong = DOUBTED_MS // 2
    house.wait(2)
    assert house.clock.now() == NOON + house.passed + house.wrong
    assert house.is_taken(signed_by=house.wrong)
