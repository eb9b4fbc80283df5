"""A broker, the boards of a table, and Debian's Chromium that looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.browser.people import house_of_people, with_desk
from tests.browser.voice import Reader, Voice, table_config, wait_for
from vision.board.host.boards import Boards, address_of
from vision.mqtt.embedded_broker import EmbeddedBroker

TABLES = 60
# How long a page is waited for, ms: a busy machine is no fault of the page.
PATIENCE_MS = 120_000
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Screen:
    """A page in the browser, and what it complained of and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda note: self.complaints.append(f"{note.text} {note.location['url']}")
        )
        self.page.on("request", lambda request: self.asked.append(request.url))

    def says(self, name: str, words: str, seconds: float = PATIENCE_MS / 1000) -> None:
        """Wait until an element says something; what must be quick says how quick."""
        self.page.wait_for_function(
            "([id, words]) => document.getElementById(id)?.textContent.includes(words)",
            arg=[name, words],
            timeout=1000 * seconds,
        )

    def live(self, voice: Voice | Reader) -> None:
        """Let the table show signs of life until the page calls itself live."""
        for _ in range(20):
            voice.alive()
            if self.page.locator("body:not(.stale)").count():
                return
            self.page.wait_for_timeout(250)
        pytest.fail(f"the page is not live: {self.page.text_content('#notice')}")


@dataclass
class Browser:
    """Chromium, whose pages are waited for with patience."""

    chromium: Any

    def new_context(self, **options: Any) -> Any:
        """Open a context as Playwright does."""
        context = self.chromium.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def new_page(self, **options: Any) -> Any:
        """Open a page in a context of its own."""
        return self.new_context(**options).new_page()


@dataclass
class Hall:
    """What the tests share: a broker, a board server, and tables that are still free."""

    broker: EmbeddedBroker
    boards: Boards
    users: Path
    free: Iterator[str]

    @property
    def url(self) -> str:
        """Where the boards are served."""
        return self.boards.server.url


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Run Debian's Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        yield Browser(play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM))


@pytest.fixture(scope="package")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    """Run a broker and a board server with a table for every test, and people who may log in."""
    users, key = house_of_people(tmp_path_factory.mktemp("house"))
    with EmbeddedBroker(0) as broker:
        configs = [table_config(broker.port, f"t{number}") for number in range(TABLES)]
        configs[0] = with_desk(configs[0], users, key)
        with Boards(configs, address_of(configs[0])) as boards:
            wait_for(lambda: boards.feed.connected)
            yield Hall(broker, boards, users, iter(config.table for config in configs))


@pytest.fixture
def reader(hall: Hall, table: str) -> Iterator[Reader]:
    """Give a reader of the table that obeys the house's people."""
    found = Reader(hall.broker.port, table, hall.users)
    yield found
    found.hang_up()


@pytest.fixture
def table(hall: Hall) -> str:
    """Give the name of a table of which nobody has heard yet."""
    return next(hall.free)


@pytest.fixture
def voice(hall: Hall, table: str) -> Iterator[Voice]:
    """Give a reader's voice that is on line."""
    found = Voice(hall.broker.port, table)
    found.online()
    yield found
    found.hang_up()


@pytest.fixture
def screen(chromium: Any, hall: Hall, table: str) -> Iterator[Screen]:
    """Open the table's results board in Full HD."""
    found = Screen(chromium.new_page(viewport={"width": 1920, "height": 1080}))
    found.page.goto(f"{hall.url}table/{table}")
    yield found
    found.page.close()


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Run a broker of a test's own, to be killed."""
    with EmbeddedBroker(0) as running:
        yield running
