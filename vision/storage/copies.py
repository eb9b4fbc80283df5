"""Copy a log while it is written, whole and in one piece, with its anchors and its evidence."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from vision.errors import ConfigurationError
from vision.files import replacing
from vision.storage.sqlite import CLOSED, explained, open_for_reading


def copy_log(log: Path, out: Path) -> None:
    """Write the log as it stands at this moment to a new file; the reader goes on meanwhile.

    The copy needs no other file beside it. ConfigurationError when it is there already;
    OutsideError.
    """
    if out.exists():
        raise ConfigurationError(f"{out} is there already and is not overwritten; give a new name")
    source = open_for_reading(log)
    try:
        with replacing(out) as draft, explained("copy", log):
            target = sqlite3.connect(draft.name, isolation_level=None)
            try:
                source.backup(target)
                target.execute("PRAGMA journal_mode=DELETE")
                target.execute(f"PRAGMA user_version={CLOSED}")
            finally:
                target.close()
    finally:
        source.close()


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
