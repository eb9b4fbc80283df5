"""Write every message of a run to a file, one JSON object a line: for tests and for people."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from vision.errors import OutsideError
from vision.files import taken
from vision.wire.messages import Message, message_line

log = logging.getLogger(__name__)


class MessagesFile:
    """Writes messages to a new file, each flushed to the system at once.

    A file that cannot be written on is left, and the log says so: whatever becomes of it, the table
    is read on. `failure` says why, "" while all is well.
    """

    def __init__(self, path: Path) -> None:
        """Create the file; ConfigurationError where it is there already, OutsideError."""
        self._path = path
        self.failure = ""
        # A device or a pipe is there already, and nothing in it is lost.
        is_new = not path.exists() or path.is_file()
        try:
            self._file = path.open("x" if is_new else "w", encoding="utf-8", newline="\n")
        except FileExistsError:
            raise taken(path) from None
        except OSError as error:
            raise self._outside(error) from error

    def write(self, messages: Iterable[Message]) -> None:
        """Add the messages and flush."""
        if self.failure:
            return
        try:
            self._file.writelines(f"{message_line(message)}\n" for message in messages)
            self._file.flush()
        except OSError as error:
            self.failure = str(self._outside(error))
            log.error("%s", self.failure)  # it is of the disk, no defect

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError as error:
            self.failure = self.failure or str(self._outside(error))

    def _outside(self, error: OSError) -> OutsideError:
        return OutsideError(
            f"cannot write the messages file {self._path}: {error.strerror}; "
            "give --messages a path in a folder that exists, is writable and has room"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
