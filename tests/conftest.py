"""What holds for all tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# Files whose tests take the longest, by `--durations=0`. They come first, so that at the end no
# worker waits for the other; `make test` keeps the order (`--no-loadscope-reorder`).
LONGEST = (
    "sight/following/test_follower.py",
    "acceptance/test_acceptance.py",
    "app/test_reader.py",
    "floor/archive/test_writer.py",
    "browser/test_desk.py",
    "browser/test_results_board.py",
    "chaos/test_durability.py",
    "game/test_legal.py",
    "models/train/test_recipes.py",
    "camera/test_film_times.py",
    "datasets/dealing/test_style.py",
    "app/test_retention.py",
    "house/test_trace.py",
    "floor/reread/test_job.py",
    "floor/reread/test_cluster.py",
)
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, and leave the others in their order."""
    place = {HERE / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_interrupts() -> None:
    """Have Ctrl-C raise, also in a run that a shell put into the background, deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
