"""Coups under legal hold, as the command line names them."""

from __future__ import annotations

import argparse

from vision.errors import ConfigurationError
from vision.record.facts import Hold, Register


def add_holds(parser: argparse.ArgumentParser) -> None:
    """Declare how a person names what is under legal hold."""
    named = parser.add_mutually_exclusive_group()
    named.add_argument(
        "--hold",
        action="append",
        default=[],
        metavar="SHOE:COUP",
        help="a coup under legal hold (coup 0: the whole shoe); needed only where the old log "
        "cannot be read; may be given again",
    )
    named.add_argument(
        "--no-holds", action="store_true", help="nothing is under legal hold, I have made sure"
    )


def holds_of(args: argparse.Namespace) -> tuple[Hold, ...] | None:
    """Return the coups named, `None` where nothing was said; ConfigurationError."""
    return tuple(map(_hold, args.hold)) if args.hold or args.no_holds else None


def _hold(text: str) -> Hold:
    shoe, _, coup = text.rpartition(":")
    if not shoe or not coup.isdecimal():
        raise ConfigurationError(
            f"--hold {text}: not a coup; give SHOE:COUP, as in 20261121-180000:7"
        )
    return Hold(shoe, int(coup))


def holds_line(register: Register) -> str:
    """Say what is under hold in the new log."""
    names = ", ".join(f"shoe {hold.shoe} coup {hold.coup}" for hold in register.holds)
    return f"evidence under hold: {names or 'none'}"
