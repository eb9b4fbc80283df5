"""Keep the evidence of a table on its disk: pictures and films, a folder a day.

Each is written whole or not at all, under its name and the beginning of its hash, and is given out
only while it is unchanged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from vision.clock import DAY_MS
from vision.errors import OutsideError
from vision.files import PRIVATE_FOLDER, make_folder, write_whole
from vision.record.facts import EvidenceKept, Medium
from vision.wire.messages import LEVELS, Message, iso, unix_ms

DELETED_AT_ONCE = 200  # files a minute, so that the table never waits; it writes fewer than 20
SUFFIXES = {Medium.STILL: ".jpg", Medium.CLIP: ".avi"}  # the ends of files' names
# The end of the name of a card's picture, as `c12` or `c12.2`; all else is evidence of an alert.
OF_A_CARD = re.compile(r".*-c\d+(\.\d+)?\.[0-9a-f]{12}\.jpg")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EvidenceLimits:
    """How long evidence is kept, that of alerts for its own time, and how much of it."""

    keep_days: float
    max_mb: float
    alert_days: float


class Why(StrEnum):
    """Why a piece of evidence is deleted."""

    AGE = "age"
    SIZE = "size"  # before its time, because there is too much
    REPLACED = "replaced"  # a clip up to its alert: the whole clip has every picture of it


@dataclass(frozen=True, slots=True)
class Doomed:
    """A file that is to be deleted."""

    path: Path
    size: int
    why: Why

    @property
    def name(self) -> str:
        """Its day and its name, which holds the beginning of its hash."""
        return f"{self.path.parent.name}/{self.path.name}"


def folder_of(log: Path, named: str = "") -> Path:
    """Return the folder of the evidence of a log: the one that a table file has `named`, if any."""
    return Path(named) if named else log.with_suffix(".evidence")


def file_name(stored: EvidenceKept) -> str:
    """Return where a piece of evidence lies in its folder."""
    return _name(iso(stored.at)[:10], stored.id, stored.sha256, stored.medium)


def _name(day: str, name: str, sha256: str, medium: Medium) -> str:
    return f"{day}/{name}.{sha256[:12]}{SUFFIXES[medium]}"


class EvidenceStore:
    """The folder of evidence of a table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, int] = {}

    def keep(self, stored: EvidenceKept, content: bytes) -> EvidenceKept:
        """Write a piece; return it with its hash once it is known to be there. WriteError."""
        digest = hashlib.sha256(content).hexdigest()
        stored = replace(stored, sha256=digest, size=len(content))
        path = self.folder / file_name(stored)
        make_folder(self.folder, PRIVATE_FOLDER)
        make_folder(path.parent)
        write_whole(path, content)
        day = path.parent.name
        if day in self._sizes:
            self._sizes[day] += len(content)
        return stored

    def filled(self, message: Message) -> Message:
        """Return the message as it is sent: with the picture for which it stands, if any.

        A picture that is gone or was changed since is sent empty; its hash is published.
        """
        level = message.topic.split("/")[-2]
        if level not in LEVELS.values():
            return message
        return message._replace(payload=self._read(json.loads(message.payload)))

    def _read(self, content: dict[str, Any]) -> bytes:
        name = _name(content["at"][:10], content["id"], content["sha256"], Medium(content["kind"]))
        try:
            found = (self.folder / name).read_bytes()
        except OSError as error:
            log.warning("evidence %s cannot be read: %s", self.folder / name, error.strerror)
            return b""
        if hashlib.sha256(found).hexdigest() != content["sha256"]:
            log.warning("evidence %s was changed: it is not sent", self.folder / name)
            return b""
        return found

    def newest(self) -> int:
        """Return when the day of the newest piece begins (Unix ms); 0 where there is none."""
        days = [path.name for path in self.folder.glob("[0-9]*-[0-9]*-[0-9]*") if path.is_dir()]
        try:
            return unix_ms(f"{max(days, default='')}T00:00:00.000Z")
        except ValueError:
            return 0

    # --- retention ---------------------------------------------------------------------------

    def doomed(
        self, limits: EvidenceLimits, now: int, *, before_day: str, wanted: tuple[str, ...]
    ) -> tuple[Doomed, ...]:
        """Return what is too old or too much, oldest first, at most DELETED_AT_ONCE files.

        Only of days before `before_day` (2026-11-21), and nothing whose name begins with one of
        `wanted`; `now` is Unix time in milliseconds. OSError.
        """
        if not self.folder.is_dir():
            return ()
        days = sorted(day.name for day in self.folder.iterdir() if day.is_dir())
        for day in days:
            if day not in self._sizes:
                files = (self.folder / day).iterdir()
                self._sizes[day] = sum(path.stat().st_size for path in files)
        doomed = self._doomed([day for day in days if day < before_day], limits, now, wanted)
        return tuple(islice(doomed, DELETED_AT_ONCE))

    def _doomed(
        self, days: list[str], limits: EvidenceLimits, now: int, wanted: tuple[str, ...]
    ) -> Iterator[Doomed]:
        """Yield the files that are too old, and others as long as there are too many bytes."""
        excess = sum(self._sizes.values()) - round(limits.max_mb * 1e6)
        keeps_cards, keeps_alerts = (
            iso(now - int(stored * DAY_MS))[:10] for stored in (limits.keep_days, limits.alert_days)
        )
        for day in days:
            if day >= max(keeps_cards, keeps_alerts) and excess <= 0:
                return
            early_of = {
                path: day >= (keeps_cards if OF_A_CARD.fullmatch(path.name) else keeps_alerts)
                for path in (self.folder / day).iterdir()
                if not path.name.startswith(wanted)
            }
            candidates = (path for path, early in early_of.items() if excess > 0 or not early)
            for path in sorted(candidates, key=lambda path: path.stat().st_mtime):
                if excess > 0 or not early_of[path]:
                    size = path.stat().st_size
                    excess -= size
                    yield Doomed(path, size, Why.SIZE if early_of[path] else Why.AGE)

    def replaced(self, pieces: Iterable[EvidenceKept], before_day: str) -> tuple[Doomed, ...]:
        """Return which files of these pieces, of days before `before_day`, are still there."""
        paths = [
            self.folder / file_name(stored) for stored in pieces if iso(stored.at)[:10] < before_day
        ]
        sizes = {path: path.stat().st_size for path in paths[:DELETED_AT_ONCE] if path.exists()}
        return tuple(Doomed(path, size, Why.REPLACED) for path, size in sizes.items())

    def delete(self, doomed: Iterable[Doomed]) -> None:
        """Delete files that `doomed` named, and days that are empty then; OutsideError."""
        try:
            for piece in doomed:
                piece.path.unlink(missing_ok=True)
                folder = piece.path.parent
                self._sizes[folder.name] = self._sizes.get(folder.name, 0) - piece.size
                if not any(folder.iterdir()):
                    folder.rmdir()
                    del self._sizes[folder.name]
        except OSError as error:
            raise OutsideError(f"old evidence cannot be deleted: {error}") from error
