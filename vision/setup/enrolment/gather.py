"""Gather the cards of a deck as they are shown: which have been seen, and what is not yet clear.

A showing is one card lying at one place for a while. A showing that the classifier is sure of has
that name; of two that lie there at once under one name, neither is believed; the last ones follow
by exclusion, or a person names them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Card
from vision.sight.detection.classifier import CROP_SIZE, FACES, Fusion, Observation, Opinion
from vision.sight.geometry.plane import Image
from vision.sight.reading.deck import Captured, likeness

# The constants below were chosen on simulated enrolments of held-out decks.
# A name is believed at this probability of error; larger, a wrong card enters the deck file.
SURE = 1e-3
# Crops kept of one showing: enough to vary light and noise, few enough for a small deck file.
MOST_CROPS = 14
# A look within this distance of a showing, mm, is at its card: less than half a card's width.
NEAR_MM = 25.0
# A showing goes on although its card was missed in this many pictures (a hand above it).
AWAY_LOOKS = 4
# Another card was laid on the same place where a look differs from the last one by more grey
# levels than this, or is named otherwise with this probability. Larger: two cards become one.
CHANGED_LEVELS = 5.0
ANOTHER_NAME = 0.8
# Size, px, at which two looks are compared: small enough that noise and print averages out.
PATCH = (24, 34)
# Two unclear showings as alike as this (see `likeness`) are one card shown twice.
ALIKE = 0.9
# A card in another place is at least so like itself; less alike, it is another card.
SURELY_ALIKE = 0.95
# Looks at backs that show the back was really laid down.
LEAST_BACKS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """A card in one picture: its middle in mm, its crop, and the classifier's look at it."""

    place: tuple[float, float]
    crop: Image
    look: Observation


@dataclass(slots=True, eq=False)
class Showing:
    """One card at one place: its crops, the fusion of its looks, first and last picture."""

    place: tuple[float, float]
    first: int
    last: int
    crops: list[Image] = field(default_factory=list)
    fusion: Fusion = field(default_factory=Fusion)
    named: Card | None = None
    left_out: bool = False

    def take(self, seen: Sighting, picture: int) -> None:
        """Add a look."""
        self.place, self.last = seen.place, picture
        self.fusion.add(seen.look, changed=False)
        if len(self.crops) < MOST_CROPS:
            self.crops.append(seen.crop)

    def goes_on(self, seen: Sighting) -> bool:
        """Whether a look at the same place is at the same card."""
        guess, look = self.guess(), seen.look
        surely = look.confidence >= ANOTHER_NAME
        if surely and guess is not None and guess.best != look.best and guess.error <= SURE:
            return False
        return _difference(seen.crop, self.crops[-1]) <= CHANGED_LEVELS

    def guess(self, among: Iterable[Card] = DECK) -> Opinion | None:
        """Return which card of some it looks like."""
        copies = np.zeros(FACES)
        copies[[card.index for card in among]] = 1.0
        return self.fusion.opinion(copies)

    def beside(self, other: Showing) -> bool:
        """Whether both lay on the table in the same picture."""
        return self.first <= other.last and other.first <= self.last


class Gatherer:
    """What has been shown so far."""

    def __init__(self) -> None:
        self._showings: list[Showing] = []
        self._backs: list[Image] = []
        self._picture = 0

    def see(self, faces: Sequence[Sighting], backs: Sequence[Image]) -> None:
        """Take in one picture: its faces, and the crops of cards that lie on theirs."""
        self._picture += 1
        self._backs += backs[: max(0, MOST_CROPS - len(self._backs))]
        for seen in faces:
            showing = self._at(seen)
            if showing is None:
                showing = Showing(seen.place, self._picture, self._picture)
                self._showings.append(showing)
            showing.take(seen, self._picture)

    def _at(self, seen: Sighting) -> Showing | None:
        """Return the showing that a sighting goes on with."""
        for showing in reversed(self._showings):
            away = np.hypot(*np.subtract(showing.place, seen.place))
            if self._picture - showing.last > AWAY_LOOKS or away > NEAR_MM:
                continue
            return showing if showing.last < self._picture and showing.goes_on(seen) else None
        return None

    def names(self) -> dict[int, Card]:
        """Return the card of each showing (by number) that is known by now."""
        found = self._sure()
        doubted = self._doubted(found)
        found = {number: card for number, card in found.items() if number not in doubted}
        return found | self._by_exclusion(found, doubted)

    def conflicts(self) -> tuple[Card, ...]:
        """Return the cards as which two cards are read that lie there at the same time."""
        found = self._sure()
        return tuple(sorted({found[number] for number in self._doubted(found)}))

    def _sure(self) -> dict[int, Card]:
        """Return what a person named each showing, or what it looks like for sure."""
        found: dict[int, Card] = {}
        for number, showing in enumerate(self._showings):
            guess = showing.guess()
            if showing.named is not None:
                found[number] = showing.named
            elif guess is not None and guess.error <= SURE and not showing.left_out:
                found[number] = guess.best
        return found

    def _doubted(self, found: dict[int, Card]) -> set[int]:
        """Return the showings no person named that lay beside another one of the same name."""
        showings = self._showings
        return {
            number
            for number in found
            for other in found
            if number != other and found[number] == found[other]
            if showings[number].named is None and showings[number].beside(showings[other])
        }

    def _by_exclusion(self, found: dict[int, Card], doubted: set[int]) -> dict[int, Card]:
        """Return the names that follow because all other cards are known and look otherwise."""
        shown = {card: self._showings[number].crops[0] for number, card in found.items()}
        added: dict[int, Card] = {}
        for number, showing in enumerate(self._showings):
            if len(shown) == FACES or number in {*found, *doubted} or showing.left_out:
                continue
            name = _excluded(showing, shown)
            if name is not None and name not in added.values():
                added[number] = name
        return added

    @property
    def missing(self) -> tuple[Card, ...]:
        """The faces that have not been seen for sure."""
        known = set(self.names().values())
        return tuple(card for card in DECK if card not in known)

    @property
    def back_seen(self) -> bool:
        """Whether the back has been seen often enough."""
        return len(self._backs) >= LEAST_BACKS

    def unclear(self) -> Showing | None:
        """Return a showing that may be a missing card, or `None`: one without a name, if any.

        While a card is missing, one that was shown twice may have been taken for another.
        """
        names, missing = self.names(), self.missing
        if not missing:
            return None
        possible, twice = {*missing, *self.conflicts()}, self.shown_twice()
        for number, showing in enumerate(self._showings):
            guess = showing.guess()
            if number in names or showing.left_out or guess is None:
                continue
            if {guess.best, guess.second} & possible:
                return showing
        again = (self._showings[number] for number, card in names.items() if card in twice)
        return next((showing for showing in again if showing.named is None), None)

    def shown_twice(self) -> tuple[Card, ...]:
        """Return the cards that more than one showing is named as."""
        times = Counter(self.names().values())
        return tuple(sorted(card for card, count in times.items() if count > 1))

    def name(self, showing: Showing, card: Card | None) -> None:
        """Take a person's word for a showing and nameless ones like it; `None` leaves them out."""
        names = self.names()
        for number, other in enumerate(self._showings):
            unnamed = number not in names and not other.left_out
            if other is showing or (
                unnamed
                and not other.beside(showing)
                and other.guess() == showing.guess()
                and likeness(other.crops[0], showing.crops[0]) >= ALIKE
            ):
                other.named, other.left_out = card, card is None

    def captured(self) -> Captured:
        """Return the crops of all named showings, by card, and those of the back."""
        named = sorted(self.names().items(), key=lambda item: item[1].index)
        crops = [(card.index, crop) for i, card in named for crop in self._showings[i].crops]
        cards = np.array([card for card, _ in crops], np.int64)
        return Captured(_stack([crop for _, crop in crops]), cards, _stack(self._backs))


def _excluded(showing: Showing, shown: Mapping[Card, Image]) -> Card | None:
    """Return the missing card that a showing must be.

    Its best reading is missing, and of the missing ones it can be no other; or it looks unlike the
    captured cards that it was taken for.
    """
    missing, among = [card for card in DECK if card not in shown], set(DECK)
    guess, left = showing.guess(), showing.guess(missing)
    if guess and left and guess.best == left.best and left.error <= SURE:
        return left.best
    while (guess := showing.guess(among)) is not None:
        if guess.best not in shown and guess.error <= SURE:
            return guess.best
        rival = guess.best if guess.best in shown else guess.second
        if rival not in among or rival not in shown:
            return None
        if likeness(showing.crops[0], shown[rival]) >= SURELY_ALIKE:
            return None
        among.remove(rival)
    return None


def _difference(card: Image, other: Image) -> float:
    """Return by how many grey levels two small pictures of cards differ on the whole."""
    small = (cv2.resize(crop, PATCH, interpolation=cv2.INTER_AREA) for crop in (card, other))
    first, second = (cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY).astype(np.float32) for crop in small)
    return float(np.abs(first - second).mean())


def _stack(crops: Sequence[Image]) -> NDArray[np.uint8]:
    width, height = CROP_SIZE
    return np.asarray(crops, np.uint8).reshape(-1, height, width, 3)
