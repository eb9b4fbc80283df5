"""`shoe-reader demo`: the whole thing on one machine, nothing else installed.

Reads a film of the simulator as if it were live, publishes to an embedded broker and shows the
boards; after each shoe it says how the reading compares with what was dealt. In a terminal it deals
until Ctrl-C, and waits at a mis-deal for somebody to rule on it. The film is in the package.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, get_args

from vision.access.users import Credential, RoleName, User, load_users, save_users
from vision.app.reader import TableReader
from vision.app.run_log import Destinations
from vision.audit.verify import Trust
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import make_people, serve_boards, with_broker
from vision.camera.decoding import Outage, Shot
from vision.commands import reports_of
from vision.commands.printing.console import Console, say
from vision.commands.printing.drawn_film import live_measuring
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError
from vision.game.outputs import AlertChanged, AlertState
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.simulator.dealing import ready_film
from vision.wire.session import Step

# The shoe whose film is in the package: its first coup has four cards, so that its result is there
# some six seconds after the start; its fifth, as every FAULT_EVERY-th, has a mis-deal.
FILM, FAULT_EVERY = ready_film.FOLDER, ready_film.FAULT_EVERY
# Seconds that the film waits at a mis-deal for the next thing that somebody does about it: a
# newcomer looks for the page and logs in first. Shorter, and the shoe is over before that.
WAIT_S = 60.0
# Severities at which it waits; below them there is nothing to be ruled on.
GRAVE = ("warning", "critical")
STEP_MS = 40  # of a picture that stands: 25 a second, as a camera would go on

Truth = dict[str, Any]  # of a film: its coups, frames and frames a second


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--fast", action="store_true", help="as fast as it goes")
    add("--loop", action="store_true", help="deal again and again until stopped")


def run(args: argparse.Namespace) -> None:
    """Deal, read, publish and show; ends by itself unless it is to loop, or in a terminal."""
    film = FILM
    truth: Truth = json.loads((film / "truth.json").read_text("utf-8"))
    # Each run has its own table file and log: another demo may be running on this machine.
    folder = Path(tempfile.mkdtemp(prefix="shoe-reader-demo-"))
    for entry in film.resolve().iterdir():
        if entry.name != "table.toml":
            (folder / entry.name).symlink_to(entry)
    file = Path(shutil.copy(film / "table.toml", folder))
    destinations = Destinations(folder / "demo.sqlite")
    config, password = _with_people(load(file), folder, destinations.log)
    goes_on = args.loop or (sys.stdin.isatty() and not args.fast)
    with ExitStack() as opened:
        broker = opened.enter_context(EmbeddedBroker(0))  # another demo may be running
        config = with_broker(config, broker.port)
        config, no_reports = _with_archive(config, folder, opened)
        editor = TableEditor(config, file, live_measuring())
        reports = reports_of(config.archive)
        url = serve_boards(config, editor, opened, reports).server.url
        _greet(config, url, password, no_reports)
        with suppress(KeyboardInterrupt) if goes_on else ExitStack():
            _round(config, destinations, truth, float(not args.fast))
            while goes_on:
                print("\nthe next shoe begins; Ctrl-C ends", flush=True)
                _round(config, destinations, truth, float(not args.fast))


def _greet(config: TableConfig, url: str, password: str, no_reports: str) -> None:
    """Say what there is to try, and where everything is."""
    broker, folder = config.broker, Path(config.log.path).parent
    more = f"\nreports:      {no_reports}" if no_reports else ""
    print(
        f"""
Three things to try:
 1. See the table: {url}
 2. Coup {FAULT_EVERY} has a mis-deal, and the film waits there for you: {url}desk
    Log in as surveillance or inspector, password {password}; look, rule on it, close it.
 3. Find it again in {"the shoes of the desk" if no_reports else f"the reports: {url}reports"}

dealer strip: {url}dealer   as dealer; set-up: {url}setup   as engineer
messages:     mosquitto_sub -p {broker.port} -t 'casino/#' -v
files:        {folder}: log, pictures; demo.key signs shoe-reader order{more}
""",
        flush=True,
    )


def _with_people(config: TableConfig, folder: Path, log: Path) -> tuple[TableConfig, str]:
    """Let one person of each role log in, with a password of this run only, and `demo` order.

    Returns the settings, with the log that archives are taken from, and the password.
    """
    roles, demo, file = get_args(RoleName), Credential.new("demo"), folder / "users.json"
    password = make_people(folder, [role for role in roles if role != "house"])
    save_users(file, load_users(file).with_user("demo", User(roles=roles, key=demo.public)))
    demo.save(folder / "demo.key")
    sections = {
        "log": config.log.model_copy(update={"path": str(log)}),
        "orders": config.orders.model_copy(update={"users": str(file)}),
        "desk": config.desk.model_copy(update={"key": str(folder / "desk.key")}),
    }
    return config.model_copy(update=sections), password


def _with_archive(config: TableConfig, folder: Path, opened: ExitStack) -> tuple[TableConfig, str]:
    """Archive the run in a file of SQLite, so that there are reports; or say why there are none."""
    address = f"sqlite:///{folder / 'archive.sqlite'}"
    archive = config.archive.model_copy(update={"address": address})
    try:
        reports_of(archive)
        from vision.floor.archive.database import open_archive  # noqa: PLC0415
        from vision.floor.archive.logs import Folder  # noqa: PLC0415
    except ConfigurationError as error:
        return config, str(error)
    path, engine, over = Path(config.log.path), open_archive(address), threading.Event()
    logs = Folder([path], Trust())

    def follow() -> None:
        while not over.wait(1.0):
            if path.exists():
                logs.take_in(engine)

    thread = threading.Thread(target=follow, name="archive", daemon=True)
    thread.start()
    opened.callback(thread.join, WAIT_S)
    opened.callback(over.set)
    return config.model_copy(update={"archive": archive}), ""


class _Onlooker(Console):
    """Prints a run, and has its film wait at a mis-deal until the alert is closed.

    It waits for WAIT_S seconds from the alert, and from each thing that was done about it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.patient = sys.stdin.isatty()  # somebody is there
        self._alert, self._until_s = "", 0.0

    def take(self, step: Step) -> None:
        """Print what a step came to, and note what there is to wait for."""
        super().take(step)
        for output in step.outputs:
            if not self.patient or not isinstance(output, AlertChanged):
                continue
            alert = output.alert
            is_mis_deal = alert.severity in GRAVE and "engineer" not in alert.audience
            if output.first and is_mis_deal and not self._alert:
                self._alert = alert.id
                say("the film waits for you to rule on this and to close it at the desk")
            if alert.id == self._alert:
                self._until_s = time.monotonic() + WAIT_S
                self._alert = "" if alert.state is AlertState.CLOSED else alert.id

    def waits(self) -> bool:
        if self._alert and time.monotonic() > self._until_s:
            self._alert = ""
            say("nobody did anything for a minute: the film goes on")
        return bool(self._alert)


class _FilmReader(TableReader):
    """A reader of a film that stands still while somebody is waited for."""

    def _open_source(self, speed: float) -> Iterator[Shot | Outage]:
        shots = super()._open_source(0.0)
        onlooker = self._listener
        return _played(shots, speed, onlooker) if isinstance(onlooker, _Onlooker) else shots


def _played(
    shots: Iterator[Shot | Outage], speed: float, onlooker: _Onlooker
) -> Iterator[Shot | Outage]:
    """Yield a film's pictures when they are due, at `speed` 0 at once; the last while it waits."""
    began_s, first, late_ms = time.monotonic(), 0, 0

    def due(shot: Shot) -> Shot:
        frame = copy.copy(shot.frame)
        frame.at, frame.still = frame.at + late_ms, False
        due_s = began_s + (frame.at - first) / 1000 / speed if speed else time.monotonic()
        time.sleep(max(0.0, due_s - time.monotonic()))
        return Shot(frame, due_s)

    for shot in shots:
        if not isinstance(shot, Shot):
            yield shot
            continue
        first = first or shot.frame.at
        yield due(shot)
        while onlooker.waits():
            late_ms += STEP_MS
            yield due(shot)


def _round(config: TableConfig, destinations: Destinations, truth: Truth, speed: float) -> None:
    console = _Onlooker()
    app = _FilmReader(config, destinations, console, speed=speed, new_shoe=True)
    try:
        app.run()
    finally:
        print(f"\n{app.metrics.summary()}")
    dealt, right, held = truth["coups"], 0, 0
    for coup in dealt:
        result = console.results.get(coup["coup"])
        if result is None or result.winner is None:
            held += 1
            continue
        hands = ([str(card) for card in hand.cards] for hand in (result.punto, result.banco))
        right += [result.winner.value, *hands] == [coup["winner"], coup["punto"], coup["banco"]]
    print(
        f"of {len(dealt)} coups dealt: {right} read as dealt, "
        f"{held} openly held, {len(dealt) - right - held} wrong",
        flush=True,
    )
