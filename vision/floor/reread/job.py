"""Read recordings again: survey them, part them, have the pieces read, join and compare them.

A recording that cannot be read is said, and keeps no other from being read.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from vision.config.profiles import load_profile, profile_text
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, ShoeReaderError
from vision.files import make_folder, write_json, write_whole
from vision.floor.reread.cluster import Pool
from vision.floor.reread.evening import CoupThen, Difference, differences, evening_of
from vision.floor.reread.film import Still, Survey, jpeg_of, stamp, survey
from vision.floor.reread.join import Join, JoinedRecording
from vision.floor.reread.pieces import Piece, PieceCost, PieceRead, from_json, plan, to_json
from vision.floor.reread.recordings import Recording, settings_text
from vision.game.events import Started
from vision.game.rules import Dealing
from vision.record.codec import record_to_json
from vision.secrets import shown
from vision.version import VERSION
from vision.wire.messages import Message, message_line
from vision.wire.session import TableSession, new_header, new_session


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


BAR = 24  # characters of the bar
# Seconds between two lines where nobody sits at a terminal: a log stays short.
QUIET_EVERY_S = 30.0


class Progress:
    """Counts pieces and their costs; `price` is of an hour of a core, in any currency."""

    def __init__(self, *, price: float = 0.0) -> None:
        self.core_s = 0.0
        self.moved = 0
        self.read = 0
        self.kept = 0
        self.total = 0
        self._price = price
        self._terminal = sys.stderr.isatty()
        self._began_s = self._said_s = time.monotonic()

    def begin(self, total: int, kept: int) -> None:
        """Begin with so many pieces, of which so many are kept from before."""
        self.total, self.kept = total, kept
        self._began_s = time.monotonic()

    def add(self, cost: PieceCost) -> None:
        """Count a piece that was read."""
        self.read += 1
        self.core_s += cost.core_s
        self.moved += cost.moved
        self.show()

    def say(self, words: str) -> None:
        """Say something on a line of its own."""
        sys.stderr.write(f"\r\x1b[K{words}\n" if self._terminal else f"{words}\n")
        sys.stderr.flush()

    def show(self) -> None:
        """Renew the line."""
        now = time.monotonic()
        done = self.read + self.kept == self.total
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{self.line()}" + ("\n" if done else ""))
            sys.stderr.flush()
        elif done or now - self._said_s >= QUIET_EVERY_S:
            self._said_s = now
            self.say(self.line())

    def line(self) -> str:
        """Return how far it is, what it cost so far, and about how long it takes yet."""
        done = self.read + self.kept
        filled = BAR * done // max(1, self.total)
        left = ""
        if self.read > 0 and done < self.total:
            each = (time.monotonic() - self._began_s) / self.read
            left = f", about {each * (self.total - done) / 60:.0f} min left"
        bar = "#" * filled + "." * (BAR - filled)
        return f"[{bar}] {done}/{self.total} pieces, {self.cost()}{left}"

    def cost(self) -> str:
        """Return what was spent so far."""
        price = self._price * self.core_s / 3600
        money = f" = {price:.2f}" if self._price else ""
        return f"{self.core_s:.0f} core-seconds{money}, {self.moved / 1e6:.0f} MB moved"


class PieceReading(NamedTuple):
    """How pieces are read: the function that does, and who the reader of a table is.

    `reader_of` takes the settings as JSON and gives the signature of all that reads
    (`shoe-reader check --identify`) and the models, each as name and hash.
    """

    read: Callable[[Piece], PieceRead]
    reader_of: Callable[[str], tuple[str, tuple[str, ...]]]


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
    pieces: int = 0
    missing_s: float = 0.0
    dropped: int = 0
    coups: tuple[CoupThen, ...] = ()
    then: tuple[CoupThen, ...] | None = None
    differences: tuple[Difference, ...] | None = None
    pictures: tuple[str, ...] = ()


class Rereading:
    """One run of the command: `out` is its folder, `minutes` the length of a piece."""

    def __init__(
        self, out: Path, pool: Pool, reading: PieceReading, progress: Progress, *, minutes: float
    ) -> None:
        self._out = out
        self._pool = pool
        self._reading = reading
        self._progress = progress
        self._minutes = minutes
        # A folder of an earlier run is gone on with; in any other nothing is written.
        if out.is_dir() and any(out.iterdir()) and not (out / "pieces").is_dir():
            raise ConfigurationError(
                f"--out {out}: holds other files, which are not overwritten; give a new folder, or "
                "that of an earlier run"
            )
        make_folder(out)
        self._kept = Kept(out / "pieces")

    def run(self, recordings: Sequence[Recording]) -> list[Reread]:
        """Read them; what was read before, as it would be read now, is not read again."""
        errors: dict[str, str] = {}
        surveys = self._surveys(recordings, errors)
        plans = {each.name: self._plan(each, surveys[each.name]) for each in recordings
                 if each.name in surveys}  # fmt: skip
        reads = self._read([piece for plan in plans.values() for piece in plan])
        return [
            self._joined(each, plans[each.name], reads)
            if each.name in plans
            else Reread(each, errors[each.name])
            for each in recordings
        ]

    def _surveys(
        self, recordings: Sequence[Recording], errors: dict[str, str]
    ) -> dict[str, Survey]:
        found: dict[str, Survey] = {}
        stamps: dict[str, str] = {}
        wanted: dict[str, str] = {}
        for each in recordings:
            try:
                stamps[each.name] = f"{each.url} {stamp(each.url)}"
            except ShoeReaderError as error:
                errors[each.name] = str(error)
                continue
            known = self._kept.survey(stamps[each.name])
            if known is None:
                wanted[each.name] = each.url
            else:
                found[each.name] = known
        names = {f"survey-{stamps[name]}": name for name in wanted}
        for task, result in self._pool.run(survey, {t: wanted[name] for t, name in names.items()}):
            name = names[task]
            if isinstance(result, ShoeReaderError):
                errors[name] = str(result)
                self._progress.say(f"{name}: {result}")
            else:
                found[name] = result
                self._kept.keep_survey(stamps[name], result)
        return found

    def _plan(self, recording: Recording, found: Survey) -> list[Piece]:
        table = settings_text(recording.table)
        identity, _ = self._reading.reader_of(table)
        return plan(recording.url, found, table, identity, minutes=self._minutes)

    def _read(self, pieces: Sequence[Piece]) -> Mapping[str, PieceRead | ShoeReaderError]:
        """Return what every piece gave, by its key."""
        reads: dict[str, PieceRead | ShoeReaderError] = {}
        wanted = {piece.key: piece for piece in pieces}
        for key, piece in list(wanted.items()):
            kept = self._kept.piece(piece)
            if kept is not None:
                reads[key] = kept
                del wanted[key]
        self._progress.begin(len(reads) + len(wanted), len(reads))
        for key, result in self._pool.run(self._reading.read, wanted):
            reads[key] = result
            if isinstance(result, ShoeReaderError):
                self._progress.say(f"{shown(wanted[key].url)}: {result}")
            else:
                self._kept.keep_piece(wanted[key], result)
                self._progress.add(result.cost)
        return reads

    def _joined(
        self,
        recording: Recording,
        pieces: Sequence[Piece],
        results: Mapping[str, PieceRead | ShoeReaderError],
    ) -> Reread:
        reads: list[PieceRead] = []
        for piece in pieces:
            result = results[piece.key]
            if isinstance(result, ShoeReaderError):
                return Reread(recording, str(result))
            reads.append(result)
        try:
            messages = self._messages(recording, pieces, reads)
        except ShoeReaderError as error:
            return Reread(recording, str(error))
        found = pieces[0].survey
        coups = self._write(recording, messages)
        then = self._then(recording, found)
        differ = None if then is None else tuple(differences(then, coups))
        return Reread(
            recording,
            seconds=found.at(found.frames) / 1000,
            pieces=len(pieces),
            missing_s=float(_missing(reads) / found.rate),
            dropped=sum(read.dropped for read in reads),
            coups=coups,
            then=then,
            differences=differ,
            pictures=self._pictures(recording, found, differ or ()),
        )

    @staticmethod
    def _then(recording: Recording, found: Survey) -> tuple[CoupThen, ...] | None:
        if recording.evening is None:
            return None
        start = recording.start_ms
        return recording.evening.between(start, start + found.at(found.frames))

    def _messages(
        self, recording: Recording, pieces: Sequence[Piece], reads: Sequence[PieceRead]
    ) -> list[Message]:
        identity, models = self._reading.reader_of(pieces[0].table)
        start = recording.start_ms
        # The same film read by the same reader is the same run.
        boot = hashlib.sha256(f"{pieces[0].survey.sha256} {identity}".encode()).hexdigest()[:12]
        started = Started(start, boot, VERSION, models, identity)
        recorded = JoinedRecording(pieces[0].survey, start, recording.shoes, started)
        return Join(new_table(recording.table), recorded).run(reads)

    def _write(self, recording: Recording, messages: Sequence[Message]) -> tuple[CoupThen, ...]:
        folder = self._out / recording.name
        make_folder(folder)
        lines = [message_line(message) for message in messages]
        write_whole(folder / "messages.jsonl", "".join(f"{line}\n" for line in lines).encode())
        return evening_of(lines).coups

    def _pictures(
        self, recording: Recording, found: Survey, differ: Sequence[Difference]
    ) -> tuple[str, ...]:
        stills = {}
        for number, each in enumerate(differ, start=1):
            coup = each.now or each.then
            at_s = 0.0 if coup is None else (coup.at - recording.start_ms) / 1000
            frame = min(max(0, int(at_s * found.rate)), found.frames - 1)
            name = f"{recording.name}/{number:04}.jpg"
            stills[name] = Still(recording.url, found, frame)
        files = dict.fromkeys(stills, "")
        for name, jpeg in self._pool.run(jpeg_of, stills):
            if isinstance(jpeg, bytes) and jpeg:
                write_whole(self._out / name, jpeg)
                files[name] = name
        return tuple(files.values())


def new_table(config: TableConfig) -> TableSession:
    """Return the session of a table before its first event."""
    profile = load_profile(config.profile).dealt(Dealing(config.dealing))
    header = new_header(config.site, config.table, profile, rules=profile_text(config.profile))
    return new_session(header, profile)


def _missing(reads: Sequence[PieceRead]) -> int:
    """Return how many frames could not be decoded; pieces may tell of the same ones."""
    lost = {frame for read in reads for a, b in read.missing for frame in range(a, b + 1)}
    return len(lost)
