"""The short form of `make chaos`: nothing lost, doubled or said wrong, whatever befalls."""

from __future__ import annotations

import pytest

from tests.chaos import catch_up, clocks, disks, kills, outages, proofs, soak
from tests.mqtt.mqtt_tools import MOSQUITTO

pytestmark = pytest.mark.slow
needs_mosquitto = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto"),
]


def test_reader_killed_at_random_moments_leaves_the_record_as_if_it_never_was() -> None:
    """Proof a: every coup once, in order, equal to an undisturbed run."""
    assert "none missing" in kills.run(5).words


def test_play_goes_on_until_all_kills_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that plays far more coups between two kills than there are kills."""
    monkeypatch.setattr(kills, "PACE_S", 0.0)
    monkeypatch.setattr(kills, "AT_WORK_S", (1.0, 1.0))
    assert kills.run(2).tries == 2


def test_evidence_through_kills_is_whole_and_heard_before_its_alert() -> None:
    """What an alert names is on the disk under its hash, and no picture is there by half."""
    assert "all whole" in proofs.run(6).words


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(lambda: outages.away(12), marks=needs_mosquitto, id="away"),
        pytest.param(
            lambda: outages.restarted(12, lasting=False), marks=needs_mosquitto, id="forgetful"
        ),
    ],
)
def test_broker_that_fails_loses_and_doubles_nothing(outage: outages.Outage) -> None:
    """Proof b: the consumer has everything once it has asked for what its broker forgot."""
    assert outage()


# The pictures alone take 30 s; a busy machine breaks the promise of 0.3 s, but not the loose one.
@pytest.mark.parametrize(
    ("coups", "later_s"),
    [pytest.param(8, 3.0, id="loose"), pytest.param(12, 0.3, marks=pytest.mark.nightly)],
)
@pytest.mark.mosquitto
@pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto")
def test_result_is_not_held_up_by_messages_that_are_sent_again(
    coups: int, later_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes as soon as without, over 2 MB/s, while 3,000 messages with pictures go out."""
    monkeypatch.setattr(catch_up, "MOST_LATER_S", later_s)
    assert "sent again" in catch_up.run(coups)


@pytest.mark.parametrize("fault", [disks.full, disks.read_only, disks.slow])
def test_disk_that_fails_is_reported_and_play_goes_on_after(fault: disks.Fault) -> None:
    """Proof c: said at once with the cure, nothing wrong published, complete afterwards."""
    assert fault()


def test_bytes_turned_over_never_become_messages() -> None:
    """Proof c: a damaged log is refused, or says only what was said before."""
    assert "0 wrong messages" in disks.flipped(8).words


def test_clock_that_leaps_or_drifts_moves_no_deadline() -> None:
    """Proof e: same results and alerts, in order; the leap is told."""
    assert "same results" in clocks.run(6).words


@pytest.mark.nightly
def test_soak_of_a_few_shoes_grows_nothing() -> None:
    """Proof h: memory, descriptors and times stay what they were."""
    assert "as undisturbed" in soak.run(140)


def test_long_log_opens_at_once() -> None:
    """Only the last shoe is read at a start, however much is before it."""
    assert "opened in" in soak.opening(50_000)
