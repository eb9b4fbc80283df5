"""`shoe-reader log backup`: copy a table's log while it is written, and verify the copy."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from vision.audit.verify import Trust, audit
from vision.commands.printing.console import broken
from vision.errors import OutsideError
from vision.files import make_folder, refuse_existing
from vision.record.chain import BrokenChainError
from vision.storage.anchors import anchors_of
from vision.storage.backup import copy_log, copy_missing
from vision.storage.evidence import folder_of
from vision.storage.log_reader import read_log


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("log", type=Path, metavar="LOG", help="a table's .sqlite log")
    parser.add_argument("out", type=Path, metavar="OUT", help="the copy, a new file")
    parser.add_argument(
        "--evidence",
        type=Path,
        metavar="DIR",
        nargs="?",
        const=Path(),
        help="also copy the evidence to a folder beside OUT; DIR if it is not beside the log",
    )


def run(args: argparse.Namespace) -> int:
    """Copy, verify and say what is in the copy; ConfigurationError or OutsideError."""
    refuse_existing(args.out, anchors_of(args.out))
    copy_log(args.log, args.out)
    try:
        found = audit(read_log(args.out), Trust())
    except BrokenChainError as error:
        raise broken(args.out, error) from error
    print(f"{args.out}: {found.last.number + 1} records of table {found.table} of {found.site}")
    print(f"hash of the last record: {found.last.hash}")
    try:
        if anchors_of(args.log).exists():
            shutil.copyfile(anchors_of(args.log), anchors_of(args.out))
        if args.evidence is not None:
            source = folder_of(args.log) if args.evidence == Path() else args.evidence
            make_folder(folder_of(args.out))
            copied = copy_missing(source, folder_of(args.out))
    except OSError as error:
        raise OutsideError(f"cannot copy what belongs to {args.log}: {error}") from error
    if args.evidence is not None:
        print(f"evidence: {copied} files copied")
    return 0
