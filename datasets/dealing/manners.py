"""What a house, a dealer or its players do beside one dealer's motions: the manners of a film.

A manner is added to any style, so that what a reader makes of it can be counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ..render.hands import any_cloth
from .deal import BURN, BURN_FACE, Drawn
from .handling import Dealer
from .style import Manner, Style
from .table_places import CARD_MM, SLOTS, Layout, toward
from .timeline import Carried, Leg, Limb, Pose

Rng = np.random.Generator
BURNS = frozenset({Manner.BURN_FAN, Manner.BURN_STRAIGHT, Manner.BURN_UNDER_HAND})
SQUEEZES = frozenset(
    {Manner.SQUEEZED_IN_PLACE, Manner.SQUEEZED_AWAY, Manner.SQUEEZED_ONE_HANDED, Manner.FOLDED}
)
# What follows was chosen by eye after films of dealers; lengths mm, times s, shares 0 to 1.
# Pauses: in how many coups, how long. A pause at a real table is a bet that is talked about.
_PAUSED, _PAUSE_S = 0.25, (50.0, 70.0)
# An arm reaches so far beyond the mouth, and so often before a draw.
_BEYOND_MM, _REACHED = (90.0, 320.0), 0.4
# A card that lies so far off its place is tidied, and the winning hand is pushed so far to players.
_UNTIDY_MM, _PUSHED_MM = 12.0, (28.0, 42.0)
# Two are drawn before the first is laid in so many of the pairs; the first is held so far off.
_IN_HAND, _HELD_MM = 0.5, (95.0, 130.0)
# The cards of a burn that is spread lie so far apart, so far above the middle of the boxes.
_FAN_STEP_MM, _FAN_ABOVE_MM = (16.0, 30.0), (48.0, 84.0)


def in_manner(style: Style, manner: Manner, seed: int) -> Style:
    """Return a style with a manner; what is open in it (colours) is drawn by the seed."""
    rng = np.random.default_rng([seed, 5])
    changed = replace(style, name=f"{style.name}, {manner}", manner=manner)
    if manner in {Manner.COLOURED_SLEEVES, Manner.REACHES_OVER}:
        wear = replace(style.wear, sleeve=True, cloth=(any_cloth(rng), any_cloth(rng)))
        return replace(changed, wear=wear)
    if manner in {Manner.THIRDS_UPRIGHT, Manner.THIRDS_ABOVE}:
        return replace(changed, layout=_thirds(style.layout, above=manner is Manner.THIRDS_ABOVE))
    return changed


def _thirds(layout: Layout, *, above: bool) -> Layout:
    """Return a layout whose third cards lie upright at the outer side, or above the hands."""
    places = dict(layout.places)
    for hand in ("PUNTO", "BANCO"):
        first, second = (np.array(places[f"{hand}_{n}"][:2]) for n in "12")
        middle, gap = (first + second) / 2, float(second[0] - first[0])
        outer = float(np.sign(places[f"{hand}_3"][0] - middle[0])) or 1.0
        if above:
            places[f"{hand}_3"] = (float(middle[0]), float(middle[1]) - 98.0, -90.0)
            continue
        places[f"{hand}_3"] = (float(middle[0] + outer * (1.5 * gap + 8)), float(middle[1]), 0.0)
        places[f"{hand}_4"] = (float(middle[0]), float(middle[1]) + 98.0, -90.0)
    return replace(layout, places=MappingProxyType(places))


# --- the dealer -----------------------------------------------------------------------------------


def pause(dealer: Dealer) -> None:
    """Let nothing move for a minute, in some coups."""
    if dealer.manner is Manner.PAUSES and dealer.chance(_PAUSED):
        dealer.now += float(dealer.rng.uniform(*_PAUSE_S))


def reach_over(dealer: Dealer) -> None:
    """Reach over the mouth with the other hand before a draw, and stay there a little."""
    if dealer.manner is not Manner.REACHES_OVER or not dealer.chance(_REACHED):
        return
    rng, layout = dealer.rng, dealer.layout
    way = toward(dealer.shoulders[Limb.OTHER], layout.mouth)
    over = layout.mouth + layout.way * rng.uniform(-20, 60) + way * rng.uniform(*_BEYOND_MM)
    at = Pose(float(over[0]), float(over[1]))
    dealer.glide(at, float(rng.uniform(0.4, 0.8)), Limb.OTHER)
    for _ in range(int(rng.integers(0, 3))):
        dealer.wait(0.1, 0.5)
        dealer.glide(at.moved(rng.normal(0, 14, 2)), 0.3, Limb.OTHER)
    dealer.wait(0.1, 0.8)
    dealer.glide(dealer.rest(Limb.OTHER), 0.5, Limb.OTHER)


def tidy(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Push cards that lie far from their places there, one by one."""
    for card in cards if dealer.manner is Manner.TIDIED else ():
        x, y, _ = dealer.layout.places[card.drawn.place]
        if np.hypot(card.lying.x - x, card.lying.y - y) > _UNTIDY_MM:
            dealer.square(card)


def push_winner(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Push the hand that has won a little towards the players."""
    if dealer.manner is not Manner.TIDIED or not cards:
        return
    shift = np.array([0.0, dealer.rng.uniform(*_PUSHED_MM)])
    dealer.glide(dealer.holding(cards[0].lying), 0.3)
    moves = [(card, Leg(0, 1, card.lying, card.lying.moved(shift))) for card in cards]
    dealer.carry(moves, dealer.holding(cards[0].lying.moved(shift)), 0.4)


def takes_two(dealer: Dealer) -> bool:
    """Whether the next card is drawn before this one is laid."""
    return dealer.manner is Manner.TWO_IN_HAND and dealer.chance(_IN_HAND)


def lay_two(dealer: Dealer, one: Drawn, two: Drawn, *, face_up: bool) -> None:
    """Hold a card before the shoe with the other hand while the next is drawn; lay both."""
    rng, layout = dealer.rng, dealer.layout
    first = dealer.draw(one)
    held = dealer.before_shoe(first, float(rng.uniform(*_HELD_MM)))
    held = held.moved(layout.across * rng.uniform(-35, 35))
    dealer.slide(first, held, 0.45)
    dealer.left_shoe(first)
    dealer.glide(dealer.holding(held, Limb.OTHER), 0.35, Limb.OTHER)
    second = dealer.draw(two)
    dealer.slide(second, dealer.before_shoe(second), 0.4)
    target = replace(dealer.target(one), flip=float(face_up))
    leg = Leg(0, 1, held, target, None, (0.1, 0.7), 14.0)
    dealer.carry([(first, leg)], dealer.holding(target, Limb.OTHER), 0.6, Limb.OTHER)
    first.placed = dealer.now
    dealer.glide(dealer.rest(Limb.OTHER), 0.35, Limb.OTHER, meanwhile=True)
    dealer.lay_drawn(second, face_up=face_up)


# --- the burn -------------------------------------------------------------------------------------


def burn_place(dealer: Dealer, drawn: Drawn, number: int) -> Pose:
    """Return where the n-th card of a burn is laid: in a fan on the layout, a heap, the tray."""
    rng, layout = dealer.rng, dealer.layout
    if drawn.place == BURN_FACE or dealer.manner is None or dealer.manner not in BURNS:
        return dealer.target(drawn)
    if dealer.manner is Manner.BURN_STRAIGHT:
        x, y = layout.tray
        return Pose(x, y, float(rng.normal(0, 5)))
    if dealer.manner is Manner.BURN_UNDER_HAND:
        x, y = layout.mouth + layout.way * 130.0
        return Pose(float(x + rng.normal(0, 4)), float(y + rng.normal(0, 4)), rng.normal(0, 4))
    y = layout.places["PUNTO_1"][1] - float(rng.uniform(*_FAN_ABOVE_MM))
    left = float(min(layout.places[name][0] for name in SLOTS)) + CARD_MM[0]
    step = float(np.mean(_FAN_STEP_MM)) + float(rng.normal(0, 3))
    return Pose(left + number * step, y, -16.0 + 5.0 * number + float(rng.normal(0, 2)))


def is_burned_away(dealer: Dealer, drawn: Drawn) -> bool:
    """Whether a burned card is out of the film once it was brought."""
    return dealer.manner is Manner.BURN_STRAIGHT and drawn.place == BURN
