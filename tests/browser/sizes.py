"""How large the boards show what guests read: `python -m tests.browser.sizes [OUT]`.

Prints, for each view and screen, in per cent of the screen's height: a bead, a mark of the derived
roads, the names of the hands, and the share of the height that the roads take. Writes a picture of
each to OUT where it is given. A letter is read from about 200 times its height (ISO 9241-303).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM
from tests.browser.voice import Reader, table_config, wait_for
from tests.table_log import NOON, Play
from vision.board.host.boards import Boards, address_of
from vision.mqtt.embedded_broker import EmbeddedBroker

SCREENS = {
    "1080p": (1920, 1080),
    "4K": (3840, 2160),
    "portrait": (1080, 1920),
    "tablet": (1024, 768),
}
TABLES = tuple(f"t{number}" for number in range(1, 7))
VIEWS = {"result": "table/t1?view=result", "roads": "table/t1?view=roads", "lobby": "lobby"}
COUPS = (
    "P1:9c B1:3s P2:Kd B2:4h", "P1:2c B1:9s P2:Kd B2:Kh", "P1:Ac B1:Kh P2:8d B2:9c",
    "P1:9d B1:9s P2:Kd B2:Kh", "P1:7d B1:9h P2:Ks B2:Qh", "P1:8c B1:3d P2:Ts B2:4c",
)  # fmt: skip
MEASURE = """() => {
  const part = (pixels) => (100 * pixels / innerHeight).toFixed(1);
  const cell = (place) => {
    const svg = document.querySelector(`:is(${place}) svg`);
    if (!svg) return "";
    const { width, height } = svg.viewBox.baseVal;
    return part(Math.min(svg.clientWidth / width, svg.clientHeight / height));
  };
  const roads = document.querySelector(".roads, .road").getBoundingClientRect();
  const names = parseFloat(getComputedStyle(document.querySelector("h2, .foot b")).fontSize);
  const { scrollWidth, scrollHeight } = document.documentElement;
  const over = [scrollWidth - innerWidth, scrollHeight - innerHeight];
  return [cell("#bead, .road"), cell("#big_eye_boy"), part(names), part(roads.height), over];
}"""


def shoe(coups: int) -> Play:
    """Deal a shoe with every kind of result."""
    play = Play()
    play.at = NOON
    play.begin()
    for number in range(coups):
        play.coup(COUPS[(number * number + number // 5) % len(COUPS)])
    return play


def sizes(page: Any, url: str) -> list[Any]:
    """Return the figures of a board that is open, when its roads are drawn."""
    page.goto(url)
    page.locator("#bead svg circle, .road svg circle").first.wait_for(timeout=60_000)
    page.wait_for_timeout(700)  # two turns of the page's clock, after its fonts
    found: list[Any] = page.evaluate(MEASURE)
    return found


def main() -> None:
    """Print the table."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with ExitStack() as closing:
        broker = closing.enter_context(EmbeddedBroker(0))
        play = closing.enter_context(sync_playwright())
        configs = [table_config(broker.port, table) for table in TABLES]
        boards = closing.enter_context(Boards(configs, address_of(configs[0])))
        wait_for(lambda: boards.feed.connected)
        for table in TABLES:
            reader = Reader(broker.port, table)
            closing.callback(reader.hang_up)
            reader.play(shoe(45).events)
            closing.enter_context(reader.beating())
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        print("| view, screen | bead | derived | names | roads |\n|---|---|---|---|---|")
        for (view, path), (name, size) in product(VIEWS.items(), SCREENS.items()):
            page = browser.new_page(viewport={"width": size[0], "height": size[1]})
            *figures, over = sizes(page, boards.server.url + path)
            print(f"| {view}, {name} | {' | '.join(figures)} |", *(over if any(over) else ()))
            if out is not None:
                page.screenshot(path=out / f"{view}-{name}.png")
            page.close()


if __name__ == "__main__":
    main()
