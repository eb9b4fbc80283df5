"""How long from an MQTT message to painted pixels, and what server and page weigh after long play.

One screen is a results board in Debian's Chromium; the others are plain readers of the same
event stream, in a process of their own. `python -m tests.chaos.boards_speed MESSAGES COUPS` does
it in another length.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from tests.browser.conftest import CHROMIUM
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import Link, Voice, table_config
from tests.chaos.boards import CONTEXT, Killed, serve
from tests.chaos.shoe import COUPS_A_SHOE, NOON, play
from tests.mqtt.mqtt_tools import Mosquitto, free_port
from tests.table_log import header, session_of
from vision.config.table import TableConfig
from vision.game.events import Started
from vision.wire.session import advance

SCREENS = (1, 20, 100)
OPEN = ("listener PORT 127.0.0.1", "allow_anonymous true", "max_queued_messages 0",
        "max_inflight_messages 0")  # fmt: skip
# By then the desk remembers as many shoes as it ever will; a whole number of shoes, as at the end.
EARLY_COUPS = 14 * COUPS_A_SHOE
AT_ONCE = 100
PAINTED_MS = 5000  # that a coup is waited for; one that is later counts as not painted
# Whether a page (a results board, or a desk) shows that coup of the table.
FOLLOWED = """(coup) => [...document.querySelectorAll('#coup, .table small')]
  .some((one) => one.textContent.match(/\\d+/g)?.includes(coup))"""
# Tells the moment (ms) at which the frame with a new coup number had been painted: a task that is
# posted in an animation frame runs after that frame's paint.
WATCH = """() => {
  window.painted = {};
  const channel = new MessageChannel();
  const coup = document.getElementById('coup');
  channel.port1.onmessage = (told) => {
    window.painted[told.data] ??= performance.timeOrigin + performance.now();
  };
  new MutationObserver(() => requestAnimationFrame(() =>
    channel.port2.postMessage(coup.textContent)))
    .observe(coup, { childList: true, characterData: true, subtree: true });
}"""


@dataclass
class Hall:
    """A broker, a board server of its own process, and a browser."""

    config: TableConfig
    url: str
    server: Killed
    chromium: Any

    @property
    def server_mb(self) -> float:
        """How much memory the server holds."""
        pages = int(Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1])
        return pages * 4096 / 1e6


@contextmanager
def hall() -> Iterator[Hall]:
    """Open a house of one table."""
    from playwright.sync_api import sync_playwright

    CONTEXT.set_forkserver_preload(["tests.chaos.boards"])
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        broker = opened.enter_context(Mosquitto(folder, *OPEN))
        config = table_config(broker.port)
        served = config.board.model_copy(update={"port": free_port()})
        config = with_desk(config, *house_of_people(folder))
        config = config.model_copy(update={"board": served})
        server = Killed(serve, (config,))
        server.start()
        opened.callback(server.stop)
        assert server.pipe.poll(60)
        chromium = opened.enter_context(sync_playwright()).chromium.launch(
            executable_path="/usr/bin/chromium", args=CHROMIUM
        )
        opened.callback(chromium.close)
        yield Hall(config, f"http://127.0.0.1:{served.port}/", server, chromium)


def listen(port: int, screens: int, pipe: Connection) -> None:
    """Be so many screens: read the event streams, and note when each new coup came to each."""
    chosen = selectors.DefaultSelector()
    rest: dict[Any, bytes] = {}
    for _ in range(screens):
        link = socket.create_connection(("127.0.0.1", port))
        link.sendall(b"GET /events/7 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        chosen.register(link, selectors.EVENT_READ)
        rest[link] = b""
    came: list[tuple[int, float]] = []
    pipe.send("up")
    while not pipe.poll():
        for key, _ in chosen.select(0.1):
            came_from: Any = key.fileobj
            lines = (rest[came_from] + came_from.recv(65536)).split(b"\n")
            rest[came_from] = lines.pop()
            now = 1000 * time.time()
            came += [(_coup(line), now) for line in lines if b'"coup/live"' in line]
    pipe.send(came)


def _coup(line: bytes) -> int:
    payload = json.loads(line.removeprefix(b"data: "))["payload"]
    return 0 if payload is None else int(payload["coup"])


def latency(house: Hall, screens: int, messages: int) -> str:
    """Return a row: p50 and p99 with so many screens."""
    from playwright.sync_api import TimeoutError as NotInTimeError

    voice = Voice(house.config.broker.port)
    voice.online()
    page = house.chromium.new_page(viewport={"width": 1920, "height": 1080})
    page.goto(house.url)
    page.wait_for_selector("#table")
    others = Killed(listen, (house.config.board.port, screens - 1))
    others.start()
    assert others.pipe.poll(60)
    others.pipe.recv()
    page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    reported = {}
    for coup in range(1, messages + 1):
        reported[coup] = 1000 * time.time()
        voice.live(coup, "As", "Td", expected=("PUNTO_2",))
        voice.alive()
        page.wait_for_timeout(50)
        # A busy machine paints two coups at once, which says nothing about delay: give it time.
        with suppress(NotInTimeError):
            page.wait_for_function("(coup) => coup in window.painted", arg=coup, timeout=PAINTED_MS)
    page.wait_for_timeout(2000)
    painted = {int(coup): at for coup, at in page.evaluate("() => window.painted").items()}
    others.pipe.send("over")
    came = others.pipe.recv()
    memory = house.server_mb
    page.close()
    others.stop()
    voice.hang_up()
    seen = [at - reported[coup] for coup, at in painted.items() if coup in reported]
    heard = [at - reported[coup] for coup, at in came if coup in reported]
    assert len(seen) >= 0.95 * messages, f"only {len(seen)} of {messages} were painted"
    assert len(heard) >= 0.95 * messages * (screens - 1)
    return f"  {screens:7} {_figures(seen)} {_figures(heard)} {memory:11.0f} MB"


def _figures(ms: list[float]) -> str:
    if not ms:
        return f"{'–':>9} {'–':>9}"
    return f"{np.percentile(ms, 50):6.1f} ms {np.percentile(ms, 99):6.1f} ms"


def long_run(house: Hall, coups: int) -> str:
    """Let so many coups be played while a board and a desk stand open; return what they weigh."""
    pages = {"results board": house.chromium.new_page(), "desk": house.chromium.new_page()}
    pages["results board"].goto(house.url)
    desk = pages["desk"]
    desk.goto(f"{house.url}login")
    desk.fill("#name", "Ann")
    desk.fill("#password", PASSWORD)
    desk.click("#enter")
    desk.wait_for_url("**/desk", timeout=30000)
    link = Link(house.config.broker.port, "7")
    weights, began = [], time.monotonic()
    early_at = min(EARLY_COUPS, coups // 2)
    for played in _played(link, coups, (early_at, coups)):
        pages["results board"].wait_for_timeout(3000)
        for page in pages.values():
            page.wait_for_function(FOLLOWED, arg=str((played - 1) % COUPS_A_SHOE + 1))
        pages_weigh = [_weight(page) for page in pages.values()]
        weights.append([f"{house.server_mb:.1f} MB", *pages_weigh])
    link.hang_up()
    for page in pages.values():
        page.close()
    rows = zip(("server", *pages), *weights, strict=True)
    reported = [f"  {name:15} {early:>22} {late:>22}" for name, early, late in rows]
    return "\n".join((
        (
            f"  {coups} coups ({coups / 80:.0f} hours at 80 an hour) in "
            f"{time.monotonic() - began:.0f} s"
        ),
        f"  {'':15} {f'after {early_at} coups':>22} {'at the end':>22}", *reported,
    ))  # fmt: skip


def _played(link: Link, coups: int, stops: tuple[int, ...]) -> Iterator[int]:
    """Publish everything that a table says of so many coups, and pause after some of them."""
    desk = session_of({**header(), "site": "house", "table": "7"})
    reported = results = 0
    for event in chain([Started(NOON, "b")], play(coups)):
        step = advance(desk, event)
        desk = step.session
        for message in step.messages:
            published = link.client.publish(message.topic, message.payload, 1, message.retain)
            reported += 1
            if reported % AT_ONCE == 0:
                published.wait_for_publish(20)
            results += message.topic.endswith("coup/result")
            if message.topic.endswith("coup/result") and results in stops:
                yield results


def _weight(page: Any) -> str:
    """Say what a page holds once its garbage is gone."""
    client = page.context.new_cdp_session(page)
    client.send("HeapProfiler.collectGarbage")
    client.send("Performance.enable")
    metrics = {
        one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]
    }
    return f"{metrics['JSHeapUsedSize'] / 1e6:.1f} MB, {metrics['Nodes']:.0f} nodes"


def run(messages: int, coups: int) -> str:
    """Measure, and return the tables."""
    head = (
        f"  {'':7} {'painted in Chromium':^19} {'come to the others':^19}\n"
        f"  {'screens':7} {'p50':>9} {'p99':>9} {'p50':>9} {'p99':>9} {'server':>14}"
    )
    rows = []
    for screens in SCREENS:
        with hall() as house:
            rows.append(latency(house, screens, messages))
    with hall() as house:
        weight = long_run(house, coups)
    return "\n".join((head, *rows, weight))


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2])))
