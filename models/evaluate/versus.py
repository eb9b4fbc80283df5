"""Compare our reader with the usual pipeline: `python -m models.evaluate.versus FOLDER...`.

Every pipeline gets the same film and the same table file, and is scored as `shoe-reader score`
scores anybody's. `ultralytics-*`: a YOLO of 52 faces and a back (`models.evaluate.baseline`), a
tracker of Ultralytics, a vote over each track, zones; `networks-*`: our detector and classifier
under the same tracker, vote and zones, so that it is seen what following adds; `faultless-*`
(--ceiling, films of the bench): every card found and named, by the truth. Messages and
detections are kept in --out: what is there is not run again, and trackers, votes and zones are
tried anew at no cost (--zones). Milliseconds are processor time of a picture that was looked at,
decoding and start included.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

import cv2
import numpy as np

from datasets.dealing.actors import card_quad
from datasets.dealing.bench import words_of
from datasets.dealing.score import Figures, Film, films_in, score, table
from datasets.dealing.simulate import Show, show_of
from datasets.faces.registry import load_deck
from models.evaluate.baseline.pipeline import (
    BACK,
    TRACKERS,
    Detect,
    Found,
    Tracking,
    Usual,
    networks,
)
from models.evaluate.baseline.zones import SETTINGS, Settings, Zones
from models.evaluate.dealing_films import table_file
from vision.config.profiles import load_profile
from vision.config.table import TableConfig, load
from vision.game.events import Event, ShoeStarted, Started, TimePassed
from vision.game.rules import Dealing
from vision.inference.load import open_models
from vision.sight.geometry.plane import Image
from vision.storage.log_reader import message_lines
from vision.wire.messages import message_line
from vision.wire.session import advance, new_header, new_session

OURS = "shoe-reader"
WEIGHTS = Path("runs/baseline/train-n/weights/last.pt")
# Pictures a second that the usual pipelines look at: more than that a core does not manage in time.
MOST_A_SECOND = 10.1
# The instant of every film's first picture, Unix ms: any will do.
BEGIN = 1_700_000_000_000


class Watched(NamedTuple):
    """A film's detections: instants (ms), what was found, processor ms a picture."""

    times: list[int]
    found: list[Found]
    ms: float


def opened(film: Film, folder: Path) -> Path:
    """Copy or write a film's table file into a folder, naming the film; return its path."""
    path = folder / "table.toml"
    if film.table is None:
        truth = json.loads(film.truth.read_text("utf-8"))
        path.write_text(table_file(truth, film.video.resolve(), folder / "log.sqlite"), "utf-8")
        return path
    text = film.table.read_text("utf-8")
    named = f"source = {json.dumps(str(film.video.resolve()))}"
    path.write_text(text.replace('source = "deal.mp4"', named), "utf-8")
    return path


def pictures(config: TableConfig) -> Iterator[tuple[int, Image]]:
    """Yield the pictures of a table's film with their instants, ms from the first.

    Of a film above `MOST_A_SECOND` every second one, and so on (Ultralytics' `vid_stride`).
    """
    capture = cv2.VideoCapture(config.camera.source)
    rate, number = capture.get(cv2.CAP_PROP_FPS), 0
    stride = math.ceil(rate / MOST_A_SECOND)
    while capture.grab():
        if number % stride == 0:
            yield round(1000 * number / rate), np.asarray(capture.retrieve()[1], np.uint8)
        number += 1
    capture.release()


def watch(config: TableConfig, detect: Detect, stored: Path) -> Watched:
    """Detect on a whole film, or take what was kept of it."""
    if not stored.exists():
        times, found = [], []
        began = process_time()
        for at, image in pictures(config):
            times.append(at)
            found.append(detect(image))
        ms = 1000 * (process_time() - began) / len(times)
        stored.parent.mkdir(parents=True, exist_ok=True)
        rows = [np.column_stack([*each]).astype(np.float32) for each in found]
        with stored.open("wb") as file:
            np.savez(file, ms=ms, times=times, ends=[len(r) for r in rows], rows=np.vstack(rows))
    with np.load(stored) as data:
        parts = np.split(data["rows"], np.cumsum(data["ends"])[:-1])
        found = [Found(rows[:, :4], rows[:, 4], rows[:, 5], rows[:, 6]) for rows in parts]
        return Watched(data["times"].tolist(), found, float(data["ms"]))


def faultless(show: Show) -> Watched:
    """Return what a detector would find that finds every card outside the shoe, hidden ones too."""
    size, cards = load_deck(show.look.deck).size_mm, [c for act in show.acts for c in act.cards]
    times, found = [], []
    for index in range(show.frame_count):
        now, rows = index / show.look.fps, []
        for card in cards:
            pose = card.pose(now)
            if pose is None or now < card.began or card.drawn.card is None:
                continue
            quad = card_quad(pose, size, show.look.camera)
            kind = card.drawn.card.index if pose.flip > 0.5 else BACK
            rows.append([*quad.min(axis=0), *quad.max(axis=0), 0.9, kind, 0.9])
        table = np.asarray(rows, np.float32).reshape(-1, 7)
        times.append(round(1000 * now))
        found.append(Found(table[:, :4], table[:, 4], table[:, 5], table[:, 6]))
    return Watched(times, found, 0.0)


def follow(
    config: TableConfig, watched: Watched, tracker: str, settings: Settings
) -> tuple[list[str], float]:
    """Return the messages of a film, a JSON object each, and the processor ms a picture."""
    view = config.view.table_view()
    profile = load_profile(config.profile).dealt(Dealing(config.dealing))
    tracking, zones = Tracking(tracker, view, sure=settings.sure), Zones(view, settings)
    session = new_session(new_header(config.site, config.table, profile, rules=""), profile)
    lines: list[str] = []

    def tell(event: Event) -> None:
        nonlocal session
        step = advance(session, event)
        session = step.session
        lines.extend(map(message_line, step.messages))

    began = process_time()
    tell(Started(BEGIN, "baseline"))
    tell(ShoeStarted(BEGIN, "1"))
    blank = np.zeros((config.camera.height, config.camera.width, 3), np.uint8)
    for at, found in zip(watched.times, watched.found, strict=True):
        for event in zones.take(BEGIN + at, tracking(blank, found)):
            tell(event)
        due = session.table.waits_until
        if due is not None and due <= BEGIN + at:
            tell(TimePassed(BEGIN + at))
    return lines, watched.ms + 1000 * (process_time() - began) / len(watched.times)


def run_usual(film: Film, kind: str, out: Path, weights: Path) -> None:
    """Write what a detector (one of `SETTINGS`) comes to under each tracker."""
    with tempfile.TemporaryDirectory() as name:
        config = load(opened(film, Path(name)))
        cv2.setNumThreads(1)
        if kind == "faultless":
            watched = faultless(show_of(words_of(int(film.name.rpartition("-")[2]))))
        else:
            size = (config.camera.width, config.camera.height)
            detect: Detect = (
                Usual(weights, config.view.table_view(), size)
                if kind == "ultralytics"
                else partial(networks, open_models(threads=2))
            )
            watched = watch(config, detect, out / "kept" / f"{kind}-{film.name}.npz")
        for tracker in TRACKERS:
            lines, ms = follow(config, watched, tracker, SETTINGS[kind])
            _write(out / f"{kind}-{tracker}", film, "\n".join(lines), ms, len(watched.times))


def run_ours(film: Film, out: Path) -> None:
    """Run the reader on a film as a black box; write its messages."""
    with tempfile.TemporaryDirectory() as name:
        path, log = opened(film, Path(name)), Path(name) / "run.sqlite"
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "vision.cli", "run", str(path), "--fast", "--no-broker",
             "--log", str(log)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
        capture = cv2.VideoCapture(str(film.video))
        count = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
        _write(out / OURS, film, "\n".join(message_lines(log)), 1000 * took / count, count)


def _write(folder: Path, film: Film, text: str, ms: float, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{film.name}.ms").write_text(f"{ms:.2f} {count}", "utf-8")
    (folder / f"{film.name}.jsonl").write_text(text.rstrip("\n") + "\n", "utf-8")


def pace(answers: Path, film: Film) -> tuple[float, int]:
    """Return the processor ms a picture and the number of pictures; (0, 0) if none were noted."""
    path = answers / f"{film.name}.ms"
    if not path.exists():
        return 0.0, 0
    ms, count = path.read_text("utf-8").split()
    return float(ms), int(count)


def main() -> None:
    """Run what is wanting, score all, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="films with truth")
    parser.add_argument("--out", type=Path, default=Path("runs/versus"), help="kept messages")
    parser.add_argument("--only", default="", metavar="NAME", help="the film of that name")
    parser.add_argument("--without", nargs="*", default=[], help="run not: networks, ...")
    parser.add_argument("--ceiling", action="store_true", help="faultless detections too")
    parser.add_argument("--zones", action="store_true", help="tracks, votes, zones anew")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="of the usual detector")
    parser.add_argument("--notes", action="store_true", help="also each coup that is not right")
    arguments = parser.parse_args()
    if "ultralytics" not in arguments.without and not arguments.weights.exists():
        parser.error(
            f"no weights at {arguments.weights}: train them (python -m "
            "models.evaluate.baseline.train), give --weights, or --without ultralytics"
        )
    for folder in arguments.folders:
        out, films = arguments.out / folder.resolve().name, films_in(folder)
        for film in (film for film in films if arguments.only in ("", film.name)):
            _run(film, out, arguments)
        rows: dict[str, Figures] = {}
        for answers in sorted(path for path in out.iterdir() if path.name != "kept"):
            rows[answers.name] = score(films, answers, lambda f, a=answers: pace(a, f))  # type: ignore[misc]
            if arguments.notes:
                print(*(f"{answers.name}: {note}" for note in rows[answers.name].notes), sep="\n")
        counted = max(found.films for found in rows.values())
        print(f"\n{folder}: {counted} of {len(films)} films\n\n{table(rows)}", flush=True)


def _run(film: Film, out: Path, arguments: argparse.Namespace) -> None:
    """Run each pipeline on a film that it has not seen."""
    if OURS not in arguments.without and not (out / OURS / f"{film.name}.jsonl").exists():
        run_ours(film, out)
    kinds = {"ultralytics", "networks", *(["faultless"] if arguments.ceiling else [])}
    for kind in kinds - set(arguments.without):
        last = out / f"{kind}-{list(TRACKERS)[-1]}" / f"{film.name}.jsonl"
        if arguments.zones or not last.exists():
            run_usual(film, kind, out, arguments.weights)


if __name__ == "__main__":
    main()
