"""The pieces that a recording is read in: where they are sought, and what the reading of one gives.

A recording is parted at key frames so many minutes apart. A piece begins at the first rest
(`rest`) from its key frame on, and ends at the first rest from the key frame of the
next piece on. Both find the same frame, so that nothing is read twice and nothing is left out; the
digests of that frame's picture in both prove it. A film without a rest is one long piece.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.floor.reread.film import Survey
from vision.game.events import Event
from vision.record.codec import canonical, event_from_json, event_to_json, record_to_json
from vision.sight.detection.detector import Seen
from vision.sight.geometry.frame import Frame, Image
from vision.sight.geometry.plane import TableView
from vision.sight.motion_gate import thumbnail
from vision.sight.quality.view import blind_reason

# Unix ms (September 2001) at which a piece is read as if its film began then: what is read of a
# piece must not depend on the evening. Far from 0, where a reader that begins takes other looks.
EPOCH_MS = 10**12


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a film to be read: sought from the key frame `first` until `until`.

    `until` of `None` is the film's end. `table` are the settings as JSON, `identity` the signature
    of program, models, rules and settings with which it is to be read.
    """

    url: str
    survey: Survey
    first: int
    until: int | None
    table: str
    identity: str

    @property
    def key(self) -> str:
        """The hash of all that decides what is read: by it the finished piece is kept."""
        what = [self.survey.sha256, self.identity, self.first, self.until]
        return hashlib.sha256(canonical(what).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PieceCost:
    """What reading cost: seconds of a core, bytes of the film moved, frames decoded."""

    core_s: float
    moved: int
    frames: int


@dataclass(frozen=True, slots=True)
class PieceRead:
    """What was read of a piece: the events of its frames from `begin` up to before `end`.

    `begin` equals `end` where the piece has no rest to begin at. `rows` are the frames at which
    something happened, times as from `EPOCH_MS`. `seals` are the digests of the pictures at `begin`
    and `end`, "" at the film's own ends. `missing` are frames (first, last) that could not be
    decoded, `dropped` how many card events of the lead-in were not counted.
    """

    begin: int
    end: int
    rows: tuple[tuple[int, tuple[Event, ...]], ...]
    seals: tuple[str, str]
    missing: tuple[tuple[int, int], ...]
    dropped: int
    cost: PieceCost


def plan(url: str, found: Survey, table: str, identity: str, *, minutes: float) -> list[Piece]:
    """Part a film at key frames so many minutes apart; 0: leave it whole."""
    every = 60 * float(found.rate) * minutes
    firsts = [0]
    for key in found.keys:
        if 0 < every <= key - firsts[-1] and found.frames - key >= every / 2:
            firsts.append(key)
    untils = [*firsts[1:], None]
    return [
        Piece(url, found, first, until, table, identity)
        for first, until in zip(firsts, untils, strict=True)
    ]


def to_json(read: PieceRead) -> dict[str, object]:
    """Return what was read as a JSON object."""
    return {
        **record_to_json(read, without=("rows", "cost", "missing")),
        "rows": [[frame, *map(event_to_json, events)] for frame, events in read.rows],
        "cost": record_to_json(read.cost),
        "missing": [list(each) for each in read.missing],
    }


def from_json(data: Mapping[str, Any]) -> PieceRead:
    """Return what was read from a JSON object; KeyError, TypeError or ValueError if it is none."""
    rows = tuple((int(row[0]), tuple(map(event_from_json, row[1:]))) for row in data["rows"])
    begin, end = data["seals"]
    return PieceRead(
        begin=int(data["begin"]),
        end=int(data["end"]),
        rows=rows,
        seals=(str(begin), str(end)),
        missing=tuple((int(first), int(last)) for first, last in data["missing"]),
        dropped=int(data["dropped"]),
        cost=PieceCost(**data["cost"]),
    )


# For how long, in ms, the table must lie still. A reader that begins needs half a second to learn
# the empty slots (`vision.sight.following.places`) and the mouth. Shorter, and it knows neither;
# longer, and quick dealers leave no place to cut: our simulator's rests 0.7 s between two coups.
STILL_MS = 600
# Levels (0 to 255) by which a cell of the thumbnail may change and count as still, and times the
# noise: as in the motion gate. Higher cuts through a slow hand, lower finds no place in a noisy
# picture.
STILL_LEVELS, STILL_NOISE = 5.0, 6.0
# How often in a second of film a still table is searched for cards: each costs one inference.
CHECKS_A_SECOND = 8

# A box whose corners lie this far (root mean square) from a card's is a chip, a phone or two cards:
# larger, and chips pass; smaller, and cards half under a hand are lost.
MAX_MISFIT_MM = 25.0

Thumbnail = NDArray[np.float32]


class RestFinder:
    """Takes frame after frame; says of each whether the table has been still and empty up to it."""

    def __init__(self, view: TableView, see: Callable[[Image], Seen], rate: Fraction) -> None:
        self._view = view
        self._see = see
        self.length = max(1, round(STILL_MS * rate / 1000))
        self._step = max(1, round(rate / CHECKS_A_SECOND))
        self._past: deque[tuple[int, Thumbnail]] = deque()

    def is_rest(self, frame: Frame) -> bool:
        """Take a frame; return whether a piece may begin its count of events with it."""
        number, now = frame.index, thumbnail(frame.luma)
        if self._past and (self._past[-1][0] != number - 1 or _moved(now, self._past[-1][1])):
            self._past.clear()
        self._past.append((number, now))
        while number - self._past[0][0] > self.length:
            self._past.popleft()
        is_due = number % self._step == 0 and number - self._past[0][0] == self.length
        return is_due and not _moved(now, self._past[0][1]) and self._is_empty(frame.image)

    def _is_empty(self, image: Image) -> bool:
        """Whether a picture shows the table with no card and no hand over it."""
        if blind_reason(image) is not None:
            return False
        seen = self._see(image)
        found = [self._view.locate(box.quad) for box in seen.cards]
        lying = [
            pose
            for pose, misfit in found
            if misfit <= MAX_MISFIT_MM
            and not self._view.in_mouth(pose)
            and not self._view.in_discard(pose)
        ]
        return not lying and not seen.hands


def _moved(now: Thumbnail, then: Thumbnail) -> bool:
    """Whether anything as large as a card's corner differs between two thumbnails."""
    if now.shape != then.shape:
        return True
    difference = now - then
    size = np.abs(difference - np.median(difference[::2, ::2]))
    noise = 1.5 * float(np.median(size[::2, ::2]))
    return bool(cv2.blur(size, (2, 2)).max() > max(STILL_LEVELS, STILL_NOISE * noise))
