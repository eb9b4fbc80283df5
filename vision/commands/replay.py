"""`shoe-reader replay`: fold a log again and print its messages, or compare them with the past."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from vision.commands.printing.console import unbroken
from vision.errors import ConfigurationError, OutsideError
from vision.storage.log_reader import Rows, is_table, read_messages, standing_messages, walked
from vision.storage.messages_file import MessagesFile
from vision.wire.messages import message_line

LOG_ITSELF = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a .sqlite log or an export of one")
    add("--messages", type=Path, metavar="F", help="write them to a file instead")
    add("--boot", metavar="ID", help="only the messages of this run")
    add("--check", nargs="?", const=LOG_ITSELF, metavar="F", help="compare with the messages file "
        "of a run, byte for byte; without F, with the digests in the log")  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Replay the log; OutsideError at the first message that differs from then."""
    with unbroken(args.log):
        if args.check == LOG_ITSELF:
            print(_agrees_with_itself(args.log))
        elif args.check is not None:
            print(_agrees_with_file(args.log, Path(args.check)))
        elif args.messages is not None:
            with MessagesFile(args.messages) as file:
                file.write_lines(_lines(args.log, args.boot))
            if file.failure:
                raise OutsideError(file.failure)
        else:
            for line in _lines(args.log, args.boot):
                print(line)


def _lines(log: Path, boot: str | None) -> Iterator[str]:
    known = set()
    for step in (taken.step for taken in walked(log) if taken.step):
        known.add(step.session.stream.boot)
        if boot in (None, step.session.stream.boot):
            yield from map(message_line, step.messages)
    if boot is not None and boot not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"--boot {boot}: no such run in {log}; there are: {names}")


def _agrees_with_itself(log: Path) -> str:
    count = 0
    rows = Rows(read_messages(log), standing_messages(log)) if is_table(log) else None
    for taken in walked(log):
        messages = taken.messages
        count += len(messages)
        if rows is not None and taken.after is not None:
            rows.take(taken.content, taken.after, messages)
    if rows is not None:
        rows.end()
    return f"{log}: {count} messages, every one as it was said"


def _agrees_with_file(log: Path, path: Path) -> str:
    """Compare the run that the file is of; a messages file holds one run, a log many."""
    try:
        with path.open("rb") as file:
            then = file.read().decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OutsideError(
            f"cannot read {path}: {error}; give the file that run --messages wrote"
        ) from error
    now = list(_lines(log, _boot_of(then)))
    for number, (ours, theirs) in enumerate(zip_longest(now, then), start=1):
        if ours != theirs:
            raise OutsideError(
                f"{path}: line {number} differs from the log\n  log:  {ours}\n  file: {theirs}"
            )
    return f"{path}: {len(now)} messages, the same byte for byte"


def _boot_of(lines: list[str]) -> str | None:
    try:
        boot = json.loads(lines[0])["payload"]["boot"] if lines else None
    except (ValueError, KeyError, TypeError):
        return None
    return boot if isinstance(boot, str) else None
