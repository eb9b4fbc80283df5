"""Crops for the classifier: one card photographed small, then rectified as the reader does it.

Splits: train and test differ in seeds, decks, backs, surfaces, hands and things. The truth of a
crop is its card's class number, or `NO_CARD`, and whether its rank and its suit can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.plane import rectify

from ..faces.sprites import hands_of, packs
from ..render.paint import Image, Points
from .signs import Sight, on_grid, seen_of
from .snapshot import CORNERS, HIDDEN, Snapshot, series

Rng = np.random.Generator
# The class number after the 52 cards: backs, foreign faces, outlines that are not a card's.
NO_CARD = 52
# Size of a crop, px, as the reader cuts them (`vision.sight.detection.classifier`).
CROP_SIZE = (96, 136)
# Part of every seed, so that train and test draw other numbers.
SEED_FAMILY = {"train": 1, "test": 2}
# How far corners are off, in widths, and how often so far where the card is in sight or covered.
_LOOSE = (0.006, 0.014, 0.028, 0.06)
_EXACT, _GUESSED = (0.25, 0.35, 0.3, 0.1), (0.1, 0.25, 0.35, 0.3)
# A back is one for certain from this share in sight, and this width in px as far as in focus.
_BACK_IN_SIGHT, _SHARP_BACK = 0.35, 14.0
# How often an outline is not the card's, and the network must learn to see that.
_AMISS = 0.05


class Truth(NamedTuple):
    """What a crop shows: a class number or NO_CARD, and how far rank, suit and back can be seen."""

    card: int
    rank: int
    suit: int
    back: int = Sight.NONE

    @property
    def readable(self) -> bool:
        """Whether a person would name the card."""
        return min(self.rank, self.suit) == Sight.CLEAR


NOTHING = Truth(NO_CARD, Sight.NONE, Sight.NONE)


def crops(
    seed: int,
    *,
    split: str = "train",
    size: tuple[int, int] = CROP_SIZE,
    decks: Sequence[str] = (),
    without: frozenset[str] = frozenset(),
    hidden: float = HIDDEN,
) -> Iterator[tuple[Image, Truth]]:
    """Yield crops for ever; the same seed, split and decks give the same crops.

    `without` leaves out any of "blur", "glare", "hands"; `hidden` is how often (0 to 1) signs are
    covered on purpose.
    """
    made = taken(seed, split=split, size=size, decks=decks, without=without, hidden=hidden)
    yield from ((image, truth) for image, truth, _ in made)


def taken(
    seed: int,
    *,
    split: str = "train",
    size: tuple[int, int] = CROP_SIZE,
    decks: Sequence[str] = (),
    without: frozenset[str] = frozenset(),
    hidden: float = HIDDEN,
) -> Iterator[tuple[Image, Truth, Snapshot]]:
    """Yield the same crops, each with the snapshot that it was cut from."""
    rng = np.random.default_rng([SEED_FAMILY[split], 1, seed])
    for active in hands_of(rng, packs(split, decks or None), every=512):
        (shot,) = series(rng, active, split=split, count=1, without=without, hidden=hidden)
        yield *crop(rng, shot, size=size), shot


def crop(rng: Rng, shot: Snapshot, *, size: tuple[int, int] = CROP_SIZE) -> tuple[Image, Truth]:
    """Return one crop of a snapshot, BGR of (width, height) px, and its truth."""
    if rng.random() < _AMISS:
        back = Sight.DOUBT if shot.back else Sight.NONE
        return cut(rng, replace(shot, quad=amiss(rng, shot.quad)), size), NOTHING._replace(
            back=back
        )
    return cut(rng, shot, size), truth_of(shot)


def truth_of(shot: Snapshot) -> Truth:
    """Return what a person could see of a snapshot."""
    if shot.back:
        certain = in_sight(shot) > _BACK_IN_SIGHT and shot.sharp_px > _SHARP_BACK
        return NOTHING._replace(back=Sight.CLEAR if certain else Sight.DOUBT)
    if shot.card is None:
        return NOTHING
    clear = on_grid(shot.clear, shot.quad)
    rank, suit = seen_of(shot.pack, shot.card, clear=clear, sharp_px=shot.sharp_px)
    return Truth(shot.card, int(rank), int(suit))


def cut(rng: Rng, shot: Snapshot, size: tuple[int, int]) -> Image:
    """Cut the card out by the corners that were found: rarely exact, at times the box's own.

    Of a card partly covered they are guessed, and less exact.
    """
    quad = shot.quad if rng.random() < 0.85 else smallest_box(shot.quad)
    shares = _EXACT if in_sight(shot) > 0.7 else _GUESSED
    middle = quad.mean(axis=0)
    reach = float(np.hypot(*(quad[0] - quad[2]))) / 1.72
    loose = float(rng.choice(_LOOSE, p=shares))
    common = rng.normal(0, loose, 2) * reach
    found = middle + (quad - middle) * np.exp(rng.normal(0.01, loose, 2).mean())
    found = found + common + rng.normal(0, 0.5 * loose, (4, 2)) * reach
    if rng.random() < 0.5:
        found = np.roll(found, 2, axis=0)
    # `rectify` counts pixel centres as whole numbers, the picture's corner as -0.5.
    return np.asarray(rectify(shot.image, (found - 0.5).astype(np.float32), size))


def amiss(rng: Rng, quad: Points) -> NDArray[np.float32]:
    """Return an outline that is not the card's: a part of it, beside it, too large or turned.

    An eight without its lower row is a six: what such an outline shows is not to be read.
    """
    low, high = np.zeros(2), np.ones(2)
    kind, axis = int(rng.integers(4)), int(rng.integers(2))
    if kind == 0:
        high[axis] = rng.uniform(0.45, 0.78)
    elif kind == 1:
        beside = rng.uniform(0.22, 0.6)
        low[axis], high[axis] = beside, 1 + beside
    elif kind == 2:
        low, high = -rng.uniform(0.3, 0.7, 2), 1 + rng.uniform(0.3, 0.7, 2)
    unit = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    if rng.random() < 0.5:
        unit = 1 - unit
    if kind == 3:
        angle = rng.uniform(0.3, np.pi - 0.3)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        # In a card's own unit a step along counts 1.4 times one across.
        unit = (unit - 0.5) * (1.0, 1.4) @ turn / (1.0, 1.4) + 0.5
    return _at(unit, quad)


def _at(unit: Points, quad: Points) -> NDArray[np.float32]:
    """Return where points in a card's own unit lie in the picture."""
    corners = np.array(CORNERS, np.float32)
    matrix = cv2.getPerspectiveTransform(corners, quad.astype(np.float32))
    moved = cv2.perspectiveTransform(unit.astype(np.float32)[None], matrix)[0]
    return np.asarray(moved, np.float32)


def smallest_box(quad: Points) -> NDArray[np.float32]:
    """Return the smallest turned rectangle around a quad, its corners in the quad's order."""
    box = cv2.boxPoints(cv2.minAreaRect(quad.astype(np.float32)))
    turns = [np.roll(way, k, axis=0) for way in (box, box[::-1]) for k in range(4)]
    best = min(turns, key=lambda turn: float(np.abs(turn - quad).sum()))
    return np.asarray(best, np.float32)


def in_sight(shot: Snapshot, region: Points = CORNERS) -> float:
    """Return the share 0 to 1 of a region of the card (unit coordinates) that nothing covers."""
    outline = _at(region, shot.quad)
    mask = np.zeros(shot.clear.shape, np.uint8)
    cv2.fillConvexPoly(mask, np.round((outline - 0.5) * 16).astype(np.int32), 1, cv2.LINE_8, 4)
    area = max(float(cv2.contourArea(outline)), 1.0)
    return min(1.0, float(np.count_nonzero(mask & shot.clear)) / area)
