"""Read one piece of a recording, as a reader of its own: with any worker, at any time, the same.

A piece begins with a table that is still and empty. The pipeline is begun a moment before, so that
it knows the bare table when the events begin to count. Nothing else is handed from piece to piece;
so sight does not count the copies of a face, which the rules do when the pieces are joined.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from vision.app.pipeline import SightPipeline, models_of, rules_of
from vision.app.sight import SightSupervisor
from vision.camera.source import GAP_S, Outage, Shot
from vision.config.identity import identify
from vision.config.table import TableConfig
from vision.errors import OutsideError
from vision.floor.reread.film import Moved, digest_of, frames
from vision.floor.reread.pieces import EPOCH_MS, Piece, PieceCost, PieceRead, RestFinder
from vision.game.events import Event, Noticed, ViewBack, ViewLost
from vision.inference.load import ModelSet
from vision.sight.geometry.frame import Frame

# Tables whose models a worker keeps open, at about 100 MB each; fewer open them again and again.
TABLES_OPEN = 2

# Decks that sight is told of: with so many no card that was read changes what is left of its face,
# to the last bit of a double. Who reads a piece of a shoe cannot know what is left in it.
UNCOUNTED = 10**15


class Bench(NamedTuple):
    """What a table is read with: its settings, and its models opened."""

    config: TableConfig
    models: ModelSet
    identity: str


@lru_cache(maxsize=TABLES_OPEN)
def bench_of(table: str) -> Bench:
    """Return what a table is read with; `table` are the settings as JSON."""
    config = TableConfig.model_validate_json(table)
    models = models_of(config)
    return Bench(config, models, identify(config, models.hashes).signature)


def reader_of(table: str) -> tuple[str, tuple[str, ...]]:
    """Return the signature of what reads a table, and its models, each as name and hash."""
    bench = bench_of(table)
    hashes = bench.models.hashes.items()
    return bench.identity, tuple(f"{name} sha256:{digest}" for name, digest in hashes)


def read_piece(piece: Piece) -> PieceRead:
    """Read a piece; OutsideError where the film, or this worker's program, is not the one meant."""
    bench = bench_of(piece.table)
    if bench.identity != piece.identity:
        raise OutsideError(
            "a worker has another program, other models or other rules than this machine: "
            "shoe-reader check --identify prints what each has; install the same on both"
        )
    return _Reading(piece, bench).read()


class _Reading:
    """The reading of one piece."""

    def __init__(self, piece: Piece, bench: Bench) -> None:
        self._piece = piece
        self._found = piece.survey
        self._bench = bench
        self._moved = Moved()
        self._frames = 0
        self._rows: list[tuple[int, tuple[Event, ...]]] = []
        self._missing: list[tuple[int, int]] = []
        self._dropped = 0
        self._began_s = time.thread_time()

    def read(self) -> PieceRead:
        """Read it from its rest on to that of the next piece."""
        first, until = self._piece.first, self._piece.until
        begin, seal = (0, "") if first == 0 else self._rest_from(first)
        known = self._rest_from(until) if until is not None and until <= begin else None
        if begin == self._found.frames or known == (begin, seal):
            return self._done(begin, begin, (seal, seal))
        start = begin if first == 0 else begin - self._finder().length
        end, last_seal = self._follow(start, begin, known)
        return self._done(begin, end, (seal, last_seal))

    def _finder(self) -> RestFinder:
        view = self._bench.config.view.table_view()
        return RestFinder(view, self._bench.models.detector.see, self._found.rate)

    def _rest_from(self, first: int) -> tuple[int, str]:
        """Return the first rest from a key frame on, and its seal; the film's end without one."""
        finder = self._finder()
        for frame in self._good(first):
            if finder.is_rest(frame):
                return frame.index, digest_of(frame.image)
        return self._found.frames, ""

    def _follow(self, start: int, begin: int, known: tuple[int, str] | None) -> tuple[int, str]:
        """Read from a frame on, and count from `begin`; return the end and its seal.

        `known` is the end where it was sought already; else it is found on the way.
        """
        supervisor, finder = self._supervisor(), self._finder()
        until = self._piece.until
        key = max(key for key in self._found.keys if key <= start)
        last = start - 1
        for frame in self._good(key):
            number = frame.index
            if number <= last:
                continue
            if known is not None and number == known[0]:
                return known
            sought = known is None and until is not None and number >= until
            if sought and finder.is_rest(frame):
                return number, digest_of(frame.image)
            events = self._gap(supervisor, last, number)
            events += supervisor.take(Shot(frame, 0.0))
            self._count(number, begin, events)
            last = number
        if last + 1 < self._found.frames:
            self._missing.append((last + 1, self._found.frames - 1))
        return self._found.frames, ""

    def _gap(self, supervisor: SightSupervisor, last: int, number: int) -> list[Event]:
        """Note frames that are missing; where they are many the table was not seen meanwhile."""
        if number == last + 1:
            return []
        self._missing.append((last + 1, number - 1))
        if number - last <= GAP_S * self._found.rate + 1:
            return []
        since = self._at(max(last, 0))
        return supervisor.take(Outage(since, "the recording has a gap or is damaged", since))

    def _count(self, number: int, begin: int, events: list[Event]) -> None:
        """Keep the events of a frame; of the lead-in only what is wrong with the view."""
        if number < begin:
            held = [event for event in events if _is_of_view(event)]
            self._dropped += len(events) - len(held)
            number, events = begin, [replace(event, at=self._at(begin)) for event in held]
        if events and self._rows and self._rows[-1][0] == number:
            events = [*self._rows.pop()[1], *events]
        if events:
            self._rows.append((number, tuple(events)))

    def _good(self, key: int) -> Iterator[Frame]:
        for number, pixels in frames(self._piece.url, self._found, key, self._moved):
            self._frames += 1
            if pixels is not None:
                yield Frame(pixels, self._at(number), number)

    def _at(self, number: int) -> int:
        return EPOCH_MS + self._found.at(number)

    def _supervisor(self) -> SightSupervisor:
        config, models, _ = self._bench
        return SightSupervisor(
            SightPipeline(config, models, rules=replace(rules_of(config), decks=UNCOUNTED)),
            models.self_test,
            canary_every_s=config.watch.canary_every_s,
            stall_s=None,
            give_up_s=config.watch.models_give_up_s,
        )

    def _done(self, begin: int, end: int, seals: tuple[str, str]) -> PieceRead:
        cost = PieceCost(time.thread_time() - self._began_s, self._moved.count, self._frames)
        return PieceRead(
            begin, end, tuple(self._rows), seals, tuple(self._missing), self._dropped, cost
        )


def _is_of_view(event: Event) -> bool:
    """Whether an event tells how the table is seen, and of no card."""
    return isinstance(event, Noticed | ViewLost | ViewBack)
