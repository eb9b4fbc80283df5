"""Take the pictures of every page for the documentation: `python -m tests.browser.screens [OUT]`.

A simulated shoe is dealt at two tables, with mis-deals in it; Debian's Chromium looks at the pages
as the people of the house see them. The pictures go to out/screens, where `make docs` takes them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import cv2
from playwright.sync_api import sync_playwright

from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario
from datasets.dealing.simulate import Show, rehearse
from datasets.dealing.table_places import Camera
from tests.browser.conftest import CHROMIUM
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.shoe import Shoe
from tests.browser.voice import Reader, table_config, wait_for
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.clock import now_ms
from vision.commands.printing.drawn_film import live_drawing
from vision.config.table import load
from vision.mqtt.embedded_broker import EmbeddedBroker

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "screens"
# Dealt before the pictures are taken: the roads have some length. Every seventh coup is a mis-deal,
# and so is the one after these, whose alert is left open.
COUPS = 27
BEFORE_MS = 6 * 60_000  # that the dealing takes: the last alert is some seconds old
SHOWN_MS = 300  # before the first card is taken away: all cards of the coup lie on the table
SIZE = {"width": 1600, "height": 900}
SMALL = {"width": 900, "height": 540}  # of the strip before the dealer


@contextmanager
def house(folder: Path) -> Iterator[tuple[str, Reader]]:
    """Give the address of a house's pages, and the reader of the table that they show."""
    users, key = house_of_people(folder)
    show = rehearse(Scenario(coups=1, seed=11), look_for("test", 1, Camera((1920, 1080))))
    table = _table(show, folder)
    with EmbeddedBroker(0, 0) as broker, ExitStack() as closing:
        seen = load(table)
        configs = [
            with_desk(table_config(broker.port, name), users, key).model_copy(
                update={"camera": seen.camera, "view": seen.view}
            )
            for name in ("1", "2")
        ]
        editors = {"1": TableEditor(configs[0], table, live_drawing)}
        boards = closing.enter_context(Boards(configs, address_of(configs[0]), editors))
        readers = [Reader(broker.port, name, users) for name in ("1", "2")]
        for reader in readers:
            closing.callback(reader.hang_up)
            closing.enter_context(reader.beating())
        wait_for(lambda: boards.feed.connected)
        for seed, reader in enumerate(readers):
            shoe = Shoe(reader, seed=seed, at=now_ms() - BEFORE_MS)
            for _ in range(COUPS):
                shoe.deal()
            shoe.deal(ruled=False)
        _show_picture(readers[0], (folder / "pictures" / "1.jpg").read_bytes())
        yield boards.server.url, readers[0]


def _table(show: Show, folder: Path) -> Path:
    """Write a picture of a simulated table, and the table file that it fits."""
    taken = min(card["removed_ms"] for card in show.truth()["cards"])
    image = next(image for image, at in show.frames() if at >= taken - SHOWN_MS)
    (folder / "pictures").mkdir()
    cv2.imwrite(str(folder / "pictures" / "1.jpg"), image)
    path = folder / "table.toml"
    path.write_text(show.table_file(source="pictures"), "utf-8")
    return path


def _show_picture(reader: Reader, picture: bytes) -> None:
    """Have the last alert name a picture of the table."""
    alert = next(m for m in reversed(reader.said) if "/alert/" in m.topic and m.payload)
    topic = f"evidence/{alert.topic.rsplit('/', 1)[1]}"
    reader.show(topic, picture)
    payload = alert.payload.replace(b'"evidence":[]', f'"evidence":["{topic}"]'.encode())
    number = f'"seq":{alert.seq}'.encode()
    reader.publish(alert.topic, payload.replace(number, b'"seq":999999'))


def take(out: Path) -> None:
    """Take all pictures into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="shoe-reader-screens-"))
        url, _ = closing.enter_context(house(Path(folder)))
        play = closing.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        closing.callback(browser.close)
        for number, (name, who, path, ready) in enumerate(PAGES, start=1):
            page = browser.new_context(viewport=SMALL if who == "Bo" else SIZE).new_page()
            _enter(page, url, who, path)
            ready(page)
            page.screenshot(path=out / f"{number}-{name}.png")
            page.context.close()


def _enter(page: Any, url: str, who: str, path: str) -> None:
    """Open a page, as somebody who has logged in where it needs one."""
    if who:
        page.goto(f"{url}login")
        page.fill("#name", who)
        page.fill("#password", PASSWORD)
        page.click("#enter")
        page.wait_for_url(lambda there: "login" not in there, timeout=60_000)
    page.goto(url + path)


def _settled(page: Any) -> None:
    page.wait_for_timeout(3000)


def _alert(page: Any) -> None:
    page.locator("#queue .alert").first.click(timeout=60_000)
    page.wait_for_function("document.querySelector('#facts img')?.naturalWidth > 0", timeout=60_000)


def _history(page: Any) -> None:
    page.locator("summary:has-text('Coup 7')").first.click(timeout=60_000)
    _settled(page)


def _search(page: Any) -> None:
    page.click("#search button")
    page.wait_for_selector("#search td:has-text('card')", timeout=60_000)


def _set_up(page: Any) -> None:
    page.wait_for_selector(".PUNTO_1 polygon", timeout=60_000)
    _settled(page)


# Name, who is logged in, path, and what is waited for. A new page of the desk is one row more.
PAGES: tuple[tuple[str, str, str, Callable[[Any], None]], ...] = (
    ("results-board", "", "table/1", _settled),
    ("all-tables", "", "", _settled),
    ("log-in", "", "login", _settled),
    ("dealer-strip", "Bo", "dealer/1", _settled),
    ("surveillance-desk-with-an-alert", "Ann", "desk", _alert),
    ("a-shoe-coup-by-coup", "Cy", "desk#history/1/s1", _history),
    ("search", "Cy", "desk#search", _search),
    ("set-up-of-a-table", "Di", "setup/1", _set_up),
)


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
