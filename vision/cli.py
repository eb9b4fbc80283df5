"""The `shoe-reader` command: runs one command of the table, turns errors into exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from contextlib import nullcontext, suppress
from typing import NoReturn, TextIO

from vision import logging_setup
from vision.commands import COMMANDS, GROUPS, Run, functions_of, needs_floor
from vision.errors import OutsideError, ShoeReaderError
from vision.version import VERSION

# What the system says of an output that is full, closed, broken, or that nobody reads.
OF_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO, errno.EPIPE)
INTERRUPTED = 130  # exit status after Ctrl-C: 128 and SIGINT, as shells have it
DESCRIPTION = (
    "Watches a Punto Banco table, reads each card as it leaves the shoe, checks the tableau and "
    "publishes results and mis-deal alerts over MQTT."
)
EPILOG = (
    "Exit codes: 0 done, 2 bad usage or configuration, 3 an outside thing failed, 4 not all of a "
    "log is proven (audit)."
)


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; no arguments show the help."""
    words = sys.argv[1:] if argv is None else argv
    _replace_closed()
    signal.signal(signal.SIGTERM, _terminate)
    logging_setup.set_up()
    code, ended, failure = 0, False, ""
    try:
        code = _dispatch(words)
    except ShoeReaderError as error:
        logging_setup.fail(str(error))
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as end:  # of argparse, and of a service that is stopped
        code, ended = end.code if isinstance(end.code, int) else int(end.code is not None), True
    except OSError as error:
        # Every other file that is written has a name, and words of its command.
        if error.errno not in OF_OUTPUT or error.filename is not None:
            raise
        failure = error.strerror or str(error)
    if failure := _output_failure(sys.stdout) or failure:
        logging_setup.fail(f"cannot write the output: {failure}; what was printed is not whole")
        code = code or OutsideError.exit_code
    _output_failure(sys.stderr)
    if ended:
        raise SystemExit(code)
    return code


def _replace_closed() -> None:
    """Have standard output and error where they are closed: what is printed there fails."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w", closefd=False))  # noqa: SIM115


def _output_failure(stream: TextIO) -> str:
    """Write out what is left of the output; return why that fails, and let go of it."""
    try:
        stream.flush()
    except OSError as error:
        with suppress(OSError, ValueError):
            handle = os.open(os.devnull, os.O_WRONLY)
            os.dup2(handle, stream.fileno())
            os.close(handle)
        return error.strerror or str(error)
    return ""


def _dispatch(words: list[str]) -> int:
    wanted = next((name for name in COMMANDS if words[: name.count(" ") + 1] == name.split()), "")
    parser = _parser(wanted)
    if not words:
        parser.print_help()
        return 0
    if len(words) == 1 and words[0] in GROUPS:
        words = [*words, "--help"]
    args = parser.parse_args(words)
    run: Run = args.run
    return run(args) or 0


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
            with needs_floor(name) if group == "floor" else nullcontext():
                add_arguments, run = functions_of(name)
            add_arguments(command)
            command.set_defaults(run=run, name=last)
    return parser


def _terminate(_signal: int, _frame: object) -> NoReturn:
    """End in order when the service manager asks for it: `finally` clauses run, exit code 0."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
