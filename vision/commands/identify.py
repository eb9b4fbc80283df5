"""`shoe-reader identify`: one signature of program, models, rules, settings and calibration."""

from __future__ import annotations

import argparse
from pathlib import Path

from vision.app.identify import identify
from vision.config.table import load, path_of
from vision.inference.load import Runtime, open_models

HELP = "print the signature of what is installed for a table, and of each part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")


def run(args: argparse.Namespace) -> int:
    """Print it, a line for the whole and one for each part; ConfigurationError or OutsideError."""
    config = load(args.table)
    deck, settings = path_of(config.deck.path), config.models
    models = open_models(
        **settings.paths(), threads=settings.threads, runtime=Runtime(settings.provider), deck=deck
    )
    found = identify(config, models.hashes)
    print(f"{found.signature}  {config.site}, table {config.table}")
    for name, digest in found.parts:
        print(f"{digest}  {name}")
    return 0
