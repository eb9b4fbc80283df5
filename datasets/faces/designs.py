"""Our own deck designs by name, and endless ones drawn at random.

A design is numbers only, drawn by `faces`. Names listed in HELD_OUT are never trained on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .courts import STYLES, Color, Court
from .faces import FOUR_COLORS, TWO_COLORS, Design
from .fonts import random_font
from .glyphs import Pen

# Width and height of a bridge card, mm; then pens by their width and height, as shares of the
# height of a glyph.
_BRIDGE = (57.0, 88.0)
_SANS = Pen(0.14, 0.14)
_BOLD = Pen(0.18, 0.17)
_SERIF = Pen(0.17, 0.075, serifs=True)
_SLAB = Pen(0.14, 0.12, serifs=True, square=True)
_SQUARE = Pen(0.115, 0.10, square=True)
_ITALIC = Pen(0.15, 0.08, serifs=True, slant=0.14)
_FOUR = tuple(FOUR_COLORS.items())
# Inks as BGR.
_BRIGHT = tuple({**TWO_COLORS, "d": (50, 40, 225), "h": (50, 40, 225)}.items())

# Lengths in mm; see `Design`.
DESIGNS: dict[str, Design] = {
    "harbour": Design(pen=_SERIF, index=(9.0, 6.0)),
    "casino": Design(
        pen=_BOLD,
        index=(15.0, 10.0),
        index_at=(7.2, 3.6),
        index_suit=9.0,
        gap=1.4,
        pip=11.5,
        court=Court(seed=3),
    ),
    "regent": Design(
        size=_BRIDGE,
        pen=_SERIF,
        index=(8.0, 5.2),
        index_at=(4.6, 4.0),
        corners=4,
        index_suit=5.5,
        pip=11.0,
        court=Court("ornate", seed=4),
        frame=0.5,
    ),
    "slate": Design(
        pen=_BOLD,
        index=(5.0, 3.6),
        index_at=(3.6, 2.6),
        index_suit=3.6,
        gap=0.7,
        pip=14.5,
        columns=0.24,
        rows=0.34,
        inks=_BRIGHT,
        frame=0.0,
        court=Court("modern", seed=6),
        pip_family="plain",
    ),
    "quarry": Design(
        pen=_SLAB,
        index=(13.0, 9.0),
        index_at=(6.6, 4.0),
        index_suit=8.0,
        pip=11.5,
        court=Court("ornate", ((60, 60, 190), (70, 190, 220), (90, 110, 30)), seed=8),
    ),
    "lantern": Design(
        size=_BRIDGE,
        pen=_SQUARE,
        index=(13.0, 5.8),
        index_at=(4.8, 3.4),
        corners=4,
        index_suit=6.0,
        pip=11.0,
        court=Court(seed=9),
        border=1.6,
    ),
    "foundry": Design(
        pen=_BOLD,
        index=(17.0, 11.0),
        index_at=(8.0, 4.0),
        index_suit=13.0,
        beside=True,
        pip=11.0,
        rows=0.24,
        inks=_FOUR,
        pip_family="plain",
        gap=2.0,
        court=Court("modern", seed=12),
        frame=0.0,
        ace=26.0,
    ),
    "orchard": Design(
        pen=_ITALIC,
        index=(10.0, 6.6),
        index_suit=6.5,
        pip=12.0,
        paper=(236, 246, 250),
        inks=_BRIGHT,
        court=Court(
            "classic",
            ((40, 40, 150), (110, 190, 210), (60, 90, 40)),
            paper=(236, 246, 250),
            seed=15,
        ),
    ),
    "belfry": Design(
        pen=_SANS,
        index=(10.5, 7.2),
        index_at=(6.0, 5.0),
        corners=4,
        index_suit=7.0,
        pip=11.5,
        inks=_FOUR,
        court=Court("classic", seed=21),
    ),
    "copper": Design(
        pen=Pen(0.12, 0.06, serifs=True, flat_three=True),
        index=(11.5, 6.5),
        index_at=(5.6, 4.6),
        index_suit=7.5,
        pip=13.0,
        pip_family="plain",
        court=Court("ornate", ((30, 60, 190), (90, 160, 210), (50, 40, 60)), seed=23),
        court_height=70.0,
        frame=0.5,
        frame_color=(30, 60, 150),
    ),
    "meridian": Design(
        pen=Pen(0.16, 0.10, serifs=True),
        index=(12.0, 7.6),
        index_at=(6.2, 4.2),
        index_suit=8.0,
        gap=1.2,
        pip=12.0,
        frame=0.5,
        frame_color=(90, 40, 30),
        court=Court("ornate", ((50, 30, 170), (60, 180, 235), (110, 60, 40)), seed=31),
    ),
    "tideway": Design(
        size=_BRIDGE,
        pen=Pen(0.13, 0.13, square=True),
        index=(16.0, 8.6),
        index_at=(6.2, 3.4),
        index_suit=8.5,
        pip=10.5,
        pip_family="plain",
        inks=_BRIGHT,
        frame_color=(60, 60, 60),
        court=Court("classic", ((60, 50, 220), (60, 170, 240), (60, 60, 60)), seed=37),
    ),
    "beacon": Design(
        pen=Pen(0.15, 0.15),
        index=(21.0, 12.5),
        index_at=(7.9, 3.2),
        index_suit=12.5,
        gap=1.5,
        pip=11.5,
        columns=0.16,
        rows=0.33,
        court=Court("classic", ((40, 30, 190), (50, 190, 240), (130, 60, 20)), seed=41),
    ),
}
HELD_OUT = ("meridian", "tideway", "beacon")


def random_design(rng: np.random.Generator, *, jumbo: bool = False) -> Design:
    """Return a design drawn at random: index, pips, courts, colours and proportions.

    A jumbo one has indices of a quarter of the card, on a third of them rank and suit side by side
    over small pips; on some two to ten have one pip only.
    """
    height = float(rng.choice([rng.uniform(4.5, 7), rng.uniform(7, 12), rng.uniform(11, 18)]))
    if jumbo:
        height = float(rng.uniform(17, 27))
    aspect = rng.uniform(0.48, 0.72) if height < 14 else rng.uniform(0.45, 0.66)
    size = (63.0 if rng.random() < 0.65 else 57.0, 88.0)
    widest = size[0] * (0.25 if jumbo else 0.19)
    index = (height, min(height * float(aspect), widest))
    suit = float(np.clip(height * rng.uniform(0.5, 0.85), 3.2, 16.0 if jumbo else 12.0))
    beside = bool(rng.random() < (0.35 if jumbo else 0.12))
    if jumbo and beside:
        # Lower letters, as makers have them there: else no room is left for ten pips.
        index = (0.68 * height, index[1])
    paper = _tint(rng)
    plain = Design(
        size=size,
        pen=_random_pen(rng),
        index=index,
        index_at=(index[1] / 2 + float(rng.uniform(1.4, 3.0)), float(rng.uniform(2.2, 5.5))),
        index_suit=min(suit, widest),
        gap=float(rng.uniform(0.5, 1.8)),
        beside=beside,
        corners=4 if rng.random() < 0.3 and not (beside and height > 12) else 2,
        paper=paper,
        inks=_random_inks(rng),
        border=float(rng.uniform(1.2, 2.2)) if rng.random() < 0.12 else 0.0,
        lone_pip=jumbo and bool(rng.random() < 0.25),
    )
    body = _random_body(plain, rng)
    # Half have a printer's letters, the others a hand of their own.
    font = random_font(rng, share=0.5)
    return replace(body, font=font, pen=replace(body.pen, hand=int(rng.integers(1, 10_000))))


def _random_body(design: Design, rng: np.random.Generator) -> Design:
    """Return the design with pips and courts drawn at random."""
    paints: list[Color] = []
    base = ((0.62, 0.83), (0.10, 0.95), (0.62, 0.62)) if rng.random() < 0.6 else None
    for hue in (176, 24, 110):
        spread = 8 if base else 40
        paints.append(
            _hsv(
                (hue + rng.integers(-spread, spread + 1)) % 180,
                rng.uniform(140, 240),
                rng.uniform(90, 240),
            )
        )
    return replace(
        design,
        pip=float(rng.uniform(9, 15)),
        pip_family=_random_family(rng),
        columns=float(rng.uniform(0.17, 0.25)),
        rows=float(rng.uniform(0.27, 0.35)),
        ace=float(rng.uniform(13, 34)),
        spade_ace=float(rng.uniform(18, 44)),
        court=Court(
            str(rng.choice(STYLES)),
            tuple(paints),
            paper=design.paper,
            line=_hsv(rng.integers(180), rng.uniform(0, 120), rng.uniform(10, 60)),
            seed=int(rng.integers(1 << 30)),
        ),
        court_height=float(rng.uniform(66, 79)),
        frame=float(rng.choice([0.0, 0.25, 0.4, 0.5])),
        frame_color=_hsv(rng.integers(180), rng.uniform(60, 255), rng.uniform(20, 160)),
        panel=float(rng.uniform(5, 21)) if rng.random() < 0.3 else 0.0,
    )


def _random_family(rng: np.random.Generator) -> str:
    """Return a family of pips: most makers' clubs and spades are like no other's."""
    base = str(rng.choice(["round", "plain"]))
    return base if rng.random() < 0.2 else f"{base}-{rng.integers(10_000)}"


def _random_pen(rng: np.random.Generator) -> Pen:
    serifs = bool(rng.random() < 0.5)
    across = float(rng.uniform(0.09, 0.185))
    along = across * float(rng.uniform(0.35, 0.8) if serifs else rng.uniform(0.7, 1.05))
    return Pen(
        across,
        max(along, 0.04),
        serifs=serifs,
        square=bool(rng.random() < 0.3),
        slant=float(rng.uniform(0.05, 0.2)) if rng.random() < 0.12 else 0.0,
        flat_three=bool(rng.random() < 0.2),
    )


def _random_inks(rng: np.random.Generator) -> tuple[tuple[str, Color], ...]:
    black = _hsv(rng.integers(180), rng.uniform(0, 90), rng.uniform(5, 60))
    red = _hsv((178 + rng.integers(-6, 8)) % 180, rng.uniform(190, 255), rng.uniform(150, 240))
    if rng.random() < 0.12:
        green = _hsv(rng.integers(50, 75), rng.uniform(170, 255), rng.uniform(70, 150))
        blue = _hsv(rng.integers(100, 118), rng.uniform(170, 255), rng.uniform(120, 210))
        return (("c", green), ("d", blue), ("h", red), ("s", black))
    return (("c", black), ("d", red), ("h", red), ("s", black))


def _tint(rng: np.random.Generator) -> Color:
    if rng.random() < 0.6:
        return (255, 255, 255)
    return _hsv(rng.integers(10, 35), rng.uniform(3, 30), rng.uniform(235, 255))


def _hsv(hue: float | np.integer[Any], saturation: float, value: float) -> Color:
    """Return BGR of hue 0 to 179, saturation and value 0 to 255."""
    sector, rest = divmod(float(hue) / 30, 1)
    low = value * (1 - saturation / 255)
    up, down = low + (value - low) * rest, value - (value - low) * rest
    r, g, b = (
        (value, up, low),
        (down, value, low),
        (low, value, up),
        (low, down, value),
        (up, low, value),
        (value, low, down),
    )[int(sector) % 6]
    return round(b), round(g), round(r)
