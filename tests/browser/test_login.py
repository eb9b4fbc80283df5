"""The log-in page in a real browser: password, then a code of the telephone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyotp
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import table_config
from vision.board.host.boards import Boards, address_of
from vision.board.login.passwords import change_account
from vision.mqtt.embedded_broker import EmbeddedBroker

pytestmark = pytest.mark.browser


def test_log_in_asks_for_the_code_and_opens_the_desk(chromium: Any, tmp_path: Path) -> None:
    """The code is asked for once the password was right; a wrong one is told; a right one opens."""
    users, key = house_of_people(tmp_path)
    secret = pyotp.random_base32()
    change_account(tmp_path / "passwords.json", "Ann", lambda old: replace(old, secret=secret))
    with EmbeddedBroker(0) as broker:
        config = with_desk(table_config(broker.port), users, key)
        with Boards([config], address_of(config)) as boards:
            page = chromium.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"{boards.server.url}login")
            assert not page.is_visible("#code")
            page.fill("#name", "Ann")
            page.fill("#password", PASSWORD)
            page.click("#enter")
            page.wait_for_selector("#code", state="visible")
            assert "telephone" in page.text_content("#why")
            faults = Axe().run(page).response["violations"]
            assert [one["id"] for one in faults if one["impact"] in ("serious", "critical")] == []
            page.screenshot(path=tmp_path / "code.png")
            page.fill("#code", "000000")
            page.click("#enter")
            page.wait_for_function(
                "() => document.getElementById('why').textContent.includes('wrong')"
            )
            page.fill("#password", PASSWORD)
            page.click("#enter")
            page.wait_for_selector("#code", state="visible")
            page.fill("#code", pyotp.TOTP(secret).now())
            page.click("#enter")
            page.wait_for_url(lambda url: "desk" in url)
            page.close()
