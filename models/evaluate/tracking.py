"""Measure following as the field does: IDF1, HOTA, identity switches, beside ByteTrack, BoT-SORT.

`python -m models.evaluate.tracking --simulated 3` deals films with the simulator, which knows where
every card is at every instant; `python -m models.evaluate.tracking FOLDER` takes films of another
renderer (`NAME.mp4` with `NAME.json`), whose truth has only the cards that lie. The trackers are
given the same detections, oriented boxes, which are kept in `runs/tracking` for the next time; ours
sees the mouth of the shoe and hands beside. TrackEval computes the figures; boxes agree where they
share half of what either covers. Needs the extra `train`; a film of two coups takes about a minute
on one core.

A card is judged from when it is out of the shoe until it is taken from its place, also while a hand
covers it. A box on a card in the mouth or on its way to the discard counts neither for nor against.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from trackeval.metrics import CLEAR, HOTA, Identity
from ultralytics.engine.results import OBB
from ultralytics.trackers import BOTSORT, BYTETracker
from ultralytics.utils import YAML, IterableSimpleNamespace
from ultralytics.utils.checks import check_yaml

from datasets.dealing.actors import card_quad
from datasets.dealing.film_settings import look_for
from datasets.dealing.scenario import Scenario
from datasets.dealing.simulate import Show, picture_size, rehearse
from datasets.dealing.table_places import Camera
from datasets.faces.registry import load_deck
from models.evaluate.coups import DEALING
from models.evaluate.dealing_films import DEALING as MODES
from models.evaluate.dealing_films import table_file
from models.evaluate.detector import SETTINGS
from vision.config.table import load
from vision.game.rules import Dealing, Rules
from vision.inference.load import ModelSet, open_models
from vision.sight.detection.detector import Detection, Kind
from vision.sight.detection.mouth import MouthSight
from vision.sight.following.follower import Follower, Sight
from vision.sight.following.places import LEAST_SCORE, SlotWatch
from vision.sight.geometry.plane import (
    Frame,
    Image,
    Points,
    TableView,
    box_around,
    distance_inside,
    overlap,
)
from vision.sight.reading.faces import FaceReader, Limits

CACHE = Path("runs/tracking")
# The share that a box has to have in common with a card to be a box of it, 0 to 1: the usual half.
LEAST_OVERLAP = 0.5
# The least score of a detection that is kept, 0 to 1: ByteTrack's second association begins there
# (`track_low_thresh` of Ultralytics' own settings). Higher, and its rows `low scores too` change.
LOWEST_SCORE = 0.1

Boxes = dict[int, Points]


@dataclass(frozen=True, slots=True, eq=False)
class Instant:
    """A frame with its truth: the judged cards by their number, and the others' outlines, px."""

    frame: Frame
    judged: Boxes
    others: Sequence[Points]


@dataclass(frozen=True, slots=True, eq=False)
class Film:
    """A film with truth; `complete`: it knows all cards, so that a box on none of them is false."""

    name: str
    view: TableView
    dealing: Dealing
    coups: int
    complete: bool
    instants: Callable[[], Iterator[Instant]]


# --- films ---------------------------------------------------------------------------------------


def simulated(number: int, arguments: argparse.Namespace) -> Film:
    """Deal a film on held-out decks and tables."""
    seed = 1000 * arguments.seed + number
    dealing = DEALING[number % len(DEALING)]
    scenario = Scenario(seed=seed, coups=arguments.coups, dealing=dealing)  # type: ignore[arg-type]
    look = look_for("test", seed, Camera(arguments.size), fps=arguments.fps)
    show = rehearse(scenario, look)
    view = view_of(show.table_file())
    return Film(
        f"{number} {dealing}", view, Dealing(dealing), arguments.coups, True, lambda: _dealt(show)
    )


def _dealt(show: Show) -> Iterator[Instant]:
    size = load_deck(show.look.deck).size_mm
    cards = [card for act in show.acts for card in act.cards]
    for index, (image, at) in enumerate(show.frames()):
        now = index / show.look.fps
        judged: Boxes = {}
        others = []
        for number, card in enumerate(cards):
            pose = card.pose(now)
            if pose is None:
                continue
            quad = np.asarray(card_quad(pose, size, show.look.camera), np.float32)
            if now >= card.out and (card.removed is None or now < card.removed):
                judged[number] = quad
            else:
                others.append(quad)
        yield Instant(Frame(image, at, index), judged, others)


def with_truth(folder: Path) -> list[Path]:
    """Return the films of a folder whose truth, beside them, has where cards lay in their slots."""
    films = [path for path in sorted(folder.glob("*.mp4")) if path.with_suffix(".json").exists()]
    truths = {film: json.loads(film.with_suffix(".json").read_text("utf-8")) for film in films}
    return [f for f, truth in truths.items() if any(_rests(c, truth) for c in truth["cards"])]


def recorded(path: Path) -> Film:
    """Open a film of another renderer; only where its cards lie is known."""
    truth = json.loads(path.with_suffix(".json").read_text("utf-8"))
    view = view_of(table_file(truth, path, path.with_suffix(".sqlite")))
    coups = len(truth["coups"])
    dealing = Dealing(MODES[truth["mode"]])
    return Film(path.stem, view, dealing, coups, False, lambda: _recorded(path, truth))


def _recorded(path: Path, truth: dict[str, Any]) -> Iterator[Instant]:
    capture = cv2.VideoCapture(str(path))
    lying = [card for card in truth["cards"] if _rests(card, truth)]
    for index in range(truth["video"]["frames"]):
        done, image = capture.read()
        if not done:
            break
        judged = {
            card["id"]: np.asarray(card["rest_quad_px"], np.float32)
            for card in lying
            if card["f_placed"] <= index < (card["f_removed"] or truth["video"]["frames"])
        }
        at = round(1000 * index / truth["video"]["fps"])
        yield Instant(Frame(np.asarray(image, np.uint8), at, index), judged, ())
    capture.release()


def _rests(card: dict[str, Any], truth: dict[str, Any]) -> bool:
    """Whether the truth has where a card lay; of some films it has where it was gathered."""
    slot = truth["slots"].get(card["slot"])
    if slot is None or not card.get("rest_quad_px"):
        return False
    middle = np.mean(card["rest_quad_px"], axis=0)
    return distance_inside(middle.tolist(), np.asarray(slot["px"], np.float32)) > 0


def view_of(text: str) -> TableView:
    """Return the view that a table file describes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.toml"
        file.write_text(text, "utf-8")
        return load(file).view.table_view()


# --- trackers ------------------------------------------------------------------------------------


class Detections:
    """The detector with a memory on the disk: a picture that it has seen costs nothing."""

    def __init__(self, models: ModelSet, folder: Path) -> None:
        self._detector = models.detector
        networks = "-".join(models.hashes[name][:8] for name in ("detector", "corners"))
        self._file = folder / f"detections-{networks}.json"
        self._known: dict[str, list[tuple[list[list[float]], str, float]]] = {}
        if self._file.exists():
            self._known = json.loads(self._file.read_text("utf-8"))

    def __call__(self, image: Image) -> tuple[Detection, ...]:
        """Return the detections of a picture, surest first, those of low score among them."""
        key = f"{zlib.crc32(image.tobytes()):08x}"
        if key not in self._known:
            found = self._detector(image, threshold=LOWEST_SCORE)
            self._known[key] = [(d.quad.tolist(), str(d.kind), d.score) for d in found]
        return tuple(
            Detection(np.array(quad, np.float32), Kind(kind), score)
            for quad, kind, score in self._known[key]
        )

    def keep(self) -> None:
        """Write what is known to the disk."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self._known), "utf-8")


class Ours:
    """The follower of the product: the cards of the running coup that lie; it sees hands too."""

    def __init__(self, film: Film, models: ModelSet) -> None:
        faces = FaceReader(film.view, models, Limits(1e-5, 50), decks=8)
        rules = Rules(dealing=film.dealing)
        self._follower = Follower(film.view, models.symbols, faces, rules, allege_odds=50)
        self._mouth, self._places = (
            MouthSight(film.view, models.mouth, models.cut),
            SlotWatch(film.view),
        )
        self._detector = models.detector

    def __call__(self, frame: Frame, _: Sequence[Detection]) -> dict[str, Boxes]:
        """Return the boxes of a frame by the name of a row."""
        boxes = self._detector.cards_and_hands(frame.image, LEAST_SCORE)
        sight = Sight(frame.image, boxes, self._places.look(boxes, frame.image, frame.at))
        self._follower.see(frame.at, self._mouth.values(frame.image, frame.at), sight)
        here = self._follower.cards()
        return {
            "this follower": {card.reported.order: card.quad for card in here},
            "... where it sees the card": {
                card.reported.order: card.quad for card in here if card.seen
            },
        }


class Theirs:
    """A tracker of Ultralytics with its own settings, without motion compensation or ReID."""

    def __init__(self, name: str, title: str, threshold: float) -> None:
        file = check_yaml(f"{name}.yaml")  # type: ignore[no-untyped-call]
        settings = YAML.load(file) | {"gmc_method": "none"}  # type: ignore[no-untyped-call]
        kind = {"bytetrack": BYTETracker, "botsort": BOTSORT}[name]
        self._tracker = kind(IterableSimpleNamespace(**settings))
        self._title, self._threshold = title, threshold

    def __call__(self, frame: Frame, found: Sequence[Detection]) -> dict[str, Boxes]:
        """Return the boxes of a frame by the name of a row."""
        rows = [_as_obb(d) for d in found if d.score >= self._threshold]
        boxes = OBB(np.asarray(rows, np.float32).reshape(-1, 7), frame.image.shape[:2])
        tracked = self._tracker.update(boxes, frame.image)
        return {self._title: {int(row[5]): _quad(row[:5]) for row in tracked}}


def _as_obb(detection: Detection) -> list[float]:
    """Return a detection as Ultralytics has it: x, y, width, height, radians, score, class."""
    (x, y), (width, height), degrees = cv2.minAreaRect(box_around(detection.quad))
    return [x, y, width, height, np.radians(degrees), detection.score, 0.0]


def _quad(box: Sequence[float]) -> Points:
    x, y, width, height, angle = (float(value) for value in box)
    return np.asarray(cv2.boxPoints(((x, y), (width, height), np.degrees(angle))), np.float32)


# --- figures -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sequences:
    """What one tracker said of one film, frame by frame, in the form that TrackEval takes."""

    cards: list[list[int]] = field(default_factory=list)
    tracks: list[list[int]] = field(default_factory=list)
    shared: list[NDArray[np.float64]] = field(default_factory=list)
    known_cards: dict[int, int] = field(default_factory=dict)
    known_tracks: dict[int, int] = field(default_factory=dict)

    def add(self, instant: Instant, boxes: Boxes, *, complete: bool) -> None:
        """Add a frame; boxes of which nothing is known are left out."""
        judged = list(instant.judged.values())
        shares = {n: [overlap_of(quad, card) for card in judged] for n, quad in boxes.items()}
        found = {n for n, share in shares.items() if max(share, default=0.0) >= LEAST_OVERLAP}
        wrong = set(_on_no_card(boxes, instant)) if complete else set()
        kept = [n for n in boxes if n in found | wrong]
        self.cards.append([_number(card, self.known_cards) for card in instant.judged])
        self.tracks.append([_number(track, self.known_tracks) for track in kept])
        table = np.array([shares[n] for n in kept], np.float64).reshape(len(kept), len(judged))
        self.shared.append(table.T)

    def figures(self) -> dict[str, Any]:
        """Return what TrackEval says of the sequence, by the name of its metric."""
        data = {
            "gt_ids": [np.array(ids, int) for ids in self.cards],
            "tracker_ids": [np.array(ids, int) for ids in self.tracks],
            "similarity_scores": self.shared,
            "num_timesteps": len(self.cards),
            "num_gt_ids": len(self.known_cards),
            "num_tracker_ids": len(self.known_tracks),
            "num_gt_dets": sum(map(len, self.cards)),
            "num_tracker_dets": sum(map(len, self.tracks)),
        }
        return {name: metric.eval_sequence(data) for name, metric in METRICS.items()}


METRICS = {
    "HOTA": HOTA(),
    "CLEAR": CLEAR({"THRESHOLD": LEAST_OVERLAP, "PRINT_CONFIG": False}),
    "Identity": Identity({"THRESHOLD": LEAST_OVERLAP, "PRINT_CONFIG": False}),
}


def _on_no_card(boxes: Boxes, instant: Instant) -> list[int]:
    """Return the boxes that lie on none of the cards that are not judged."""
    return [
        number
        for number, quad in boxes.items()
        if all(overlap_of(quad, other) < LEAST_OVERLAP for other in instant.others)
    ]


def overlap_of(first: Points, second: Points) -> float:
    """Return the share that two outlines have in common, 0 to 1."""
    apart = (first.max(axis=0) < second.min(axis=0)) | (second.max(axis=0) < first.min(axis=0))
    return 0.0 if apart.any() else overlap(first, second)


def _number(identity: int, known: dict[int, int]) -> int:
    return known.setdefault(identity, len(known))


def follow(film: Film, models: ModelSet, found: Detections) -> dict[str, Sequences]:
    """Run all trackers over a film; return what each said, by the name of its row."""
    threshold = SETTINGS["threshold"]
    trackers: list[Callable[[Frame, Sequence[Detection]], dict[str, Boxes]]] = [
        Ours(film, models),
        Theirs("bytetrack", "ByteTrack", threshold),
        Theirs("bytetrack", "ByteTrack, low scores too", LOWEST_SCORE),
        Theirs("botsort", "BoT-SORT", threshold),
        Theirs("botsort", "BoT-SORT, low scores too", LOWEST_SCORE),
    ]
    reported: dict[str, Sequences] = {}
    for instant in film.instants():
        detections = found(instant.frame.image)
        for tracker in trackers:
            for row, boxes in tracker(instant.frame, detections).items():
                reported.setdefault(row, Sequences()).add(instant, boxes, complete=film.complete)
    return reported


def table(films: Sequence[Film], reported: Sequence[dict[str, Sequences]]) -> Iterator[str]:
    """Yield the lines of the table: a row for each tracker, over all films."""
    coups = sum(film.coups for film in films)
    yield "| tracker | IDF1 | HOTA | DetA | AssA | switches a coup | identities a card |"
    yield "|---|---|---|---|---|---|---|"
    for row in reported[0]:
        by_film = [rows[row].figures() for rows in reported]
        whole = {
            name: metric.combine_sequences({str(n): f[name] for n, f in enumerate(by_film)})
            for name, metric in METRICS.items()
        }
        shares = [whole["Identity"]["IDF1"]]
        shares += [float(np.mean(whole["HOTA"][name])) for name in ("HOTA", "DetA", "AssA")]
        cards = sum(len(rows[row].known_cards) for rows in reported)
        tracks = sum(len(rows[row].known_tracks) for rows in reported)
        cells = [f"{share:.3f}" for share in shares]
        cells += [f"{whole['CLEAR']['IDSW'] / coups:.2f}", f"{tracks / cards:.2f}"]
        yield f"| {row} | {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Run all trackers over all films and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="films (.mp4) with truth (.json)")
    parser.add_argument("--films", type=int, default=3, help="at most so many of the folder")
    parser.add_argument("--simulated", type=int, default=0, metavar="N", help="deal N films")
    parser.add_argument("--coups", type=int, default=2, help="of a simulated film")
    parser.add_argument("--seed", type=int, default=12001)
    parser.add_argument("--size", type=picture_size, default=(1280, 720), metavar="WxH")
    parser.add_argument("--fps", type=float, default=15)
    parser.add_argument("--cache", type=Path, default=CACHE, help="where detections are kept")
    arguments = parser.parse_args(argv)
    films = [simulated(number, arguments) for number in range(arguments.simulated)]
    if arguments.folder is not None:
        films += [recorded(path) for path in with_truth(arguments.folder)[: arguments.films]]
    if not films:
        parser.error("nothing to measure on: give --simulated 3, or a folder of films with truth")
    models = open_models(threads=1)
    detections = Detections(models, arguments.cache)
    reported = []
    for film in films:
        reported.append(follow(film, models, detections))
        detections.keep()
        print(f"{film.name}: {film.coups} coups", flush=True)
    print(*table(films, reported), sep="\n")


if __name__ == "__main__":
    main()
