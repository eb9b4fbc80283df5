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
    "browser/test_desk.py",
    "house/test_trace.py",
    "floor/reread/test_job.py",
    "browser/test_languages.py",
    "app/test_reader.py",
    "chaos/test_durability.py",
    "floor/archive/test_writer.py",
    "browser/test_results_board.py",
    "browser/test_setup.py",
    "camera/test_losses.py",
    "datasets/dealing/test_style.py",
    "app/test_cut_card.py",
    "audit/test_said.py",
    "camera/test_camera.py",
    "audit/test_verify.py",
    "game/test_legal.py",
    "app/test_signing.py",
    "app/test_restore.py",
    "board/test_identity.py",
    "browser/test_accept.py",
    "app/test_retention.py",
    "models/train/test_recipes.py",
    "camera/test_film_times.py",
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
