"""Twelve tabs of one browser, left alone: `python -m tests.browser.tabs [--minutes 60]`.

A desk, the floor and ten boards stay open while coups are dealt; halfway the broker goes away and
returns. Prints how many tabs are current at the end, and how many streams the server has.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import Voice, table_config, wait_for
from vision.board.host.boards import Boards, address_of
from vision.mqtt.embedded_broker import EmbeddedBroker

IDLE_MIN = 600  # more than any run
BOARDS = 10  # tables, each with its board; more than the six connections of a browser
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
# Of a coup: Punto, Banco, who wins as the board says it.
COUPS = (("9c Kd", "3s 4h", "Punto wins"), ("2c Kd", "3s 4h", "Banco wins"))


class Wall:
    """A house of ten tables and a browser with twelve tabs of it."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self._users, self._key = house_of_people(folder)
        self._browser = browser
        self._broker = EmbeddedBroker(0)
        self.coups = 0

    @contextmanager
    def open(self) -> Iterator[Wall]:
        """Open it all."""
        with ExitStack() as closing:
            self._broker.start()
            closing.callback(lambda: self._broker.stop())  # noqa: PLW0108  # a later one
            names = [str(number) for number in range(1, BOARDS + 1)]
            configs = [table_config(self._broker.port, name) for name in names]
            # A desk that nobody touches for an hour is logged out otherwise, as it should be.
            configs[0] = with_desk(configs[0], self._users, self._key, idle_min=IDLE_MIN)
            self.boards = closing.enter_context(Boards(configs, address_of(configs[0])))
            wait_for(lambda: self.boards.feed.connected)
            self._speak()
            context = self._browser.new_context()
            closing.callback(context.close)
            url = self.boards.server.url
            page = context.new_page()
            page.goto(f"{url}login?next=/desk")
            page.fill("#name", "Ann")
            page.fill("#password", PASSWORD)
            page.click("#enter")
            page.wait_for_url("**/desk", timeout=60_000)
            paths = ["floor", *(f"table/{name}" for name in names)]
            self.pages = [page, *(context.new_page() for _ in paths)]
            for other, path in zip(self.pages[1:], paths, strict=True):
                other.goto(url + path)
            yield self
            for voice in self.voices:
                voice.hang_up()

    def _speak(self) -> None:
        self.voices = [Voice(self._broker.port, str(n)) for n in range(1, BOARDS + 1)]
        for voice in self.voices:
            voice.seq = 100 * self.coups
            voice.online()

    def deal(self) -> None:
        """Deal a coup at every table."""
        punto, banco, _ = COUPS[self.coups % 2]
        self.coups += 1
        for voice in self.voices:
            voice.live(self.coups, punto, banco)
            voice.result(self.coups, punto, banco)

    def beat(self, seconds: float) -> None:
        """Let the readers show signs of life for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for voice in self.voices:
                voice.alive()
            self.pages[0].wait_for_timeout(500)

    def lose_broker(self) -> None:
        """Let the broker go away, and come back with readers that say all again."""
        port = self._broker.port
        for voice in self.voices:
            voice.hang_up()
        self._broker.stop()
        self.pages[0].wait_for_timeout(3000)
        self._broker = EmbeddedBroker(port)
        self._broker.start()
        self._speak()

    def current(self, seconds: float) -> list[str]:
        """Return the addresses of the pages that show the last coup, waiting so long at most."""
        words = COUPS[(self.coups - 1) % 2][2]
        end = time.monotonic() + seconds
        found: list[str] = []
        while len(found) < len(self.pages) and time.monotonic() < end:
            self.beat(0.5)
            found = [page.url for page in self.pages if self._is_current(page, words)]
        return found

    def _is_current(self, page: Any, words: str) -> bool:
        if page.locator("body.stale").count():
            return False
        if "/table/" in page.url:
            return words in (page.text_content("#verdict") or "")
        return f"Coup {self.coups}" in page.inner_text("body")


def main() -> int:
    """Leave the tabs open, and say how many are current; 1 if one is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.0)
    minutes = parser.parse_args().minutes
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="shoe-reader-tabs-"))
        play = closing.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        closing.callback(browser.close)
        wall = closing.enter_context(Wall(Path(folder), browser).open())
        end = time.monotonic() + 60 * minutes
        lost = False
        while True:
            wall.deal()
            wall.beat(20 if minutes else 1)
            if not lost and time.monotonic() >= end - 30 * minutes:
                lost = True
                wall.lose_broker()
            if lost and time.monotonic() >= end:
                break
        wall.deal()
        found = wall.current(60)
        streams = wall.boards.feed.listeners
        print(f"{len(found)} of {len(wall.pages)} tabs current after {minutes:g} minutes:")
        print(f"{wall.coups} coups, a broker that went away; public streams: {streams}")
        late = [page.url for page in wall.pages if page.url not in found]
        print(*(f"not current: {url}" for url in late), sep="\n")
    return 0 if len(found) == len(wall.pages) else 1


if __name__ == "__main__":
    sys.exit(main())
