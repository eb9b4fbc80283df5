"""Many tabs of one browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.tabs import Wall

pytestmark = pytest.mark.browser


def test_twelve_tabs_are_current_with_one_public_stream(tmp_path: Path, chromium: Any) -> None:
    """A desk, the floor and ten boards of a browser are live, and again after the broker was."""
    with Wall(tmp_path, chromium).open() as wall:
        wall.deal()
        assert len(wall.current(60)) == 12
        assert wall.boards.feed.listeners == 1
        wall.lose_broker()
        wall.deal()
        assert len(wall.current(60)) == 12
