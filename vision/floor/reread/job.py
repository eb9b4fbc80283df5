"""Read recordings again: have each read, keep what was read, and compare it with the evening.

A recording that cannot be read is said, and keeps no other from being read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vision.errors import ConfigurationError, ShoeReaderError
from vision.files import make_folder, write_json, write_whole
from vision.floor.reread.cluster import Pool
from vision.floor.reread.evening import CoupThen, Difference, differences, evening_of
from vision.floor.reread.film import (
    FilmRead,
    Still,
    WantedFilm,
    identity_of,
    jpeg_of,
    read_film,
    stamp,
)
from vision.floor.reread.recordings import Recording, settings_text
from vision.record.codec import record_from_json, record_to_json


class Kept:
    """A folder of finished readings; a file that cannot be understood counts as not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_folder(folder)

    def load(self, film: WantedFilm) -> FilmRead | None:
        """Return what was read of a film before, if it was."""
        try:
            read: FilmRead = record_from_json(FilmRead, json.loads(self._path(film).read_bytes()))
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        return read

    def keep(self, film: WantedFilm, read: FilmRead) -> None:
        """Keep what was read; WriteError when the disk refuses."""
        write_json(self._path(film), record_to_json(read))

    def _path(self, film: WantedFilm) -> Path:
        return self._folder / f"{film.key}.json"


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


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of one recording; `error` says why it could not be read.

    `then` has the evening's coups of the film's time; it and `differences` are `None` where nothing
    is known of the evening. `pictures` has the files of the
    differences, in their order; "" where the film shows nothing then.
    """

    recording: Recording
    error: str = ""
    seconds: float = 0.0
    missing_s: float = 0.0
    lacks: str = ""
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
        self._kept = Kept(out / "films")

    def run(self, recordings: Sequence[Recording]) -> list[Reread]:
        """Read them; what was read before, as it would be read now, is not read again."""
        films: dict[str, WantedFilm] = {}
        errors: dict[str, str] = {}
        for each in recordings:
            try:
                films[each.name] = _film_of(each)
            except ShoeReaderError as error:
                errors[each.name] = str(error)
        reads = self._read(films)
        return [
            self._compared(each, reads[each.name])
            if each.name in films
            else Reread(each, errors[each.name])
            for each in recordings
        ]

    def _read(self, films: Mapping[str, WantedFilm]) -> Mapping[str, FilmRead | ShoeReaderError]:
        """Return what every film gave, by the recording's name."""
        reads: dict[str, FilmRead | ShoeReaderError] = {}
        for name, film in films.items():
            if (kept := self._kept.load(film)) is not None:
                reads[name] = kept
        self._progress.begin(len(films), len(reads))
        wanted = {name: film for name, film in films.items() if name not in reads}
        for name, result in self._pool(self._read_film, wanted):
            reads[name] = result
            if isinstance(result, ShoeReaderError):
                self._progress.say(f"{name}: {result}")
            else:
                self._kept.keep(wanted[name], result)
                self._progress.add(name, result.core_s)
        return reads

    def _compared(self, recording: Recording, read: FilmRead | ShoeReaderError) -> Reread:
        if isinstance(read, ShoeReaderError):
            return Reread(recording, str(read))
        coups = self._write(recording, read)
        then = _then(recording, read)
        differ = None if then is None else tuple(differences(then, coups))
        return Reread(
            recording,
            seconds=read.seconds,
            missing_s=read.missing_s,
            lacks=read.lacks,
            coups=coups,
            then=then,
            differences=differ,
            pictures=self._pictures(recording, read, differ or ()),
        )

    def _write(self, recording: Recording, read: FilmRead) -> tuple[CoupThen, ...]:
        folder = self._out / recording.name
        make_folder(folder)
        text = "".join(f"{line}\n" for line in read.lines)
        write_whole(folder / "messages.jsonl", text.encode())
        return evening_of(read.lines).coups

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
    shoes = recording.shoes
    return WantedFilm(
        recording.url, stamp(recording.url), recording.start_ms, shoes, table, identity_of(table)
    )


def _then(recording: Recording, read: FilmRead) -> tuple[CoupThen, ...] | None:
    if recording.evening is None:
        return None
    start = recording.start_ms
    return recording.evening.between(start, start + round(1000 * read.seconds))
