"""Take the pictures of every page: `python -m tests.browser.screens [OUT] [--documents]`.

A simulated shoe is dealt at two tables, with mis-deals in it; Debian's Chromium looks at the pages
as the people of the house see them, in two languages. The pictures go to out/screens, where `make
docs` takes them; `--documents` also renews those of deploy/img. A serious finding of axe or a
message of the console is printed, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import cv2
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Plan, Scenario, Slip
from datasets.dealing.simulate import Show, rehearse
from datasets.dealing.table_places import Camera
from tests.browser.conftest import CHROMIUM, Screen
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.shoe import Shoe
from tests.browser.voice import Reader, table_config, wait_for
from tests.floor.archive.month import PlayedTable
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.clock import now_ms
from vision.commands import reports_of
from vision.commands.printing.drawn_film import live_measuring
from vision.config.table import load
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import write
from vision.game.cards import parse_cards
from vision.mqtt.embedded_broker import EmbeddedBroker

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "screens"
IMAGES = ROOT / "deploy" / "img"
# Of a JPEG in deploy/img: text stays sharp, and a picture is below 150 kB.
QUALITY, SCALE = 82, 0.75
LANGUAGES = ("en", "fr")
# Dealt before the pictures are taken: the roads have some length. Every seventh coup is a mis-deal,
# and so is the one after these, whose alert is left open; at the first table till it has lapsed.
COUPS = 27
# The coup of the open alert, as it is filmed: both hands have 7 and stand, Banco gets a card.
FAULTY = Plan(Slip.OVER_DRAW_BANCO, parse_cards("4c Kd 3h 7s 5d"))
BEFORE_MS = 6 * 60_000  # that the dealing takes: the last alert is some seconds old
SHOWN_MS = 300  # before the first card is taken away: all cards of the coup lie on the table
SIZE: Any = {"width": 1600, "height": 900}
SMALL: Any = {"width": 900, "height": 540}  # of the strip before the dealer


@contextmanager
def house(folder: Path) -> Iterator[tuple[str, Reader]]:
    """Give the address of a house's pages, and the reader of the table that they show."""
    users, key = house_of_people(folder)
    show = rehearse(
        Scenario(coups=1, seed=11, plans={1: FAULTY}), look_for("test", 1, Camera((1920, 1080)))
    )
    table = _table(show, folder)
    address = str(folder / "archive.sqlite")
    write(open_archive(address), PlayedTable("1", 400, 5).messages())
    with EmbeddedBroker(0) as broker, ExitStack() as closing:
        seen = load(table)
        archive = seen.archive.model_copy(update={"address": address})
        configs = [
            with_desk(table_config(broker.port, name), users, key).model_copy(
                update={"camera": seen.camera, "view": seen.view, "archive": archive}
            )
            for name in ("1", "2")
        ]
        editors = {"1": TableEditor(configs[0], table, live_measuring())}
        boards = closing.enter_context(
            Boards(configs, address_of(configs[0]), editors, reports_of(archive))
        )
        readers = [Reader(broker.port, name, users) for name in ("1", "2")]
        for reader in readers:
            closing.callback(reader.hang_up)
            closing.enter_context(reader.beating())
        wait_for(lambda: boards.feed.connected)
        for seed, reader in enumerate(readers):
            shoe = Shoe(reader, seed=seed, at=now_ms() - BEFORE_MS)
            for _ in range(COUPS):
                shoe.deal()
            shoe.deal(ruled=False, cards=FAULTY.cards if seed == 0 else ())
            if seed == 0:
                shoe.deal()
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
    """Have the last mis-deal's alert name a picture of the table, and odds as a decoder's."""
    alert = next(m for m in reversed(reader.published) if "/alert/" in m.topic and m.payload)
    topic = f"evidence/{alert.topic.rsplit('/', 1)[1]}"
    reader.show(topic, picture)
    payload = alert.payload.replace(b'"evidence":[]', f'"evidence":["{topic}"]'.encode())
    number = f'"seq":{alert.seq}'.encode()
    reader.publish(alert.topic, payload.replace(number, b'"odds":250.0,"seq":999999'))


def take(out: Path, *, documents: bool = False) -> list[str]:
    """Take all pictures into a folder; return what axe and the console complain of."""
    out.mkdir(parents=True, exist_ok=True)
    complaints = []
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="shoe-reader-screens-"))
        url, _ = closing.enter_context(house(Path(folder)))
        play = closing.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        closing.callback(browser.close)
        for number, (name, who, path, ready) in enumerate(PAGES, start=1):
            for language in LANGUAGES:
                size = SMALL if who == "Bo" else SIZE
                screen = Screen(browser.new_context(viewport=size).new_page())
                _enter(screen.page, url, who, _in(language, path))
                ready(screen.page)
                file = out / f"{number:02d}-{name}-{language}.png"
                screen.page.screenshot(path=file)
                faults = Axe().run(screen.page).response["violations"]
                grave = [one["id"] for one in faults if one["impact"] in ("serious", "critical")]
                complaints += [f"{file.stem}: {what}" for what in (*grave, *screen.complaints)]
                screen.page.context.close()
                if documents and language == "en" and name in DOCUMENTS:
                    _keep(file, IMAGES / DOCUMENTS[name])
    return complaints


def _keep(picture: Path, stored: Path) -> None:
    """Write a picture as a document shows it."""
    image: Any = cv2.imread(str(picture))
    image = cv2.resize(image, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(stored), image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


def _in(language: str, path: str) -> str:
    """Return the path of a page in a language."""
    page, mark, rest = path.partition("#")
    return f"{page}?lang={language}{mark}{rest}"


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
    page.wait_for_function(
        "() => document.querySelector('#evidence img')?.naturalWidth > 0", timeout=60_000
    )
    _settled(page)


def _history(page: Any) -> None:
    _settled(page)
    page.locator("#history details[open] > summary").evaluate("coup => coup.scrollIntoView()")
    _settled(page)


def _shown(selector: str) -> Callable[[Any], None]:
    """Return a wait for something on the page, until it has settled."""

    def wait(page: Any) -> None:
        page.wait_for_selector(selector, timeout=60_000)
        _settled(page)

    return wait


# Name, who is logged in, path, and what is waited for. A new page of the desk is one row more.
PAGES: tuple[tuple[str, str, str, Callable[[Any], None]], ...] = (
    ("results-board", "", "table/1", _settled),
    ("all-tables", "", "", _settled),
    ("log-in", "", "login", _settled),
    ("dealer-strip", "Bo", "dealer/1", _settled),
    ("surveillance-desk-with-an-alert", "Ann", "desk", _alert),
    ("a-table-at-the-desk", "Ann", "desk#table/2", _shown("#facts dl")),
    ("a-shoe-coup-by-coup", "Cy", "desk#history/1/s1/7", _history),
    ("shoes", "Cy", "desk#history", _shown("#history table")),
    ("search", "Cy", "desk#search", _shown("#search td")),
    ("floor", "Cy", "floor", _shown("#floor .tile")),
    ("reports", "Cy", "reports", _shown("#figures td")),
    ("readers", "Di", "setup", _settled),
    ("set-up-of-a-table", "Di", "setup/1", _shown(".PUNTO_1 polygon")),
)
# Pictures that documents show, and what they are called there.
DOCUMENTS = {
    "results-board": "board.jpg",
    "dealer-strip": "dealer-strip.jpg",
    "surveillance-desk-with-an-alert": "desk.jpg",
    "a-shoe-coup-by-coup": "shoe.jpg",
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=OUT, help="folder for the pictures")
    parser.add_argument("--documents", action="store_true", help="also renew those of deploy/img")
    args = parser.parse_args()
    found = take(args.out, documents=args.documents)
    print(*found, sep="\n")
    sys.exit(1 if found else 0)
