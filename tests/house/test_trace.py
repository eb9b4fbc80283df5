"""The walk of a frame: how much of the program a stranger must follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import trace

# Known debts, lowered and never raised; `python -m tests.house.trace` prints them.
MOST_FOLDS_A_RECORD = 1.0
# Medians, of the frames on which a card is read and of those on which nothing happens.
MOST_MODULES_OF_A_READ = 32
MOST_MODULES_WITHOUT_EVENTS = 18


@pytest.mark.slow
def test_walk_of_a_frame_is_no_longer_than_it_was(tmp_path: Path) -> None:
    """An event is folded seldom more than once, and a frame enters few modules."""
    trace.make_film(tmp_path)
    result = trace.traced(trace.HERE, tmp_path)
    assert len(result["coups"]) == trace.COUPS
    assert result["folds"] / result["records"] <= MOST_FOLDS_A_RECORD
    assert result["frames with a card read"]["modules"][0] <= MOST_MODULES_OF_A_READ
    assert result["frames without events"]["modules"][0] <= MOST_MODULES_WITHOUT_EVENTS
