"""`shoe-reader board`: the results board of one table, for any browser."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from vision.config import load
from vision.edge.board.feed import Feed
from vision.edge.board.server import BoardServer
from vision.errors import ConfigurationError
from vision.journal import endpoint_of
from vision.wire import PREFIX

HELP = "serve the results board of a table, fed by its broker"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")
    parser.add_argument("--http-host", metavar="H", help="instead of [board] host")
    parser.add_argument("--http-port", type=int, metavar="N", help="instead of [board] port")
    parser.add_argument(
        "--alerts", action="store_true", help="also show alerts (not for the public)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted; a broker that is away is waited for."""
    config = load(args.table)
    if config.broker.kind == "none":
        raise ConfigurationError(
            f"{args.table}: broker.kind: is 'none', but a board learns everything from the broker; "
            "set it to 'external' (or 'embedded' on the reader's machine)"
        )
    prefix = PREFIX.format(site=config.site, table=config.table)
    feed = Feed(endpoint_of(config.broker), prefix, alerts=args.alerts)
    host = config.board.host if args.http_host is None else args.http_host
    port = config.board.port if args.http_port is None else args.http_port
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"--http-port {port}: ports run from 0 (a free one) to 65535")
    with BoardServer(feed, title=f"Table {config.table}", host=host, port=port) as server:
        feed.start()
        print(f"board: {server.url}", flush=True)
        try:
            _wait(feed)
        finally:
            feed.stop()
    return 0


def _wait(feed: Feed) -> None:
    """Stay, and say when the broker comes and goes."""
    said = None
    while True:
        words = "broker connected" if feed.connected else feed.complaint
        if words and words != said:
            print(words, flush=True)
            said = words
        time.sleep(0.5)
