"""The installer's way, walked whole: from an empty folder to the first coup on the set-up page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.first_hour import take

# Of the machine's part of a table's first ten minutes, without installing and without hands.
MOST_MINUTES = 10.0


@pytest.mark.browser
@pytest.mark.nightly
def test_empty_folder_becomes_a_table_that_reads_its_first_coup(
    chromium: Any, tmp_path: Path
) -> None:
    """Every step ends without a fault, and each that the page shows has its picture."""
    minutes = take(chromium, tmp_path)
    assert sum(minutes.values()) < MOST_MINUTES
    pictures = {path.stem for path in tmp_path.glob("step-*.jpg")}
    assert pictures == {f"step-{number}" for number in range(1, 11)} - {"step-3"}
