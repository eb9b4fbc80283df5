"""`shoe-reader log export`: a log, or part of one, as a folder or .zip that proves itself."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.audit.export import Sources, write_archive
from vision.audit.selection import Part
from vision.commands.printing.console import add_trust, broken, trust_of
from vision.errors import ConfigurationError
from vision.record.chain import BrokenChainError
from vision.storage.anchors import load_key
from vision.storage.evidence import folder_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("log", type=Path, metavar="LOG", help="a .sqlite log, or its records")
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder, or a new .zip")
    parser.add_argument("--shoe", metavar="S", default="", help="only this shoe")
    parser.add_argument(
        "--coup", type=int, metavar="N", help="only this coup (of the last shoe that has it)"
    )
    parser.add_argument(
        "--seq", type=int, nargs=2, metavar=("A", "B"), help="only the messages with these numbers"
    )
    parser.add_argument(
        "--evidence", type=Path, metavar="DIR", help="the folder of evidence, if not beside the log"
    )
    parser.add_argument(
        "--signing-key", type=Path, metavar="K", help="the log's private key: sign the receipt"
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Verify, select and write; ConfigurationError or OutsideError."""
    key = None if args.signing_key is None else load_key(args.signing_key)
    sources = Sources(args.log, args.evidence or folder_of(args.log), trust_of(args), key)
    try:
        receipt = write_archive(sources, args.out, _part(args))
    except BrokenChainError as error:
        raise broken(args.log, error) from error
    signed = receipt["signed_up_to"]
    print(f"{args.out}: records {receipt['first']} to {receipt['last']} of {args.log}")
    print("signed: " + ("not verified, no --public-key" if signed is None else f"up to {signed}"))
    print(receipt["evidence"])
    print(f"verify it anywhere with: shoe-reader audit {args.out} --public-key KEY.pub")
    return 0


def _part(args: argparse.Namespace) -> Part | None:
    if args.seq is not None and (args.shoe or args.coup is not None):
        raise ConfigurationError("--seq: give either message numbers or a shoe and coup, not both")
    if args.seq is None and not args.shoe and args.coup is None:
        return None
    return Part(args.shoe, args.coup, None if args.seq is None else tuple(args.seq))
