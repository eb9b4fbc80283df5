"""Where cards lie: spreads, fans, rows, piles and baccarat hands, in card widths about the origin.

An arrangement is a list of spots from the lowest card to the topmost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..render.paint import Points

Rng = np.random.Generator
Extent = tuple[float, float]
# Height of a card in widths (88 / 63).
_TALL = 1.4


@dataclass(frozen=True, slots=True)
class Spot:
    """A card's place: centre in card widths, angle in radians; held by a hand; of a pile."""

    x: float
    y: float
    angle: float
    held: bool = False
    pile: bool = False


def spots(rng: Rng, extent: Extent, *, most: int) -> list[Spot]:
    """Return one or more groups of spots within +-extent (card widths), `most` in all."""
    found: list[Spot] = []
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    for _ in range(groups):
        style = _STYLES[int(rng.choice(len(_STYLES), p=_WEIGHTS))]
        middle = rng.uniform(-0.5, 0.5, 2) * extent
        turn = rng.uniform(-np.pi, np.pi) if rng.random() < 0.6 else rng.normal(0, 0.15)
        found += [_moved(spot, middle, turn) for spot in style(rng, extent)]
    return found[:most]


def coup(rng: Rng, extent: Extent) -> list[Spot]:
    """Return two hands of two or three cards side by side, third cards crosswise and outside."""
    gap = rng.uniform(1.06, 1.6)
    apart = rng.uniform(1.6, 5.0)
    jitter = rng.uniform(0.0, 0.12)
    found = []
    for side in (-1, 1):
        for number in range(int(rng.choice([1, 2, 2, 3, 3]))):
            x = side * (apart / 2 + 0.5 + number * gap)
            y, angle = 0.0, 0.0
            if number == 2:
                x = side * (apart / 2 + 0.5 + 2 * gap + 0.25) if rng.random() < 0.7 else (
                    side * (apart / 2 + 0.5 + gap / 2))  # fmt: skip
                y = 0.0 if abs(x) > apart / 2 + 0.6 + gap else -1.35
                angle = np.pi / 2
            dx, dy, da = rng.normal(0, jitter, 3)
            found.append(Spot(x + dx, y + dy, angle + da + np.pi * (rng.random() < 0.5)))
    return _fitted(found, extent)


def overlapping(rng: Rng, extent: Extent, style: str) -> list[Spot]:
    """Return one to three groups of cards that lie on one another, in a style of `OVERLAPS`."""
    found: list[Spot] = []
    for _ in range(int(rng.choice([1, 2, 3]))):
        middle = rng.uniform(-0.7, 0.7, 2) * extent
        turn = rng.uniform(-np.pi, np.pi) if rng.random() < 0.6 else rng.normal(0, 0.15)
        found += [_moved(spot, middle, turn) for spot in OVERLAPS[style](rng, extent)]
    return found


def _pair(rng: Rng, _: Extent) -> list[Spot]:
    """Lay a card on another, covering any share of it: askew, crosswise or at any angle."""
    way, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.08, 1.0)
    angle = rng.choice([rng.normal(0, 0.15), np.pi / 2 + rng.normal(0, 0.1), rng.uniform(-3, 3)])
    return [Spot(0.0, 0.0, 0.0), Spot(far * np.cos(way), far * _TALL * np.sin(way), angle)]


def _stair(rng: Rng, _: Extent) -> list[Spot]:
    """Lay cards one on the other, each a step further: along a side or aslant."""
    step = rng.uniform(0.12, 0.8)
    way = rng.choice([0.0, np.pi / 2, rng.uniform(-np.pi, np.pi)])
    across, down, lean = step * np.cos(way), step * _TALL * np.sin(way), rng.normal(0, 0.06)
    loose = rng.uniform(0, 0.05)
    return [
        Spot(i * across + rng.normal(0, loose), i * down + rng.normal(0, loose), i * lean)
        for i in range(int(rng.integers(2, 7)))
    ]


def _thrown(rng: Rng, _: Extent) -> list[Spot]:
    """Throw cards on one another at any angle."""
    spread = rng.uniform(0.2, 0.7)
    return [
        Spot(x, y, rng.uniform(-np.pi, np.pi))
        for x, y in rng.normal(0, spread, (int(rng.integers(2, 6)), 2))
    ]


def _hand(rng: Rng, _: Extent) -> list[Spot]:
    """Lay a hand of baccarat: two cards, apart or one on the other, and a third across them."""
    step, loose = rng.uniform(0.2, 1.15), rng.uniform(0, 0.08)
    places = [(0.0, 0.0, 0.0), (step, 0.0, 0.0)]
    places.append((rng.uniform(-0.1, step + 0.1), rng.uniform(-0.8, 0.8) * _TALL, np.pi / 2))
    return [Spot(*(place + rng.normal(0, loose, 3))) for place in np.array(places)]


def _scatter(rng: Rng, extent: Extent) -> list[Spot]:
    """Scatter cards, mostly apart: a try that would cover another is often thrown again."""
    count = _count(rng, extent, thin=2.2)
    found: list[Spot] = []
    aligned = rng.random() < 0.25
    for _ in range(count * 3):
        x, y = rng.uniform(-1, 1, 2) * extent * 1.08
        near = any((x - s.x) ** 2 + (y - s.y) ** 2 < 1.7 for s in found)
        if near and rng.random() < 0.85:
            continue
        angle = rng.normal(0, 0.12) if aligned else rng.uniform(-np.pi, np.pi)
        found.append(Spot(x, y, angle, held=rng.random() < 0.03))
        if len(found) == count:
            break
    return found


def _grid(rng: Rng, extent: Extent) -> list[Spot]:
    """Set cards out in rows and columns."""
    across, down = (int(rng.integers(1, max(2, int(e * 1.4)) + 1)) for e in extent)
    step_x, step_y = rng.uniform(1.05, 1.8), rng.uniform(1.5, 2.4)
    if rng.random() < 0.2:
        step_y = rng.uniform(0.25, 0.6)
    jitter = rng.uniform(0, 0.12)
    found = []
    for row in range(min(down, 8)):
        for column in range(min(across, 10)):
            dx, dy, da = rng.normal(0, jitter, 3)
            x, y = (column - across / 2) * step_x + dx, (row - down / 2) * step_y + dy
            if rng.random() < 0.9:
                found.append(Spot(x, y, da + np.pi * (rng.random() < 0.5)))
    return found


def _row(rng: Rng, _: Extent) -> list[Spot]:
    """Overlap cards in a row, each covering part of the one before."""
    count = int(rng.integers(2, 10))
    step, drop = rng.uniform(0.18, 0.95), rng.normal(0, 0.08)
    if rng.random() < 0.5:
        step, drop = rng.normal(0, 0.1), rng.uniform(0.2, 1.2)
    lean = rng.normal(0, 0.04)
    order = range(count) if rng.random() < 0.8 else range(count)[::-1]
    return [
        Spot(i * step, i * drop + rng.normal(0, 0.03), i * lean + rng.normal(0, 0.03))
        for i in order
    ]


def _fan(rng: Rng, _: Extent) -> list[Spot]:
    """Fan cards about a point below them, at times held by a hand."""
    count = int(rng.integers(2, 9))
    reach = rng.uniform(1.0, 2.2)
    step = rng.uniform(0.1, 0.42) / np.sqrt(reach)
    held = rng.random() < 0.3
    angles = (np.arange(count) - (count - 1) / 2) * step
    return [Spot(reach * np.sin(a), -reach * np.cos(a) + reach, a, held=held and i == count - 1)
            for i, a in enumerate(angles)]  # fmt: skip


def _heap(rng: Rng, _: Extent) -> list[Spot]:
    """Throw cards on a heap, or stack a neat pile."""
    spread = rng.uniform(0.01, 0.05) if rng.random() < 0.4 else rng.uniform(0.2, 0.9)
    turn = 0.03 if spread < 0.06 else np.pi
    return [
        Spot(x, y, rng.uniform(-turn, turn), pile=spread < 0.06)
        for x, y in rng.normal(0, spread, (int(rng.integers(2, 9)), 2))
    ]


def _single(rng: Rng, _: Extent) -> list[Spot]:
    return [Spot(0.0, 0.0, rng.uniform(-np.pi, np.pi), held=rng.random() < 0.35)]


_Style = Callable[[Rng, Extent], list[Spot]]
# How cards lie on one another, by the names that the measure prints.
OVERLAPS: dict[str, _Style] = {
    "pair": _pair,
    "stair": _stair,
    "fan": _fan,
    "heap": _thrown,
    "hand": _hand,
}
_STYLES: tuple[_Style, ...] = (_scatter, _grid, _row, _fan, _heap, _single, coup)
# How often each style is drawn: loose and single cards are what a table shows most.
_WEIGHTS = (0.3, 0.14, 0.16, 0.14, 0.07, 0.07, 0.12)


def _count(rng: Rng, extent: Extent, *, thin: float) -> int:
    room = 4 * extent[0] * extent[1] / (_TALL * thin)
    return int(np.clip(np.exp(rng.uniform(0, np.log(max(2.0, room)))), 1, 60))


def _moved(spot: Spot, middle: Points, turn: float) -> Spot:
    cos, sin = np.cos(turn), np.sin(turn)
    x = spot.x * cos - spot.y * sin + middle[0]
    y = spot.x * sin + spot.y * cos + middle[1]
    return Spot(x, y, spot.angle + turn, spot.held, spot.pile)


def _fitted(found: list[Spot], extent: Extent) -> list[Spot]:
    """Keep a wide arrangement only as far as it is in sight."""
    return [s for s in found if abs(s.x) < extent[0] * 1.3 and abs(s.y) < extent[1] * 1.3]
