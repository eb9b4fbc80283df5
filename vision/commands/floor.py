"""The commands of `shoe-reader floor`: keep and ask the archive of all tables, read films again."""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path

from vision import logging_setup
from vision.clock import now_ms
from vision.commands import Run, actions_of
from vision.commands.printing.console import TextTable, add_trust, trust_of
from vision.errors import ConfigurationError, OutsideError
from vision.files import csv_text, write_whole
from vision.floor.archive.database import ARCHIVE_HELP, open_named, prune
from vision.floor.archive.logs import Folder, Following
from vision.floor.archive.questions import QUESTIONS, ask, asked_of
from vision.floor.reread import read_all, recordings

LOOK_EVERY_S = 2.0  # at the logs; their files are looked at, not read, where none has grown


def add_archive_arguments(parser: argparse.ArgumentParser) -> None:
    declare_action = actions_of(parser)

    def declare(name: str, run: Run, words: str, files: str = "") -> argparse.ArgumentParser:
        declared = declare_action(name, run, words)
        if files:
            declared.add_argument("files", type=Path, nargs="+", metavar=files)
        declared.add_argument("--archive", default="", metavar="A", help=ARCHIVE_HELP)
        return declared

    words = "take in the logs in folders, or named, as they grow"
    served = declare("serve", _serve, words, "FOLDER|LOG")
    add_trust(served)
    add_trust(declare("load", _load, "load logs or exports into the archive", "LOG"))
    old = declare("prune", _prune, "delete what is older than --days")
    old.add_argument("--days", type=int, metavar="N", required=True, help="the days to keep")


def _serve(args: argparse.Namespace) -> None:
    logging_setup.set_up(service=True)
    missing = [str(place) for place in args.files if not place.exists()]
    if missing:
        raise ConfigurationError(
            f"archive serve: there is no {', '.join(missing)}; name logs, or folders to which logs "
            "are brought"
        )
    engine, shown = open_named(args.archive, create=True)
    trust = trust_of(args)
    folder = Folder(args.files, trust)
    held = "what is signed" if trust.keys else "unsigned: give --public-key or --ring"
    print(f"archive: {shown}, of the logs in {', '.join(map(str, args.files))}; {held}", flush=True)
    printed = ""
    while True:
        try:
            folder.take_in(engine)
            printed = ""
        except OutsideError as error:  # the database is away: the logs are there later too
            if str(error) != printed:
                logging.getLogger(__name__).warning("%s; trying again", error)
            printed = str(error)
        time.sleep(LOOK_EVERY_S)


def _load(args: argparse.Namespace) -> None:
    trust = trust_of(args)
    engine, shown = open_named(args.archive, create=True)
    for log in args.files:
        count = Following(log, trust).take_in(engine)
        if trust.keys and not count:
            raise OutsideError(f"{log}: no given key signed any of it; give the key of its table")
        print(f"{log}: {count} messages")
    print(f"archive: {shown}")


def _prune(args: argparse.Namespace) -> None:
    if args.days <= 0:
        raise ConfigurationError(f"--days {args.days}: give at least 1, the days to keep")
    engine, shown = open_named(args.archive)
    for name, count in prune(engine, args.days, now_ms()).items():
        print(f"{name}: {count} rows deleted")
    print(f"archive: {shown}")


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = "; ".join(
        " by ".join(filter(None, (kind, ", ".join(ways)))) for kind, (_, ways) in QUESTIONS.items()
    )
    parser.add_argument("kind", choices=tuple(QUESTIONS), metavar="KIND", help=kinds)
    parser.add_argument("--archive", default="", metavar="A", help=ARCHIVE_HELP)
    parser.add_argument("--rota", default="", metavar="F", help="who deals when, for --by shift")
    ways = dict.fromkeys(way for _, ways in QUESTIONS.values() for way in ways)
    parser.add_argument("--by", choices=tuple(ways), default="", help="what the rows are of")
    parser.add_argument("--table", default="", metavar="T", help="of one table only")
    parser.add_argument("--since", default="", metavar="DAY", help="from that day on (UTC)")
    parser.add_argument("--until", default="", metavar="DAY", help="to the end of the day before")
    parser.add_argument("--format", choices=("text", "csv", "json"), default="text")


def report(args: argparse.Namespace) -> None:
    """Ask and print; ConfigurationError or OutsideError."""
    engine, _ = open_named(args.archive)
    fields = {name: getattr(args, name) for name in ("by", "table", "since", "until")}
    answer = ask(engine, args.kind, asked_of(fields, args.rota))
    if args.format == "json":
        print(json.dumps(answer.json(), indent=1))
        return
    if args.format == "csv":
        print(csv_text(answer.columns, answer.rows), end="")
        return
    cells = tuple(tuple("–" if value is None else str(value) for value in r) for r in answer.rows)
    print(f"{answer.title}\n\n{TextTable(answer.columns, cells).text()}\n")
    for note in answer.notes:
        print(note)


def add_reread_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("recordings", type=Path, nargs="+", metavar="RECORDING", help="a film of a table")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for what comes of it")
    add("--table", type=Path, metavar="F", help="table file of all of them, or a folder of such")
    add("--evening", type=Path, metavar="F", help="what was published then: a log, an export or a "
        "messages file, or a folder of such")  # fmt: skip
    add("--workers", type=int, default=1, metavar="N", help="films read at a time, a core each")


def reread(args: argparse.Namespace) -> None:
    """Read them; OutsideError where one could not be read, after all the others were."""
    if args.workers < 1:
        raise ConfigurationError(f"--workers {args.workers}: give at least 1, a core each")
    found = read_all(recordings(args.recordings, args.table, args.evening), args.out, args.workers)
    words = "".join(f"{line}\n" for each in found for line in each.lines)
    write_whole(args.out / "differences.txt", words.encode())
    print(words, end="")
    unread = [each.name for each in found if not each.is_read]
    if unread:
        raise OutsideError(
            f"not read: {', '.join(unread)}; what was read is kept: remove the cause above and "
            "repeat the command"
        )
