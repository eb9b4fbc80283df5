"""Copy a log while it is written, and its evidence, also to a second place while the table runs."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

from vision.errors import ConfigurationError
from vision.files import DRAFT, WriteError, make_folder, replacing, write_whole
from vision.storage.sqlite import CLOSED, explained, reading


def copy_log(log: Path, out: Path) -> None:
    """Write the log as it stands at this moment to a new file; the reader goes on meanwhile.

    The copy needs no other file beside it. ConfigurationError when it is there already;
    OutsideError.
    """
    if out.exists():
        raise ConfigurationError(f"{out} is there already and is not overwritten; give a new name")
    with (
        reading(log) as source,
        replacing(out) as draft,
        explained("copy", log),
        closing(sqlite3.connect(draft.name, isolation_level=None)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")
        target.execute(f"PRAGMA user_version={CLOSED}")


def put_in_place(new: Path, path: Path, kept: Path) -> None:
    """Have `new` take the place of the log at `path`, which goes on as `kept`; OSError.

    A power cut leaves the one or the other at `path`, never nothing.
    """
    os.link(path, kept)
    new.replace(path)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


EVERY_S = 5.0  # seconds between two looks; longer leaves more on one disk only when it dies
# Seconds without a whole look before people are told: a slow network share must not raise it at
# once, and pictures on one disk only for more than a minute should be known.
SILENT_S = 60.0


class Copier:
    """A thread that keeps a second folder complete.

    Names carry the day and the hash, so what is there is known by its name; nothing there is ever
    deleted or overwritten.
    """

    def __init__(self, source: Path, target: Path, every_s: float = EVERY_S) -> None:
        """Begin at once; the table never waits for it."""
        self._source = source
        self._target = target
        self._every_s = every_s
        self._ended = threading.Event()
        self._whole_s = time.monotonic()
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="evidence copies", daemon=True)
        self._thread.start()

    @property
    def complaint(self) -> str:
        """Why there is no second copy, for people; empty while there is one."""
        if self._failure:
            return f"They are not copied to {self._target}: {self._failure}."
        if time.monotonic() - self._whole_s > SILENT_S:
            return f"They are not copied to {self._target}: it has not answered for a minute."
        return ""

    def stop(self) -> None:
        """Copy what is left, for a few seconds at most."""
        self._ended.set()
        self._thread.join(timeout=self._every_s)

    def _run(self) -> None:
        while True:
            ends = self._ended.is_set()
            try:
                copy_missing(self._source, self._target)
                self._failure, self._whole_s = "", time.monotonic()
            except WriteError as error:
                self._failure = error.reason
            except OSError as error:
                self._failure = error.strerror or str(error)
            if ends:
                return
            self._ended.wait(self._every_s)


def copy_missing(source: Path, target: Path) -> int:
    """Copy each file of each day that the target has not, whole or not at all; return how many.

    The target must be there: a share that is not mounted is an empty folder otherwise. WriteError
    or OSError.
    """
    if not target.is_dir():
        raise FileNotFoundError(2, "the folder is not there, or the share is not mounted")
    count = 0
    for day in sorted(source.iterdir()) if source.is_dir() else ():
        there = {path.name for path in (target / day.name).glob("*")}
        missing = [path for path in sorted(day.iterdir()) if path.name not in there]
        for path in missing:
            if path.name.endswith(DRAFT):
                continue
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # it was deleted meanwhile, for its age
                continue
            make_folder(target / day.name)
            write_whole(target / day.name / path.name, content)
            count += 1
    return count
