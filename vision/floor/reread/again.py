"""Read recordings again with `shoe-reader run`, and hold each coup against that of the evening.

Each recording is read by a process of its own, so that there is no second way to read a film. What
belongs to a film lies beside it and has its name, or the command names it. One that cannot be read
is reported and keeps no other from being read. The result is a page with pictures for people, and
JSON for programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import tomlkit
from jinja2 import Environment, PackageLoader

from vision.camera.decoding import open_video, shown_stream, upright
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.files import make_folder, write_whole
from vision.floor.reread.evening import (
    CoupThen,
    Difference,
    Evening,
    differences,
    evening_of,
    load_evening,
)
from vision.game.coup.fault_table import KINDS
from vision.pictures import jpeg
from vision.record.codec import record_to_json
from vision.sight.geometry.plane import Frame

TABLE_FILE = "table.toml"  # of a folder that holds one film
EVENINGS = (".jsonl", ".sqlite")  # endings of what was published that evening, in order of choice
TIME = re.compile(r"(?<!\d)(\d{8})-(\d{6})(?!\d)")  # of the beginning (UTC) in a film's name
# The sections of a table file that decide how a film is read; of the others nothing counts here:
# where evidence and messages of the table went, who listens, what port is taken.
OF_READING = ("site", "table", "profile", "dealing", "camera", "view", "models", "deck", "reader",
              "watch")  # fmt: skip
# Width in px and quality (0 to 100) of the pictures of a report: a card's index stays legible.
# Smaller is not legible, larger makes a report of a bad evening hundreds of megabytes.
JPEG_WIDTH, JPEG_QUALITY = 1280, 80
MESSAGES = "messages.jsonl"
NAMES = {"punto": "Punto", "banco": "Banco", "egalite": "Egalite", "": "no result"}


@dataclass(frozen=True, slots=True)
class Recording:
    """A film of a table, and what belongs to it; `name` is its own among those of a command."""

    film: Path
    name: str
    table: TableConfig
    evening: Evening | None

    @property
    def start_ms(self) -> int:
        """When it began, Unix ms: by its name, else the beginning of the evening's run, else 0."""
        found = TIME.search(self.film.name)
        if found is not None:
            moment = datetime.strptime("".join(found.groups()) + "+0000", "%Y%m%d%H%M%S%z")
            return round(1000 * moment.timestamp())
        return 0 if self.evening is None else self.evening.began_ms


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of one recording; `error` says why it could not be read, `lacks` what of it.

    `then` has the evening's coups of the film's time; it and `differences` are `None` where nothing
    is known of the evening. `pictures` are files, one for each difference; "" where there is none.
    """

    recording: Recording
    error: str = ""
    lacks: str = ""
    seconds: float = 0.0
    coups: tuple[CoupThen, ...] = ()
    then: tuple[CoupThen, ...] | None = None
    differences: tuple[Difference, ...] | None = None
    pictures: tuple[str, ...] = ()


def recordings(
    films: Sequence[Path], table: Path | None, evening: Path | None
) -> tuple[Recording, ...]:
    """Return the recordings with what belongs to them; ConfigurationError or OutsideError.

    `table` and `evening` are for all of them: a file, or a folder of files that have the films'
    names; `None` looks beside each film.
    """
    found = []
    for film, name in zip(films, _names(films), strict=True):
        own = f"{film.stem}.toml"
        settings = _belonging(film, table, (own, TABLE_FILE))
        if settings is None:
            raise ConfigurationError(
                f"{film}: no table file; put {own} or {TABLE_FILE} beside the film, or name one "
                "with --table"
            )
        then = _belonging(film, evening, tuple(film.stem + end for end in EVENINGS))
        known = None if then is None else load_evening(then)
        found.append(Recording(film.absolute(), name, load(settings), known))
    return tuple(found)


def _names(films: Sequence[Path]) -> list[str]:
    """Return a name for each film: its own, its folder's before it where two have the same."""
    if len(set(films)) < len(films):
        raise ConfigurationError("a recording is named twice; name each once")
    stems = [film.stem for film in films]
    if len(set(stems)) < len(stems):
        stems = [f"{film.absolute().parent.name}-{film.stem}" for film in films]
    if len(set(stems)) < len(stems):
        stems = [f"{number:03}-{film.stem}" for number, film in enumerate(films, start=1)]
    return stems


def _belonging(film: Path, given: Path | None, names: Sequence[str]) -> Path | None:
    """Return the file given, else the first of those names in the folder given or of the film."""
    if given is not None and not given.is_dir():
        return given
    folder = given or film.parent
    return next((folder / name for name in names if (folder / name).is_file()), None)


def settings_text(config: TableConfig) -> str:
    """Return the settings that decide how a film is read, as a table file; one thread a film."""
    data: dict[str, Any] = config.model_dump(mode="json", exclude_none=True)
    data["view"]["slots_mm"] = {slot.name: area for slot, area in config.view.slots_mm.items()}
    data["models"]["threads"] = 1
    return tomlkit.dumps({name: data[name] for name in OF_READING if name in data})


def read_all(found: Sequence[Recording], out: Path, workers: int) -> list[Reread]:
    """Read recordings into a folder, so many at a time; what was read there before stays read.

    ConfigurationError where the folder holds something else.
    """
    strange = [path.name for path in out.iterdir()] if out.is_dir() else []
    if strange and not any((out / name / MESSAGES).is_file() for name in strange):
        raise ConfigurationError(
            f"--out {out}: holds other files, which are not overwritten; give a new folder, or "
            "that of an earlier run"
        )
    make_folder(out)
    results: dict[str, Reread] = {}
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(_reread, each, out): each for each in found}
        try:
            for future in as_completed(waiting):
                each = future.result()
                results[each.recording.name] = each
                sys.stderr.write(f"{len(results)} of {len(found)}: {summary(each)}\n")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[each.name] for each in found]


def _reread(recording: Recording, out: Path) -> Reread:
    folder = out / recording.name
    try:
        lacks = "" if (folder / MESSAGES).is_file() else _read(recording, folder)
        return _compared(recording, folder, lacks)
    except ShoeReaderError as error:
        return Reread(recording, error=str(error))


def _read(recording: Recording, folder: Path) -> str:
    """Have `shoe-reader run` read a film; return what it could not read of it; OutsideError."""
    draft = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft)
    write_whole(draft / TABLE_FILE, settings_text(recording.table).encode())
    done = subprocess.run(  # noqa: S603  # our own program
        [
            sys.executable, "-m", "vision.cli", "run", str(draft / TABLE_FILE), "--fast",
            "--no-broker", "--source", str(recording.film), "--log", str(draft / "table.sqlite"),
            "--messages", str(draft / MESSAGES),
        ],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    words = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    if done.returncode and not _is_published(draft / MESSAGES):
        shutil.rmtree(draft, ignore_errors=True)
        raise OutsideError(f"{recording.film.name}: {words}")
    try:
        os.rename(draft, folder)  # noqa: PTH104  # a folder, whole or not at all
    except OSError as error:
        raise OutsideError(
            f"{folder}: cannot be written: {error}; check rights and space"
        ) from error
    return words if done.returncode else ""


def _is_published(path: Path) -> bool:
    """Whether a run got as far as to publish something."""
    return path.is_file() and path.stat().st_size > 0


def _compared(recording: Recording, folder: Path, lacks: str) -> Reread:
    lines = (folder / MESSAGES).read_text("utf-8").splitlines()
    now = evening_of(lines)
    seconds, coups, then = (now.ended_ms - now.began_ms) / 1000, now.coups, None
    if recording.evening is not None:
        # A log has the coups of other times too.
        first, last = recording.start_ms, recording.start_ms + round(1000 * seconds)
        then = tuple(coup for coup in recording.evening.coups if first <= coup.at <= last)
    differ = None if then is None else tuple(differences(then, coups))
    pictures = []
    for number, each in enumerate(differ or (), start=1):
        began = recording.start_ms if each.now is None else now.began_ms
        coup = each.now or each.then
        at_s = 0.0 if coup is None else (coup.at - began) / 1000
        data = picture_of(recording.film, min(max(0.0, at_s), seconds))
        name = f"{recording.name}/{number:04}.jpg" if data else ""
        if data:
            write_whole(folder / f"{number:04}.jpg", data)
        pictures.append(name)
    return Reread(recording, "", lacks, seconds, coups, then, differ, tuple(pictures))


def picture_of(film: Path, at_s: float) -> bytes:
    """Return the frame of a film at a second of it as JPEG, b"" where there is none."""
    with open_video(film) as opened:
        stream = shown_stream(opened)
        if stream is None or stream.time_base is None:
            return b""
        wanted = (stream.start_time or 0) + int(at_s / stream.time_base)
        try:
            opened.seek(wanted, stream=stream)
            for frame in opened.decode(stream):
                if frame.pts is not None and frame.pts >= wanted and not frame.is_corrupt:
                    image = Frame(upright(frame), 0, 0).image
                    scale = min(1.0, JPEG_WIDTH / image.shape[1])
                    small = cv2.resize(
                        image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA
                    )
                    return jpeg(np.asarray(small, np.uint8), JPEG_QUALITY)
        except av.error.FFmpegError:
            return b""
    return b""


# --- the second opinion, for people ---------------------------------------------------------------


def summary(found: Reread) -> str:
    """Return a line on one recording, for people."""
    name = found.recording.name
    if found.error:
        return f"{name}: not read: {found.error}"
    parts = [f"{len(found.coups)} coups in {found.seconds:.0f} s of film"]
    if found.differences is None:
        parts.append("nothing to compare with")
    else:
        parts.append(f"{len(found.differences)} differ from the evening's")
    return f"{name}: {', '.join((*parts, found.lacks) if found.lacks else parts)}"


def write_report(out: Path, found: Sequence[Reread]) -> None:
    """Write `report.html` and `report.json` into a folder; WriteError when the disk refuses."""
    content = {"recordings": [_data(each) for each in found]}
    write_whole(out / "report.json", json.dumps(content, indent=1, ensure_ascii=False).encode())
    pages = Environment(loader=PackageLoader(__package__, ""), autoescape=True)
    pages.filters["title_of"] = lambda code: KINDS[code].title if code in KINDS else code
    html = pages.get_template("report.html").render(recordings=found, winners=NAMES)
    write_whole(out / "report.html", html.encode())


def _data(found: Reread) -> dict[str, object]:
    differences_, then = found.differences, found.then
    return {
        "recording": str(found.recording.film),
        "table": f"{found.recording.table.site}/{found.recording.table.table}",
        "error": found.error,
        "lacks": found.lacks,
        "seconds": round(found.seconds, 1),
        "coups": len(found.coups),
        "coups_then": None if then is None else len(then),
        "differences": None if differences_ is None else [
            {**record_to_json(each), "picture": picture}
            for each, picture in zip(differences_, found.pictures, strict=True)
        ],
    }  # fmt: skip
