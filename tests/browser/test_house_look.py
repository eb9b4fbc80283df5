"""What a house sets of its boards, in a real browser: logo, colour, names, views, sound, marks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Screen
from tests.browser.voice import Reader, Voice, table_config
from tests.table_log import clean
from vision.board.host.boards import Boards, address_of
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker

GROUND, SHOWN = "#301040", "rgb(48, 16, 64)"  # as the settings and as a browser has it
LIGHTEST = "#3f3f3f"  # that the settings take
# Counts the tones that a page plays.
LISTEN = """
  window.tones = 0;
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (...at) { window.tones += 1; start.apply(this, at); };
"""

pytestmark = pytest.mark.browser


def logo(folder: Path) -> str:
    """Write a logo, and return where."""
    path = folder / "logo.png"
    cv2.imwrite(str(path), np.full((40, 160, 3), (0, 200, 255), np.uint8))
    return str(path)


@contextmanager
def boards(broker: EmbeddedBroker, *tables: str, **settings: object) -> Iterator[str]:
    """Serve the boards of a house with such settings."""
    configs = [table_config(broker.port, table, **settings) for table in tables or ("7",)]
    with Boards(configs, address_of(configs[0])) as served:
        yield served.server.url


@contextmanager
def opened(chromium: Any, url: str) -> Iterator[Screen]:
    """Open a page in Full HD, and close it."""
    screen = Screen(chromium.new_page(viewport={"width": 1920, "height": 1080}))
    screen.page.add_init_script(LISTEN)
    screen.page.goto(url)
    yield screen
    screen.page.close()


def ground(screen: Screen) -> str:
    """Return the colour of the page's ground."""
    found: str = screen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return found


def test_board_has_the_logo_ground_names_and_view_of_the_house(
    chromium: Any, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """They are settings of the table file; what the address asks for goes before them."""
    voice = Voice(broker.port)
    voice.online()
    voice.result(3, "As 8c", "Kd 7h")
    look = {"logo": logo(tmp_path), "ground": GROUND, "names": "player-banker", "view": "roads"}
    with boards(broker, **look) as url, opened(chromium, url) as screen:
        screen.live(voice)
        screen.says("verdict", "Player wins")
        screen.page.wait_for_function(
            "() => document.querySelector('#logo img')?.naturalWidth === 160"
        )
        assert ground(screen) == SHOWN
        assert screen.page.locator("h2").all_text_contents() == ["Player", "Banker"]
        assert "Player" in screen.page.text_content("#odds")
        assert "Punto" not in screen.page.inner_text("body")
        roads = screen.page.locator(".roads").bounding_box()
        assert roads["height"] >= 0.65 * 1080
        assert str(tmp_path) not in screen.page.evaluate(
            "fetch('/events/7').then(a => a.body.getReader().read())"
            ".then(({ value }) => new TextDecoder().decode(value))"
        )
        screen.page.goto(f"{url}?names=punto-banco&view=result")
        screen.says("verdict", "Punto wins")
        assert screen.page.locator(".roads").bounding_box()["height"] < 0.5 * 1080
        assert screen.complaints == []
    voice.hang_up()


def test_board_on_the_lightest_ground_that_is_taken_is_still_legible(
    chromium: Any, broker: EmbeddedBroker
) -> None:
    """Every letter keeps its contrast."""
    voice = Voice(broker.port)
    voice.online()
    voice.result(3, "As 8c", "Kd 7h")
    with boards(broker, ground=LIGHTEST) as url, opened(chromium, url) as screen:
        screen.says("verdict", "Punto wins")
        screen.live(voice)
        found = Axe().run(screen.page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    voice.hang_up()


def test_lobby_has_each_table_with_its_limits_and_last_result_in_the_look_of_the_house(
    chromium: Any, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """A tile leads to the board of its table; nothing is outside of the screen."""
    voices = [Voice(broker.port, table) for table in ("7", "8", "9")]
    for number, voice in enumerate(voices):
        voice.online()
        voice.result(number + 1, "As 8c", "Kd 7h")
    look = {"logo": logo(tmp_path), "ground": GROUND, "names": "player-banker"}
    with boards(broker, "7", "8", "9", **look) as url, opened(chromium, url) as screen:
        screen.page.wait_for_function(
            "() => document.querySelectorAll('.foot b.punto').length === 3"
        )
        assert screen.page.locator(".foot b.punto").all_text_contents() == ["Player wins"] * 3
        screen.page.wait_for_function(
            "() => document.querySelector('#logo img')?.naturalWidth === 160"
        )
        assert ground(screen) == SHOWN
        boxes = [tile.bounding_box() for tile in screen.page.locator("#tables li").all()]
        assert all(b["x"] + b["width"] <= 1920 and b["y"] + b["height"] <= 1080 for b in boxes)
        screen.page.click("#at-8")
        screen.says("table", "Table 8")
        assert screen.complaints == []
    for voice in voices:
        voice.hang_up()


@pytest.mark.parametrize(
    ("settings", "asked", "tones"),
    [({}, "", 0), ({"sound": True}, "", 2), ({}, "?sound=1", 2), ({"sound": True}, "?sound=0", 0)],
)
def test_board_sounds_only_where_the_house_wants_it_and_only_for_a_new_result(
    chromium: Any, broker: EmbeddedBroker, settings: dict[str, bool], asked: str, tones: int
) -> None:
    """Two tones for a result that came while the page was open, none for the one before."""
    voice = Voice(broker.port)
    voice.online()
    voice.result(3, "As 8c", "Kd 7h")
    with boards(broker, **settings) as url, opened(chromium, f"{url}{asked}") as screen:
        screen.says("verdict", "Punto wins")
        assert screen.page.evaluate("tones") == 0
        voice.result(4, "As Kc", "Kd 7h")
        screen.says("verdict", "Banco wins")
        assert screen.page.evaluate("tones") == tones
    voice.hang_up()


@pytest.mark.parametrize(
    ("settings", "asked", "marked"),
    [({}, "", False), ({"marks": True}, "", True), ({}, "?marks=1", True)],
)
def test_board_underlines_naturals_only_where_the_house_wants_it(
    chromium: Any, broker: EmbeddedBroker, settings: dict[str, bool], asked: str, marked: bool
) -> None:
    """Most houses' bead plates have winner and pairs only."""
    reader = Reader(broker.port)
    reader.play(clean().events[:-1])
    with boards(broker, **settings) as url, opened(chromium, f"{url}{asked}") as screen:
        screen.page.wait_for_selector("#bead g:nth-of-type(5)", state="attached")
        naturals = int(screen.page.locator("#counts dd").nth(5).text_content())
        drawn = screen.page.locator("#bead path[stroke='#fff']").count()
        assert naturals > 0
        assert drawn == (naturals if marked else 0)
    reader.hang_up()


def test_logo_that_is_no_picture_is_refused_with_the_cure(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """What may hold scripts is given to no browser."""
    vector = tmp_path / "logo.svg"
    vector.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", "utf-8")
    bitmap = tmp_path / "logo.bmp"
    cv2.imwrite(str(bitmap), np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(OutsideError, match=r"logo\.svg"), boards(broker, logo=str(vector)):
        pass
    with pytest.raises(ConfigurationError, match="PNG or JPEG"), boards(broker, logo=str(bitmap)):
        pass
    none = str(tmp_path / "none.png")
    with pytest.raises(OutsideError, match="the name of a picture"), boards(broker, logo=none):
        pass
