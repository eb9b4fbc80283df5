"""The short form of what `python -m tests.chaos boards` does."""

from __future__ import annotations

import pytest

from tests.chaos import boards
from tests.mqtt.mqtt_tools import MOSQUITTO

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.mosquitto,
    pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto"),
]


def test_screens_are_right_within_5_s_whatever_was_killed() -> None:
    """Broker, reader and board server come back in any order; no board is loaded again."""
    assert "no board was loaded again" in boards.run(4)
