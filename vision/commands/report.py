"""`shoe-reader floor report`: answers from the archive, as a table, CSV or JSON."""

from __future__ import annotations

import argparse
import csv
import json
import sys

from vision.commands.printing.odds_tables import TextTable
from vision.floor.archive.database import ARCHIVE_HELP, open_named
from vision.floor.archive.questions import ask, asked_of

KINDS = {
    "misdeals": "mis-deals by kind, table or hour, per thousand coups",
    "remedies": "time from alert to remedy, by kind or table",
    "reads": "reads declined and corrected, by table, deck or day",
    "pace": "coups an hour, by table or hour",
    "odds": "results against the exact odds, by table or all",
    "downtime": "time that readers were away or blind, by table",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    kinds = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
    parser.add_argument("kind", choices=tuple(KINDS), metavar="KIND", help=kinds)
    parser.add_argument("--archive", default="", metavar="A", help=ARCHIVE_HELP)
    ways = ("kind", "table", "dealer", "hour", "deck", "day", "all")
    parser.add_argument("--by", choices=ways, default="", help="what the rows are of")
    parser.add_argument("--table", default="", metavar="T", help="of one table only")
    parser.add_argument("--since", default="", metavar="DAY", help="from that day on (UTC)")
    parser.add_argument("--until", default="", metavar="DAY", help="to the end of the day before")
    parser.add_argument("--format", choices=("text", "csv", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    """Ask and print; ConfigurationError or OutsideError."""
    engine, _ = open_named(args.archive)
    fields = {name: getattr(args, name) for name in ("by", "table", "since", "until")}
    answer = ask(engine, args.kind, asked_of(fields))
    if args.format == "json":
        print(json.dumps(answer.json(), indent=1))
        return 0
    if args.format == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
        return 0
    cells = tuple(tuple("–" if value is None else str(value) for value in r) for r in answer.rows)
    print(f"{answer.title}\n\n{TextTable(answer.columns, cells).text()}\n")
    for note in answer.notes:
        print(note)
    return 0
