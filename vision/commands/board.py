"""`shoe-reader board`: the boards of one table or many, for any browser."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from vision import logging_setup
from vision.app.boards import Boards, address_of
from vision.board.feed import Feed
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError

HELP = "serve the boards of one table or many, fed by their broker"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, nargs="+", metavar="TABLE.toml", help="the table files")
    parser.add_argument("--http-host", metavar="H", help="instead of [board] host")
    parser.add_argument(
        "--json-log", action="store_true", help="log as JSON, an object a line, for a service"
    )
    parser.add_argument("--syslog", default="", metavar="A", help=logging_setup.SYSLOG_HELP)
    parser.add_argument("--http-port", type=int, metavar="N", help="instead of [board] port")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted; a broker that is away is waited for."""
    logging_setup.set_up(json_lines=args.json_log, service=True, syslog=args.syslog)
    configs = [_loaded(path) for path in args.table]
    _check_broker(configs, args.table)
    port = args.http_port
    if port is not None and not 0 <= port <= 65535:
        raise ConfigurationError(f"--http-port {port}: ports run from 0 (a free one) to 65535")
    address = address_of(configs[0], host=args.http_host, port=port)
    files = {config.table: path for config, path in zip(configs, args.table, strict=True)}
    with Boards(configs, address, files) as boards:
        print(f"board: {boards.server.url}", flush=True)
        _wait(boards.feed)
    return 0


def _loaded(path: Path) -> TableConfig:
    config = load(path)
    if config.broker.kind == "none":
        raise ConfigurationError(
            f"{path}: broker.kind: is 'none', but a board learns everything from the broker; "
            "set it to 'external' (or 'embedded' on the reader's machine)"
        )
    return config


def _check_broker(configs: list[TableConfig], paths: list[Path]) -> None:
    first = configs[0].broker
    for config, path in zip(configs, paths, strict=True):
        if (config.broker.host, config.broker.port) != (first.host, first.port):
            raise ConfigurationError(
                f"{path}: broker.host, broker.port: one board server listens to one broker, that "
                f"of {paths[0]}; give tables of another broker a board server of their own"
            )


def _wait(feed: Feed) -> None:
    """Stay, and print when the broker comes and goes."""
    shown = None
    while True:
        words = "broker connected" if feed.connected else feed.complaint
        if words and words != shown:
            print(words, flush=True)
            shown = words
        time.sleep(0.5)
