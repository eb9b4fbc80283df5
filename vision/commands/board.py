"""`shoe-reader board` and `setup`: serve the boards of tables, and set a table up on a page.

For set-up an empty folder is a start: a table file that is not there is made, with the camera's
size. The page has the next step at each point.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from vision import logging_setup
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of, make_people, serve_boards
from vision.camera.source import first_frame, is_live
from vision.commands import reports_of
from vision.commands.printing.drawn_film import live_measuring
from vision.config.editor import TableFile
from vision.config.table import BrokerSection, TableConfig, load
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.secrets import shown

PEOPLE = "people"  # the folder beside the table file of those who may log in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, nargs="+", metavar="TABLE.toml", help="the table files")
    add("--http-port", type=int, metavar="N", help="instead of [board] port")


def run(args: argparse.Namespace) -> None:
    """Serve until interrupted; the log says when a broker that is waited for comes and goes."""
    logging_setup.set_up(service=True)
    configs = {path: load(path) for path in args.table}
    _check_brokers(configs)
    port = args.http_port
    if port is not None and not 0 <= port <= 65535:
        raise ConfigurationError(f"--http-port {port}: ports run from 0 (a free one) to 65535")
    first, *_ = tables = list(configs.values())
    address = address_of(first, port=port)
    editors = {
        config.table: TableEditor(config, path, live_measuring())
        for path, config in configs.items()
    }
    with Boards(tables, address, editors, reports_of(first.archive)) as boards:
        print(f"board: {boards.server.url}", flush=True)
        signal.pause()


def _check_brokers(configs: Mapping[Path, TableConfig]) -> None:
    named, first = next((path, config.broker) for path, config in configs.items())
    for path, config in configs.items():
        if config.broker.kind == "none":
            raise ConfigurationError(
                f"{path}: broker.kind: is 'none', but a board needs a broker; "
                "set it to 'external' (or 'embedded' on the reader's machine)"
            )
        if (config.broker.host, config.broker.port) != (first.host, first.port):
            raise ConfigurationError(
                f"{path}: broker.host, broker.port: one board server has one broker, that of "
                f"{named}; give tables of another broker a board server of their own"
            )


def add_setup_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file, old or new")
    add("--source", metavar="S", help="the camera of a new table file: camera number (0), rtsp:// "
        "or http:// address, video file or folder of pictures")  # fmt: skip
    add("--http-port", type=int, metavar="N", help="instead of [board] port")


def setup(args: argparse.Namespace) -> None:
    """Make what is missing of the table file, and serve its page until Ctrl-C."""
    if args.table.suffix != ".toml":
        raise ConfigurationError(
            f"{args.table}: is not the name of a table file; shoe-reader setup NAME.toml --source "
            f"{args.table}, if that is the camera"
        )
    if not args.table.parent.is_dir():
        raise ConfigurationError(f"{args.table}: there is no folder {args.table.parent}; make it")
    file = TableFile(args.table)
    _add_camera(file, args.source)
    has_desk = bool(file.section("desk").get("key"))
    if not has_desk:
        file.change("orders", {"users": f"{PEOPLE}/users.json"})
        file.change("desk", {"key": f"{PEOPLE}/desk.key"})
    if file.is_changed:
        file.write()
    people = args.table.parent / PEOPLE
    password = ""
    if not has_desk and not (people / "users.json").exists():
        people.mkdir(mode=0o700, exist_ok=True)
        password = make_people(people, ("engineer",))
    config = load(args.table, unmeasured=True)
    editor = TableEditor(config, args.table, live_measuring())
    cure = f"yours, or: shoe-reader users password engineer --file {config.orders.users}"
    with ExitStack() as opened:
        boards = serve_boards(config, editor, opened, port=args.http_port)
        print(f"set-up page: {boards.server.url}setup/{config.table}")
        print(f"log in as:   engineer, password {password or cure}\nCtrl-C ends", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


def _add_camera(file: TableFile, source: str | None) -> None:
    """Add the camera to a table file that has none, with the size of its pictures."""
    named = str(file.section("camera").get("source", ""))
    if source is not None and not is_live(source) and not Path(source).is_absolute():
        source = os.path.relpath(source, file.path.parent)  # paths start at the table file's folder
    if named and source is not None and source != named:
        raise ConfigurationError(
            f"--source {shown(source)}: {file.path} names another camera; leave --source out, or "
            "correct [camera] source there"
        )
    if file.section("view") or "width" in file.section("camera"):
        return
    camera = file.camera(source=source or "0")
    width, height = first_frame(camera).size
    named = named or source or "0"
    file.change("camera", {"source": named, "width": width, "height": height})
    if not file.section("broker"):
        _find_port(file)
    print(f"{file.path}: the camera {shown(named)} gives {width} x {height} pixels")


def _find_port(file: TableFile) -> None:
    """Name a free port for the embedded broker, where a program has the usual one."""
    usual = BrokerSection()
    try:
        with EmbeddedBroker(usual.port):
            return
    except OutsideError:
        with EmbeddedBroker(0) as broker:
            file.change("broker", {"port": broker.port})
    print(f"{file.path}: port {usual.port} is taken; [broker] has another")
