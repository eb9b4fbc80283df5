"""Read recordings again: have each read, keep what was read, and compare it with the evening.

What belongs to a recording lies beside the film and has its name, or the command names it. One that
cannot be read is said, and keeps no other from being read. The second opinion is a page with
pictures for people, and JSON for programs.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from jinja2 import Environment, PackageLoader

from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, ShoeReaderError
from vision.files import make_folder, write_json, write_whole
from vision.floor.reread.cluster import Pool
from vision.floor.reread.evening import (
    CoupThen,
    Difference,
    Evening,
    differences,
    evening_of,
    load_evening,
)
from vision.floor.reread.film import (
    FilmRead,
    Still,
    WantedFilm,
    bench_of,
    jpeg_of,
    read_film,
    stamp,
)
from vision.game.coup.fault_table import KINDS
from vision.record.codec import record_from_json, record_to_json
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
        # Else the name that a reader gives a shoe that begins with its run.
        own = datetime.fromtimestamp(start / 1000, UTC).strftime("%Y%m%d-%H%M%S")
        name = before[-1] if before else own
        return ((start, name), *((at, name) for at, name in known if at > start))


def recordings(
    urls: Sequence[str], table: Path | None, evening: Path | None
) -> tuple[Recording, ...]:
    """Return the recordings with what belongs to them; ConfigurationError or OutsideError.

    `table` and `evening` are for all of them: a file, or a folder of files that have the films'
    names; `None` looks beside each film.
    """
    found = []
    for url, name in zip(urls, _names(urls), strict=True):
        stem = PurePosixPath(url).stem
        own = f"{stem}.toml"
        settings = _belonging(url, table, (own, TABLE_FILE))
        if settings is None:
            raise ConfigurationError(
                f"{shown(url)}: no table file; put {own} or {TABLE_FILE} beside the film, or "
                "name one with --table"
            )
        said = _belonging(url, evening, tuple(stem + end for end in EVENINGS))
        config = _of_reading(load(settings))
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


def _belonging(url: str, given: Path | None, names: Sequence[str]) -> Path | None:
    """Return the file given, else the first of those names in the folder given or of the film."""
    if given is not None and not given.is_dir():
        return given
    local = url.removeprefix("file://")
    folder = given or Path(local).parent
    if given is None and "://" in local:
        return None  # nothing lies beside a film of another machine
    return next((folder / name for name in names if (folder / name).is_file()), None)


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


# --- the job --------------------------------------------------------------------------------------


def load_reading(path: Path) -> FilmRead | None:
    """Return a finished reading; a file that cannot be understood counts as not there."""
    try:
        read: FilmRead = record_from_json(FilmRead, json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return read


class Progress:
    """Says on stderr how far a run is, and what it cost."""

    def __init__(self) -> None:
        self.core_s = 0.0
        self._read = self._kept = self._total = 0
        self._began_s = time.monotonic()

    def begin(self, total: int, kept: int) -> None:
        """Begin with so many films, of which so many are kept from before."""
        self._total, self._kept = total, kept
        self._began_s = time.monotonic()

    def add(self, name: str, core_s: float) -> None:
        """Count a film that was read."""
        self._read += 1
        self.core_s += core_s
        self.say(f"{name}: read; {self.line()}")

    def say(self, words: str) -> None:
        """Say something on a line of its own."""
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()

    def line(self) -> str:
        """Return how far it is, what it cost so far, and about how long it takes yet."""
        done, left = self._read + self._kept, ""
        if self._read and done < self._total:
            each = (time.monotonic() - self._began_s) / self._read
            left = f", about {each * (self._total - done) / 60:.0f} min left"
        return f"{done} of {self._total} films, {self.core_s:.0f} core-seconds{left}"


NOTHING_READ = FilmRead((), 0.0, 0.0, "", 0.0)  # of a film with an error


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of one recording; `error` says why it could not be read.

    `then` has the evening's coups of the film's time; it and `differences` are `None` where nothing
    is known of the evening. `pictures` has the files of the
    differences, in their order; "" where the film shows nothing then.
    """

    recording: Recording
    error: str = ""
    read: FilmRead = NOTHING_READ
    coups: tuple[CoupThen, ...] = ()
    then: tuple[CoupThen, ...] | None = None
    differences: tuple[Difference, ...] | None = None
    pictures: tuple[str, ...] = ()


class Rereading:
    """One run of the command: `out` is its folder, `read` what reads a film."""

    def __init__(
        self,
        out: Path,
        pool: Pool,
        progress: Progress,
        *,
        read: Callable[[WantedFilm], FilmRead] = read_film,
    ) -> None:
        self._out = out
        self._pool = pool
        self._progress = progress
        self._read_film = read
        # A folder of an earlier run is gone on with; in any other nothing is written.
        if out.is_dir() and any(out.iterdir()) and not (out / "films").is_dir():
            raise ConfigurationError(
                f"--out {out}: holds other files, which are not overwritten; give a new folder, or "
                "that of an earlier run"
            )
        make_folder(out)
        self._films = out / "films"
        make_folder(self._films)

    def run(self, recordings: Sequence[Recording]) -> list[Reread]:
        """Read them; what was read before, as it would be read now, is not read again."""
        films: dict[str, WantedFilm] = {}
        reads: dict[str, FilmRead | ShoeReaderError] = {}
        for each in recordings:
            try:
                films[each.name] = _film_of(each)
            except ShoeReaderError as error:
                reads[each.name] = error
        reads |= self._read(films)
        return [self._compared(each, reads[each.name]) for each in recordings]

    def _read(self, films: Mapping[str, WantedFilm]) -> Mapping[str, FilmRead | ShoeReaderError]:
        """Return what every film gave, by the recording's name."""
        paths = {name: self._films / f"{film.key}.json" for name, film in films.items()}
        reads: dict[str, FilmRead | ShoeReaderError] = {
            name: kept for name, path in paths.items() if (kept := load_reading(path)) is not None
        }
        self._progress.begin(len(films), len(reads))
        wanted = {name: film for name, film in films.items() if name not in reads}
        for name, result in self._pool(self._read_film, wanted):
            reads[name] = result
            if isinstance(result, ShoeReaderError):
                self._progress.say(f"{name}: {result}")
            else:
                write_json(paths[name], record_to_json(result))
                self._progress.add(name, result.core_s)
        return reads

    def _compared(self, recording: Recording, read: FilmRead | ShoeReaderError) -> Reread:
        if isinstance(read, ShoeReaderError):
            return Reread(recording, str(read))
        folder = self._out / recording.name
        make_folder(folder)
        text = "".join(f"{line}\n" for line in read.lines)
        write_whole(folder / "messages.jsonl", text.encode())
        coups, then = evening_of(read.lines).coups, None
        if recording.evening is not None:
            # A log, or an archive, has the coups of other evenings too.
            first, last = recording.start_ms, recording.start_ms + round(1000 * read.seconds)
            then = tuple(coup for coup in recording.evening.coups if first <= coup.at <= last)
        differ = None if then is None else tuple(differences(then, coups))
        return Reread(
            recording,
            read=read,
            coups=coups,
            then=then,
            differences=differ,
            pictures=self._pictures(recording, read, differ or ()),
        )

    def _pictures(
        self, recording: Recording, read: FilmRead, differ: Sequence[Difference]
    ) -> tuple[str, ...]:
        stills = {}
        for number, each in enumerate(differ, start=1):
            coup = each.now or each.then
            at_s = 0.0 if coup is None else (coup.at - recording.start_ms) / 1000
            name = f"{recording.name}/{number:04}.jpg"
            stills[name] = Still(recording.url, min(max(0.0, at_s), read.seconds))
        files = dict.fromkeys(stills, "")
        for name, jpeg in self._pool(jpeg_of, stills):
            if isinstance(jpeg, bytes) and jpeg:
                write_whole(self._out / name, jpeg)
                files[name] = name
        return tuple(files.values())


def _film_of(recording: Recording) -> WantedFilm:
    table = settings_text(recording.table)
    return WantedFilm(
        recording.url,
        stamp(recording.url),
        recording.start_ms,
        recording.shoes,
        table,
        bench_of(table).identity,
    )


# --- the second opinion, for people ---------------------------------------------------------------


NAMES = {"punto": "Punto", "banco": "Banco", "egalite": "Egalite", "": "no result"}


def summary(found: Reread) -> str:
    """Return a line on one recording, for people."""
    name = found.recording.name
    if found.error:
        return f"{name}: not read: {found.error}"
    parts = [f"{len(found.coups)} coups in {found.read.seconds:.0f} s of film"]
    if found.differences is None:
        parts.append("nothing to compare with")
    else:
        parts.append(f"{len(found.differences)} differ from the evening's")
    if found.read.missing_s:
        parts.append(f"{found.read.missing_s:.1f} s of the film are missing or damaged")
    if found.read.lacks:
        parts.append(found.read.lacks)
    return f"{name}: {', '.join(parts)}"


def write_report(out: Path, found: Sequence[Reread], core_s: float) -> None:
    """Write `report.html` and `report.json` into a folder; WriteError when the disk refuses."""
    content = {"core_s": round(core_s), "recordings": [_data(each) for each in found]}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_whole(out / "report.json", text.encode())
    page = _pages().get_template("report.html")
    html = page.render(recordings=found, core_s=core_s, winners=NAMES)
    write_whole(out / "report.html", html.encode())


def _pages() -> Environment:
    pages = Environment(loader=PackageLoader(__package__, ""), autoescape=True)
    pages.filters["title_of"] = lambda code: KINDS[code].title if code in KINDS else code
    return pages


def _data(found: Reread) -> dict[str, object]:
    differences, then = found.differences, found.then
    return {
        "recording": shown(found.recording.url),
        "table": f"{found.recording.table.site}/{found.recording.table.table}",
        "error": found.error,
        "seconds": round(found.read.seconds, 1),
        "missing_s": round(found.read.missing_s, 1),
        "lacks": found.read.lacks,
        "coups": len(found.coups),
        "coups_then": None if then is None else len(then),
        "differences": None if differences is None else [
            {**record_to_json(each), "picture": picture}
            for each, picture in zip(differences, found.pictures, strict=True)
        ],
    }  # fmt: skip
