"""Two readers at one table: one speaks, and whatever becomes of it, there is one history."""

from __future__ import annotations

import pytest

from tests.floor.cluster import NATS_SERVER
from tests.floor.standby import prove

needs_nats = pytest.mark.skipif(NATS_SERVER is None, reason="needs nats-server")


@needs_nats
@pytest.mark.slow
@pytest.mark.mosquitto
def test_reader_that_is_killed_frozen_or_parted_loses_and_doubles_nothing() -> None:
    """The short form of `python -m tests.floor.standby`."""
    words = prove(2, 1, 1, seed=2)
    assert "lost 0, doubled 0, contradicted 0" in words


@needs_nats
@pytest.mark.slow
@pytest.mark.mosquitto
def test_clock_that_runs_at_half_its_rate_makes_no_second_history() -> None:
    """A reader that takes its lease for longer than it is finds its records refused."""
    words = prove(0, 1, 1, slow=True)
    assert "two logs, one history" in words
