"""What belongs to a recording: its table file, what was said that evening, and when it began.

They lie beside the film and have its name, or the command names them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError
from vision.floor.reread.evening import Evening, load_evening
from vision.secrets import shown

TABLE_FILE = "table.toml"  # of a folder that holds one film
EVENINGS = (".jsonl", ".sqlite")  # endings of what was said that evening, in the order of choice
TIME = re.compile(r"(?<!\d)(\d{8})-(\d{6})(?!\d)")  # of the beginning (UTC) in a film's name


@dataclass(frozen=True, slots=True)
class Recording:
    """A film of a table, and what belongs to it; `name` is its own among those of a run."""

    url: str
    name: str
    table: TableConfig
    evening: Evening | None

    @property
    def start_ms(self) -> int:
        """When it began, Unix ms: by its name, else the beginning of the evening's run, else 0."""
        found = TIME.search(PurePosixPath(self.url).name)
        if found is not None:
            moment = datetime.strptime("".join(found.groups()) + "+0000", "%Y%m%d%H%M%S%z")
            return round(1000 * moment.timestamp())
        return 0 if self.evening is None else self.evening.began_ms

    @property
    def shoes(self) -> tuple[tuple[int, str], ...]:
        """The shoes by the time at which each came into use; the first at the beginning."""
        start = self.start_ms
        known = () if self.evening is None else self.evening.shoes
        before = [name for at, name in known if at <= start]
        name = before[-1] if before else _shoe_name(start)
        return ((start, name), *((at, name) for at, name in known if at > start))


def _shoe_name(start_ms: int) -> str:
    """Return the name that a reader gives a shoe that begins with its run."""
    return datetime.fromtimestamp(start_ms / 1000, UTC).strftime("%Y%m%d-%H%M%S")


def recordings(
    urls: Sequence[str], table: Path | None, evening: Path | None
) -> tuple[Recording, ...]:
    """Return the recordings with what belongs to them; ConfigurationError or OutsideError.

    `table` and `evening` are for all of them: a file, or a folder of files that have the films'
    names; `None` looks beside each film.
    """
    names = _names(urls)
    found = []
    for url, name in zip(urls, names, strict=True):
        said = _evening_file(url, evening)
        config = _of_reading(load(_table_file(url, table)))
        found.append(Recording(url, name, config, None if said is None else load_evening(said)))
    return tuple(found)


def _names(urls: Sequence[str]) -> list[str]:
    """Return a name for each film: its own, its folder's before it where two have the same."""
    if len(set(urls)) < len(urls):
        raise ConfigurationError("a recording is named twice; name each once")
    stems = [PurePosixPath(url.rstrip("/")).stem for url in urls]
    if len(set(stems)) == len(stems):
        return stems
    longer = [f"{PurePosixPath(url).parent.name}-{PurePosixPath(url).stem}" for url in urls]
    if len(set(longer)) == len(longer):
        return longer
    return [f"{number:03}-{stem}" for number, stem in enumerate(stems, start=1)]


def _table_file(url: str, given: Path | None) -> Path:
    if given is not None and not given.is_dir():
        return given
    folder = given or _folder_of(url)
    choice = [folder / f"{PurePosixPath(url).stem}.toml", folder / TABLE_FILE]
    for path in choice:
        if path.is_file():
            return path
    raise ConfigurationError(
        f"{shown(url)}: no table file; put {choice[0].name} or {TABLE_FILE} beside the film, or "
        "name one with --table"
    )


def _evening_file(url: str, given: Path | None) -> Path | None:
    if given is not None and not given.is_dir():
        return given
    folder = given or _folder_of(url)
    stem = PurePosixPath(url).stem
    return next((p for p in (folder / f"{stem}{end}" for end in EVENINGS) if p.is_file()), None)


def _folder_of(url: str) -> Path:
    """Return the folder of a film on this machine; beside any other there is nothing to find."""
    local = url.removeprefix("file://")
    return Path("/nonexistent") if "://" in local else Path(local).parent


def _of_reading(config: TableConfig) -> TableConfig:
    """Return the settings that decide how a film is read, the others as if there were none.

    What is read does not depend on where film, log and broker are. A film has one core, and the
    models one thread.
    """
    return TableConfig(
        site=config.site,
        table=config.table,
        profile=config.profile,
        dealing=config.dealing,
        camera=config.camera.model_copy(update={"source": "recording"}),
        view=config.view,
        models=config.models.model_copy(update={"threads": 1}),
        deck=config.deck,
        reader=config.reader,
        watch=config.watch,
    )


def settings_text(config: TableConfig) -> str:
    """Return the settings as JSON that `TableConfig` takes."""
    data = config.model_dump(mode="json")
    slots = config.view.slots_mm.items()
    data["view"]["slots_mm"] = {slot.name: area for slot, area in slots}
    return json.dumps(data)
