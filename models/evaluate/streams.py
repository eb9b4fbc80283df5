"""What films show, kept on disk once, so that following is run again in seconds without pictures.

A film is watched as the pipeline watches a table, by its motion gate and as often, with the same
networks; kept is what the follower takes: the mouth in each frame, boxes and slots at each look,
and a look at each face. A stream is kept under the hash of film, table file and networks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.dealing.film_truth import FilmTruth, read_truth
from models.evaluate.dealing_films import table_file
from vision.config.table import TableConfig, load
from vision.files import write_whole
from vision.inference.load import ModelSet, open_models, packaged
from vision.sight.detection.classifier import RANKS, SUITS, Observation
from vision.sight.detection.detector import KINDS, Detection, Kind
from vision.sight.detection.mouth import MouthSight, mouth_outline
from vision.sight.following.places import (
    COVERED,
    EDGES,
    FaceCheck,
    SlotObservation,
    SlotWatch,
    TableBoxes,
)
from vision.sight.geometry.plane import Frame, Points, TableView
from vision.sight.motion_gate import MotionGate, WatchedPart

# Raised when what is kept changes.
EDITION = 5
# From one look at a still table to the next, ms: often enough for faces that are to be read.
STILL_LOOK_MS = 300

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """What one look found: boxes, slots, and of each face (by its box) outline and reading."""

    boxes: tuple[Detection, ...]
    places: tuple[SlotObservation, ...]
    faces: tuple[tuple[Points, Observation], ...]


@dataclass(slots=True, eq=False)
class Stream:
    """What a film shows; times in ms from its start.

    `mouth` is N x 11 at `frames` (N); of these, `due` are given to the follower even without a
    look, in `moving` ones something moves, and the table was last still at `still_at`. `sightings`
    are at `looks`.
    """

    name: str
    config: TableConfig
    frames: list[int]
    mouth: NDArray[np.float32]
    due: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    still_at: NDArray[np.intp]
    looks: list[int]
    sightings: list[Sighting]
    view: TableView = field(init=False)

    def __post_init__(self) -> None:
        """Set up the table."""
        self.view = self.config.view.table_view()

    @property
    def dealing(self) -> str:
        """How the table deals."""
        return self.config.dealing

    def moments(
        self, mouth: NDArray[np.float32] | None = None
    ) -> Iterator[tuple[int, NDArray[np.float32], int, Sighting | None, bool]]:
        """Yield what the follower may be given: time, mouth, when still, a look, whether due.

        `mouth`: other values than the film's; where they differ, something moves.
        """
        other = np.zeros(len(self.frames), bool)
        if mouth is not None:
            other = (np.nan_to_num(mouth) != np.nan_to_num(self.mouth)).any(axis=1)
        values = self.mouth if mouth is None else mouth
        looks = dict(zip(self.looks, self.sightings, strict=True))
        shown, still_at = values[0], 0
        for index, at in enumerate(self.frames):
            due = bool(self.due[index] or other[index])
            sighting = looks.get(at)
            if not due and sighting is None:
                continue
            shown = values[index] if due else shown
            still_at = still_at if other[index] else int(self.still_at[index])
            yield at, shown, still_at, sighting, due


def stream(film: Path, table: Path, cache: Path) -> Stream:
    """Return the stream of a film, from the cache if it was read before."""
    config = load(table)
    names = ("detector", "mouth", "cut", "classifier", "corners")
    digest = hashlib.sha256(f"{EDITION} {config.view} {film.stat().st_size}".encode())
    for name in names:
        digest.update(packaged(name).read_bytes())
    with film.open("rb") as opened:
        digest.update(opened.read(1 << 20))
    kept = cache / f"{film.parent.name}-{film.stem}-{digest.hexdigest()[:12]}.npz"
    name = f"{film.parent.name}/{film.stem}"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        keep(_watched(film, config, name), kept)
    return opened_stream(kept, config, name)


def _watched(film: Path, config: TableConfig, name: str) -> Stream:
    eye = _Eye(config, open_models(threads=1))
    capture = cv2.VideoCapture(str(film))
    rate = capture.get(cv2.CAP_PROP_FPS)
    more, image = capture.read()
    while more:
        eye.see(Frame(image, round(1000 * len(eye.frames) / rate), len(eye.frames)))  # type: ignore[arg-type]
        more, image = capture.read()
    return Stream(
        name, config, eye.frames, np.array(eye.mouth, np.float32), np.array(eye.due),
        np.array(eye.moving), np.array(eye.still_at), eye.looks, eye.sightings,
    )  # fmt: skip


class _Eye:
    """Watches a film as the pipeline does, whatever would be believed of it."""

    def __init__(self, config: TableConfig, models: ModelSet) -> None:
        view, size = config.view.table_view(), (config.camera.width, config.camera.height)
        self._models, self._every_ms = models, 1000 / config.models.looks_per_s
        self._gate, self._mouth = MotionGate(), MouthSight(view, models.mouth, models.cut)
        self._part = WatchedPart(self._gate, mouth_outline(view), size)
        self._boxes, self._places = TableBoxes(models.detector, view, size), SlotWatch(view)
        self._check = FaceCheck(models.classifier, view)
        self._due_at = 0.0
        self.frames: list[int] = []
        self.mouth: list[NDArray[np.float32]] = []
        self.due: list[bool] = []
        self.moving: list[bool] = []
        self.still_at: list[int] = []
        self.looks: list[int] = []
        self.sightings: list[Sighting] = []

    def see(self, frame: Frame) -> None:
        """Take the next frame."""
        moving = self._gate.moving(frame)
        self.frames.append(frame.at)
        self.moving.append(moving)
        self.due.append(self._part.due(frame.at))
        self.still_at.append(self._gate.still_at)
        self.mouth.append(self._mouth.values(frame.image, frame.at))
        still_for = frame.at - self.looks[-1] if self.looks else STILL_LOOK_MS
        if (moving or still_for >= STILL_LOOK_MS) and frame.at >= self._due_at:
            self._due_at = max(self._due_at + self._every_ms, frame.at + self._every_ms / 2)
            self._look(frame)

    def _look(self, frame: Frame) -> None:
        self._boxes.look(frame.image)
        boxes = self._check(frame, self._boxes.found)
        found = [box for box in boxes if box.kind is Kind.FACE]
        quads = [box.quad for box in self._models.detector.outlined(frame.image, found)]
        # A card looks the same from both ends: each is taken in turn, as the reader does.
        ends = [np.asarray(np.roll(quad, 2 * (len(self.looks) % 2), axis=0)) for quad in quads]
        looks = self._models.classifier(frame.image, ends)
        places = self._places.look(boxes, frame.image, frame.at)
        self.looks.append(frame.at)
        self.sightings.append(Sighting(boxes, places, tuple(zip(quads, looks, strict=True))))


# --- on disk --------------------------------------------------------------------------------------


def keep(stream: Stream, path: Path) -> None:
    """Write a stream: one compressed file of arrays, what was found as JSON."""
    rows = [_row(sighting) for sighting in stream.sightings]
    part = path.with_suffix(".part.npz")
    np.savez_compressed(
        part, frames=stream.frames, mouth=stream.mouth.astype(np.float16), due=stream.due,
        moving=stream.moving, still_at=stream.still_at, looks=stream.looks,
        glances=np.frombuffer(json.dumps(rows, separators=(",", ":")).encode(), np.uint8),
    )  # fmt: skip
    part.rename(path)


def opened_stream(path: Path, config: TableConfig, name: str) -> Stream:
    """Return a stream that was kept, of a table with that file."""
    with np.load(path) as data:
        rows: list[Json] = json.loads(data["glances"].tobytes())
        return Stream(
            name, config, data["frames"].tolist(), data["mouth"].astype(np.float32), data["due"],
            data["moving"], data["still_at"], data["looks"].tolist(),
            [_sighting(row) for row in rows],
        )  # fmt: skip


def _row(sighting: Sighting) -> Json:
    return {
        "boxes": [
            [KINDS.index(box.kind), round(box.score, 2), _whole(box.quad)] for box in sighting.boxes
        ],
        "places": [
            [
                look.symbol,
                round(look.covered, 2),
                next((i for i, box in enumerate(sighting.boxes) if box is look.box), -1),
            ]
            for look in sighting.places
        ],
        "faces": [
            [_whole(quad), round(look.readable, 3), round(look.rank_seen, 3), _parts(look)]
            for quad, look in sighting.faces
        ],
    }


def _whole(quad: Points) -> list[int]:
    """Return corners in tenths of a pixel."""
    return [round(10 * float(each)) for each in quad.ravel()]


def _parts(look: Observation) -> list[float]:
    """Return the log-probabilities of ranks and suits, of which those of the faces are made."""
    joint = look.log_p.astype(np.float64).reshape(RANKS, SUITS)
    ranks, suits = np.logaddexp.reduce(joint, axis=1), np.logaddexp.reduce(joint, axis=0)
    return [round(max(float(each), -30.0), 1) for each in (*ranks, *suits)]


def _sighting(row: Json) -> Sighting:
    boxes = tuple(Detection(_quad(quad), KINDS[kind], score) for kind, score, quad in row["boxes"])
    places = tuple(
        SlotObservation(symbol, None if box < 0 else boxes[box], covered, bool(symbol % 2))
        for symbol, covered, box in row["places"]
    )
    faces = tuple(
        (_quad(quad), Observation(_joint(parts), readable, rank_seen=rank))
        for quad, readable, rank, parts in row["faces"]
    )
    return Sighting(boxes, places, faces)


def _quad(tenths: Sequence[int]) -> Points:
    return np.array(tenths, np.float32).reshape(4, 2) / np.float32(10)


def _joint(parts: Sequence[float]) -> NDArray[np.float32]:
    ranks, suits = np.array(parts[:RANKS]), np.array(parts[RANKS:])
    return np.asarray((ranks[:, None] + suits).ravel(), np.float32)


# --- films ----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Film:
    """A film's stream and its truth."""

    stream: Stream
    truth: FilmTruth
    path: Path = Path()


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
            found.append(Film(stream(film, table, cache), read_truth(truth), truth))
    return found


def without_hands(stream: Stream) -> Stream:
    """Return a stream in which no hand is detected, for ablation."""
    sightings = [
        replace(
            sighting,
            boxes=tuple(box for box in sighting.boxes if box.kind is not Kind.HAND),
            places=tuple(_bare(look) for look in sighting.places),
        )
        for sighting in stream.sightings
    ]
    return replace(stream, sightings=sightings)


def _bare(look: SlotObservation) -> SlotObservation:
    """Return what a slot shows if the hand over it is not seen."""
    hidden = 2 * EDGES if look.covered > COVERED else 0
    return replace(look, symbol=look.symbol - hidden, covered=0.0)
