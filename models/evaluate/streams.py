"""What films show, kept on disk once: the mouth in each frame, boxes and patches at each look.

`streams(film, table, cache)` reads a film as the pipeline does and keeps what the witnesses of
`vision.sight.following` take, so that the decoder alone is run again in seconds. A stream is kept
under the hash of film, table file and networks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.evaluate.dealing_films import table_file
from models.evaluate.film_truth import FilmTruth, read_truth
from vision.config.table import TableConfig, load
from vision.files import write_whole
from vision.inference.load import load_model, packaged, quick
from vision.sight.detection.detector import KINDS, Detection, Detector, Kind
from vision.sight.detection.mouth import MouthSight
from vision.sight.following.places import LEAST_SCORE, PlacePatches
from vision.sight.geometry.plane import TableView

# Raised when what is kept changes: 3, colours that are new are those before the lip.
EDITION = 3


@dataclass(slots=True, eq=False)
class Stream:
    """What a film shows; times in ms from its start.

    `mouth` is N x 11 at `frames` (N); `boxes` and `patches` (6 x 24 x 18 x 3) are at `looks`.
    """

    name: str
    view: TableView
    dealing: str
    frames: list[int]
    mouth: NDArray[np.float32]
    looks: list[int]
    boxes: list[list[Detection]]
    patches: NDArray[np.uint8]


def stream(film: Path, table: Path, cache: Path, *, every_ms: float = 66.0) -> Stream:
    """Return the stream of a film, from the cache if it was read before."""
    config = load(table)
    models = [quick(packaged("detector")), packaged("mouth")]
    digest = hashlib.sha256(f"{EDITION} {every_ms} {config.view} {film.stat().st_size}".encode())
    for path in models:
        digest.update(path.read_bytes())
    with film.open("rb") as opened:
        digest.update(opened.read(1 << 20))
    kept = cache / f"{film.parent.name}-{film.stem}-{digest.hexdigest()[:12]}.npz"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        _watch(film, config, kept, every_ms)
    return _open(kept, f"{film.parent.name}/{film.stem}", config)


def _watch(film: Path, config: TableConfig, kept: Path, every_ms: float) -> None:
    view = config.view.table_view()
    detector = Detector(load_model(quick(packaged("detector")), threads=1))
    mouth = MouthSight(view, load_model(packaged("mouth"), threads=1))
    cut = PlacePatches(view)
    capture = cv2.VideoCapture(str(film))
    frames: list[int] = []
    looks: list[int] = []
    values, boxes, patches = [], [], []
    due = 0.0
    rate = capture.get(cv2.CAP_PROP_FPS)
    while True:
        more, image = capture.read()
        if not more:
            break
        at = round(1000 * len(frames) / rate)
        frames.append(at)
        values.append(mouth.values(image, at))  # type: ignore[arg-type]
        if at < due:
            continue
        due = max(due + every_ms, at + every_ms / 2)
        looks.append(at)
        seen = detector.glance(image, LEAST_SCORE)  # type: ignore[arg-type]
        boxes.append([
            [KINDS.index(b.kind), round(b.score, 3), np.round(b.quad, 1).tolist()] for b in seen
        ])  # fmt: skip
        patches.append(cut(image))  # type: ignore[arg-type]
    part = kept.with_suffix(".part.npz")
    np.savez(
        part, frames=frames, mouth=np.array(values, np.float32), looks=looks,
        patches=np.array(patches), boxes=json.dumps(boxes),
    )  # fmt: skip
    part.rename(kept)


def _open(kept: Path, name: str, config: TableConfig) -> Stream:
    with np.load(kept) as data:
        rows: list[list[Any]] = json.loads(str(data["boxes"]))
        boxes = [
            [Detection(np.array(quad, np.float32), KINDS[kind], score) for kind, score, quad in row]
            for row in rows
        ]
        return Stream(
            name, config.view.table_view(), config.dealing, data["frames"].tolist(),
            data["mouth"], data["looks"].tolist(), boxes, data["patches"],
        )  # fmt: skip


@dataclass(slots=True, eq=False)
class Film:
    """A film's stream and its truth."""

    stream: Stream
    truth: FilmTruth


def films_of(paths: Iterable[Path], cache: Path) -> list[Film]:
    """Return the films of some folders: `deal.mp4` with `truth.json`, or `NAME.mp4`, `NAME.json`.

    A folder is one film of our simulator, holds several of them, or films of the other renderer
    with a table file each in `tables` (made by `models.evaluate.dealing_films.table_file`).
    """
    found = []
    for path in paths:
        for film in sorted([path] if path.is_file() else path.rglob("*.mp4")):
            truth = film.with_suffix(".json")
            if not truth.exists():
                truth = film.with_name("truth.json")
            table = film.with_name("table.toml")
            if not table.exists():
                table = cache / f"{film.stem}.toml"
                cache.mkdir(parents=True, exist_ok=True)
                data = json.loads(truth.read_text("utf-8"))
                text = table_file(data, film.resolve(), cache / "none.sqlite")
                write_whole(table, text.encode())  # another run may be reading it
            found.append(Film(stream(film, table, cache), read_truth(truth)))
    return found


def without_hands(stream: Stream) -> Stream:
    """Return a stream in which no hand is detected, for ablation."""
    boxes = [[box for box in row if box.kind is not Kind.HAND] for row in stream.boxes]
    return replace(stream, boxes=boxes)
