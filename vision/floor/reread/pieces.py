"""The pieces that a recording is read in: where they are sought, and what the reading of one gives.

A recording is parted at key frames so many minutes apart. A piece begins at the first rest
(`rest`) from its key frame on, and ends at the first rest from the key frame of the
next piece on. Both find the same frame, so that nothing is read twice and nothing is left out; the
digests of that frame's picture in both prove it. A film without a rest is one long piece.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vision.floor.reread.film import Survey
from vision.game.events import Event
from vision.record.codec import canonical, event_from_json, event_to_json, record_to_json

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
