"""The lease: one holder at a time, by the monotonic clock of each reader alone."""

from __future__ import annotations

import time
from typing import cast

import pytest

from tests.mqtt.mqtt_tools import wait_for
from vision.floor.pair import lease as lease_module
from vision.floor.pair.house_store import AwayError, HouseStore, OvertakenError
from vision.floor.pair.lease import Lease

LENGTH_S = 10.0


class Store:
    """A store in memory that replaces a value only by its revision."""

    def __init__(self) -> None:
        self.data, self.revision, self.is_away = b"", 0, False

    def lease(self) -> tuple[bytes, int]:
        """Return the value and its revision."""
        if self.is_away:
            raise AwayError
        return self.data, self.revision

    def put_lease(self, data: bytes, revision: int) -> int:
        """Replace it."""
        if self.is_away:
            raise AwayError
        if revision != self.revision:
            raise OvertakenError
        self.data, self.revision = data, self.revision + 1
        return self.revision


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give a monotonic clock that the test moves."""
    now = [100.0]
    fake = type("Clock", (), {"monotonic": staticmethod(lambda: now[0]), "sleep": time.sleep})
    monkeypatch.setattr(lease_module, "time", fake)
    return now


def pair(store: Store) -> tuple[Lease, Lease]:
    """Return two readers, of which the first has the lease."""
    first, second = (
        Lease(cast("HouseStore", store), "a", LENGTH_S),
        Lease(cast("HouseStore", store), "b", LENGTH_S),
    )
    first.turn()
    second.turn()
    return first, second


def test_first_reader_gets_the_lease_and_keeps_it_while_it_renews(clock: list[float]) -> None:
    """Whoever renews in time is never overtaken."""
    first, second = pair(Store())
    for _ in range(20):
        clock[0] += LENGTH_S / 2
        first.turn()
        second.turn()
        assert (first.is_valid, first.granted, second.granted) == (True, 1, 0)


def test_term_is_above_that_of_the_log_where_the_store_was_set_up_again() -> None:
    """Consumers have seen the older terms, and would ignore a lower one."""
    lease = Lease(cast("HouseStore", Store()), "a", LENGTH_S)
    lease.term_of_log = lambda: 7
    lease.turn()
    assert lease.granted == 8


def test_lease_that_is_not_renewed_goes_to_the_other_after_its_holder_stopped(
    clock: list[float],
) -> None:
    """At no moment do both count it as theirs; the next term is higher."""
    first, second = pair(Store())
    clock[0] += 0.99 * LENGTH_S
    second.turn()
    assert (first.is_valid, second.granted) == (False, 0)
    clock[0] += 0.02 * LENGTH_S
    second.turn()
    assert (second.granted, second.is_valid) == (2, True)
    first.turn()
    assert (first.lost, first.is_valid) == (True, False)


def test_reader_that_lost_the_lease_never_speaks_again(clock: list[float]) -> None:
    """Also when the other has died meanwhile: it is started again first."""
    first, second = pair(Store())
    clock[0] += 2 * LENGTH_S
    second.turn()
    clock[0] += 20 * LENGTH_S
    for _ in range(3):
        first.turn()
    assert not first.is_valid


def test_store_that_was_away_gives_its_holder_a_whole_lease(clock: list[float]) -> None:
    """An election of the brokers changes no speaker."""
    store = Store()
    first, second = pair(store)
    store.is_away = True
    clock[0] += 3 * LENGTH_S
    for lease in (first, second):
        with pytest.raises(AwayError):
            lease.turn()
        lease._unchanged_since_s = None  # as its thread does
    store.is_away = False
    assert not first.is_valid
    second.turn()
    first.turn()
    assert (first.is_valid, second.granted) == (True, 0)


def test_lease_given_back_is_taken_at_once(clock: list[float]) -> None:
    """A reader that is stopped in order leaves the table without a pause."""
    first, second = pair(Store())
    first.stop()
    second.turn()
    assert (first.is_valid, second.granted) == (False, 2)


ODD = [
    b"", b"\xff", b"[]", b"{}", b'{"node": "b", "term": 1, "acked": 0, "more": 1}', b"[" * 99_999,
    b'{"node": "b", "term": ' + b"9" * 30 + b', "acked": 0}',
    b'{"node": "b", "term": 900000, "acked": 0}',
    b'{"node": ["b"], "term": 1, "acked": 0}', b'{"node": "b", "term": true, "acked": -1}',
]  # fmt: skip


@pytest.mark.parametrize("data", ODD)
def test_lease_that_no_reader_wrote_changes_no_holder(clock: list[float], data: bytes) -> None:
    """It is complained of and written again; the other waits as for any holder."""
    store = Store()
    first, second = pair(store)
    store.data, store.revision = data, store.revision + 1
    for _ in range(3):
        clock[0] += LENGTH_S / 5
        second.turn()
        first.turn()
    second.turn()
    assert (first.is_valid, first.lost, second.granted) == (True, False, 0)
    assert second.seen == first.seen


def test_lease_goes_on_after_whatever_its_store_raises() -> None:
    """The thread never ends without a word."""

    class Failing(Store):
        def lease(self) -> tuple[bytes, int]:
            self.calls += 1
            raise KeyError("a defect")

        calls = 0

    store = Failing()
    lease = Lease(cast("HouseStore", store), "a", 0.05)
    lease.start()
    wait_for(lambda: store.calls > 2, 5)
    lease.stop()
