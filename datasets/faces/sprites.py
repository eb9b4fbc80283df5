"""Decks made ready to be laid on pictures: pyramids of faces and backs, kept while in use.

Train and test packs differ in face design and in backs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from vision.errors import ConfigurationError
from vision.game.cards import DECK

from ..render.paint import Image, pyramid
from . import registry
from .backs import CUT_COLORS
from .ornate import ornate_ace

Rng = np.random.Generator
Levels = tuple[Image, ...]
# Height at which faces are kept, px: larger than cards are shown in most stills.
HEIGHT_PX = 378
# Decks in use at a time, and faces kept in memory: more vary the pictures and take more memory.
_ACTIVE = 4
_KEEP = 300
# How many engraved aces of spades there are, and how often one takes the place of a plain one.
_ORNATE, _ORNATE_SHARE = 400, 0.7
ACE = "As"
NAMES = tuple(str(card) for card in DECK)
# Cut cards are drawn in so many tones of their six colours, with seeds from here on.
_CUTS, _CUT_SEED = 48, 71_000


class Pack:
    """One face design and the backs of its split; drawn when first used."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def split(self) -> str:
        """Return `train` or `test`."""
        return _deck(self.name).split

    @property
    def size_mm(self) -> tuple[float, float]:
        """Return width and height in mm."""
        return _deck(self.name).size_mm

    def face(self, card: str) -> Levels:
        """Return the pyramid of a face by its text (`As`)."""
        return _face(self.name, card)

    def drawn(self, rng: Rng, card: str) -> Levels:
        """Return the pyramid of a face, an ace of spades more often than not as makers print it."""
        if card == ACE and rng.random() < _ORNATE_SHARE:
            return _ornate(self.name, int(rng.integers(_ORNATE)))
        return self.face(card)

    def back(self, which: int) -> Levels:
        """Return the pyramid of one of the split's backs, any number."""
        names = registry.back_names(self.split)
        return _back(names[which % len(names)])


def cut_card(rng: Rng) -> Levels:
    """Return the pyramid of a plain cut card, of any colour that one is made in."""
    return _cut(int(rng.integers(_CUTS)))


def foreign_face(rng: Rng) -> Levels:
    """Return the pyramid of one of the drawn faces that are none of the 52."""
    found = _foreign()
    return found[int(rng.integers(len(found)))]


def packs(split: str, names: Sequence[str] | None = None) -> tuple[Pack, ...]:
    """Return the packs of a split, or those named; ConfigurationError where there are none.

    Real print is worth more than drawings: photographed decks come several times over.
    """
    there = registry.deck_names(split)
    real = [name for name in there if name in registry.PHOTOGRAPHED]
    found = tuple(Pack(name) for name in (names or [*there, *real * 4]))
    if not found:
        raise ConfigurationError(f"no {split} decks; name folders of card files in SHOE_READER_ART")
    return found


def hands_of(rng: Rng, found: Sequence[Pack], *, every: int) -> Iterator[tuple[Pack, ...]]:
    """Yield for ever the few packs in use; one of them changes after each `every` draws.

    A few at a time, because drawn pyramids of all of them would not fit a process.
    """
    active = [found[int(i)] for i in rng.permutation(len(found))[:_ACTIVE]]
    while True:
        for _ in range(every):
            yield tuple(active)
        active[int(rng.integers(len(active)))] = found[int(rng.integers(len(found)))]


@lru_cache(maxsize=8)
def _deck(name: str) -> registry.Deck:
    return registry.load_deck(name, HEIGHT_PX)


@lru_cache(maxsize=_KEEP)
def _face(name: str, card: str) -> Levels:
    return pyramid(np.ascontiguousarray(_deck(name).faces[card]))


@lru_cache(maxsize=48)
def _ornate(name: str, which: int) -> Levels:
    rng = np.random.default_rng([which, *name.encode()])
    return pyramid(ornate_ace(np.ascontiguousarray(_deck(name).faces[ACE]), rng))


@lru_cache(maxsize=40)
def _back(name: str) -> Levels:
    return pyramid(np.ascontiguousarray(registry.load_back(name, HEIGHT_PX)))


@lru_cache(maxsize=1)
def _foreign() -> tuple[Levels, ...]:
    drawn = registry.foreign_faces(HEIGHT_PX)
    return tuple(pyramid(np.ascontiguousarray(face)) for face in drawn.values())


@lru_cache(maxsize=_CUTS)
def _cut(which: int) -> Levels:
    rng = np.random.default_rng(_CUT_SEED + which)
    colours = list(CUT_COLORS.values())
    tone = np.array(colours[which % len(colours)]) + rng.normal(0, 14, 3)
    blue, green, red = (int(v) for v in np.clip(tone, 4, 250))
    return pyramid(np.ascontiguousarray(registry.cut_card(HEIGHT_PX, color=(blue, green, red))))
