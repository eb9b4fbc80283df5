"""Turn tracks into card events: out, placed, read, removed, one run of cards a shoe.

A face is read once, when the fused looks leave no more than the stated error; until then it is
looked at, and a face that lies open too long without is openly unread. Knows no rules of the
game: it never asks what card would make sense, only how many copies the shoe still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.game.events import (
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CutCardOut,
    Event,
)
from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Kind
from vision.sight.geometry.frame import Frame, Image, Points
from vision.sight.geometry.plane import Pose, TableView, rectify
from vision.sight.reading.foreign_cards import ForeignCards
from vision.sight.reading.fusion import FACES, Evidence, Opinion
from vision.sight.reading.resume import Lying, ResumeState
from vision.sight.tracking.track import Track

Classify = Callable[[Image, Sequence[Points]], Sequence[Look]]
StrangeBacks = Callable[[Image, Sequence[Points]], Sequence[float]]

AGAIN_MS = 400
UNREAD_MS = 3000
LEAST_TRIES = 5
SHIFT_MM = 3.0
TURN_DEGREES = 3.0
ANOTHER_PLACE_MM = 20.0
PATCH = (16, 22)
CHANGED_LEVELS = 10.0


@dataclass(slots=True, eq=False)
class _Open:
    """What the reader knows of one card that is out."""

    order: int
    evidence: Evidence = field(default_factory=Evidence)
    placed_at: int | None = None
    read: Card | None = None
    told_unread: bool = False
    tries: int = 0
    open_since: int | None = None
    looked_at: int | None = None
    pose: Pose | None = None
    patch: NDArray[np.float32] | None = None


class Reader:
    """Card events from the tracks of each frame.

    `classify` looks at quads (4 x 2 pixels) of a picture; a read is given only when the
    probability of error is at most `error_bound`. `decks` sets the copies of a face in the shoe.
    `strange_backs` says of cards on their faces how far their backs are from the enrolled deck's.
    """

    def __init__(
        self,
        view: TableView,
        classify: Classify,
        *,
        error_bound: float,
        decks: int = 8,
        strange_backs: StrangeBacks | None = None,
    ) -> None:
        self._view = view
        self._classify = classify
        self._strange_backs = strange_backs
        self._strangers = ForeignCards()
        self._error_bound = error_bound
        self._decks = decks
        self._open: dict[int, _Open] = {}
        self._cut: set[int] = set()
        self._recall: ResumeState | None = None
        self.begin_shoe()

    def begin_shoe(self, *, order: int = 1, read: Iterable[Card] = ()) -> None:
        """Begin a run of cards; after a restart, with the next `order` and the cards read."""
        self._order = order
        self._left = np.full(FACES, float(self._decks))
        for card in read:
            self._left[card.index] -= 1
        self._cut_told = False
        self._recall = None

    def restore(self, recall: ResumeState) -> None:
        """Take cards found lying for those that lay there before a restart."""
        self._recall = recall

    @property
    def waiting(self) -> bool:
        """Whether something lies on the table that is not settled: keep looking while it rests."""
        return self._recall is not None or any(
            card.open_since is not None and card.read is None and not card.told_unread
            for card in self._open.values()
        )

    def update(self, tracks: Sequence[Track], frame: Frame) -> tuple[Event, ...]:
        """Return what happened by this frame; `tracks` come in the order they left the shoe."""
        events: list[Event] = []
        for track in tracks:
            events += self._out(track, frame.at)
        for track in tracks:
            events += self._placed(track, frame.at)
        events += self._look(tracks, frame)
        events += self._look_at_backs(tracks, frame)
        for track in tracks:
            events += self._settle(track, frame.at)
        if self._recall is not None:
            events += self._recall.settle(frame.at)
            self._recall = self._recall if self._recall.active else None
        return tuple(events)

    def _out(self, track: Track, at: int) -> list[Event]:
        if track.id in self._open or track.id in self._cut:
            return []
        if track.kind is Kind.CUT:
            self._cut.add(track.id)
            told, self._cut_told = self._cut_told, True
            return [] if told else [CutCardOut(at)]
        known = self._known(track)
        if known is not None:
            placed_at = track.placed_at if known.slot is track.slot else None
            self._open[track.id] = _Open(known.order, placed_at=placed_at, read=known.card)
            return []
        card = self._open[track.id] = _Open(self._order)
        self._order += 1
        return [CardOut(at, card.order)]

    def _known(self, track: Track) -> Lying | None:
        """Return the card of before a restart that a card found lying is, if any."""
        if self._recall is None or track.placed_at is None:
            return None
        return self._recall.claim(track.slot)

    def _placed(self, track: Track, at: int) -> list[Event]:
        card = self._open.get(track.id)
        if card is None or track.placed_at is None or track.placed_at == card.placed_at:
            return []
        card.placed_at = track.placed_at
        return [CardPlaced(at, card.order, track.slot)]

    # --- looking at faces ------------------------------------------------------------------------

    def _look(self, tracks: Sequence[Track], frame: Frame) -> list[Event]:
        for track in tracks:
            self._note_open(track, frame.at)
        wanted = [track for track in tracks if self._wants_look(track, frame.at)]
        if not wanted:
            return []
        looks = self._classify(frame.image, [self._end(track) for track in wanted])
        events: list[Event] = []
        for track, look in zip(wanted, looks, strict=True):
            card = self._open[track.id]
            card.looked_at = frame.at
            card.tries += 1
            changed = self._differs(card, track, frame.image)
            card.evidence.add(look.log_p, look.readable, changed=changed)
            foreign = self._strangers.look(frame.at, card.order, track.slot, look.strange)
            if foreign is not None:
                events += [foreign, *self._take_back(card, frame.at)]
            elif not self._strangers.told(card.order):
                events += self._conclude(card, frame.at)
        return events

    def _end(self, track: Track) -> Points:
        """Return the card's quad, begun at either end in turn.

        A card is the same from both, and what misleads from one may not do so from the other.
        """
        return np.asarray(np.roll(track.quad, 2 * (self._open[track.id].tries % 2), axis=0))

    def _look_at_backs(self, tracks: Sequence[Track], frame: Frame) -> list[Event]:
        """Look at cards that rest on their faces, where a deck is enrolled."""
        if self._strange_backs is None:
            return []
        wanted = [
            track
            for track in tracks
            if track.id in self._open and track.kind is Kind.BACK
            if track.seen and track.resting and not track.gone
        ]
        found = self._strange_backs(frame.image, [track.quad for track in wanted])
        told = [
            self._strangers.look(
                frame.at, self._open[track.id].order, track.slot, strange, back=True
            )
            for track, strange in zip(wanted, found, strict=True)
        ]
        return [event for event in told if event is not None]

    def _take_back(self, card: _Open, at: int) -> list[Event]:
        """Make a card unread that is none of the deck."""
        card.told_unread = True
        if card.read is None:
            return []
        self._left[card.read.index] += 1
        second, card.read = card.read, None
        return [CardRead(at, card.order, None, 0.0, second)]

    def _note_open(self, track: Track, at: int) -> None:
        """Keep since when a face lies open; a card turned down again has not been open."""
        card = self._open.get(track.id)
        if card is None or not track.seen or not track.resting:
            return
        if track.kind is not Kind.FACE:
            card.open_since, card.tries = None, 0
        elif card.open_since is None:
            card.open_since = at

    def _wants_look(self, track: Track, at: int) -> bool:
        card = self._open.get(track.id)
        if card is None or track.gone or not track.seen or not track.resting:
            return False
        if track.kind is not Kind.FACE:
            return False
        settled = card.read is not None
        return not settled or card.looked_at is None or at - card.looked_at >= AGAIN_MS

    def _differs(self, card: _Open, track: Track, image: Image) -> bool:
        """Whether this look is a new one; forgets the old ones if the card lies elsewhere."""
        small = cv2.cvtColor(rectify(image, track.quad, PATCH), cv2.COLOR_BGR2GRAY)
        patch = small.astype(np.float32)
        before, pose = card.patch, card.pose
        if before is None or pose is None:
            card.patch, card.pose = patch, track.pose
            return True
        if pose.distance(track.pose) > ANOTHER_PLACE_MM and track.resting:
            card.evidence = Evidence()
        changed = (
            pose.distance(track.pose) > SHIFT_MM
            or pose.turn(track.pose) > TURN_DEGREES
            or float(np.abs(patch - before).mean()) > CHANGED_LEVELS
        )
        if changed:
            card.patch, card.pose = patch, track.pose
        return changed

    def _conclude(self, card: _Open, at: int) -> list[Event]:
        opinion = self._opinion(card)
        if opinion is None or opinion.error > self._error_bound or opinion.best == card.read:
            return []
        if card.read is not None:
            self._left[card.read.index] += 1
        card.read = opinion.best
        self._left[card.read.index] -= 1
        return [CardRead(at, card.order, card.read, opinion.confidence, opinion.second)]

    def _opinion(self, card: _Open) -> Opinion | None:
        left = self._left.copy()
        if card.read is not None:
            left[card.read.index] += 1
        return card.evidence.opinion(left)

    def _settle(self, track: Track, at: int) -> list[Event]:
        """Say openly what stays unread, and what has gone."""
        if track.gone:
            self._cut.discard(track.id)
        card = self._open.get(track.id)
        if card is None:
            return []
        events: list[Event] = []
        shown = card.open_since is not None and card.tries >= LEAST_TRIES
        late = card.open_since is not None and at - card.open_since >= UNREAD_MS
        if card.read is None and shown and (late or track.gone) and not card.told_unread:
            card.told_unread = True
            events.append(self._unread(card, at))
        if track.gone:
            del self._open[track.id]
            self._strangers.forget(card.order)
            events.append(CardRemoved(at, card.order))
        return events

    def _unread(self, card: _Open, at: int) -> CardRead:
        opinion = self._opinion(card)
        if opinion is None:
            return CardRead(at, card.order, None, 0.0)
        return CardRead(at, card.order, None, opinion.confidence, opinion.best)
