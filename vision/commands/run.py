"""`shoe-reader run`: watch one table, live or from a file."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from vision.app.reader import TableReader
from vision.app.run_log import Destinations
from vision.camera.source import is_live
from vision.commands import needs_floor
from vision.commands.printing.console import Console, say
from vision.commands.printing.drawn_film import DrawnFilm
from vision.config.table import BrokerSection, TableConfig, load, with_source
from vision.errors import ConfigurationError, OutsideError
from vision.metrics.counters import serve_figures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    add("--source", metavar="S", help="instead of [camera] source: camera number, rtsp:// or "
        "http:// address, video file or folder of pictures")  # fmt: skip
    add("--draw", type=Path, metavar="OUT.mp4", help="also write a film of the table with the "
        "reader's beliefs drawn on it: cards, layouts; OUT.jpg: the last picture")  # fmt: skip
    add("--no-broker", action="store_true", help="publish to no broker")
    add("--fast", action="store_true", help="read a file as fast as it goes")
    add("--log", type=Path, metavar="F", help="the log; by default [log] path for a live source, "
        "for a file a new log beside it, named after the time of the run")  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Watch until the source ends or the run is interrupted; the summary comes in any case."""
    config = load(args.table)
    if args.source is not None:
        config = with_source(config, args.source)
    live = is_live(config.camera.source)
    if live and args.fast:
        raise ConfigurationError("--fast: a live source runs in real time; leave --fast out")
    publish = not args.no_broker and config.broker.kind != "none"
    destinations = Destinations(args.log or _log(config, live=live), publish=publish)
    kind: type[TableReader] = TableReader
    if config.standby.servers and publish:
        with needs_floor("[standby] servers"):
            from vision.floor.pair.reader import PairReader  # noqa: PLC0415
        kind = PairReader
    film = None if args.draw is None else DrawnFilm(args.draw, config)
    with film or nullcontext():
        speed = 0.0 if args.fast else 1.0
        app = kind(config, destinations, Console(), speed=speed, new_shoe=not live)
        if film is not None:
            app.show_to(film)
        say(f"log: {destinations.log}")
        with _broker(config.broker) if publish else nullcontext():
            _watch(app)
    if film is not None and film.failure is not None:
        raise OutsideError(film.failure)


def _broker(settings: BrokerSection) -> AbstractContextManager[object]:
    """Return what runs the broker while the table is read, where it is not another program."""
    if settings.kind != "embedded":
        return nullcontext()
    # Only here: a table with a broker of its own, or none, does without the one of Python.
    from vision.mqtt.embedded_broker import EmbeddedBroker  # noqa: PLC0415

    return EmbeddedBroker(settings.port)


def _watch(app: TableReader) -> None:
    config = app.config
    labels = {"site": config.site, "table": config.table}
    try:
        with serve_figures(app.checks, config.metrics.host, config.metrics.port, labels):
            app.run()
    finally:
        say(app.metrics.summary())
        if app.complaint:
            say(f"not everything was sent: {app.complaint}")


def _log(config: TableConfig, *, live: bool) -> Path:
    """Return the table's log for a live source; a recording is another evening and has its own."""
    path = Path(config.log.path)
    if live:
        return path
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")[:-3]
    return path.with_name(f"{path.stem}-{now}{path.suffix}")
