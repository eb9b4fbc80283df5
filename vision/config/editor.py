"""A table file as a person wrote it: keys are changed, and all else stays, comments included.

It is written whole or not at all, and what was there before is kept beside it. Knows nothing of
what the keys mean.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import tomlkit
from pydantic import ValidationError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from vision.config.errors import explain
from vision.config.table import Camera, load
from vision.errors import ConfigurationError, OutsideError

NEW = """\
# Made by `shoe-reader calibrate`. Every key is explained in deploy/config.md.

site = "house"
table = "1"
"""


class TableFile:
    """One table file, in memory until it is written."""

    def __init__(self, path: Path) -> None:
        """Read a file, or begin a new one; ConfigurationError where it is no table file."""
        self.path = path
        self.is_new = not path.exists()
        try:
            text = NEW if self.is_new else path.read_text(encoding="utf-8")
            self._text = tomlkit.parse(text)
        except (OSError, UnicodeDecodeError, TOMLKitError) as error:
            raise ConfigurationError(
                f"{path}: cannot be read as a table file: {error}; give one like "
                "deploy/table.example.toml, or the name of a new one"
            ) from error

    def section(self, name: str) -> dict[str, Any]:
        """Return the plain values of a section, {} where there is none."""
        found = self._text.get(name, {})
        return dict(found.unwrap()) if isinstance(found, Table) else {}

    def camera(self, *, source: str) -> Camera:
        """Return the camera, of that source where the file names none.

        ConfigurationError where a key is faulty.
        """
        section = {"source": source, **self.section("camera")}
        try:
            return Camera.model_validate(section, context={"folder": self.path.parent})
        except ValidationError as error:
            raise ConfigurationError(explain(self.path, error, Camera)) from error

    def change(self, name: str, values: Mapping[str, Any]) -> None:
        """Set keys of a section; a key whose value is `None` is taken out."""
        if not isinstance(self._text.get(name), Table):
            self._text[name] = tomlkit.table()
        _change(cast(Table, self._text[name]), values)

    def write(self, path: Path | None = None) -> Path | None:
        """Write the file, checked first; return where the file before it is kept, if any.

        ConfigurationError where it would be no valid table file, OutsideError where it cannot be
        written; nothing has changed then.
        """
        target = path or self.path
        draft = target.with_name(f".{target.name}.new")
        kept = None
        try:
            draft.write_text(tomlkit.dumps(self._text), encoding="utf-8")
            _checked(draft, target)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            if target.exists():
                kept = target.with_name(f"{target.name}.bak")
                kept.write_bytes(target.read_bytes())
            draft.replace(target)
        except OSError as error:
            raise OutsideError(f"{target}: cannot be written: {error.strerror or error}") from error
        finally:
            draft.unlink(missing_ok=True)
        return kept


def _checked(draft: Path, target: Path) -> None:
    """Load a draft as the reader would; the words name the file it is to become."""
    try:
        load(draft)
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace(str(draft), str(target))) from error


def _change(table: Table, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, Mapping):
            if not isinstance(table.get(key), Table):
                table[key] = tomlkit.table()
            _change(cast(Table, table[key]), value)
            cast(Table, table[key]).add(tomlkit.nl())
        else:
            table[key] = value


def written_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; OutsideError where it cannot be."""
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise OutsideError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
