"""The usual pipeline from tracks to coups: a vote over each track, zones for slots and mouth.

What it believes goes to our own rules (`vision.game`) as sight does: only what was seen differs.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import dist
from typing import NamedTuple

from models.evaluate.baseline.pipeline import BACK, Seen
from vision.game.cards import DECK, Card
from vision.game.events import CoupSeen, Life, SeenCard, Slot
from vision.sight.geometry.plane import TableView, distance_inside


class Settings(NamedTuple):
    """What was tuned on training styles (`python -m models.evaluate.versus` on films of `train`).

    `sure`: least score of a track's first box (0 to 1). `rest_ms`: so long a track stays within
    `rest_mm` until its card lies; `clear_ms`: so long all slots are empty until a coup is over.
    `votes`, `share`: least sum of votes for a face, and its share of those for any. `out_mm`: so
    far beyond the mouth is out. `lost_ms`: so long a card that is out may be lost on its way.
    """

    sure: float = 0.4
    rest_ms: int = 300
    rest_mm: float = 10.0
    clear_ms: int = 1200
    votes: float = 4.0
    share: float = 0.6
    out_mm: float = 60.0
    lost_ms: int = 3000


SETTINGS = dict.fromkeys(("ultralytics", "networks", "faultless"), Settings())
LAST = 12  # pictures of a card, of which most show which side is up: those of about a second


@dataclass(slots=True, eq=False)
class Track:
    """A track: where it rests (mm) and since when, where and when it was last seen (ms)."""

    rest: tuple[float, float]
    rests_since: int
    at: int = 0
    here: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True, eq=False)
class Held:
    """A card of the running coup; `track` is the one that has it now."""

    out_at: int
    track: int
    slot: Slot | None = None
    read: Card | None = None
    votes: Counter[int] = field(default_factory=Counter)
    last: deque[bool] = field(default_factory=lambda: deque(maxlen=LAST))

    @property
    def face_up(self) -> bool:
        """Whether most of the last pictures show a face."""
        return sum(self.last) * 2 > len(self.last)

    def vote(self, seen: Seen, settings: Settings) -> None:
        """Count a picture's vote; a face that has enough of them is read, for good."""
        self.last.append(seen.kind != BACK)
        self.votes[seen.kind] += seen.vote * (seen.kind != BACK)  # type: ignore[assignment]
        kind, votes = self.votes.most_common(1)[0]
        enough = max(settings.votes, settings.share * self.votes.total())
        if self.read is None and self.face_up and votes >= enough:
            self.read = DECK[kind]

    def seen_as(self, order: int, *, gone: bool) -> SeenCard:
        """Return the card as the rules take it."""
        life = Life.REMOVED if gone else Life.OUT if self.slot is None else Life.LYING
        sure = float(self.read is not None)
        shown = self.face_up or sure > 0
        return SeenCard(order, self.out_at, life, self.slot, shown, self.read, confidence=sure)


class Zones:
    """Coups from tracks; `take` gives the events of a picture."""

    def __init__(self, view: TableView, settings: Settings) -> None:
        self._view, self._set = view, settings
        self._tracks: dict[int, Track] = {}
        self._leaving: set[int] = set()  # tracks that began at the mouth
        self._cards: list[Held] = []
        self._coup, self._order, self._laid_at = 1, 1, 0
        self._told: tuple[SeenCard, ...] = ()

    def take(self, at: int, seen: Sequence[Seen]) -> Iterator[CoupSeen]:
        """Yield the coup where the tracks of a picture make another of it; `at` in ms."""
        for each in seen:
            self._follow(at, each)
        self._leave(at)
        for each in seen:
            self._lay(at, each)
        lost = {n for n, track in self._tracks.items() if track.at < at - self._set.lost_ms}
        self._cards = [c for c in self._cards if c.slot is not None or c.track not in lost]
        yield from self._tell(at, gone=False)
        laid = [card for card in self._cards if card.slot is not None]
        if laid and at - self._laid_at > self._set.clear_ms:
            waiting = [card for card in self._cards if card.slot is None]
            self._cards = laid
            yield from self._tell(at, gone=True)
            self._coup, self._order = self._coup + 1, self._order + len(laid)
            self._cards, self._told = waiting, ()

    def _follow(self, at: int, seen: Seen) -> None:
        if seen.track not in self._tracks:
            self._tracks[seen.track] = Track(seen.middle, at)
            if distance_inside(seen.middle, self._view.mouth) > -self._set.out_mm:
                self._leaving.add(seen.track)
        track = self._tracks[seen.track]
        track.at, track.here = at, seen.middle
        if dist(track.rest, seen.middle) > self._set.rest_mm:
            track.rest, track.rests_since = seen.middle, at

    def _leave(self, at: int) -> None:
        """Note a card that is out: its track began at the mouth, and left it or was lost there."""
        for number in tuple(self._leaving):
            track = self._tracks[number]
            inside = distance_inside(track.here, self._view.mouth)
            if track.at < at or inside <= -self._set.out_mm:
                self._leaving.remove(number)
                if all(card.slot is not None for card in self._cards):
                    self._cards.append(Held(at, number))

    def _lay(self, at: int, seen: Seen) -> None:
        """Give a track that lies in a slot to the card there, or to one that is on its way."""
        areas = self._view.slots.items()
        slots = [slot for slot, area in areas if distance_inside(seen.middle, area) >= 0]
        if not slots:
            return
        self._laid_at, slot = at, slots[0]
        card = next((card for card in self._cards if card.slot is slot), None)
        if card is None:
            if at - self._tracks[seen.track].rests_since < self._set.rest_ms:
                return
            if all(card.slot is not None for card in self._cards):
                self._cards.append(Held(at, seen.track))
            card = next(card for card in self._cards if card.slot is None)
            card.slot = slot
        card.track = seen.track
        card.vote(seen, self._set)

    def _tell(self, at: int, *, gone: bool) -> Iterator[CoupSeen]:
        numbered = enumerate(self._cards, start=self._order)
        cards = tuple(card.seen_as(number, gone=gone) for number, card in numbered)
        if cards != self._told:
            self._told = cards
            yield CoupSeen(at, self._coup, cards)
