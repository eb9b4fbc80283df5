"""`shoe-reader floor contract`: the MQTT contract as an AsyncAPI document, for other programs."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from pathlib import Path

from vision.files import write_new
from vision.version import VERSION
from vision.wire.contract import CHANNELS, document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--out", type=Path, metavar="F", help="write it to a file instead")


def run(args: argparse.Namespace) -> int:
    """Print or write it; WriteError when the disk refuses."""
    content = text()
    if args.out is None:
        print(content, end="")
    else:
        write_new(args.out, content.encode())
    return 0


def text() -> str:
    """Return the document as JSON, which is YAML too."""
    folder = files("vision") / "schemas"
    names = {channel.schema for channel in CHANNELS if channel.schema}
    schemas = {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names}
    return json.dumps(document(schemas, VERSION), indent=1, ensure_ascii=False) + "\n"
