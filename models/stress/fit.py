"""Fit the noise of the simulator to what the detector made of films with truth.

The films are those of `models.evaluate.dealing_films` (`NAME.mp4` with `NAME.json`). The detections
are kept beside them as `NAME.detections.jsonl`, because making them takes minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from models.evaluate.dealing_films import table_file
from vision.camera.source import Shot, open_source
from vision.config.table import load
from vision.inference.load import open_models
from vision.sight.detection.classifier import FaceCheck
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Pose, TableView
from vision.sight.tracking.association import Sighting, sightings_of

Json = dict[str, Any]
SETTLED_S = 0.4  # seconds after a card was laid, turned or before it is taken: it lies still
NEAR_MM = 14.0  # a sighting this near to where a card lies is of that card
DOUBLE_MM = 45.0  # and one further off, but nearer than this, is a second box of it
ELSEWHERE_MM = 75.0  # a sighting further from all cards than this is a false one
MOUTH_MM = 60.0  # what is seen this near to the mouth is the next card in the shoe
SAME_BURST_S = 0.25  # false sightings nearer in time and place are one burst
LOOKS_PER_S = 15.0  # the default of `models.looks_per_s`


@dataclass(slots=True)
class Measured:
    """Counts over films; each of them stands for a field of `Noise`."""

    looks: int = 0
    seconds: float = 0.0
    seen: int = 0
    missed: int = 0
    doubled: int = 0
    wrong_kind: int = 0
    moving: int = 0
    moving_missed: int = 0
    offsets: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    bursts: list[float] = field(default_factory=list)

    def noise(self) -> dict[str, float]:
        """Return the fitted fields of `Noise` by name."""
        rest = max(self.seen + self.missed, 1)
        return {
            "missed": self.missed / rest,
            "doubled": self.doubled / max(self.seen, 1),
            "wrong_kind": self.wrong_kind / max(self.seen, 1),
            "missed_moving": self.moving_missed / max(self.moving, 1),
            "jitter_mm": 1.4826 * median(self.offsets or [0.0]),
            "jitter_degrees": 1.4826 * median(self.turns or [0.0]),
            "false_per_s": len(self.bursts) / max(self.seconds, 1e-9),
            "false_lasts_s": float(np.mean(self.bursts)) if self.bursts else 0.0,
            "mean_score": float(np.mean(self.scores)) if self.scores else 0.0,
        }


def detections_of(film: Path, truth: Json) -> list[tuple[float, list[Detection]]]:
    """Return time (s) and detections of each look at a film, from beside it or by detecting."""
    kept = film.with_suffix(".detections.jsonl")
    if not kept.exists():
        with kept.open("w", encoding="utf-8") as file:
            for look in _detect(film, truth):
                file.write(json.dumps(look) + "\n")
    rows = []
    for line in kept.read_text("utf-8").splitlines():
        at, found = json.loads(line)
        rows.append((at, [Detection(np.array(q, np.float32), Kind(k), s) for k, s, q in found]))
    return rows


def _detect(film: Path, truth: Json) -> Iterator[tuple[float, list[Any]]]:
    """Look at a film as the reader does; yields what a line of the kept file holds."""
    table = film.with_suffix(".fit.toml")
    table.write_text(table_file(truth, film.resolve(), film.with_suffix(".sqlite")), "utf-8")
    config = load(table)
    table.unlink()
    models = open_models(threads=1)
    check = FaceCheck(models.classifier, config.view.table_view())
    due = 0.0
    for shot in open_source(config.camera, speed=0, start_ms=0):
        if isinstance(shot, Shot) and shot.frame.at >= due:
            due = max(due + 1000 / LOOKS_PER_S, shot.frame.at + 500 / LOOKS_PER_S)
            found = check(shot.frame, models.detector(shot.frame.image)).detections
            yield shot.frame.at / 1000, [[d.kind, d.score, d.quad.tolist()] for d in found]


def measure(film: Path, measured: Measured) -> None:
    """Add a film's looks to the counts."""
    truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
    table = film.with_suffix(".fit.toml")
    table.write_text(table_file(truth, film.resolve(), film.with_suffix(".sqlite")), "utf-8")
    view = load(table).view.table_view()
    table.unlink()
    rows = detections_of(film, truth)
    cards = [_Card(card, view) for card in truth["cards"]]
    falses: list[tuple[float, Pose]] = []
    for at, found in rows:
        sightings = sightings_of(view, [d for d in found if d.kind is not Kind.HAND])
        measured.looks += 1
        about = [card for card in cards if card.about(at)]
        _look(at, sightings, about, measured)
        away = [
            s
            for s in sightings
            if not view.in_mouth(s.pose, MOUTH_MM) and not view.in_discard(s.pose)
        ]
        falses += _elsewhere(at, away, about, measured)
    for card in cards:
        measured.offsets += card.spread()
        measured.turns += card.turns()
        # A card that is hardly ever seen where the truth has it lies elsewhere, or covered: that is
        # no miss of the detector.
        if 2 * len(card.poses) > card.looks:
            measured.missed += card.looks - len(card.poses)
    measured.seconds += rows[-1][0] - rows[0][0]
    measured.bursts += _bursts(falses)


class _Card:
    """A card of the truth and where it was seen."""

    def __init__(self, truth: Json, view: TableView) -> None:
        self.truth = truth
        self.poses: list[Pose] = []
        self.looks = 0
        quad = truth.get("rest_quad_px")
        self.known = quad is not None
        self.lies = Pose(0, 0, 0) if quad is None else view.locate(np.array(quad, np.float32))[0]

    def when(self, at: float) -> str:
        """Return `rests`, `moves`, or an empty string where neither is sure."""
        truth = self.truth
        out, placed = truth.get("t_draw"), truth.get("t_placed")
        face, removed = truth.get("t_face"), truth.get("t_removed")
        if not self.known or out is None or placed is None or removed is None:
            return ""
        if truth["t_out"] <= at <= placed:
            return "moves"
        # Where it lay before it was turned is not in the truth.
        since = max(placed, face or placed) + SETTLED_S
        return "rests" if since <= at <= removed - SETTLED_S else ""

    def is_face(self, at: float) -> bool:
        """Whether its face shows."""
        face = self.truth.get("t_face")
        return face is not None and at > face

    def about(self, at: float) -> bool:
        """Whether it is out of the shoe and not cleared long ago."""
        begin = self.truth.get("t_draw") or 0.0
        end = self.truth.get("t_removed") or begin
        return bool(begin - 1.0 <= at <= end + 1.5)

    def spread(self) -> list[float]:
        """Return how far along either axis it was seen from the middle of where it was seen, mm."""
        if len(self.poses) < 5:
            return []
        x, y = median(p.x for p in self.poses), median(p.y for p in self.poses)
        return [abs(p.x - x) for p in self.poses] + [abs(p.y - y) for p in self.poses]

    def turns(self) -> list[float]:
        """Return how far its axis was seen from the first sighting's, degrees."""
        return [self.poses[0].turn(p) for p in self.poses[1:]]


def _look(
    at: float, sightings: Sequence[Sighting], about: Sequence[_Card], measured: Measured
) -> None:
    """Count what one look shows of the cards that lie still."""
    resting = [card for card in about if card.when(at) == "rests"]
    for card in resting:
        near = [s for s in sightings if s.pose.distance(card.lies) <= NEAR_MM]
        card.looks += 1
        if not near:
            continue
        best = near[0]
        measured.seen += 1
        card.poses.append(best.pose)
        measured.scores.append(best.score)
        measured.wrong_kind += (best.kind is Kind.FACE) != card.is_face(at)
        measured.doubled += sum(
            NEAR_MM < s.pose.distance(card.lies) <= DOUBLE_MM for s in sightings
        )


def _elsewhere(
    at: float, found: Sequence[Sighting], about: Sequence[_Card], measured: Measured
) -> list[tuple[float, Pose]]:
    """Return the false sightings of a look, and count a card that alone is on its way."""
    free = [
        s
        for s in found
        if all(not c.known or s.pose.distance(c.lies) > ELSEWHERE_MM for c in about)
    ]
    resting = sum(card.when(at) == "rests" for card in about)
    if len(about) == resting:
        return [(at, s.pose) for s in free]
    if len(about) - resting == 1 and any(card.when(at) == "moves" for card in about):
        measured.moving += 1
        measured.moving_missed += not free
    return []


def _bursts(falses: Sequence[tuple[float, Pose]]) -> list[float]:
    """Return how long each burst of false sightings lasted, s."""
    bursts: list[tuple[float, float, Pose]] = []
    for at, pose in falses:
        for index, (began, last, where) in enumerate(bursts):
            if at - last <= SAME_BURST_S and pose.distance(where) < ELSEWHERE_MM:
                bursts[index] = (began, at, pose)
                break
        else:
            bursts.append((at, at, pose))
    return [last - began + 1 / LOOKS_PER_S for began, last, _ in bursts]
