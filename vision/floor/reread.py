"""Read recordings again with `shoe-reader run`, and hold each coup against that of the evening.

Each recording is read by a process of its own, so that there is no second way to read a film. What
belongs to a film lies beside it and has its name, or the command names it. One that cannot be read
is reported and keeps no other from being read. Neither reading is taken for the truth: a person
looks at each difference.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.files import make_folder, time_in_name, write_whole
from vision.storage.log_reader import message_lines, unbroken
from vision.wire.messages import unix_ms

TABLE_FILE = "table.toml"  # of a folder that holds one film
EVENINGS = (".jsonl", ".sqlite")  # endings of what was published that evening, in order of choice
# The sections of a table file that decide how a film is read; of the others nothing counts here:
# where evidence and messages of the table went, who listens, what port is taken.
OF_READING = ("site", "table", "profile", "dealing", "camera", "view", "models", "deck", "reader",
              "watch")  # fmt: skip
LOG = "table.sqlite"


class CoupRead(NamedTuple):
    """A coup as it was published at last: when (ms), its number, and in words what it was.

    Both readings have to agree on the words: winner, cards (`??` where none was read), faults, and
    who corrected it.
    """

    at: int
    number: int
    words: str


class Evening(NamedTuple):
    """The coups of a table in order, and the times of its first and last message (Unix ms)."""

    coups: tuple[CoupRead, ...]
    began_ms: int
    ended_ms: int


def evening_of(lines: Iterable[str]) -> Evening:
    """Return the evening of messages as a messages file has them; ValueError where one is none."""
    coups: dict[tuple[str, int], CoupRead] = {}
    times: list[int] = []
    for line in lines:
        message = json.loads(line)
        topic, payload = message["topic"], message["payload"]
        if payload and "at" in payload:
            times.append(unix_ms(payload["at"]))
        if topic.endswith("/coup/result") and payload:
            name = payload["shoe"], payload["coup"]
            # A correction does not move a coup to another time of the evening.
            at = coups[name].at if name in coups else times[-1]
            coups[name] = CoupRead(at, payload["coup"], _words(payload))
    times = times or [0]
    return Evening(tuple(coups.values()), times[0], times[-1])


def _words(result: Mapping[str, Any]) -> str:
    hands = (
        f"{hand.capitalize()} {' '.join(card or '??' for card in result[hand]['cards'])}"
        for hand in ("punto", "banco")
    )
    faults = "".join(f", {code}" for code in sorted(result["faults"]))
    by = f", corrected by {result['by']}" if result.get("by") else ""
    return f"{result['winner'] or 'no result'}: {', '.join(hands)}{faults}{by}"


def load_evening(path: Path) -> Evening:
    """Read a messages file, a log or an export; OutsideError where it cannot be understood."""
    try:
        with unbroken(path):
            return evening_of(_lines(path))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise OutsideError(
            f"{path}: not a log, export or messages file that this version reads ({error}); "
            "give the table's .sqlite file, or what shoe-reader replay printed of it"
        ) from error


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        is_messages = file.readline().startswith(b'{"topic"')
    if is_messages:
        with path.open(encoding="utf-8") as text:
            yield from text
    else:
        yield from message_lines(path)


def differences(then: Sequence[CoupRead], now: Sequence[CoupRead]) -> list[tuple[str, CoupRead]]:
    """Return the coups of which the other reading has none in the same words, in order.

    `-` stands before those of that evening, `+` before those of now.
    """
    matcher = SequenceMatcher(None, [c.words for c in then], [c.words for c in now], autojunk=False)
    return [
        found
        for kind, old, old_end, new, new_end in matcher.get_opcodes()
        if kind != "equal"
        for found in (
            *(("-", coup) for coup in then[old:old_end]),
            *(("+", coup) for coup in now[new:new_end]),
        )
    ]


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
        named = time_in_name(self.film)
        if named is not None:
            return named
        return 0 if self.evening is None else self.evening.began_ms


class Reread(NamedTuple):
    """What came of one recording, in lines for people: a summary, then each coup that differs."""

    name: str
    lines: tuple[str, ...]
    is_read: bool = True


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
    names = [film.stem for film in films]
    if len(set(names)) < len(names):
        names = [f"{film.absolute().parent.name}-{film.stem}" for film in films]
    if len(set(names)) < len(names):
        raise ConfigurationError(
            "a recording is named twice, or two have one name in folders of one name; name each "
            "once, and rename one of the two"
        )
    return names


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
    if strange and not any((out / name / LOG).is_file() for name in strange):
        raise ConfigurationError(
            f"--out {out}: holds other files, which are not overwritten; give a new folder, or "
            "that of an earlier run"
        )
    make_folder(out)
    results: dict[str, Reread] = {}
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(_reread, each, out) for each in found]
        try:
            for future in as_completed(waiting):
                each = future.result()
                results[each.name] = each
                sys.stderr.write(f"{len(results)} of {len(found)}: {each.lines[0]}\n")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[each.name] for each in found]


def _reread(recording: Recording, out: Path) -> Reread:
    folder, name = out / recording.name, recording.name
    try:
        lacks = "" if (folder / LOG).is_file() else _read(recording, folder)
        now = load_evening(folder / LOG)
    except ShoeReaderError as error:
        return Reread(name, (f"{name}: not read: {error}",), is_read=False)
    length_ms = now.ended_ms - now.began_ms
    parts = [f"{name}: {len(now.coups)} coups in {length_ms / 1000:.0f} s of film"]
    differ: list[tuple[str, CoupRead]] = []
    if recording.evening is None:
        parts.append("nothing to compare with")
    else:
        first = recording.start_ms
        # A log has the coups of other times too.
        then = [coup for coup in _since(first, recording.evening) if 0 <= coup.at <= length_ms]
        differ = differences(then, _since(now.began_ms, now))
        gone = sum(sign == "-" for sign, _ in differ)
        parts.append(f"not so now: {gone} of {len(then)} then; new: {len(differ) - gone}")
    parts += [lacks] if lacks else []
    lines = (
        f"  {sign} {coup.at // 60_000}:{coup.at // 1000 % 60:02} coup {coup.number} {coup.words}"
        for sign, coup in differ
    )
    return Reread(name, (", ".join(parts), *lines))


def _since(began_ms: int, evening: Evening) -> list[CoupRead]:
    """Return the coups with their times in the film."""
    return [coup._replace(at=coup.at - began_ms) for coup in evening.coups]


def _read(recording: Recording, folder: Path) -> str:
    """Have `shoe-reader run` read a film; return what it could not read of it; OutsideError."""
    draft = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft)
    write_whole(draft / TABLE_FILE, settings_text(recording.table).encode())
    done = subprocess.run(  # noqa: S603  # our own program
        [
            sys.executable, "-m", "vision.cli", "run", str(draft / TABLE_FILE), "--fast",
            "--no-broker", "--source", str(recording.film), "--log", str(draft / LOG),
        ],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    words = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    is_read = (draft / LOG).is_file() and any(message_lines(draft / LOG))
    if done.returncode and not is_read:
        shutil.rmtree(draft, ignore_errors=True)
        raise OutsideError(f"{recording.film.name}: {words}")
    try:
        os.rename(draft, folder)  # noqa: PTH104  # a folder, whole or not at all
    except OSError as error:
        raise OutsideError(
            f"{folder}: cannot be written: {error}; check rights and space"
        ) from error
    return words if done.returncode else ""
