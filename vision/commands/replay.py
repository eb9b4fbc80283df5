"""`shoe-reader replay`: fold a log again and print its messages, or compare them with the past."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from vision.config.profiles import logged_profile
from vision.errors import ConfigurationError, OutsideError
from vision.record.chain import BrokenChainError, header_of, verified
from vision.storage.log_reader import is_table, read_log, read_messages, standing_messages
from vision.storage.log_walk import Rows, is_what_was_said
from vision.storage.messages_file import MessagesFile
from vision.wire.messages import Message, message_line
from vision.wire.session import LogFold, TableSession, new_session

LOG_ITSELF = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("log", type=Path, metavar="LOG", help="a .sqlite log or an export of one")
    parser.add_argument("--messages", type=Path, metavar="F", help="write them to a file instead")
    parser.add_argument("--boot", metavar="ID", help="only the messages of this run")
    parser.add_argument(
        "--check",
        nargs="?",
        const=LOG_ITSELF,
        metavar="F",
        help="compare with the messages file of a run, byte for byte; without F, with the "
        "digests in the log",
    )


def run(args: argparse.Namespace) -> int:
    """Replay the log; OutsideError at the first message that differs from then."""
    try:
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
    except BrokenChainError as error:
        raise OutsideError(
            f"{args.log}: the chain is broken at {error}; shoe-reader audit says more"
        ) from error
    except (KeyError, ValueError) as error:
        raise OutsideError(
            f"{args.log}: holds what this version of shoe-reader does not know: {error}; replay "
            "it with the version that wrote it (its status messages name it)"
        ) from error
    return 0


Folded = tuple[Mapping[str, Any], TableSession, tuple[Message, ...]]


def replayed(log: Path) -> Iterator[Folded]:
    """Yield the content of every record of a log, the session after it and what it gives.

    BrokenChainError where the log was changed; KeyError or ValueError where it holds what this
    version does not know.
    """
    header = header_of(read_log(log))
    fold = LogFold(new_session(header, logged_profile(header)))
    for _, content in verified(read_log(log)):
        step = fold.take(content)
        yield content, fold.session, step.messages if step else ()


def _lines(log: Path, boot: str | None) -> Iterator[str]:
    known = set()
    for content, session, messages in replayed(log):
        known |= {session.stream.boot} if "event" in content else set()
        if boot in (None, session.stream.boot):
            yield from map(message_line, messages)
    if boot is not None and boot not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"--boot {boot}: no such run in {log}; there are: {names}")


def _agrees_with_itself(log: Path) -> str:
    count = 0
    rows = Rows(read_messages(log), standing_messages(log)) if is_table(log) else None
    for content, session, messages in replayed(log):
        if not is_what_was_said(messages, content):
            raise OutsideError(
                f"{log}: record {content['n']}: this version gives other messages than the log; "
                "replay it with the version that wrote it"
            )
        count += len(messages)
        if rows is not None:
            rows.take(content, session, messages)
    if rows is not None:
        rows.end(ours=True)
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
                f"{path}: line {number} is not what the log says\n  log:  {ours}\n  file: {theirs}"
            )
    return f"{path}: {len(now)} messages, the same byte for byte"


def _boot_of(lines: list[str]) -> str | None:
    try:
        boot = json.loads(lines[0])["payload"]["boot"] if lines else None
    except (ValueError, KeyError, TypeError):
        return None
    return boot if isinstance(boot, str) else None
