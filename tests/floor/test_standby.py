"""Two readers at one table: one speaks, and whatever becomes of it, there is one history."""

from __future__ import annotations

import pytest

from tests.floor.cluster import NATS_SERVER
from tests.floor.standby import prove

needs_nats = pytest.mark.skipif(NATS_SERVER is None, reason="needs nats-server")


@pytest.mark.nightly
@needs_nats
@pytest.mark.slow
@pytest.mark.mosquitto
def test_reader_that_is_killed_frozen_or_parted_loses_and_doubles_nothing() -> None:
    """The short form of `python -m tests.floor.standby`; the clock of one runs at half its rate."""
    words, took = prove(1, 1, 1, slow=True, seed=2)
    assert [len(times) for times in took.values()] == [1, 1, 1]
    assert "lost 0, doubled 0, contradicted 0" in words
    assert "two logs, one history" in words
