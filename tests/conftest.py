"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_interrupts() -> None:
    """Have Ctrl-C raise, also in a run that a shell put into the background, deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
