"""Cover the signs of a card on purpose: crops in which a rank or a suit cannot be seen.

Drawn at random, hands and cards seldom hide both signs of a card and leave the rest in sight; but
those crops are the ones that are read wrongly, above all where another card's index lies beside
what is left.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..faces.sprites import Levels, Pack
from ..render import clutter, hands
from ..render.camera import View
from ..render.paint import Image, Points
from ..render.table_print import turned
from .signs import GRID, signs_of

Rng = np.random.Generator
# How often what is hidden is the suit, or the rank; else a whole index.
_SUIT, _RANK = 0.6, 0.85
# How often a card of the same direction covers it, any card, a hand, a thing; else a plain patch.
_STACKED, _CARD, _HAND, _THING = 0.45, 0.6, 0.67, 0.83
# How far, mm, a card on top reaches beyond the sign that it hides: sideways, and upwards, where the
# other sign of the index lies.
_BESIDE_MM, _ABOVE_MM = (0.0, 11.0), (-0.8, 1.6)
# How far from the edge, mm, a sign must be for that: a card on top that begins higher up looks like
# a card in a poor outline, which is to be read.
_LOWER_MM = 15.0


class Covered(Protocol):
    """A picture of a card on which things can be laid."""

    image: Image
    view: View

    def neighbour(
        self, pack: Pack, tint: Points, middle: Points, turn: float, *, over: bool
    ) -> None:
        """Lay a card of a pack with its middle there (mm)."""

    def over(self, levels: Levels, quad: Points) -> None:
        """Lay a sprite on the card."""

    def patch(self, quad: Points) -> None:
        """Fill a quad in one colour."""


def hide(rng: Rng, shot: Covered, pack: Pack, *, tint: Points, turn: float, split: str) -> None:
    """Cover rank, suit or both of a card in the middle of a shot, mostly in every corner."""
    signs, chance = signs_of(pack), rng.random()
    boxes = signs.suits if chance < _SUIT else signs.ranks if chance < _RANK else (
        *signs.ranks, *signs.suits)  # fmt: skip
    if not boxes:
        return
    size = np.array(pack.size_mm)
    corners = [(np.array(box).reshape(2, 2) / GRID - 0.5) * size for box in boxes]
    middles = [both.mean(axis=0) for both in corners]
    how = rng.random()
    if how < _STACKED:
        first = int(rng.integers(len(boxes)))
        if abs(middles[first][1]) < size[1] / 2 - _LOWER_MM:
            _stack(rng, shot, pack, first=corners[first], tint=tint, turn=turn)
            return
    for middle in middles:
        if rng.random() < 0.92:
            at = (middle + rng.normal(0, 1.0, 2)) @ _rotation(turn)
            _put(rng, shot, how=how, pack=pack, at=at, tint=tint, split=split)


def _rotation(turn: float) -> Points:
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.array([[cosine, sine], [-sine, cosine]])


def _stack(
    rng: Rng, shot: Covered, pack: Pack, *, first: Points, tint: Points, turn: float
) -> None:
    """Lay a card on it the same way up, its own index beside what is left to be seen."""
    width, height = pack.size_mm
    # Signs at the lower end are those of the upper one turned.
    end = 0.0 if first.sum(axis=0)[1] < 0 else np.pi
    sign = first if end == 0 else -first[::-1]
    side, outer = (1.0, sign[0, 0]) if sign.sum(axis=0)[0] < 0 else (-1.0, sign[1, 0])
    corner = (outer - side * rng.uniform(*_BESIDE_MM), sign[0, 1] - rng.uniform(*_ABOVE_MM))
    lean = rng.normal(0, 0.06)
    middle = corner + (np.array([side * width, height]) / 2) @ _rotation(lean)
    shot.neighbour(pack, tint, middle @ _rotation(turn + end), turn + end + lean, over=True)


def _put(
    rng: Rng, shot: Covered, *, how: float, pack: Pack, at: Points, tint: Points, split: str
) -> None:
    """Put something on a sign at `at` (mm): a card, a hand, a thing or a patch."""
    way = rng.uniform(-np.pi, np.pi)
    if how < _CARD:
        width, height = pack.size_mm
        reach = rng.uniform((2.0, 2.0), (width / 2, height / 2))
        middle = at + (np.array([width, height]) / 2 - reach) @ _rotation(way)
        shot.neighbour(pack, tint, middle, way, over=True)
    elif how < _HAND:
        held = hands.hand(rng, split=split)
        frame = shot.view.project(hands.frame_quad(at + rng.normal(0, 4, 2), way))
        shot.over(held.below, frame)
        shot.over(held.above, frame)
    elif how < _THING:
        thing = clutter.sprite(rng, split=split, chips=rng.random() < 0.7)
        beside = rng.uniform(-0.35, 0.35, 2) * thing.size_mm
        shot.over(thing.levels, shot.view.project(turned(thing.size_mm, at + beside, way)))
    else:
        sides = rng.uniform(7.0, 20.0, 2)
        shot.patch(shot.view.project(turned((float(sides[0]), float(sides[1])), at, way)))
