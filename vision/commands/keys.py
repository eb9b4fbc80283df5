"""`shoe-reader keys`: the pair of keys by which a log is signed, and verified elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.storage.anchors import fingerprint, load_key, load_public, make_keys, public_pem

HELP = "make the key that signs a log, and show its public half"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("what", choices=("make", "show"), help="make a pair, or show one")
    parser.add_argument("file", type=Path, metavar="FILE", help="the private key; FILE.pub beside")


def run(args: argparse.Namespace) -> int:
    """Make or show the pair; ConfigurationError or OutsideError."""
    if args.what == "show":
        public = args.file.suffix == ".pub"
        key = load_public(args.file) if public else load_key(args.file).public_key()
        print(f"key {fingerprint(key)}")
        print(public_pem(key).decode(), end="")
        return 0
    key = make_keys(args.file)
    print(f"{args.file}: the private key, for this user only; [log] signing_key names it")
    print(f"{args.file}.pub: the public key {fingerprint(key)}; give it to whoever audits")
    return 0
