"""`shoe-reader setup`: from a camera to the first coup, on one page in the browser.

An empty folder is a start: a table file that is not there is made, with the layout's template in
the camera's picture. The page has the next step at each point.
"""

from __future__ import annotations

import argparse
import os
import signal
from contextlib import suppress
from pathlib import Path

from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.board.login.passwords import make_people
from vision.camera.source import first_frame, is_live
from vision.commands.printing.drawn_film import live_drawing
from vision.config.editor import TableFile
from vision.config.table import BrokerSection, load
from vision.errors import ConfigurationError, OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.secrets import shown
from vision.setup.calibration.places import template

PEOPLE = "people"  # the folder beside the table file of those who may log in


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file, old or new")
    parser.add_argument(
        "--source",
        metavar="S",
        help="the camera of a new table file: camera number (0), rtsp:// or http:// address, "
        "video file or folder of pictures",
    )
    parser.add_argument("--http-port", type=int, metavar="N", help="instead of [board] port")


def run(args: argparse.Namespace) -> None:
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
    config = load(args.table)
    editors = {config.table: TableEditor(config, args.table, live_drawing)}
    cure = f"yours, or: shoe-reader users password engineer --file {config.orders.users}"
    with Boards([config], address_of(config, port=args.http_port), editors) as boards:
        print(f"set-up page: {boards.server.url}setup/{config.table}")
        print(f"log in as:   engineer, password {password or cure}\nCtrl-C ends", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


def _add_camera(file: TableFile, source: str | None) -> None:
    """Add camera and template to a table file that has no view."""
    named = str(file.section("camera").get("source", ""))
    if source is not None and not is_live(source):
        source = os.path.relpath(source, file.path.parent)  # paths start at the table file's folder
    if named and source is not None and source != named:
        raise ConfigurationError(
            f"--source {shown(source)}: {file.path} names another camera; leave --source out, or "
            "correct [camera] source there"
        )
    if file.section("view"):
        return
    camera = file.camera(source=source or "0")
    width, height = first_frame(camera).size
    named = named or source or "0"
    file.change("camera", {"source": named, "width": width, "height": height})
    file.change("view", template((width, height)))
    if not file.section("broker"):
        _find_ports(file)
    print(f"{file.path}: the camera {shown(named)} gives {width} x {height} pixels")


def _find_ports(file: TableFile) -> None:
    """Name free ports for the embedded broker, where a program has the usual ones."""
    usual = BrokerSection()
    try:
        with EmbeddedBroker(usual.port, usual.websocket_port):
            return
    except OutsideError:
        with EmbeddedBroker(0, 0) as broker:
            ports = {"port": broker.port, "websocket_port": broker.websocket_port}
    file.change("broker", ports)
    print(f"{file.path}: port {usual.port} or {usual.websocket_port} is taken; [broker] has others")
