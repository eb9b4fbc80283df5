"""Films of tables: found wherever fsspec finds them, and read as the reader there would have.

A film is read the same with any worker, at any time. Its time begins when the recording did, and
its shoes are those of the evening; everything else is a reader's: the pictures of `vision.camera`,
the sight of `vision.app`, one fold of the rules over what is seen, and its messages.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

import av
import cv2
import fsspec
import numpy as np
from av.error import FFmpegError
from av.video.stream import VideoStream

from vision.app.journal import header_of
from vision.app.pipeline import SightPipeline, SightSupervisor, models_of, rules_of
from vision.app.restore import ended_cards
from vision.camera.decoding import shown_stream, upright
from vision.camera.source import Outage, Shot, open_source
from vision.config.identity import identify
from vision.config.profiles import logged_profile
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.game.events import Event, ShoeStarted, Started, Stopped, TimePassed
from vision.inference.load import ModelSet
from vision.pictures import jpeg
from vision.record.codec import canonical
from vision.secrets import masked, shown
from vision.sight.geometry.plane import Frame, Image
from vision.version import VERSION
from vision.wire.messages import message_line
from vision.wire.session import advance, new_session

# Width in px and quality (0 to 100) of the pictures of a report: a card's index stays legible.
# Smaller is not legible, larger makes a report of a bad evening hundreds of megabytes.
JPEG_WIDTH, JPEG_QUALITY = 1280, 80


def stamp(url: str) -> str:
    """Return what changes when a film is replaced, without reading it; OutsideError."""
    with _reachable(url):
        system, path = fsspec.url_to_fs(url)
        return str(system.ukey(path))


@contextmanager
def local(url: str) -> Iterator[Path]:
    """Give a film as a file of this machine: its own, or a copy for the time being; OutsideError.

    A film is copied whole, so that it is read as `shoe-reader run` reads it: a machine that reads
    films of an object store needs room for one a worker.
    """
    with TemporaryDirectory(prefix="shoe-reader-") as folder:
        with _reachable(url):
            system, path = fsspec.url_to_fs(url)
            if "file" in (system.protocol if isinstance(system.protocol, tuple) else ()):
                found = Path(path)
            else:
                found = Path(folder) / Path(path).name
                system.get_file(path, str(found))
        yield found


class Still(NamedTuple):
    """A picture that is wanted of a film: `at_s` is the time from its beginning, in seconds."""

    url: str
    at_s: float


def jpeg_of(still: Still) -> bytes:
    """Return a frame of a film as JPEG, b"" where it has none then; OutsideError.

    Only the bytes about it are moved.
    """
    with (
        _reachable(still.url),
        fsspec.open(still.url, "rb") as file,
        av.open(file, "r", metadata_errors="ignore") as film,
    ):
        stream = cast("VideoStream", shown_stream(film))  # as its reader found one
        wanted = (stream.start_time or 0) + int(still.at_s / (stream.time_base or 1))
        film.seek(wanted, stream=stream)
        for frame in film.decode(stream):
            if frame.pts is not None and frame.pts >= wanted and not frame.is_corrupt:
                return _jpeg(Frame(upright(frame), 0, 0).image)
    return b""


def _jpeg(image: Image) -> bytes:
    scale = min(1.0, JPEG_WIDTH / image.shape[1])
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return jpeg(np.asarray(small, np.uint8), JPEG_QUALITY)


@contextmanager
def _reachable(url: str) -> Iterator[None]:
    """Turn what fsspec says into words for people."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConfigurationError(f"{shown(url)}: no such recording; check the address") from error
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{shown(url)}: this kind of address cannot be read ({masked(str(error))}); install "
            "what fsspec names for it, on the workers too"
        ) from error
    except FFmpegError as error:
        raise OutsideError(
            f"{shown(url)}: stops in the middle ({error.strerror}); copy the film again, or check "
            "the disk"
        ) from error
    except OSError as error:
        raise OutsideError(
            f"{shown(url)}: cannot be read ({masked(str(error.strerror or error))}); check the "
            "disk, the network or the object store and its keys"
        ) from error


# --- a film that is read --------------------------------------------------------------------------


# Tables whose models a worker keeps open, at about 100 MB each; fewer open them again and again.
TABLES_OPEN = 2


@dataclass(frozen=True, slots=True)
class WantedFilm:
    """A film to be read: `stamp` changes when it is replaced, `start_ms` is when it began (Unix).

    `shoes` are names with the time (Unix ms) at which each came into use, the first from the
    beginning. `table` are the settings as JSON, `identity` the signature of program, models, rules
    and settings with which it is to be read.
    """

    url: str
    stamp: str
    start_ms: int
    shoes: tuple[tuple[int, str], ...]
    table: str
    identity: str

    @property
    def key(self) -> str:
        """The hash of all that decides what is read: by it the finished reading is kept."""
        what = [self.stamp, self.identity, self.start_ms, [list(shoe) for shoe in self.shoes]]
        return hashlib.sha256(canonical(what).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FilmRead:
    """What was read of a film: its messages as lines, its length, and what it cost.

    `lacks` says in words that its end is missing; `missing_s` are the seconds of gaps and damaged
    parts, in which the table was not seen.
    """

    lines: tuple[str, ...]
    seconds: float
    missing_s: float
    lacks: str
    core_s: float


class Bench(NamedTuple):
    """What a table is read with: its settings, and its models opened."""

    config: TableConfig
    models: ModelSet
    identity: str


@lru_cache(maxsize=TABLES_OPEN)
def bench_of(table: str) -> Bench:
    """Return what a table is read with; `table` are the settings as JSON."""
    config = TableConfig.model_validate_json(table)
    models = models_of(config)
    return Bench(config, models, identify(config, models.hashes).signature)


def read_film(film: WantedFilm) -> FilmRead:
    """Read a film; OutsideError where the film, or this worker's program, is not the one meant."""
    bench = bench_of(film.table)
    if bench.identity != film.identity:
        raise OutsideError(
            "a worker has another program, other models or other rules than this machine: "
            "shoe-reader check --identify prints what each has; install the same on both"
        )
    return _Reading(film, bench).read()


class _Reading:
    """The reading of one film."""

    def __init__(self, film: WantedFilm, bench: Bench) -> None:
        config, models, _ = bench
        self._film = film
        self._config = config
        self._pipeline = SightPipeline(config, models, rules=rules_of(config))
        self._supervisor = SightSupervisor(
            self._pipeline, models.self_test, config.watch, live=False
        )
        self._models = tuple(f"{name} sha256:{digest}" for name, digest in models.hashes.items())
        header = header_of(config)
        self._session = new_session(header, logged_profile(header))
        self._shoes = list(film.shoes)
        self._lines: list[str] = []
        self._missing_ms = 0
        self._lost_at: int | None = None
        self._at = film.start_ms

    def read(self) -> FilmRead:
        """Read it to its end."""
        began_s, lacks = time.process_time(), ""
        film = self._film
        # The same film read by the same reader is the same run.
        boot = film.key[:12]
        self._take(Started(film.start_ms, boot, VERSION, self._models, film.identity))
        with local(film.url) as path:
            camera = self._config.camera.model_copy(update={"source": str(path)})
            try:
                for shot in open_source(camera, speed=0, start_ms=film.start_ms):
                    self._see(shot)
            except OutsideError as error:
                lacks = str(error).replace(str(path), path.name)
        self._take(Stopped(self._at))
        return FilmRead(
            lines=tuple(self._lines),
            seconds=(self._at - film.start_ms) / 1000,
            missing_s=self._missing_ms / 1000,
            lacks=lacks,
            core_s=time.process_time() - began_s,
        )

    def _see(self, shot: Shot | Outage) -> None:
        if isinstance(shot, Outage):
            self._at = max(self._at, shot.at)
            self._lost_at = shot.since if self._lost_at is None else self._lost_at
        else:
            self._at = shot.frame.at
            self._missing_ms += 0 if self._lost_at is None else self._at - self._lost_at
            self._lost_at = None
        while self._shoes and self._shoes[0][0] <= self._at:
            past = ended_cards(self._session.table)
            self._take(ShoeStarted(self._at, self._shoes.pop(0)[1]))
            self._pipeline.begin_shoe(self._session.table, past=past)
        events = self._supervisor.take(shot)
        due = self._session.table.waits_until
        for event in events:
            self._take(event)
        if due is not None and due <= self._at:
            self._take(TimePassed(self._at))

    def _take(self, event: Event) -> None:
        step = advance(self._session, event)
        self._session = step.session
        self._lines += map(message_line, step.messages)
