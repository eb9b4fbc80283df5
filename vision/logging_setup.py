"""Set up the log: lines for people or JSON for machines on stderr, and syslog (RFC 5424) if asked.

Passwords in addresses are struck out of every line.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import SysLogHandler
from pathlib import Path
from urllib.parse import urlsplit

from vision.errors import ConfigurationError
from vision.secrets import masked

APP = "shoe-reader"
# The port of syslog where an address names none (RFC 5426).
SYSLOG_PORT = 514
SYSLOG_HELP = "also send the log there (RFC 5424): /dev/log, HOST or HOST:PORT (UDP)"
ADDRESS = "give the socket of this machine (/dev/log), or HOST or HOST:PORT for UDP"


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


class _Syslog(logging.Formatter):
    """RFC 5424 behind the priority, which the handler sets; the message id is the module."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: version, time, host, program, process, message id, no data, words."""
        words = masked(super().format(record)).replace("\n", " | ")
        # The names of the header are at most 255, 48 and 32 printable characters of ASCII.
        host = ascii(socket.gethostname())[1:-1][:255] or "-"
        module = record.name.rpartition(".")[2][:32]
        return f"1 {_moment(record)} {host} {APP} {os.getpid()} {module} - \ufeff{words}"


def set_up(*, json_lines: bool = False, service: bool = False, syslog: str = "") -> None:
    """Log warnings for people, everything with `json_lines` or as a `service`; last call counts.

    A service puts the time before its lines. `syslog` sends them there too: ConfigurationError
    where that is no address.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setFormatter(_Machines() if json_lines else _People(timed=service))
    if syslog:
        handlers.append(_syslog_handler(syslog))
    logging.raiseExceptions = False  # a line that cannot be written ends nothing
    own = logging.getLogger("vision")
    for former in own.handlers:
        former.close()
    own.handlers = handlers
    own.setLevel(logging.INFO if json_lines or service or syslog else logging.WARNING)


def fail(words: str, name: str = APP) -> None:
    """Say on stderr, in the form of the log, why the program ends."""
    own = logging.getLogger("vision")
    if any(isinstance(handler.formatter, _Machines | _Syslog) for handler in own.handlers):
        own.error("%s", words)
    else:
        with suppress(OSError):  # the exit code says it too
            print(f"{name}: {masked(words)}", file=sys.stderr)


def _syslog_handler(address: str) -> SysLogHandler:
    where: str | tuple[str, int] = address
    try:
        if not address.startswith("/"):
            parts = urlsplit(f"//{address}")
            where = (parts.hostname or "", parts.port or SYSLOG_PORT)
        elif not Path(address).is_socket():  # which the handler would not tell
            raise ConfigurationError(
                f"--syslog {address}: no socket is there; give /dev/log, or HOST:PORT for UDP"
            )
        handler = SysLogHandler(where, SysLogHandler.LOG_DAEMON)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--syslog {address}: {error}; {ADDRESS}") from error
    handler.append_nul = False
    handler.setFormatter(_Syslog())
    return handler


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")
