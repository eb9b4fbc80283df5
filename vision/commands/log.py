"""`shoe-reader log`: begin a log that goes on from the old one, or confirm the machine's clock."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.app.succession import Beginning, begin_log
from vision.clock import now_ms
from vision.commands.printing.holds import add_holds, holds_line, holds_of
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.storage.trusted_time import confirm_clock
from vision.wire.messages import iso


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")
    parser.add_argument(
        "--lose-unsent", action="store_true", help="leave messages that are not sent in the old log"
    )
    add_holds(parser)


def run(args: argparse.Namespace) -> int:
    """Do it, with the reader stopped; ConfigurationError or OutsideError."""
    config = load(args.table)
    path, now = Path(config.log.path), now_ms()
    if args.name == "confirm-clock":
        if not path.exists():
            raise ConfigurationError(f"[log] path: there is no {path}")
        confirm_clock(path, now)
        print(f"{path}: it is {iso(now)}; what is old by that is deleted when the reader runs")
        return 0
    how = Beginning(now, lose_unsent=args.lose_unsent, holds=holds_of(args))
    kept, ended, register = begin_log(config, how)
    print(f"{kept}: the old log, up to record {ended.number}, hash {ended.hash}")
    print(f"{path}: the new log; messages go on after number {ended.seq}")
    for line in (f"{len(ended.alerts)} alerts that stood open are closed",) * bool(ended.alerts):
        print(line)
    print(holds_line(register))
    return 0
