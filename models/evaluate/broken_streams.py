"""Streams that fail on purpose, as sight does: in bursts of looks, not in single ones.

Clean films do not tell a good decoder from a bad one; these do. Each kind is drawn anew for a film
from its name, so that two runs are the same. The kinds that begin with `no-` lack one witness all
the time: what it is worth.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models.evaluate.streams import Film, without_hands
from vision.sight.detection.mouth import LABELS
from vision.sight.following.places import BOXES, EDGES, SYMBOLS, SlotObservation

# Shares (0 to 1) and lengths (ms) of each kind, and how many a film of those that are counted.
SHARE_UNSEEN, SHARE_HALF_SECONDS, SHARE_UNDER_HAND = 0.05, 0.1, 0.25
HALF_SECOND, UNDER_HAND_MS, BLIND_MS, PASSAGE_MS = 500, 4000, 1500, 400
BLINDNESSES, PASSAGES = 10, 8
# Which value of the mouth tells a hand.
HAND = LABELS.index("hand")
# A slot that shows nothing, and one under a hand that hides it.
BARE = 0
HIDDEN = int(np.arange(BOXES * 2 * EDGES * 2).reshape(BOXES, 2, EDGES, 2)[0, 1, EDGES - 1, 0])


class Failing:
    """A film's stream as it came; the kinds below change what mouth or slots show."""

    def __init__(self, film: Film) -> None:
        self.film = film
        self.frames = np.array(film.stream.frames)
        self.rng = np.random.default_rng(zlib.crc32(film.stream.name.encode()))

    def mouth(self) -> NDArray[np.float32]:
        """Return the values of the mouth, N x 11."""
        return self.film.stream.mouth

    def slots(self, observed: Sequence[SlotObservation], at: int) -> Sequence[SlotObservation]:  # noqa: ARG002
        """Return what the slots show at a time, ms."""
        return observed

    def rest(self) -> NDArray[np.float32]:
        """Return the mouth's values where nothing is out (11): the median of the film."""
        return np.asarray(np.median(self.film.stream.mouth, axis=0), np.float32)


class BlindMouth(Failing):
    """The mouth says nothing for 1.5 s, ten times a film."""

    def mouth(self) -> NDArray[np.float32]:
        """Return values that say nothing at those times."""
        values = self.film.stream.mouth.copy()
        for start in self.rng.uniform(0, self.frames[-1], BLINDNESSES):
            blind = (self.frames >= start) & (self.frames < start + BLIND_MS)
            values[blind] = 0.0
            values[blind, 10] = np.nan
        return values


class UnseenDraws(Failing):
    """One draw in twenty is not seen by the mouth at all, but for the hand."""

    def mouth(self) -> NDArray[np.float32]:
        """Return values at rest while those cards are drawn."""
        values, rest = self.film.stream.mouth.copy(), self.rest()
        hand = values[:, HAND].copy()
        for card in self.film.truth.cards:
            if self.rng.random() < SHARE_UNSEEN:
                values[(self.frames >= card.began - 300) & (self.frames < card.out + 500)] = rest
        values[:, HAND] = hand
        return values


class FalsePassages(Failing):
    """Eight passages a film that were none, copied from true ones."""

    def mouth(self) -> NDArray[np.float32]:
        """Return values with passages copied to other times."""
        values = self.film.stream.mouth.copy()
        cards = self.film.truth.cards
        for start in self.rng.uniform(0, self.frames[-1] - 2000, PASSAGES):
            card = cards[int(self.rng.integers(len(cards)))]
            first, last, to = np.searchsorted(
                self.frames, [card.began - 100, card.out + PASSAGE_MS, start]
            )
            length = min(last - first, len(values) - to)
            values[to : to + length] = self.film.stream.mouth[first : first + length]
        return values


class _HalfSeconds(Failing):
    """A tenth of all half-seconds of a slot show something else."""

    symbol = BARE

    def slots(self, observed: Sequence[SlotObservation], at: int) -> Sequence[SlotObservation]:
        """Return the observations, some of them replaced."""
        rng = np.random.default_rng([zlib.crc32(self.film.stream.name.encode()), at // HALF_SECOND])
        fails = rng.random(len(observed)) < SHARE_HALF_SECONDS
        return [
            replace(seen, symbol=self.symbol, box=None) if failed else seen
            for seen, failed in zip(observed, fails, strict=True)
        ]


class BareSlots(_HalfSeconds):
    """A tenth of all half-seconds of a slot show the bare felt."""


class HiddenSlots(_HalfSeconds):
    """A tenth of all half-seconds of a slot are hidden."""

    symbol = HIDDEN


class UnderHand(Failing):
    """A quarter of the cards lie under a hand for 4 s once they are laid."""

    def __init__(self, film: Film) -> None:
        super().__init__(film)
        self._hidden = [
            (int(card.slot), card.placed)
            for card in film.truth.cards
            if card.slot is not None and self.rng.random() < SHARE_UNDER_HAND
        ]

    def slots(self, observed: Sequence[SlotObservation], at: int) -> Sequence[SlotObservation]:
        """Return the observations, those slots hidden."""
        now = {slot for slot, since in self._hidden if since <= at < since + UNDER_HAND_MS}
        return [
            replace(seen, symbol=HIDDEN, box=None) if place in now else seen
            for place, seen in enumerate(observed)
        ]


class NoMouth(Failing):
    """The mouth never says anything."""

    def mouth(self) -> NDArray[np.float32]:
        """Return values that say nothing."""
        values = np.zeros_like(self.film.stream.mouth)
        values[:, 10] = np.nan
        return values


class NoEdge(Failing):
    """How far the edge of a card is out of the mouth, and which way it moves, is not seen."""

    def mouth(self) -> NDArray[np.float32]:
        """Return values in which the edge is always where it is at rest."""
        values = self.film.stream.mouth.copy()
        values[:, 3] = self.rest()[3]
        return values


class NoSlots(Failing):
    """All slots are hidden all the time."""

    def slots(self, observed: Sequence[SlotObservation], at: int) -> Sequence[SlotObservation]:  # noqa: ARG002
        """Return the observations, all hidden."""
        return [replace(seen, symbol=HIDDEN, box=None) for seen in observed]


class NoBoxes(Failing):
    """No card is detected in a slot: its patch alone says what is there."""

    def slots(self, observed: Sequence[SlotObservation], at: int) -> Sequence[SlotObservation]:  # noqa: ARG002
        """Return the observations with the symbols of no box."""
        return [
            replace(seen, symbol=seen.symbol % (SYMBOLS // BOXES), box=None) for seen in observed
        ]


class NoHands(Failing):
    """No hand is detected."""

    def __init__(self, film: Film) -> None:
        super().__init__(replace(film, stream=without_hands(film.stream)))


BROKEN: dict[str, type[Failing]] = {
    "not": Failing,
    "blind": BlindMouth,
    "unseen": UnseenDraws,
    "passages": FalsePassages,
    "bare": BareSlots,
    "hidden": HiddenSlots,
    "hand": UnderHand,
    "no-mouth": NoMouth,
    "no-edge": NoEdge,
    "no-slots": NoSlots,
    "no-boxes": NoBoxes,
    "no-hands": NoHands,
}
