"""Change keys of a table file and keep all the rest of it, comments included.

The file is checked before it is written, written whole or not at all, and the old file is kept
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import tomlkit
from pydantic import ValidationError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table
from tomlkit.toml_document import TOMLDocument

from vision.config.errors import explain, implausible
from vision.config.table import CameraSection, load
from vision.errors import ConfigurationError
from vision.files import free_name, replacing, text_of, write_whole
from vision.pictures import jpeg
from vision.sight.geometry.plane import Image, TableView

NEW = """\
# Made by shoe-reader. Every key is explained in deploy/config.md.

site = "house"
table = "{table}"

[log]
path = "{file}.sqlite"
"""
# Where the four points are that fix a plane, shares of the picture: near its corners, and in it.
# They bound what is kept and shown as evidence: bets are seen.
PLANE_POINTS = np.array([[0.05, 0.05], [0.95, 0.05], [0.95, 0.95], [0.05, 0.95]])
# Quality of the JPEG of the layout: no block edges that the camera's shift would see.
LAYOUT_QUALITY = 92


class TableFile:
    """A table file in memory, until it is written."""

    def __init__(self, path: Path) -> None:
        """Read a file, or begin a new one; ConfigurationError where it is not a table file."""
        self.path = path
        # "table.toml" is of table 1, not of table "table".
        name = re.sub(r"[^A-Za-z0-9_-]|^table[-_ ]?", "", path.stem)[:64] or "1"
        try:
            text = text_of(path) if path.exists() else NEW.format(table=name, file=path.stem)
            self._text = tomlkit.parse(text)
            self._before = tomlkit.dumps(self._text)
        except (OSError, TOMLKitError) as error:
            raise ConfigurationError(
                f"{path}: cannot be read as a table file: {error}; give one like "
                "deploy/table.example.toml, or the name of a new one"
            ) from error

    @property
    def is_changed(self) -> bool:
        """Whether keys are other than they were read."""
        return tomlkit.dumps(self._text) != self._before

    def section(self, name: str) -> dict[str, Any]:
        """Return the plain values of a section, {} where the file has none; "": of the file."""
        found = self._text.get(name, {}) if name else self._text
        return dict(found.unwrap()) if isinstance(found, Table | TOMLDocument) else {}

    def camera(self, *, source: str) -> CameraSection:
        """Return the camera, of that source where the file names none.

        ConfigurationError where a key is faulty.
        """
        section = {"source": source, **self.section("camera")}
        try:
            return CameraSection.model_validate(section, context={"folder": self.path.parent})
        except ValidationError as error:
            raise ConfigurationError(explain(self.path, error, CameraSection)) from error

    def change(self, name: str, values: Mapping[str, Any]) -> None:
        """Set keys of a section, "" for those of none; a key whose value is `None` is removed."""
        if not name:
            return _change(self._text, values)
        if not isinstance(self._text.get(name), Table):
            self._text[name] = tomlkit.table()
        return _change(cast(Table, self._text[name]), values)

    def change_view(self, view: TableView, picture: Image) -> None:
        """Set the view as it was measured in a picture (H x W x 3, BGR), and keep the picture.

        ConfigurationError where its areas cannot be right; nothing has changed then.
        """
        height, width = picture.shape[:2]
        if wrong := [f"{self.path}: {name} {words}" for name, words in implausible(view)]:
            raise ConfigurationError("\n".join(wrong))
        stored = free_name(self.path.with_name(f"{self.path.stem}-layout.jpg"))
        write_whole(stored, jpeg(picture, LAYOUT_QUALITY))
        self.change("camera", {"width": width, "height": height})
        self.change("view", {**view_section(view, (width, height)), "layout": stored.name})

    def write(self, path: Path | None = None) -> Path | None:
        """Check and write the file; return where the old file is kept, if there was one.

        Before a table is measured it has no view. ConfigurationError where it would not be a valid
        table file, WriteError where it cannot be written; in both cases nothing has changed.
        """
        target = path or self.path
        stored = None
        with replacing(target) as file:
            file.write(tomlkit.dumps(self._text).encode())
            file.flush()
            try:
                load(Path(file.name), unmeasured="view" not in self._text)
            except ConfigurationError as error:
                raise ConfigurationError(str(error).replace(file.name, str(target))) from error
            if target.exists():
                stored = free_name(target.with_name(f"{target.name}.bak"))
                write_whole(stored, target.read_bytes())
        return stored


def view_section(view: TableView, size: tuple[int, int]) -> dict[str, Any]:
    """Return the view of pictures of a size (px) as a table file holds it.

    Keys with the value `None` are to be removed.
    """
    pixels = np.round(PLANE_POINTS * size)
    lens = None if view.homography.lens is None else asdict(view.homography.lens)
    areas = {name: area.astype(float).round(1).tolist() for name, area in view.areas.items()}
    return {
        "image_px": pixels.tolist(),
        "table_mm": view.homography.to_mm(pixels).astype(float).round(2).tolist(),
        "card_mm": list(view.card_mm),
        "mouth_mm": areas.pop("MOUTH"),
        "discard_mm": areas.pop("DISCARD", None),
        "exit_mm": None if view.exit is None else view.exit.astype(float).round(1).tolist(),
        "slots_mm": areas,
        "lens": lens and {**lens, "centre_px": list(lens["centre_px"])},
    }


def _change(table: Table | TOMLDocument, values: Mapping[str, Any]) -> None:
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
