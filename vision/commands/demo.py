"""`shoe-reader demo`: the whole thing on one machine, nothing else installed.

Reads a film of the simulator as if it were live, publishes to an embedded broker and shows the
boards; at the end it says how the reading compares with what was dealt, and in a terminal leaves
the pages open until Ctrl-C. The film of the usual shoe is in the package, another is dealt first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, get_args

from vision.access.users import Credential, RoleName, User, load_users, save_users
from vision.app.journal import Destinations
from vision.app.reader import TableReader
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import serve_boards, with_broker
from vision.board.login.passwords import make_people
from vision.commands.printing.console import Console, clock
from vision.commands.printing.drawn_film import live_drawing, live_measuring
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.simulator.dealing import ready_film, simulate
from vision.version import VERSION

# The shoe whose film is in the package: its first coup has four cards, so that its result is there
# some six seconds after the start; its fifth, as every FAULT_EVERY-th, has a mis-deal.
COUPS, SEED, FAULT_EVERY = ready_film.COUPS, ready_film.SEED, ready_film.FAULT_EVERY


Truth = dict[str, Any]  # of a film: its coups, frames and frames a second


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("--coups", type=int, default=COUPS, help="coups to deal (%(default)s)")
    add("--seed", type=int, default=SEED, help="which shoe to deal (%(default)s)")
    add("--speed", type=float, default=1.0, metavar="X", help="times real time (%(default)s)")
    add("--fast", action="store_true", help="as fast as it goes")
    add("--loop", action="store_true", help="deal again and again until stopped")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoe-reader"
    add("--folder", type=Path, default=cache, metavar="DIR",
        help="where films are kept from one demo to the next (%(default)s)")  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Deal, read, publish and show; ends by itself unless it is to loop, or in a terminal."""
    if args.coups < 1:
        raise ConfigurationError(f"--coups {args.coups}: give at least 1")
    if args.speed <= 0:
        raise ConfigurationError(f"--speed {args.speed}: give a factor above 0, or --fast")
    film, truth = _film(args.folder, args.coups, args.seed)
    # Each run has its own table file and log: another demo may be running on this machine.
    folder = Path(tempfile.mkdtemp(prefix="shoe-reader-demo-"))
    for entry in film.resolve().iterdir():
        if entry.name != "table.toml":
            (folder / entry.name).symlink_to(entry)
    file = Path(shutil.copy(film / "table.toml", folder))
    destinations = Destinations(folder / "demo.sqlite", folder / "demo.jsonl")
    config, password = _with_people(load(file), folder, destinations.log)
    with ExitStack() as opened:
        broker = _broker(config, opened)
        config = with_broker(config, broker.port, broker.websocket_port)
        editor = TableEditor(config, file, live_drawing, live_measuring())
        url = serve_boards(config, editor, opened).server.url
        print(
            f"broker: 127.0.0.1:{broker.port} (MQTT), 127.0.0.1:{broker.websocket_port} "
            f"(WebSocket)\n  try: mosquitto_sub -p {broker.port} -t 'casino/#' -v\n"
            f"log: {destinations.log}   messages: {destinations.messages}\n\n"
            f"board:        {url}   (for everybody)\n"
            f"desk:         {url}desk   log in as inspector or surveillance\n"
            f"dealer strip: {url}dealer   log in as dealer\n"
            f"set-up:       {url}setup   log in as engineer\n"
            f"password:     {password}   (of all of them, for this run)\n"
            f"Every {FAULT_EVERY}th coup has a mis-deal: rule on it and close it at the desk.\n",
            flush=True,
        )
        for number in itertools.count(2):
            _round(config, destinations, truth, 0.0 if args.fast else args.speed)
            if not args.loop:
                break
            # No file of messages is written twice; the log goes on.
            destinations = Destinations(destinations.log, folder / f"demo-{number}.jsonl")
        if sys.stdin.isatty():
            print(f"\nThe reader has gone; the pages of {url} stay, with all it said. Ctrl-C ends.")
            with suppress(KeyboardInterrupt):
                signal.pause()


def _film(folder: Path, coups: int, seed: int) -> tuple[Path, Truth]:
    """Return the folder of a shoe's film, with its table file, and its truth.

    It is the one in the package, or is dealt now or was for a former demo.
    """
    ready = (coups, seed) == (COUPS, SEED) and (ready_film.FOLDER / simulate.VIDEO).exists()
    film = ready_film.FOLDER if ready else folder / f"deal-{VERSION}-{coups}-{seed}"
    if not (film / simulate.VIDEO).exists():
        _simulate(film, coups, seed)
    truth: Truth = json.loads((film / "truth.json").read_text("utf-8"))
    size = (film / simulate.VIDEO).stat().st_size
    print(f"film: {coups} coups, {clock(_seconds(truth))} long, {size / 1e6:.1f} MB", flush=True)
    return film, truth


def _seconds(truth: Truth) -> float:
    return float(truth["frames"]) / float(truth["fps"])


def _simulate(film: Path, coups: int, seed: int) -> None:
    print(f"dealing {coups} coups on film, once; kept in {film}", flush=True)
    try:
        film.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutsideError(f"{film}: {error.strerror}; give another --folder") from error
    options = {"coups": coups, "seed": seed, "fault-every": min(FAULT_EVERY, coups)}
    simulate.main([str(film), *(f"--{name}={value}" for name, value in options.items())])


def _with_people(config: TableConfig, folder: Path, log: Path) -> tuple[TableConfig, str]:
    """Let one person of each role log in, with a password of this run only, and `demo` order.

    Returns the settings, with the log that archives are taken from, and the password.
    """
    roles, demo, file = get_args(RoleName), Credential.new("demo"), folder / "users.json"
    password = make_people(folder, [role for role in roles if role != "house"])
    save_users(file, load_users(file).with_user("demo", User(roles=roles, key=demo.public)))
    demo.save(folder / "demo.key")
    print(f"orders: signed with {folder / 'demo.key'}, by hand with shoe-reader order")
    sections = {
        "log": config.log.model_copy(update={"path": str(log)}),
        "orders": config.orders.model_copy(update={"users": str(file)}),
        "desk": config.desk.model_copy(update={"key": str(folder / "desk.key")}),
    }
    return config.model_copy(update=sections), password


def _broker(config: TableConfig, opened: ExitStack) -> EmbeddedBroker:
    """Open the broker, at free ports where the usual ones are taken."""
    broker = EmbeddedBroker(config.broker.port, config.broker.websocket_port)
    try:
        return opened.enter_context(broker)
    except OutsideError:
        print(f"ports {broker.port} and {broker.websocket_port} are not both free; taking others")
        return opened.enter_context(EmbeddedBroker(0, 0))


def _round(config: TableConfig, destinations: Destinations, truth: Truth, speed: float) -> None:
    """Read the film once, and say how the reading compares with what was dealt."""
    console = Console(total_s=_seconds(truth), fps=truth["fps"])
    app = TableReader(config, destinations, console, speed=speed, new_shoe=True)
    try:
        app.run()
    finally:
        console.end()
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
        f"of {len(dealt)} coups dealt in {clock(_seconds(truth))}: {right} read as dealt, "
        f"{held} openly held, {len(dealt) - right - held} wrong",
        flush=True,
    )
