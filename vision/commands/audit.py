"""`shoe-reader audit` and `replay`: is a log what it was when written, and what comes of it again.

`audit` takes a table's log, an export of its records, or what `shoe-reader log export` wrote, and
says who vouches for it. `replay` folds a log again and prints its messages, or verifies them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.audit.continuity import Ended, audit_from, parse_ended
from vision.audit.export import audit_archive, digests_of, evidence_words, is_archive
from vision.audit.verify import Found, Trust, demand_signature, is_proven, words
from vision.commands.printing.console import NOT_PROVEN, add_trust, trust_of
from vision.errors import ConfigurationError, OutsideError
from vision.storage.evidence import folder_of
from vision.storage.log_reader import (
    Rows,
    Walk,
    is_table,
    message_lines,
    opened,
    read_log,
    unbroken,
)
from vision.storage.sqlite import TORN_WORDS, Closing, state_of
from vision.wire.messages import iso


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a .sqlite log, its records, or an export of it")
    add_trust(parser)
    words = "the folder of evidence, if not beside the log"
    add("--evidence", type=Path, metavar="DIR", help=words)
    words = "only the records after a former audit, or one of the other log, which ended so"
    add("--since", metavar="N:HASH", help=words)


def run(args: argparse.Namespace) -> int:
    """Verify the log and say what it holds; OutsideError naming the first bad record.

    The exit code is `NOT_PROVEN` where signatures were not verified, or something is not proven.
    """
    since = None if args.since is None else parse_ended(args.since)
    trust = trust_of(args)
    with unbroken(args.log):
        found = _printed(args, since, trust)
    return 0 if is_proven(found, trust) else NOT_PROVEN


def _printed(args: argparse.Namespace, since: Ended | None, trust: Trust) -> Found:
    """Verify the log and say what it holds; OutsideError with its name."""
    try:
        if is_archive(args.log):
            if since is not None:
                raise ConfigurationError(
                    "--since: of a log only; an export is always verified whole"
                )
            found, *lines = audit_archive(args.log, trust)
        else:
            found, *lines = audit_from(args.log, since, trust)
            digests = digests_of(args.evidence or folder_of(args.log), found.stored)
            deleted = None if found.first else found.deleted
            lines += [evidence_words(found.stored, digests, deleted)] if found.stored else []
        _say(args.log, found, trust)
        for line in filter(None, lines):
            print(line)
        if trust.keys:
            demand_signature(found)
        if state_of(args.log) is Closing.TORN:
            raise OutsideError(TORN_WORDS)
    except OutsideError as error:
        raise OutsideError(f"{args.log}: {error}") from error
    return found


def _say(log: Path, found: Found, trust: Trust) -> None:
    between = ""
    if found.began is not None and found.ended is not None:
        between = f", {iso(found.began)} to {iso(found.ended)}"
    part = f", records {found.first} to {found.last.number}" if found.first else ""
    print(f"{log}: table {found.table} of {found.site}, {found.events} events{between}{part}")
    but = ", but for what was pruned (below)" if found.gaps else ""
    print(f"the chain holds: no record was changed, removed, inserted or moved{but}")
    if state_of(log) is not Closing.IN_ORDER:
        print(f"the file is {state_of(log).value}")
    if found.begun is not None:
        print(
            f"it goes on from record {found.begun.number} of another log, hash {found.begun.hash}"
        )
    for line in words(found, trust):
        print(line)
    print(f"the next audit can begin here: --since {Ended(found.last.number, found.last.hash)}")
    print("records cut off the end show only against a hash kept elsewhere: keep this one")


def add_replay_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a .sqlite log or an export of one")
    words = "print none, and compare them with the digests in the log"
    add("--check", action="store_true", help=words)


def replay(args: argparse.Namespace) -> None:
    """Replay the log; OutsideError at the first message that differs from then."""
    with unbroken(args.log):
        if args.check:
            print(_agrees_with_itself(args.log))
        else:
            for line in message_lines(args.log):
                print(line)


def _agrees_with_itself(log: Path) -> str:
    walk = Walk(rows=Rows(log) if is_table(log) else None)
    count = sum(len(walk.take(*one).messages) for one in opened(read_log(log)))
    walk.end()
    return f"{log}: {count} messages, every one as it was published"
