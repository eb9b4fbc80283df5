"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# Files whose tests take the longest, by `--durations=0`. They come first, so that at the end no
# worker waits for the other; `make test` keeps the order (`--no-loadscope-reorder`).
LONGEST = (
    "sight/following/test_follower.py",
    "acceptance/test_acceptance.py",
    "browser/test_desk.py",
    "house/test_trace.py",
    "browser/test_languages.py",
    "app/test_reader.py",
    "chaos/test_durability.py",
    "floor/archive/test_writer.py",
    "browser/test_results_board.py",
    "browser/test_setup.py",
    "camera/test_losses.py",
    "datasets/dealing/test_style.py",
    "app/test_cut_card.py",
    "audit/test_continuity.py",
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
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
HERE = Path(__file__).parent
# How long a busy machine takes to make an example says nothing of the program.
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")
# What a skip begins with that is for want of a tool; in CI (`CI=true`), where tools are installed,
# it is a failure. What a machine cannot do, or has not beside the checkout, is skipped everywhere.
NO_TOOL = ("needs ", "could not import ")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, and leave the others in their order."""
    place = {HERE / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_interrupts() -> None:
    """Have Ctrl-C raise, also in a run that a shell put into the background, deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Have a test fail in CI that a missing tool would skip."""
    return strictly((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have a file of tests fail likewise that it would skip whole."""
    return strictly((yield))


def strictly(report: Report) -> Report:
    """Return a report; a skip for want of a tool is a failure where CI runs."""
    if os.environ.get("CI") == "true" and report.skipped and isinstance(report.longrepr, tuple):
        words = report.longrepr[2].removeprefix("Skipped: ")
        if words.startswith(NO_TOOL):
            report.outcome = "failed"
            report.longrepr = f"{words}: in CI (CI=true) no test is skipped for want of a tool"
    return report
