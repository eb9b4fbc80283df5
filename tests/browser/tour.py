"""A mis-deal from finding to report by keyboard alone: `python -m tests.browser.tour [OUT]`.

An inspector finds it in the queue, looks at it, corrects a card, rules on it, closes it, and finds
it again in search, shoes and reports. Prints the seconds. Then every page of the desk is opened at
three widths and in every language: what scrolls sideways, what axe finds serious, and what the
console says is printed, and the exit code is then 1. The pictures go to OUT (out/tour).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from sqlalchemy import Engine

from tests.browser.conftest import CHROMIUM, Screen
from tests.browser.people import PASSWORD
from tests.browser.screens import ROOT, house
from tests.browser.voice import SITE, Reader
from vision.app.evidence import write_film
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Received, write
from vision.game.outputs import Alert, AlertState
from vision.record.facts import EvidenceKept, Medium

LIMIT_S = 90  # of the tour, from the desk to the report: a person at a live table has no longer
WIDTHS = ((390, 844), (1024, 768), (1920, 1080))
LANGUAGES = tuple(p.stem for p in (ROOT / "vision/board/pages/words").glob("*.json"))
PAGES = {
    "alert": "desk", "shoe": "desk#history/1/s1/28", "shoes": "desk#history",
    "search": "desk#search", "floor": "floor", "reports": "reports#false_alerts",
}  # fmt: skip


def show_evidence(reader: Reader, picture: bytes) -> None:
    """Have the pictures of the open alert and of its coup's cards kept, and published."""
    alert = open_alert(reader)
    facts = (alert.shoe, alert.coup, "0" * 64, len(picture))
    film = write_film([picture] * 8, _size(picture), 8)
    for stored, content in (
        (EvidenceKept(alert.raised_at - 900, "lying", Medium.STILL, *facts, order=alert.order),
         picture),
        (EvidenceKept(alert.raised_at, "moment", Medium.STILL, *facts, alert=alert.id), picture),
        (EvidenceKept(alert.raised_at, "around", Medium.CLIP, *facts, alert=alert.id), film),
    ):  # fmt: skip
        reader.take(stored)
        reader.show(("clip/" if stored.medium is Medium.CLIP else "evidence/") + stored.id, content)


def _size(picture: bytes) -> tuple[int, int]:
    image: Any = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
    return image.shape[1], image.shape[0]


def open_alert(reader: Reader) -> Alert:
    """Return the alert that nobody has ruled on."""
    table = reader.desk.table
    kept = (*table.alerts, *(tracked for coup in table.coups for tracked in coup.alerts))
    ended = (AlertState.RECTIFIED, AlertState.CLOSED)
    return next(tracked.alert for tracked in kept if tracked.alert.state not in ended)


class Tour:
    """An inspector's way through one alert; every step is a key."""

    def __init__(self, screen: Screen, reader: Reader, archive: Engine) -> None:
        self.page = screen.page
        self.screen = screen
        self._reader = reader
        self._archive = archive
        self._alert = open_alert(reader)

    def keys(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.page.keyboard.type(text)

    def tab_to(self, selector: str) -> None:
        """Press Tab until the focus is there."""
        for _ in range(60):
            if self.page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
            self.keys("Tab")
        raise AssertionError(f"no number of tabs leads to {selector}")

    def done(self, label: str) -> None:
        """Wait until the table has accepted an order."""
        self.screen.says("reply", f"{label}: done", 30)

    def look(self) -> None:
        """Go to the alert, see its pictures large, and play the clip."""
        self.page.wait_for_selector("#queue .alert")
        self.keys("j", "k", "a")
        self.done("Acknowledge")
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('#evidence img')].filter(i => i.naturalWidth)"
            ".length === 3",
            timeout=30_000,
        )
        self.keys("v")
        self.page.wait_for_selector("dialog.large[open] img")
        self.keys("ArrowRight", "ArrowRight", "Space", "Escape", "Space")
        self.page.wait_for_function("() => document.querySelector('.player input').value > 0")

    def rule(self) -> None:
        """Correct a card, with the preview; then rectify and close, with words and a category."""
        self.keys("e", "Home", "Tab", "ArrowDown")
        preview = self.page.text_content("form.correct output")
        assert "becomes" in preview, preview
        self.tab_to("form.correct input")
        self.type("read again in the picture")
        self.keys("Enter")
        self.done("Correct card")
        self.keys("Escape", "m")
        self.type("the dealer was told")
        self.keys("Escape", "r", "ArrowDown", "Tab", "Enter")
        self.done("Rectified")
        self.keys("m")
        self.type("paid as dealt")
        self.keys("Escape", "c", "ArrowDown", "Tab", "Enter")
        self.done("Close")

    def find_again(self) -> None:
        """Find the closed alert in search, under its coup, and in the reports of the house."""
        self.keys("3")
        self.page.wait_for_selector("#search td")
        self.tab_to(f"#search a[href='#history/1/{self._alert.shoe}/{self._alert.coup}']")
        self.keys("Enter")
        self.page.wait_for_selector("#history details[open] td:has-text('The dealer')")
        write(
            self._archive,
            [
                Received(SITE, "1", "/".join(m.topic.split("/")[4:]), m.payload)
                for m in self._reader.published
            ],
        )
        self.keys("5")
        self.page.wait_for_url("**/reports*")
        self.page.wait_for_selector("#figures td")
        self.tab_to("#kind")
        self.keys("ArrowDown")
        self.screen.says("title", "False alerts by kind", 30)
        self.page.wait_for_selector("#figures td:has-text('Over-draw by Banco')")


def enter(browser: Any, url: str, size: tuple[int, int]) -> Screen:
    """Log in by keyboard, in a window of that size."""
    width, height = size
    screen = Screen(browser.new_page(viewport={"width": width, "height": height}))
    screen.page.goto(f"{url}login?next=/desk")
    screen.page.wait_for_selector("#name:focus")
    for text, key in (("Ann", "Tab"), (PASSWORD, "Enter")):
        screen.page.keyboard.type(text)
        screen.page.keyboard.press(key)
    screen.page.wait_for_url(lambda there: "login" not in there, timeout=60_000)
    return screen


def take(browser: Any, url: str, out: Path) -> list[str]:
    """Take every page at every width, and one in every language; return what is wrong with them."""
    found = []
    for size in WIDTHS:
        screen = enter(browser, url, size)
        for name, path in PAGES.items():
            languages = LANGUAGES if name == "alert" else ("en",)
            for language in languages:
                page, mark, rest = path.partition("#")
                screen.page.goto("about:blank")
                screen.page.goto(f"{url}{page}?lang={language}{mark}{rest}")
                screen.page.wait_for_timeout(2500)
                what = f"{name} {size[0]} {language}"
                screen.page.screenshot(path=str(out / f"{what.replace(' ', '-')}.png"))
                wide = screen.page.evaluate("document.documentElement.scrollWidth")
                found += [f"{what}: {wide} px wide"] if wide > size[0] else []
                if language == "en":
                    grave = Axe().run(screen.page).response["violations"]
                    nodes = ((one["id"], one["nodes"][0]["html"], one["impact"]) for one in grave)
                    found += [f"{what}: {name} {html[:200]}" for name, html, impact in nodes
                              if impact in ("serious", "critical")]  # fmt: skip
        found += [f"{size[0]}: {words}" for words in screen.complaints]
        screen.page.close()
    return found


def tour(browser: Any, out: Path, *, pages: bool = True) -> list[str]:
    """Walk it and take the pictures; return what is wrong, and print the seconds."""
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="shoe-reader-")))
        url, reader = closing.enter_context(house(folder))
        show_evidence(reader, (folder / "pictures" / "1.jpg").read_bytes())
        found = take(browser, url, out) if pages else []
        screen = enter(browser, url, (1024, 768))
        walk = Tour(screen, reader, open_archive(str(folder / "archive.sqlite")))
        begun = time.monotonic()
        walk.look()
        screen.page.screenshot(path=str(out / "tour-looked.png"))
        fold = screen.page.locator("#actions form").first.bounding_box()
        found += [] if fold and fold["y"] + fold["height"] <= 768 else [f"below the fold: {fold}"]
        walk.rule()
        walk.find_again()
        seconds = time.monotonic() - begun
        screen.page.screenshot(path=str(out / "tour-reports.png"))
        print(f"found, looked at, corrected, ruled on, closed, found again: {seconds:.1f} s")
        found += [f"longer than {LIMIT_S} s"] if seconds > LIMIT_S else []
        found += screen.complaints
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "out" / "tour")
    parser.add_argument("--walk", action="store_true", help="without the pictures of the pages")
    args = parser.parse_args()
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        wrong = tour(chromium, args.out, pages=not args.walk)
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)
