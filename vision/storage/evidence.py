"""Keep the evidence of a table on its disk: pictures and films, a folder a day.

Each is written whole or not at all, under its name and the beginning of its hash, and is given out
only while it is unchanged.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vision.files import make_folder, write_whole
from vision.record.proofs import EvidenceKept, Medium
from vision.wire.messages import Message

DELETED_AT_ONCE = 200  # files a minute, so that the table never waits; it writes fewer than 20

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long evidence is kept, and how much of it."""

    keep_days: float
    max_mb: float


def folder_of(log: Path) -> Path:
    """Return the folder of the evidence of a log unless the table file names another."""
    return log.with_suffix(".evidence")


def file_name(kept: EvidenceKept) -> str:
    """Return where a piece of evidence lies in its folder."""
    return _name(_day(kept.at), kept.id, kept.sha256, kept.medium)


def _name(day: str, name: str, sha256: str, medium: Medium) -> str:
    return f"{day}/{name}.{sha256[:12]}{medium.suffix}"


def _day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


class EvidenceStore:
    """The folder of evidence of a table."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}

    def keep(self, kept: EvidenceKept, content: bytes) -> EvidenceKept:
        """Write a piece; return it with its hash once it is sure to be there. WriteError."""
        digest = hashlib.sha256(content).hexdigest()
        kept = replace(kept, sha256=digest, size=len(content))
        path = self._folder / file_name(kept)
        make_folder(path.parent)
        write_whole(path, content)
        day = path.parent.name
        if day in self._sizes:
            self._sizes[day] += len(content)
        return kept

    def filled(self, message: Message) -> Message:
        """Return the message as it is sent: with the picture for which it stands, if any.

        A picture that is gone or was changed since is sent empty; its hash is published.
        """
        level = message.topic.split("/")[-2]
        if level not in {medium.level for medium in Medium}:
            return message
        return replace(message, payload=self._read(json.loads(message.payload)))

    def _read(self, content: dict[str, Any]) -> bytes:
        name = _name(content["at"][:10], content["id"], content["sha256"], Medium(content["kind"]))
        try:
            found = (self._folder / name).read_bytes()
        except OSError as error:
            log.warning("evidence %s cannot be read: %s", self._folder / name, error.strerror)
            return b""
        if hashlib.sha256(found).hexdigest() != content["sha256"]:
            log.warning("evidence %s was changed: it is not sent", self._folder / name)
            return b""
        return found

    # --- retention ---------------------------------------------------------------------------

    def prune(
        self, limits: Limits, now: int, *, before_day: str, is_wanted: Callable[[str], bool]
    ) -> int:
        """Delete what is too old or too much, oldest first, some at a time; return how many.

        Only of days before `before_day` (2026-11-21), and nothing whose name `is_wanted`. OSError.
        """
        if not self._folder.is_dir():
            return 0
        days = sorted(day.name for day in self._folder.iterdir() if day.is_dir())
        for day in days:
            self._sizes.setdefault(day, _size(self._folder / day))
        oldest = _day(now - int(timedelta(days=limits.keep_days) / timedelta(milliseconds=1)))
        left = DELETED_AT_ONCE
        for day in days:
            excess = sum(self._sizes.values()) - round(limits.max_mb * 1e6)
            if day >= before_day or left <= 0 or (day >= oldest and excess <= 0):
                break
            left -= self._prune_day(day, left, None if day < oldest else excess, is_wanted)
        return DELETED_AT_ONCE - left

    def _prune_day(
        self, day: str, limit: int, excess: int | None, is_wanted: Callable[[str], bool]
    ) -> int:
        """Delete files of a day, at most `limit`, until `excess` bytes (`None`: all) are gone."""
        found = sorted((path.stat().st_mtime, path) for path in (self._folder / day).iterdir())
        deleted = freed = 0
        for _, path in found:
            if deleted >= limit or (excess is not None and freed >= excess):
                break
            if not is_wanted(path.name):
                freed += path.stat().st_size
                path.unlink()
                deleted += 1
        self._sizes[day] -= freed
        if deleted == len(found):
            (self._folder / day).rmdir()
            del self._sizes[day]
        return deleted


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
