"""Keep finished pieces and surveys on disk, so that a run that was broken off goes on where it was.

A piece is kept by the hash of all that decides what is read of it: another model, setting, program
or film has another name, and what is kept is never stale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from vision.files import make_folder, write_json
from vision.floor.reread.film import Survey
from vision.floor.reread.pieces import Piece, PieceRead, from_json, to_json
from vision.record.codec import record_to_json


class Kept:
    """A folder of finished work; a file that cannot be understood counts as not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_folder(folder)

    def piece(self, piece: Piece) -> PieceRead | None:
        """Return what was read of a piece before, if it was."""
        data = self._load(f"piece-{piece.key}")
        try:
            return None if data is None else from_json(data)
        except (KeyError, TypeError, ValueError):
            return None

    def keep_piece(self, piece: Piece, read: PieceRead) -> None:
        """Keep what was read; WriteError when the disk refuses."""
        write_json(self._path(f"piece-{piece.key}"), to_json(read))

    def survey(self, stamp: str) -> Survey | None:
        """Return the survey of a film, found by what changes when the film does."""
        data = self._load(_survey_name(stamp))
        try:
            return None if data is None else Survey(**{**data, "keys": tuple(data["keys"])})
        except (KeyError, TypeError, ValueError):
            return None

    def keep_survey(self, stamp: str, found: Survey) -> None:
        """Keep a survey; WriteError when the disk refuses."""
        write_json(self._path(_survey_name(stamp)), record_to_json(found))

    def _load(self, name: str) -> Mapping[str, Any] | None:
        try:
            data = json.loads(self._path(name).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return data if isinstance(data, dict) else None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _survey_name(stamp: str) -> str:
    return f"survey-{sha256(stamp.encode()).hexdigest()}"
