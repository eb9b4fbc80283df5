"""`shoe-reader board`: the boards of one table or many, for any browser."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vision import logging_setup
from vision.board.desk.pages import NO_REPORTS, Reports
from vision.board.desk.table_editor import TableEditor
from vision.board.feed import Feed
from vision.board.host.boards import Boards, address_of
from vision.commands import needs_floor
from vision.commands.printing.drawn_film import live_drawing
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import Engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("table", type=Path, nargs="+", metavar="TABLE.toml", help="the table files")
    add("--http-host", metavar="H", help="instead of [board] host")
    add("--json-log", action="store_true", help="log to stderr as JSON, one object a line")
    add("--http-port", type=int, metavar="N", help="instead of [board] port")


def run(args: argparse.Namespace) -> None:
    """Serve until interrupted; a broker that is away is waited for."""
    logging_setup.set_up(json_lines=args.json_log, service=True)
    configs = [_loaded(path) for path in args.table]
    _check_broker(configs, args.table)
    port = args.http_port
    if port is not None and not 0 <= port <= 65535:
        raise ConfigurationError(f"--http-port {port}: ports run from 0 (a free one) to 65535")
    address = address_of(configs[0], host=args.http_host, port=port)
    editors = {
        config.table: TableEditor(config, path, live_drawing)
        for config, path in zip(configs, args.table, strict=True)
    }
    reports = reports_of(configs[0].archive.address)
    with Boards(configs, address, editors, reports) as boards:
        print(f"board: {boards.server.url}", flush=True)
        _wait(boards.feed)


def _loaded(path: Path) -> TableConfig:
    config = load(path)
    if config.broker.kind == "none":
        raise ConfigurationError(
            f"{path}: broker.kind: is 'none', but a board needs a broker; "
            "set it to 'external' (or 'embedded' on the reader's machine)"
        )
    return config


def _check_broker(configs: list[TableConfig], paths: list[Path]) -> None:
    first = configs[0].broker
    for config, path in zip(configs, paths, strict=True):
        if (config.broker.host, config.broker.port) != (first.host, first.port):
            raise ConfigurationError(
                f"{path}: broker.host, broker.port: one board server has one broker, that of "
                f"{paths[0]}; give tables of another broker a board server of their own"
            )


def reports_of(address: str) -> Reports:
    """Return what can be asked of the archive at an address, and what asks it; nothing without one.

    The archive is opened by the first question, so that a board starts without it.
    ConfigurationError when the libraries of an archive are not installed.
    """
    if not address:
        return NO_REPORTS
    with needs_floor("[archive] address"):
        from vision.floor.archive.database import open_archive  # noqa: PLC0415
        from vision.floor.archive.questions import QUESTIONS, ask, asked_of  # noqa: PLC0415
    opened: list[Engine] = []
    mutex = threading.Lock()

    def answer(kind: str, asked: Mapping[str, str]) -> Mapping[str, Any]:
        with mutex:
            if not opened:
                opened.append(open_archive(address))
        return ask(opened[0], kind, asked_of(asked)).json()

    return {kind: groups for kind, (_, groups) in QUESTIONS.items()}, answer


def _wait(feed: Feed) -> None:
    """Stay, and print when the broker comes and goes."""
    shown = None
    while True:
        words = "broker connected" if feed.connected else feed.complaint
        if words and words != shown:
            print(words, flush=True)
            shown = words
        time.sleep(0.5)
