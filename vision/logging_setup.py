"""Set up the log: lines on stderr, for people and for whatever collects a service's output.

Passwords in addresses are struck out of every line.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime

from vision.secrets import masked


class _Lines(logging.Formatter):
    """Formats `warning: words`, as a command prints it, or with the time, as a service does."""

    def __init__(self, *, timed: bool) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        time = f"{at.replace('+00:00', 'Z')} " if self._timed else ""
        return masked(f"{time}{record.levelname.lower()}: {super().format(record)}")


def set_up(*, service: bool = False) -> None:
    """Log warnings for people, everything with the time as a `service`; the last call counts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(timed=service))
    logging.raiseExceptions = False  # a line that cannot be written ends nothing
    own = logging.getLogger("vision")
    for former in own.handlers:
        former.close()
    own.handlers = [handler]
    own.setLevel(logging.INFO if service else logging.WARNING)


def fail(words: str) -> None:
    """Print on stderr why the program ends."""
    with suppress(OSError):  # the exit code says it too
        print(f"shoe-reader: {masked(words)}", file=sys.stderr)
