"""Write every message of a run to a file, one JSON object a line: for tests and for people."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from vision.errors import OutsideError
from vision.wire.messages import Message, message_line


class MessagesFile:
    """Writes messages to a file, each flushed to the system at once."""

    def __init__(self, path: Path) -> None:
        """Create or empty the file; OutsideError when that cannot be done."""
        self._path = path
        try:
            self._file = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._outside(error) from error

    def write(self, messages: Iterable[Message]) -> None:
        """Add the messages and flush; OutsideError when the disk refuses."""
        self.write_lines(map(message_line, messages))

    def write_lines(self, lines: Iterable[str]) -> None:
        """Add messages that are lines already; OutsideError when the disk refuses."""
        try:
            self._file.writelines(line + "\n" for line in lines)
            self._file.flush()
        except OSError as error:
            raise self._outside(error) from error

    def close(self) -> None:
        """Close the file; OutsideError when the last lines cannot be written."""
        try:
            self._file.close()
        except OSError as error:
            raise self._outside(error) from error

    def _outside(self, error: OSError) -> OutsideError:
        return OutsideError(
            f"cannot write the messages file {self._path}: {error.strerror}; "
            "give --messages a path in a folder that exists, is writable and has room"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
