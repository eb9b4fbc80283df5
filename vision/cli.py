"""The `shoe-reader` command: runs one command of the table, turns errors into exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from vision import logging_setup
from vision.commands import COMMANDS, GROUPS, module_of
from vision.errors import ShoeReaderError
from vision.version import VERSION

INTERRUPTED = 130  # exit status after Ctrl-C: 128 and SIGINT, as shells have it
DESCRIPTION = (
    "Watches a Punto Banco table, reads each card as it leaves the shoe, checks the tableau and "
    "publishes results and mis-deal alerts over MQTT."
)
EPILOG = "Exit codes: 0 done, 2 bad usage or configuration, 3 an outside thing failed."


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; no arguments show the help."""
    words = sys.argv[1:] if argv is None else argv
    signal.signal(signal.SIGTERM, _terminate)
    logging_setup.set_up()
    try:
        return _dispatch(words)
    except ShoeReaderError as error:
        logging_setup.fail(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(words: list[str]) -> int:
    wanted = next((name for name in COMMANDS if words[: name.count(" ") + 1] == name.split()), "")
    parser = _parser(wanted)
    if not words:
        parser.print_help()
        return 0
    if len(words) == 1 and words[0] in GROUPS:
        words = [*words, "--help"]
    args = parser.parse_args(words)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _parser(wanted: str) -> argparse.ArgumentParser:
    """Return the parser of all commands, which knows the arguments of the one that is wanted."""
    parser = argparse.ArgumentParser("shoe-reader", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"shoe-reader {VERSION}")
    groups = {"": parser.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for name, words in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        if group not in groups:
            made = groups[""].add_parser(group, help=GROUPS[group], description=GROUPS[group])
            groups[group] = made.add_subparsers(metavar="ACTION", required=True)
        command = groups[group].add_parser(last, help=words, description=words)
        if name == wanted:
            module = importlib.import_module(module_of(name))
            module.add_arguments(command)
            command.set_defaults(run=module.run, name=last)
    return parser


def _terminate(_signal: int, _frame: object) -> NoReturn:
    """End in order when the service manager asks for it: `finally` clauses run, exit code 0."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
