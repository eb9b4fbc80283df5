"""Walk the installer's way from an empty folder to the first coup, and take its pictures.

`python -m tests.browser.first_hour [OUT] [--program P]`: a drawn film is the camera; on it eight
cards lie to measure the table, and before the first coup the demo's film takes its place.
P is the `shoe-reader` of the environment to be tried. Minutes of each step are printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from playwright.sync_api import sync_playwright

from datasets.dealing.table_places import Layout
from models.evaluate.laid_cards import Style, laid_on, places_of
from tests.browser.conftest import CHROMIUM
from tests.browser.screens import ROOT
from vision.config.table import load

OUT = ROOT / "deploy" / "img"
FILM = ROOT / "datasets" / "dealing" / "ready"
FRAMES = 150  # of the film on which the cards lie still
SIZE = {"width": 1600, "height": 960}
WAIT_MS = 400_000  # for a command on a busy machine
MOST_PX = 1200  # width of a picture
QUALITY = 72  # of the JPEGs: print and letters stay sharp


def film(path: Path) -> Any:
    """Write a film of the demo's table with the eight cards laid on it; return the bare table."""
    plane = load(FILM / "table.toml").view.plane()
    with av.open(str(FILM / "deal.mp4")) as dealt:
        empty = next(dealt.decode(video=0)).to_ndarray(format="bgr24")
    layout = Layout()
    image = laid_on(empty, plane.to_px, layout, places_of(layout), Style())
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=15, options={"crf": "20", "preset": "veryfast"})
        stream.width, stream.height = empty.shape[1::-1]
        for _ in range(FRAMES):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(image, "bgr24")))
        out.mux(stream.encode())
    return empty


# --- the walk ----------------------------------------------------------------------------------


@dataclass
class Walk:
    """A new user's folder, program and browser; minutes of each step."""

    folder: Path
    out: Path
    program: list[str]
    browser: Any
    env: dict[str, str]
    minutes: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the minutes of a step."""
        began_s = time.monotonic()
        yield
        self.minutes[name] = (time.monotonic() - began_s) / 60
        print(f"{self.minutes[name]:5.1f} min  {name}", flush=True)

    def ask(self, *words: str) -> str:
        """Run a command to its end; return it as a terminal shows it."""
        done = subprocess.run(
            [*self.program, *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return f"$ shoe-reader {' '.join(words)}\n{done.stdout}{done.stderr}"

    def terminal(self, name: str, text: str) -> None:
        """Take a picture of what a terminal shows."""
        page = self.browser.new_page(viewport={"width": 1060, "height": 400})
        page.set_content(
            "<pre style='margin:0;padding:14px;background:#101418;color:#e8ece8;white-space:"
            "pre-wrap;font:15px/1.4 DejaVu Sans Mono,monospace'></pre>"
        )
        page.eval_on_selector("pre", "(pre, text) => { pre.textContent = text }", text.strip())
        self.save(page.locator("pre"), name)
        page.close()

    def save(self, what: Any, name: str) -> None:
        """Take a picture of a page or a part of it."""
        shot = np.frombuffer(what.screenshot(), np.uint8)
        image: Any = cv2.imdecode(shot, cv2.IMREAD_COLOR)
        share = min(1.0, MOST_PX / image.shape[1])
        small = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        path = self.out / f"{name}.jpg"
        cv2.imwrite(str(path), small, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])


def walk(trip: Walk) -> None:
    """Go all steps that need no screwdriver, in their order."""
    image = film(trip.folder / "camera.mp4")
    small = cv2.resize(image, (960, 540), interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(trip.out / "step-1.jpg"), small, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    trip.terminal("step-2", trip.ask("--version") + trip.ask("check", "7.toml"))
    with trip.step("3 demo"):
        last = trip.ask("demo", "--fast").strip().splitlines()[-1]
    print(last)
    setup = [*trip.program, "setup", "7.toml", "--source", "camera.mp4", "--http-port", "0"]
    with ExitStack() as closing:
        with trip.step("4 table file"):
            process = subprocess.Popen(
                setup, cwd=trip.folder, env=trip.env, stdout=subprocess.PIPE, text=True
            )
            closing.callback(process.wait)
            closing.callback(process.send_signal, signal.SIGINT)
            assert process.stdout is not None
            lines = list(takewhile(lambda line: "Ctrl-C" not in line, process.stdout))
        words = ["shoe-reader", *setup[len(trip.program) : -2]]
        trip.terminal("step-4", f"$ {' '.join(words)}\n{''.join(lines)}")
        page = trip.browser.new_page(viewport=SIZE)
        _page(trip, page, lines[-2].split()[-1], lines[-1].split()[-1])
        _house(trip)


def _page(trip: Walk, page: Any, url: str, password: str) -> None:
    with trip.step("5 light and focus"):
        page.goto(f"{url.split('setup', maxsplit=1)[0]}login?next=/{url.split('/', 3)[3]}")
        page.fill("#name", "engineer")
        page.fill("#password", password)
        page.click("#enter")
        _says(page, "next", "Next: Measure")
    trip.save(page, "step-5")
    with trip.step("6 measure the table"):
        page.click("#lay")
        page.wait_for_selector("#keep:enabled", timeout=WAIT_MS)
        trip.save(page, "step-6")
        print(page.inner_text("#measured"))
        page.click("#keep")
        _says(page, "saved", "Saved")
    # The cards are taken away while the page still has the film with them open.
    shutil.copy(FILM / "deal.mp4", trip.folder / "next.mp4")
    (trip.folder / "next.mp4").replace(trip.folder / "camera.mp4")
    with trip.step("7 areas"):
        page.wait_for_selector("#picture:not(.none)")
        page.wait_for_timeout(1500)
        trip.save(page, "step-7")
    with trip.step("8 house rules, check and first coup"):
        page.select_option("#dealing", load(FILM / "table.toml").dealing)
        page.click("#house button")
        _says(page, "house-saved", "Saved")
        _press(page, "check")
        _ended(page)
        print(page.inner_text("#check"))
        _press(page, "run")
        page.wait_for_selector("#coups span:text-matches('^coup ')", timeout=WAIT_MS)
        page.wait_for_timeout(500)
        trip.save(page, "step-8")
        page.click("[data-job=stop]")
        _ended(page)
        print(page.inner_text("#coups"))
    with trip.step("9 deck, until the first faces are seen"):
        _press(page, "enrol")
        _says(page, "progress", "seen")
        page.wait_for_function(
            "() => !/seen 0 of/.test(document.getElementById('progress').textContent)",
            timeout=WAIT_MS,
        )
        trip.save(_step(page, 6), "step-9")
        page.click("[data-job=stop]")
        _ended(page)


def _step(page: Any, number: int) -> Any:
    return page.locator(f"#steps > li:nth-child({number})")


def _house(trip: Walk) -> None:
    add = ("users", "add", "Ann", "--role", "inspector", "--through-desk")
    with trip.step("10 a person, and services below a folder"):
        reported = trip.ask(*add, "--file", "people/users.json")
        installed = trip.ask("install", "7.toml", "--root", "machine", "--yes")
    trip.terminal("step-10", reported + "\n".join(line[:130] for line in installed.splitlines()))


def _press(page: Any, job: str) -> None:
    page.click(f"[data-job={job}]:enabled", timeout=WAIT_MS)
    page.wait_for_selector("[data-job=stop]:enabled", timeout=WAIT_MS)


def _ended(page: Any) -> None:
    page.wait_for_selector("[data-job=check]:enabled", timeout=WAIT_MS)
    assert page.locator("#steps .FAULT").count() == 0, page.inner_text("#steps")


def _says(page: Any, name: str, words: str) -> None:
    page.wait_for_function(
        "([id, words]) => document.getElementById(id)?.textContent.includes(words)",
        arg=[name, words],
        timeout=WAIT_MS,
    )


def take(browser: Any, out: Path, program: str = "") -> dict[str, float]:
    """Walk with a browser, write the pictures into a folder, return the minutes of each step."""
    out.mkdir(parents=True, exist_ok=True)
    words = [program] if program else [sys.executable, "-m", "vision.cli"]
    # A program of another environment must not find this tree.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or not program}
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        trip = Walk(Path(folder), out, words, browser, env)
        walk(trip)
    return trip.minutes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", default=OUT)
    parser.add_argument("--program", default="")
    args = parser.parse_args()
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        take(chromium, args.out, args.program)
