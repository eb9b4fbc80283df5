"""Set up the log: lines for people or JSON for machines, on stderr.

Passwords in addresses are struck out of every line.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime

from vision.secrets import masked


class _People(logging.Formatter):
    """Formats `warning: words`, as a command prints it; a service puts the time before it."""

    def __init__(self, *, timed: bool = False) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        start = f"{_moment(record)} " if self._timed else ""
        return masked(f"{start}{record.levelname.lower()}: {super().format(record)}")


class _Machines(logging.Formatter):
    """One JSON object: when, how grave, who, what, and the text before it was filled in."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        content = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": super().format(record),
            "text": str(record.msg),
        }
        return masked(json.dumps(content, ensure_ascii=False))


def set_up(*, json_lines: bool = False, service: bool = False) -> None:
    """Log warnings for people, everything with `json_lines` or as a `service`; last call counts.

    A service puts the time before its lines.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Machines() if json_lines else _People(timed=service))
    logging.raiseExceptions = False  # a line that cannot be written ends nothing
    own = logging.getLogger("vision")
    for former in own.handlers:
        former.close()
    own.handlers = [handler]
    own.setLevel(logging.INFO if json_lines or service else logging.WARNING)


def fail(words: str) -> None:
    """Say on stderr, in the form of the log, why the program ends."""
    own = logging.getLogger("vision")
    if any(isinstance(handler.formatter, _Machines) for handler in own.handlers):
        own.error("%s", words)
    else:
        with suppress(OSError):  # the exit code says it too
            print(f"shoe-reader: {masked(words)}", file=sys.stderr)


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")
