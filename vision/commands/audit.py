"""`shoe-reader audit`: is every record of the log what it was when written."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.edge.log_file import read_log, write_export
from vision.errors import ConfigurationError, OutsideError
from vision.wire_log import GENESIS, BrokenChainError, header_of, verified
from vision.wire_payloads import iso

HELP = "verify the chain of a log, and export it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("log", type=Path, metavar="LOG", help="a .sqlite log or an export of one")
    parser.add_argument("--export", type=Path, metavar="F", help="write the records as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Verify the log and say what it holds; OutsideError naming the first bad record."""
    if args.export is not None and args.export.resolve() == args.log.resolve():
        raise ConfigurationError(f"--export {args.export}: is the log itself; give another file")
    try:
        header = header_of(read_log(args.log))
        _verify(args.log, header)
    except BrokenChainError as error:
        raise OutsideError(
            f"{args.log}: the chain is broken at {error}. The records before it "
            f"({error.number}) stand. Keep this file as evidence and compare it with a back-up or "
            "an export"
        ) from error
    if args.export is not None:
        count = write_export(args.export, read_log(args.log))
        print(f"{args.export}: {count} records exported")
    return 0


def _verify(path: Path, header: dict[str, object]) -> None:
    events, head = 0, GENESIS
    moments: list[int] = []
    for record, content in verified(read_log(path)):
        head = record.hash
        if "event" in content:
            events += 1
            moments = [*moments[:1], content["event"]["at"]]
    between = f", {iso(moments[0])} to {iso(moments[-1])}" if moments else ""
    print(f"{path}: table {header.get('table')} of {header.get('site')}, {events} events{between}")
    print("the chain holds: no record was changed, taken out, put in or moved")
    print(f"hash of the last record: {head}")
    print("records cut off the end show only against a hash kept elsewhere: keep this one")
