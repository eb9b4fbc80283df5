"""The front door is short: a stranger sees what it is and how to try it without scrolling far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.readme import render

pytestmark = pytest.mark.browser
MOST = 1.5  # screens of Full HD, at the type and width of a code host


def test_readme_is_a_screen_and_a_half(chromium: Any, tmp_path: Path) -> None:
    """As it is shown on a code host, pictures and figures included."""
    assert render(chromium, tmp_path / "readme.png") <= MOST
