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


class _Lines(logging.Formatter):
    """Formats `warning: words`, as a command prints it, with the time as a service, or as JSON."""

    def __init__(self, *, timed: bool, as_json: bool) -> None:
        super().__init__()
        self._timed = timed
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; as JSON with who says it, and the text before it was filled in."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        at, level = at.replace("+00:00", "Z"), record.levelname.lower()
        words = super().format(record)
        if not self.as_json:
            return masked(f"{at} {level}: {words}" if self._timed else f"{level}: {words}")
        content = {
            "at": at,
            "level": level,
            "logger": record.name,
            "message": words,
            "text": str(record.msg),
        }
        return masked(json.dumps(content, ensure_ascii=False))


def set_up(*, json_lines: bool = False, service: bool = False) -> None:
    """Log warnings for people, everything with `json_lines` or as a `service`; last call counts.

    A service puts the time before its lines.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(timed=service, as_json=json_lines))
    logging.raiseExceptions = False  # a line that cannot be written ends nothing
    own = logging.getLogger("vision")
    for former in own.handlers:
        former.close()
    own.handlers = [handler]
    own.setLevel(logging.INFO if json_lines or service else logging.WARNING)


def fail(words: str) -> None:
    """Say on stderr, in the form of the log, why the program ends."""
    own = logging.getLogger("vision")
    forms = (handler.formatter for handler in own.handlers)
    if any(isinstance(form, _Lines) and form.as_json for form in forms):
        own.error("%s", words)
    else:
        with suppress(OSError):  # the exit code says it too
            print(f"shoe-reader: {masked(words)}", file=sys.stderr)
