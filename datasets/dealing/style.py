"""The styles of many dealers: how each draws, carries, turns and collects cards, at which table.

A style is drawn from a seed. Held-out styles (split "test") have motions that no training style
has, so that what carries over to them carries over to a dealer nobody has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TypeVar

import cv2
import numpy as np

from ..render.hands import Wear
from ..render.paint import Points
from .table_places import FIELD_MM, PLACES, SLOTS, Layout

Rng = np.random.Generator


class Carry(StrEnum):
    """How a card comes from the shoe to its place."""

    PINCHED = "pinched"  # by its edge, between thumb and fingers
    FLAT_HAND = "flat-hand"  # slid under the flat hand, which covers most of it
    PITCHED = "pitched"  # pulled and let go: it slides on alone
    HANDED_OVER = "handed-over"  # pulled with one hand, laid down with the other


class Turning(StrEnum):
    """How and where a card is turned face up."""

    IN_AIR = "in-air"  # on its way
    ON_SLOT = "on-slot"  # where it lies, by the hand that laid it
    OTHER_HAND = "other-hand"  # where it lies, by the dealer's other hand
    AT_SHOE = "at-shoe"  # against the shoe, before it is carried off
    BESIDE = "beside"  # drawn out beside its place, turned, pushed back
    OVER_END = "over-end"  # where it lies, end over end
    BOTH_AT_ONCE = "both-at-once"  # a hand's two cards together


class Collecting(StrEnum):
    """How the cards are taken away."""

    BY_HAND = "by-hand"  # a hand's cards pushed together and slid off
    ONE_BY_ONE = "one-by-one"
    SWEPT = "swept"  # all cards as one
    TWO_GOES = "two-goes"  # a part of each hand, then the rest
    FACE_DOWN = "face-down"  # turned on their faces first


class Looking(StrEnum):
    """What a player does with cards that lie face down."""

    NONE = "none"
    PEEKED = "peeked"  # an edge is lifted and let down
    SQUEEZED = "squeezed"  # drawn to the player, bent open slowly, turned


class Manner(StrEnum):
    """What else a house, a dealer or its players do, added to any style: `--manner`."""

    SQUEEZED_IN_PLACE = "squeezed-in-place"  # players open their cards, third ones too
    SQUEEZED_AWAY = "squeezed-away"  # drawn near, opened there, given back askew
    SQUEEZED_ONE_HANDED = "squeezed-one-handed"
    FOLDED = "folded"  # squeezed cards stay bent along a crease
    TIDIED = "tidied"  # laid far off and pushed straight; the winning hand is pushed
    PAY_OUT_BETWEEN = "pay-out-between"  # the losing hand is cleared, bets are paid, then the other
    THIRDS_UPRIGHT = "thirds-upright"
    THIRDS_ABOVE = "thirds-above"
    BURN_FAN = "burn-fan"  # spread on the layout
    BURN_STRAIGHT = "burn-straight"  # card by card into the tray
    BURN_UNDER_HAND = "burn-under-hand"  # gathered under the flat hand
    PAUSES = "pauses"  # nothing moves for a minute
    REACHES_OVER = "reaches-over"  # an arm over the mouth
    COLOURED_SLEEVES = "coloured-sleeves"
    RELIEVED = "relieved"  # a second dealer goes on half way
    DRINKS = "drinks"  # glasses, papers and cards of players near the slots
    TWO_IN_HAND = "two-in-hand"  # two drawn before the first is laid
    CUT_CARDS = "cut-cards"  # of every colour, and white


# Motions that held-out styles alone have.
HELD_OUT = frozenset(
    {Carry.HANDED_OVER, Turning.OVER_END, Turning.BOTH_AT_ONCE, Collecting.FACE_DOWN}
)
# Styles of each split, and where their seeds begin. More train styles teach more, more held-out
# ones measure more surely; films take them in turn.
COUNT = {"train": 48, "test": 24}
_SEED = {"train": 71_000, "test": 92_000}
# Frames a second of cameras as they are sold.
FRAME_RATES = (15.0, 20.0, 25.0, 30.0, 50.0, 60.0)
# Mouth and tray, larger by this factor, share no more than this area with any slot, mm2: on no
# table does the shoe touch a slot. Larger, and no place is left for the hands.
_ROOM, _APART_MM2 = 1.5, 1.0
# From a carried card's middle to the grip of the hand, mm: a hand's fingers end 10 to 30 mm beyond
# its grip, so that a flat hand covers nearly all of a card and a pinched one's edge is covered.
_GRIPS_MM = {
    Carry.PINCHED: (12.0, 46.0),
    Carry.FLAT_HAND: (-34.0, -6.0),
    Carry.PITCHED: (0.0, 36.0),
    Carry.HANDED_OVER: (5.0, 45.0),
}
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Motion:
    """How the dealer's hands go; shares 0 to 1, times in seconds at pace 1, lengths in mm."""

    carry: Carry = Carry.PINCHED
    turning: Turning = Turning.IN_AIR
    collecting: Collecting = Collecting.BY_HAND
    looking: Looking = Looking.NONE
    left_handed: bool | None = None  # None: the arm reaches in from the middle
    grip_mm: float = 48.0  # from a card's middle to the grip of the hand that carries it
    turn_s: float = 0.32  # to turn a card over
    aside_mm: float = 0.0  # by which a card lands beside where it lay when it is turned
    stays_s: float = 0.05  # the hand stays on a card it has laid
    untidy_mm: float = 2.5  # scatter of laid cards
    squares: float = 0.0  # share of cards squared up after laying
    over_line: float = 0.0  # share of cards laid half over a line
    drops: float = 0.0  # share of cards dropped and picked up
    waits_mm: float = 0.0  # by which the next card waits out of the shoe
    pushes: float = 0.0  # share of coups in which chips or a marker go through
    strangers: float = 0.0  # share of coups in which a second person's arm reaches across
    both_hands: bool = False  # the other hand rests on the table, in the picture


@dataclass(frozen=True, slots=True)
class Optics:
    """How the camera takes and sends pictures: `readout_s` from its first row to its last.

    `quality` is that of a JPEG (1 to 100) it is sent as, None: untouched.
    """

    fps: float = 15.0
    shutter_s: float = 1 / 60
    readout_s: float = 0.0
    quality: int | None = None
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """One dealer at one table under one camera."""

    name: str = "plain"
    motion: Motion = Motion()
    wear: Wear = field(default_factory=Wear)
    layout: Layout = field(default_factory=Layout)
    optics: Optics = Optics()
    manner: Manner | None = None


PLAIN = Style()


@cache
def styles(split: str) -> tuple[Style, ...]:
    """Return the styles of a split: "train", also to tune on, or "test", held out."""
    return tuple(_style(split, number) for number in range(COUNT[split]))


def _style(split: str, number: int) -> Style:
    rng = np.random.default_rng(_SEED[split] + number)
    return Style(f"{split}-{number}", _motion(rng, split), _wear(rng), _layout(rng), _optics(rng))


def _motion(rng: Rng, split: str) -> Motion:
    carry, turning = _one_of(rng, Carry), _one_of(rng, Turning)
    collecting = _one_of(rng, Collecting)
    if split == "test":
        # At least one motion of a held-out style is one that no training style has.
        carry, turning, collecting = _unseen(rng, (carry, turning, collecting))
    low, high = _GRIPS_MM[carry]
    return Motion(
        carry=carry,
        turning=turning,
        collecting=collecting,
        looking=_one_of(rng, Looking) if rng.random() < 0.5 else Looking.NONE,
        left_handed=bool(rng.random() < 0.3),
        grip_mm=float(rng.uniform(low, high)),
        turn_s=float(rng.uniform(0.35, 0.9)),
        aside_mm=float(rng.choice([0.0, rng.uniform(5, 25)])),
        stays_s=float(rng.choice([0.05, rng.uniform(0.2, 1.8)])),
        untidy_mm=float(rng.uniform(1.0, 5.0)),
        squares=float(rng.choice([0.0, rng.uniform(0.2, 0.9)])),
        over_line=float(rng.choice([0.0, 0.0, rng.uniform(0.03, 0.2)])),
        drops=float(rng.choice([0.0, rng.uniform(0.005, 0.03)])),
        waits_mm=float(rng.choice([0.0, 0.0, rng.uniform(12, 34)])),
        pushes=float(rng.choice([0.0, rng.uniform(0.1, 0.5)])),
        strangers=float(rng.choice([0.0, rng.uniform(0.1, 0.5)])),
        both_hands=bool(rng.random() < 0.35),
    )


def _one_of(rng: Rng, kind: type[Choice]) -> Choice:
    """Return one of the motions that every split may have."""
    known = [choice for choice in kind if choice not in HELD_OUT]
    return known[int(rng.integers(len(known)))]


def _unseen(
    rng: Rng, known: tuple[Carry, Turning, Collecting]
) -> tuple[Carry, Turning, Collecting]:
    carry, turning, collecting = known
    which = rng.permutation(3) < rng.integers(1, 4)
    return (
        Carry.HANDED_OVER if which[0] else carry,
        (Turning.OVER_END, Turning.BOTH_AT_ONCE)[int(rng.integers(2))] if which[1] else turning,
        Collecting.FACE_DOWN if which[2] else collecting,
    )


def _wear(rng: Rng) -> Wear:
    return Wear(bool(rng.random() < 0.7), int(rng.choice([0, 0, 1, 2])), bool(rng.random() < 0.4))


def _optics(rng: Rng) -> Optics:
    fps = float(rng.choice(FRAME_RATES))
    return Optics(
        fps,
        float(min(rng.uniform(1 / 250, 1 / 40), 0.9 / fps)),
        float(rng.choice([0.0, rng.uniform(0.004, 0.02)])),
        None if rng.random() < 0.4 else int(rng.integers(35, 85)),
        bool(rng.random() < 0.4),
    )


def _layout(rng: Rng) -> Layout:
    """Draw where the shoe stands and how, and where the hands lie, until nothing is in the way."""
    while True:
        places = _places(rng)
        lip = (float(rng.uniform(1000, 1070)), float(rng.uniform(95, 190)))
        layout = Layout(places, lip, float(rng.uniform(100, 178)), clear=bool(rng.random() < 0.4))
        if _is_free(layout):
            return _mirrored(layout) if rng.random() < 0.5 else layout


def _places(rng: Rng) -> dict[str, tuple[float, float, float]]:
    """Draw the hands' places: nearer or farther, Banco on either side, third ones beside or below.

    The grid of one hand is that of the other, mirrored, as it is printed on real layouts.
    """
    y = float(rng.uniform(240, 300))
    gap, apart = float(rng.uniform(70, 92)), float(rng.uniform(120, 215))
    beside = bool(rng.random() < 0.7)
    third = (1.5 * gap + float(rng.uniform(20, 34)), 0.0) if beside else (0.0, 98.0)
    fourth = (0.0, 98.0) if beside else (1.5 * gap + 28.0, 0.0)
    middle, out = 540.0 + float(rng.uniform(-20, 20)), 1.0 if rng.random() < 0.5 else -1.0
    places = dict(PLACES)
    for name, side in (("PUNTO", -out), ("BANCO", out)):
        x = middle + side * apart
        first = x - gap / 2
        places[f"{name}_1"] = (first, y, 0.0)
        places[f"{name}_2"] = (first + gap, y, 0.0)
        places[f"{name}_3"] = (x + side * third[0], y + third[1], -90.0)
        places[f"{name}_4"] = (x + side * fourth[0], y + fourth[1], -90.0)
    return places


def _is_free(layout: Layout) -> bool:
    """Whether the mouth of the shoe is clear of all slots, and no slot is under the tray."""
    slots = [layout.slot_polygon(name) for name in SLOTS]
    kept = [
        area.mean(axis=0) + (area - area.mean(axis=0)) * _ROOM
        for area in (layout.mouth_polygon(), layout.tray_polygon())
    ]
    return all(_shared(slot, area) < _APART_MM2 for slot in slots for area in kept)


def _shared(one: Points, two: Points) -> float:
    return float(cv2.intersectConvexConvex(one.astype(np.float32), two.astype(np.float32))[0])


def _mirrored(layout: Layout) -> Layout:
    """Return the layout with the shoe on the other side; the hands stay."""
    places = dict(layout.places)
    x, y, turn = places["CUT"]
    places["CUT"] = (FIELD_MM[0] - x, y, -turn)
    lip = (FIELD_MM[0] - layout.lip[0], layout.lip[1])
    tray = (FIELD_MM[0] - layout.tray[0], layout.tray[1])
    return Layout(places, lip, 180 - layout.leaving, tray, layout.clear)
