"""Whatever is killed, in whatever order: every screen is right again within 5 s.

No board is loaded again; a board server that was killed has people log in again. Three screens in
Debian's Chromium (results board, desk, dealer strip) watch a shoe with mis-deals through a real
broker; broker, reader and board server are killed and started again all along.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.browser.conftest import CHROMIUM
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.chaos.outcome import LimitBrokenError
from tests.chaos.shoe import NOON, deal, laid
from tests.chaos.table import config_of
from tests.mqtt.mqtt_tools import Mosquitto, free_port
from tests.seen import Sight, is_clearing
from tests.table_log import session_of
from vision.app.journal import Journal
from vision.app.run_log import Destinations, header_of
from vision.board.host.boards import Boards, address_of
from vision.config.table import TableConfig
from vision.game.cards import DECK
from vision.game.commands import ResultStands
from vision.game.events import Event, Role, ShoeStarted, Slot, Started
from vision.wire.session import advance

PROMISE_S = 5.0
FAULT_EVERY = 5
PACE_S = 0.005
LOGGED_IN = ("desk", "dealer/1")
OPEN = ("listener PORT 127.0.0.1", "allow_anonymous true", "max_queued_messages 0")
CONTEXT = multiprocessing.get_context("forkserver")
# What each screen shows, as the fold below has it.
LOOKS = {
    "table/1": """() => [!document.body.matches('.stale'),
        [...document.querySelectorAll('#bead text')].map(n => n.textContent).join(''),
        document.getElementById('coup').textContent,
        ...['punto', 'banco'].map(s => document.querySelectorAll(`#${s}-cards svg`).length)]""",
    "desk": """() => [!!document.querySelector('.table:not(.trouble)'),
        document.querySelector('.table small')?.textContent.match(/coup ([^ ]*)/i)?.[1],
        document.getElementById('open-count').textContent,
        document.getElementById('done-count').textContent]""",
    "dealer/1": """() => [!document.body.matches('.stale'),
        document.getElementById('coup').textContent,
        ...['punto', 'banco'].map(s => document.querySelectorAll(`#${s}-cards svg`).length)]""",
}


def play(coups: int, seed: int = 1) -> Iterator[Event]:
    """Yield the events of a shoe; every `FAULT_EVERY`th coup has a card too many, and is ruled."""
    draw = random.Random(seed)
    cards = [*DECK] * 8
    draw.shuffle(cards)
    at, order, sight = NOON + 60_000, 0, Sight()
    yield ShoeStarted(at, "s1")
    for coup in range(1, coups + 1):
        dealt = list(deal(cards))
        faulty = coup % FAULT_EVERY == 0 and Slot.BANCO_3 not in dict(dealt)
        first = order + 1
        for slot, card in [*dealt, *([(Slot.BANCO_3, cards.pop())] if faulty else [])]:
            order += 1
            yield from laid(sight, at := at + 1000, order, slot, card)
        if faulty:
            yield ResultStands(at := at + 1000, "Ann", Role.INSPECTOR, coup, reason="told the pit")
        at += 3000
        for gone in range(first, order + 1):
            yield from sight.take(at := at + 100, gone)


def read(config: TableConfig, log: Path, coups: int, pipe: Connection) -> None:
    """Be the reader: take up the log where it ends, and play as far as the pipe says."""
    with Journal(config, Destinations(log)) as journal:
        done = journal.table.clock
        journal.start(max(done, NOON), f"b{time.time_ns()}", ())
        events = [event for event in play(coups) if event.at > done]
        until = health_s = 0.0
        while True:
            while pipe.poll(PACE_S):
                until = pipe.recv()
            while events and events[0].at <= until and not pipe.poll():
                journal.take([events.pop(0)])
            if not events or events[0].at > until > 0:
                pipe.send(until)
                until = 0.0
            now = journal.table.clock
            journal.take(journal.link.orders(now))
            if time.monotonic() - health_s > 0.5:
                health_s = time.monotonic()
                journal.link.publish_health(now, {"fps": 30})


def serve(config: TableConfig, pipe: Connection) -> None:
    """Be the board server."""
    with Boards([config], address_of(config)):
        pipe.send("up")
        while True:
            time.sleep(60)


@dataclass
class Killed:
    """A process that can be killed and started again; `pipe` leads to it."""

    target: Any
    args: tuple[Any, ...]
    pipe: Connection = field(init=False)
    process: Any = field(init=False)

    def start(self) -> None:
        """Start it."""
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=self.target, args=(*self.args, theirs), daemon=True)
        self.process.start()

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.join()


def wanted(config: TableConfig, events: list[Event]) -> dict[str, list[Any]]:
    """Return what each screen has to show once these events have happened."""
    desk = session_of(header_of(config))
    last: dict[str, Any] = {}
    alerts: dict[str, str] = {}
    for event in (Started(NOON, "b"), *events):
        step = advance(desk, event)
        desk = step.session
        for message in step.messages:
            name = message.topic.split("/", 4)[4]
            published = json.loads(message.payload) if message.payload else {"state": "closed"}
            last[name] = published
            if name.startswith("alert/"):
                alerts[name] = published["state"]
    letters = "".join(cell["winner"][0].upper() for cell in last["roads"]["bead_plate"])
    shown = last["coup/live"]
    if not (shown["punto"]["cards"] or shown["banco"]["cards"]):
        shown = last.get("coup/result", shown)
    hands = [len(shown[side]["cards"]) for side in ("punto", "banco")]
    open_ = sum(state in ("raised", "acknowledged", "lapsed") for state in alerts.values())
    done = sum(state == "rectified" for state in alerts.values())
    coup = str(shown["coup"])
    return {
        "table/1": [True, letters, coup, *hands],
        "desk": [True, coup, str(open_), str(done)],
        "dealer/1": [True, coup, *hands],
    }


@dataclass
class Evening:
    """A house with its screens, and what can be killed in it."""

    config: TableConfig
    parts: dict[str, Any]
    pages: dict[str, Any]
    events: list[Event]

    def befall(self, draw: random.Random, until: int) -> float:
        """Let the shoe go on to an event while all is killed once; return how long it took (s)."""
        reader, moment = self.parts["reader"], self.events[until - 1].at
        reader.pipe.send(moment)
        away = []
        for name in draw.sample(sorted(self.parts), 3):
            time.sleep(draw.uniform(0, 0.4))
            self.parts[name].stop()
            away.append(name)
            if draw.random() < 0.5:
                self.parts[away.pop(draw.randrange(len(away)))].start()
        for name in draw.sample(away, len(away)):
            self.parts[name].start()
        board = self.parts["board"].pipe
        assert board.poll(60), "the board server did not start"
        reader.pipe.send(moment)
        assert reader.pipe.poll(60), "the reader did not go on"
        for name in LOGGED_IN:  # a board server knows nobody when it is back
            self.pages[name].wait_for_url("**/login?why=ended**", timeout=30000)
            _log_in(self.pages[name])
        began = time.monotonic()
        self.right(self.events[:until], PROMISE_S)
        return time.monotonic() - began

    def right(self, events: list[Event], seconds: float) -> None:
        """Wait until every screen shows what the events come to."""
        rights = wanted(self.config, events)
        deadline = time.monotonic() + seconds
        for name, page in self.pages.items():
            while (seen := page.evaluate(LOOKS[name])) != rights[name]:
                if time.monotonic() > deadline:
                    raise LimitBrokenError(f"{name}: {seen}, not {rights[name]}", late=1)
                page.wait_for_timeout(50)


def run(rounds: int, seed: int = 1) -> str:
    """Kill everything in mixed order so many times during a shoe; return the figures."""
    from playwright.sync_api import sync_playwright

    draw, coups = random.Random(seed), max(12, min(70, 2 * rounds))
    events = list(play(coups))
    CONTEXT.set_forkserver_preload(["tests.chaos.boards"])
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        broker = Mosquitto(folder, *OPEN)
        opened.callback(broker.stop)
        config = config_of(broker.port)
        config = with_desk(config, *house_of_people(folder))
        served = config.board.model_copy(update={"port": free_port()})
        config = config.model_copy(update={"board": served})
        parts: dict[str, Any] = {
            "broker": broker,
            "board": Killed(serve, (config,)),
            "reader": Killed(read, (config, folder / "t.sqlite", coups)),
        }
        for part in parts.values():
            part.start()
        opened.callback(parts["reader"].stop)
        opened.callback(parts["board"].stop)
        assert parts["board"].pipe.poll(60)
        chromium = opened.enter_context(sync_playwright()).chromium.launch(
            executable_path="/usr/bin/chromium", args=CHROMIUM
        )
        opened.callback(chromium.close)
        url = f"http://127.0.0.1:{served.port}/"
        evening = Evening(config, parts, dict(_screens(chromium, url)), events)
        first = next(i for i, one in enumerate(events) if is_clearing(one))
        parts["reader"].pipe.send(events[first - 1].at)
        parts["reader"].pipe.recv()
        evening.right(events[:first], 30)
        loads: list[Any] = []
        # Playwright 1.65 notes its wrapper on the handler, which a method of a list does not take.
        evening.pages["table/1"].on("domcontentloaded", lambda page: loads.append(page))  # noqa: PLW0108
        steps = [*sorted(draw.sample(range(first + 1, len(events)), rounds - 1)), len(events)]
        took = sorted(evening.befall(draw, until) for until in steps)
        assert not loads, "the results board was loaded again"
    return (
        f"  {rounds} times broker, reader and board server were killed, in mixed order, in a shoe "
        f"of {coups} coups: every screen as the fold {took[len(took) // 2]:.1f} s (median), "
        f"{took[-1]:.1f} s (worst) after all were back; no board was loaded again"
    )


def _screens(chromium: Any, url: str) -> Iterator[tuple[str, Any]]:
    """Open the results board, the desk and the strip, logging in as people do."""
    context = chromium.new_context(viewport={"width": 1600, "height": 900})
    for name in LOOKS:
        page = context.new_page()
        page.goto(url + name)
        if "login" in page.url:
            _log_in(page)
        yield name, page


def _log_in(page: Any) -> None:
    page.fill("#name", "Ann")
    page.fill("#password", PASSWORD)
    page.click("#enter")
    page.wait_for_url(lambda address: "login" not in address, timeout=30000)
