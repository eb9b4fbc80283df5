"""Set up the log: a line for people, or a JSON object a line for machines; on stderr.

Passwords in addresses are struck out of every line.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from vision.secrets import masked


class _People(logging.Formatter):
    """Formats `warning: words`, as a command prints it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return masked(f"{record.levelname.lower()}: {super().format(record)}")


class _Machines(logging.Formatter):
    """One JSON object: when, how grave, who, what, and the text before it was filled in."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content = {
            "at": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": super().format(record),
            "text": str(record.msg),
        }
        return masked(json.dumps(content, ensure_ascii=False))


def set_up(*, json_lines: bool = False) -> None:
    """Log warnings for people, or everything with `json_lines`; the last call counts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Machines() if json_lines else _People())
    own = logging.getLogger("vision")
    own.handlers = [handler]
    own.setLevel(logging.INFO if json_lines else logging.WARNING)


def fail(words: str, name: str = "shoe-reader") -> None:
    """Say on stderr, in the form of the log, why the program ends."""
    own = logging.getLogger("vision")
    if any(isinstance(handler.formatter, _Machines) for handler in own.handlers):
        own.error("%s", words)
    else:
        print(f"{name}: {masked(words)}", file=sys.stderr)
