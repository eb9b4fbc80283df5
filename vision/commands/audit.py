"""`shoe-reader audit`: is every record of the log what it was when written, and who vouches for it.

LOG is a table's log, an export of its records, or what `shoe-reader log export` wrote.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.audit.continuity import Ended, audit_from, pair_words, parse_ended
from vision.audit.export import audit_archive, digests_of, is_archive
from vision.audit.verify import (
    Found,
    Trust,
    audit,
    demand_signature,
    evidence_words,
    is_proven,
    words,
)
from vision.commands.printing.console import add_trust, trust_of, unbroken
from vision.errors import ConfigurationError, OutsideError
from vision.storage.evidence import folder_of
from vision.storage.log_reader import read_log, write_export
from vision.storage.sqlite import TORN_WORDS, Closing, state_of
from vision.wire.messages import iso

NOT_PROVEN = 4  # exit code: nothing is wrong, but not all that should prove the log was verified


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a .sqlite log, its records, or an export of it")
    add_trust(parser)
    words = "the folder of evidence, if not beside the log"
    add("--evidence", type=Path, metavar="DIR", help=words)
    words = "only the records after a former audit, which ended with this one"
    add("--since", metavar="N:HASH", help=words)
    add("--export", type=Path, metavar="F", help="write the records as JSON lines")
    words = "the log of the table's other reader: verify that both are one history"
    add("--pair", type=Path, metavar="LOG2", help=words)


def run(args: argparse.Namespace) -> int:
    """Verify the log and say what it holds; OutsideError naming the first bad record.

    The exit code is `NOT_PROVEN` where signatures were not verified, or something is not proven.
    """
    if args.export is not None and args.export.resolve() == args.log.resolve():
        raise ConfigurationError(f"--export {args.export}: is the log itself; give another file")
    since = None if args.since is None else parse_ended(args.since)
    trust = trust_of(args)
    with unbroken(args.log):
        found = _told(args, since, trust)
    if args.export is not None:
        count = write_export(args.export, read_log(args.log))
        print(f"{args.export}: {count} records exported")
    return 0 if is_proven(found, trust) else NOT_PROVEN


def _told(args: argparse.Namespace, since: Ended | None, trust: Trust) -> Found:
    """Verify the log and say what it holds; OutsideError with its name."""
    try:
        found, lines = _audited(args, since, trust)
        _say(args.log, found, trust)
        for line in filter(None, lines):
            print(line)
        _say_pair(args, trust)
        if trust.keys:
            demand_signature(found)
        if state_of(args.log) is Closing.TORN:
            raise OutsideError(TORN_WORDS)
    except OutsideError as error:
        raise OutsideError(f"{args.log}: {error}") from error
    return found


def _audited(
    args: argparse.Namespace, since: Ended | None, trust: Trust
) -> tuple[Found, tuple[str, ...]]:
    """Verify the log; return what was found, and in words how messages and evidence stand."""
    if is_archive(args.log):
        if since is not None:
            raise ConfigurationError("--since: of a log only; an export is always verified whole")
        found, evidence = audit_archive(args.log, trust)
        return found, (evidence,)
    found, messages = audit_from(args.log, since, trust)
    digests = digests_of(args.evidence or folder_of(args.log), found.kept)
    deleted = None if found.first else found.deleted
    return found, (messages, evidence_words(found.kept, digests, deleted) if found.kept else "")


def _say_pair(args: argparse.Namespace, trust: Trust) -> None:
    """Verify the other reader's log too, if one is given, and that both are one history."""
    if args.pair is not None:
        audit(read_log(args.pair), trust)
        for line in pair_words(read_log(args.log), read_log(args.pair)):
            print(line)


def _say(log: Path, found: Found, trust: Trust) -> None:
    between = ""
    if found.began is not None and found.ended is not None:
        between = f", {iso(found.began)} to {iso(found.ended)}"
    part = f", records {found.first} to {found.last.number}" if found.first else ""
    print(f"{log}: table {found.table} of {found.site}, {found.events} events{between}{part}")
    print(_chain_words(found))
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


def _chain_words(found: Found) -> str:
    but = ", but for what was pruned (below)" if found.gaps else ""
    return f"the chain holds: no record was changed, removed, inserted or moved{but}"
