"""Run the whole follower on kept streams, from looks to messages, and compare with the truth.

`python -m models.evaluate.follow_streams FILM...`: in seconds and without pictures, as
`models.evaluate.dealing_films` and `models.evaluate.coups` do on films. What pictures alone show is
not in it: view, blindness, and looks that differ by light only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from models.evaluate.coups import Tally as CoupTally
from models.evaluate.coups import compare as compare_ours
from models.evaluate.coups import summary
from models.evaluate.dealing_films import Json, Tally, compare
from models.evaluate.streams import Film, Sighting, Stream, films_of
from vision.app.pipeline import rules_of
from vision.config.profiles import load_profile, profile_text
from vision.game.events import Event, ShoeStarted, TimePassed
from vision.game.rules import Dealing
from vision.inference.load import open_symbols, packaged
from vision.sight.detection.classifier import CardModels, Classifier, Observation
from vision.sight.detection.detector import Detection, Detector
from vision.sight.following.evidence import SymbolTable
from vision.sight.following.follower import Follower, Sight
from vision.sight.geometry.plane import Image, Points
from vision.sight.reading.faces import FaceReader, Limits
from vision.wire.session import TableSession, advance, new_header, new_session

NOON = 1_700_000_000_000  # when a film begins, ms: any time of day


class _Outlines(Detector):
    """Gives outlines and looks as they were kept of the look that is on, `now`."""

    def __init__(self) -> None:
        self.now: Sighting | None = None

    def outlined(self, image: Image, found: Sequence[Detection]) -> list[Detection]:  # noqa: ARG002
        """Return the detections with the corners that were found."""
        return [replace(box, quad=self.nearest(box.quad)[0]) for box in found]

    def nearest(self, quad: Points) -> tuple[Points, Observation]:
        """Return outline and look of the face that lies there."""
        faces = () if self.now is None else self.now.faces
        return min(faces, key=lambda face: float(np.hypot(*(face[0] - quad).mean(axis=0))))


class _Looks(Classifier):
    """Gives the looks that belong to those outlines."""

    def __init__(self, outlines: _Outlines) -> None:
        self._outlines = outlines

    def __call__(self, image: Image, quads: Sequence[Points]) -> tuple[Observation, ...]:  # noqa: ARG002
        """Return the looks that were kept of what lies there."""
        return tuple(self._outlines.nearest(quad)[1] for quad in quads)


class Replay:
    """A table whose follower is given a stream; `messages` are what it published."""

    def __init__(self, stream: Stream, symbols: SymbolTable) -> None:
        config = stream.config
        profile = load_profile(config.profile).dealt(Dealing(config.dealing))
        self.stream, self._kept = stream, _Outlines()
        cards = CardModels(self._kept, _Looks(self._kept))
        rules = rules_of(config)
        limits = Limits(config.reader.error_bound, config.reader.allege_odds)
        faces = FaceReader(stream.view, cards, limits, decks=rules.decks)
        self.follower = Follower(stream.view, symbols, faces, rules, allege_odds=limits.allege_odds)
        text = profile_text(config.profile)
        header = new_header(config.site, config.table, profile, rules=text)
        self.session: TableSession = new_session(header, profile)
        self.messages: list[Json] = []
        # Of a picture only its size is asked for: what lies in it was kept.
        self._image = np.zeros((config.camera.height, config.camera.width, 3), np.uint8)

    def run(self) -> Iterator[int]:
        """Follow the stream to its end; yield the time of each picture taken, ms."""
        self._advance(ShoeStarted(NOON, "s1"))
        moving = dict(zip(self.stream.frames, self.stream.moving, strict=True))
        for at, mouth, still_at, sighting, due in self.stream.moments():
            looks = sighting is not None and (moving[at] or self.follower.waiting)
            if not looks and not due:
                continue
            self._kept.now = sighting
            sight = None
            if sighting is not None and looks:
                sight = Sight(self._image, sighting.boxes, sighting.places)
            for event in self.follower.see(NOON + at, mouth, sight, still_at=NOON + still_at):
                self._advance(event)
            waits = self.session.table.waits_until
            if waits is not None and waits <= NOON + at:
                self._advance(TimePassed(NOON + at))
            yield at

    def _advance(self, event: Event) -> None:
        step = advance(self.session, event)
        self.session = step.session
        for message in step.messages:
            if message.payload:
                payload = json.loads(message.payload)
                self.messages.append({"topic": message.topic, "payload": payload})


def main() -> int:
    """Follow each film, print what is not as dealt, and the counts; 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("films", nargs="+", type=Path, help="films, or folders of films")
    parser.add_argument("--cache", type=Path, default=Path("runs/streams"))
    arguments = parser.parse_args()
    symbols = open_symbols(packaged("mouth").with_name("following.toml"))[0]
    tallies = Tally(), CoupTally()
    for film in films_of(arguments.films, arguments.cache):
        begun = time.perf_counter()
        judge(film, published(film.stream, symbols), tallies)
        print(f"{film.stream.name}: {time.perf_counter() - begun:.1f} s", flush=True)
    if tallies[0].coups:
        print(tallies[0])
    if tallies[1].coups:
        print(summary(tallies[1]))
    return 1 if any(tally.wrong for tally in tallies) else 0


def published(stream: Stream, symbols: SymbolTable) -> list[Json]:
    """Return what is published of a film."""
    replay = Replay(stream, symbols)
    for _ in replay.run():
        pass
    return replay.messages


def judge(film: Film, messages: list[Json], tallies: tuple[Tally, CoupTally]) -> None:
    """Compare what was published of a film with its truth, and print what is not as dealt."""
    truth = json.loads(film.path.read_text("utf-8"))
    theirs, ours = tallies
    known = len(theirs.notes), len(ours.notes)
    if truth.get("format") == "dealsim-truth-1":
        compare(truth, messages, theirs, film.stream.name)
    else:
        compare_ours(truth, messages, ours, film.stream.name)
    for note in (*theirs.notes[known[0] :], *ours.notes[known[1] :]):
        print(note, flush=True)


if __name__ == "__main__":
    sys.exit(main())
