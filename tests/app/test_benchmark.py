"""What a measurement says is of the process that did the work."""

from __future__ import annotations

import subprocess
import sys

LARGE = 300_000_000  # bytes held by the process that starts the measurement


def test_memory_of_a_measurement_is_not_that_of_who_started_it() -> None:
    """A process started by a large one says what it held itself."""
    held = bytearray(LARGE)
    held[::4096] = b"x" * len(held[::4096])
    code = "from vision.app.benchmark import most_memory_mb; print(most_memory_mb())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 20 < float(said.stdout) < LARGE / 1e6
