"""An alert from its finding to its report, as a person works with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.tour import tour

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


def test_alert_is_worked_by_keyboard_and_every_page_fits_its_window(
    chromium: Any, tmp_path: Path
) -> None:
    """Under ninety seconds, nothing scrolled sideways, nothing that axe or the console say."""
    assert tour(chromium, tmp_path) == []
