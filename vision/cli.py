"""The `shoe-reader` command: finds the commands, runs one, turns errors into exit codes.

Each module of `vision.commands` is a command: HELP, add_arguments and run.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import vision.commands
from vision import logging_setup
from vision.errors import ShoeReaderError
from vision.version import VERSION

INTERRUPTED = 130  # exit status after Ctrl-C: 128 and SIGINT, as shells have it
DESCRIPTION = (
    "Watches a Punto Banco table, reads each card as it leaves the shoe, checks the tableau and "
    "publishes results and mis-deal alerts over MQTT."
)
EPILOG = "Exit codes: 0 done, 2 bad usage or configuration, 3 an outside thing failed."


def command_names() -> tuple[str, ...]:
    """Return the names of the commands of this package."""
    found = pkgutil.iter_modules(vision.commands.__path__)
    return tuple(sorted(module.name for module in found if not module.ispkg))


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
    name = words[0] if words else ""
    # Only the command that is asked for is imported: the others may need slow libraries.
    parser = _parser(name if name in command_names() else None)
    if not words:
        parser.print_help()
        return 0
    args = parser.parse_args(words)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command that is wanted, or of what all of them are for."""
    parser = argparse.ArgumentParser("shoe-reader", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"shoe-reader {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if wanted is None:
        for name in command_names():
            commands.add_parser(name, help=_help_of(name))
    else:
        module = importlib.import_module(f"vision.commands.{wanted}")
        sub = commands.add_parser(wanted, help=module.HELP, description=module.HELP)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def _help_of(name: str) -> str:
    """Return the `HELP` of a command from its text: importing all of them takes over a second."""
    source = Path(vision.commands.__path__[0], f"{name}.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "HELP":
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{name}: a command has a HELP")


def _terminate(_signal: int, _frame: object) -> NoReturn:
    """End in order when the service manager asks for it: `finally` clauses run, exit code 0."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
