"""A coup in time: where every card and the dealer's hand are at each instant.

Turns dealt coups into motions; the film draws them and the truth is read off them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .deal import BURN, BURN_FACE, CUT, Coup, Drawn
from .scenario import Dealing, Scenario
from .table_places import (
    CARD_MM,
    FIELD_MM,
    LEAVING_TURN,
    LIP,
    PLACES,
    SHOULDER,
    SPOTS,
    TRAY_MIDDLE,
    WAY,
    toward,
)
from .timeline import Act, Carried, Guest, Leg, Pose

Rng = np.random.Generator
# Where the dealer's hand is out of the picture and where it rests, mm.
AWAY = Pose(615.0, -190.0)
REST = Pose(612.0, 22.0)
# From the grip of a hand to its fingertips, and how far in from its edge a card is held.
_FINGERS_MM = 30.0
# A card waits this far inside the lip of the shoe, mm.
_IN_SHOE = LIP - WAY * 26.0
# A card this far from where it lay has been taken away; the truth says so from then on.
_REMOVED_MM = 20.0
# The share of coups before which a guest changes a bet.
_BETS = 0.6


def choreograph(coups: Iterable[Coup], scenario: Scenario) -> tuple[Act, ...]:
    """Return the acts of all coups, one after the other from second 0."""
    acts: list[Act] = []
    start = 0.0
    for coup in coups:
        rng = np.random.default_rng([scenario.seed, 2, coup.number])
        acts.append(_Director(rng, start, scenario.pace).act(coup))
        start = acts[-1].end
    return tuple(acts)


class _Director:
    """Moves the hand through one coup; `now` is the time it has come to."""

    def __init__(self, rng: Rng, start: float, pace: float) -> None:
        self.rng = rng
        self.pace = pace
        self.start = self.now = start
        self.hand = AWAY
        self.legs: list[Leg] = []
        self.cards: list[Carried] = []

    def act(self, coup: Coup) -> Act:
        self.wait(0.4, 0.9)
        guest = self.bet() if coup.number and self.rng.random() < _BETS else None
        if coup.number == 0:
            self.burn(coup)
        else:
            self.play(coup)
        self.glide(AWAY, 0.4)
        self.wait(0.1, 0.3)
        return Act(coup, self.start, self.now, tuple(self.cards), tuple(self.legs), guest)

    def play(self, coup: Coup) -> None:
        face_up = coup.dealing is Dealing.FACE_UP
        first = [d for d in coup.drawn if d.place[-1] in "12" or d.place == CUT]
        for drawn in first:
            self.lay(drawn, face_up=face_up)
        self.glide(REST, 0.4)
        if not face_up:
            self.wait(0.1, 0.4)
            for side in ("PUNTO", "BANCO"):
                for card in [c for c in self.cards if side in c.drawn.place]:
                    self.turn(card)
                if coup.dealing is Dealing.PUNTO_FIRST:
                    self.glide(REST, 0.4)
                    self.wait(0.2, 0.6)
        for drawn in [d for d in coup.drawn if d not in first]:
            self.glide(REST, 0.3)
            self.wait(0.1, 0.5)
            card = self.lay(drawn, face_up=face_up)
            if not face_up:
                self.turn(card)
        self.glide(REST if self.rng.random() < 0.5 else AWAY, 0.4)
        self.wait(1.0, 2.0)
        self.clear("PUNTO")
        self.clear("BANCO")

    def burn(self, coup: Coup) -> None:
        for drawn in coup.drawn:
            self.lay(drawn, face_up=drawn.place == BURN_FACE)
            if drawn.place == BURN_FACE:
                self.glide(AWAY, 0.35)
                self.wait(1.2, 1.8)
        self.wait(0.3, 0.6)
        self.clear(BURN)

    def bet(self) -> Guest:
        """Let a guest change a bet before the first card."""
        spot = int(self.rng.integers(len(SPOTS)))
        x = float(SPOTS[spot][0])
        away = Pose(x + float(self.rng.normal(0, 60)), FIELD_MM[1] + 130.0)
        over = Pose(x, float(SPOTS[spot][1]) + 12.0)
        start, half = self.start, 0.55 / self.pace
        self.now = max(self.now, start + 1.6 * half)
        legs = (
            Leg(start, start + half, away, over),
            Leg(start + half * 1.2, start + half * 2.2, over, away),
        )
        shoulder = np.array([away.x, FIELD_MM[1] + 700.0])
        return Guest(spot, start + half * 1.1, legs, shoulder)

    def wait(self, least: float, most: float) -> None:
        self.now += float(self.rng.uniform(least, most)) / self.pace

    def glide(self, target: Pose, seconds: float) -> None:
        """Move the empty hand."""
        distance = _distance(target, self.hand)
        if distance > 1:
            self.carry((), target, max(seconds, distance / 2100))

    def carry(self, cards: Sequence[tuple[Carried, Leg]], target: Pose, seconds: float) -> None:
        """Move the hand, and cards with it on the given motions."""
        end = self.now + seconds / self.pace
        via = cards[0][1].via if cards else None
        if via and cards:
            shift = self.hand.centre - cards[0][1].origin.centre
            via = (via[0] + float(shift[0]), via[1] + float(shift[1]))
        self.legs.append(Leg(self.now, end, self.hand, target, via))
        for card, leg in cards:
            card.legs.append(replace(leg, start=self.now, end=end))
        self.hand, self.now = target, end

    def lay(self, drawn: Drawn, *, face_up: bool) -> Carried:
        """Pull a card out of the shoe and slide it to its place."""
        card = Carried(drawn)
        x, y, turn = PLACES[drawn.place]
        dx, dy, spin = self.rng.normal(0, 1, 3) * (2.5, 2.5, 1.6)
        if drawn.place == BURN:
            dx += 4.0 * sum(c.drawn.place == BURN for c in self.cards)
        target = Pose(x + dx, y + dy, turn + spin, float(face_up and drawn.place != CUT))
        origin = Pose(float(_IN_SHOE[0]), float(_IN_SHOE[1]), LEAVING_TURN)
        grip = LIP - WAY * 8.0
        self.glide(origin.moved(grip + toward(grip, SHOULDER) * _FINGERS_MM - _IN_SHOE), 0.22)
        bend = LIP + WAY * 150.0
        leg = Leg(0, 1, origin, target, (float(bend[0]), float(bend[1])), (0.16, 0.6), 14.0)
        distance = float(np.hypot(*(target.centre - LIP)))
        self.cards.append(card)
        self.carry([(card, leg)], self.holding(target), 0.5 + distance / 2000)
        flight = card.legs[0]
        card.out = _first(flight, _is_out)
        card.placed = flight.end
        self.now += 0.05 / self.pace
        return card

    def turn(self, card: Carried) -> None:
        """Turn a lying card face up."""
        lying = card.legs[-1].target
        side = float(self.rng.choice([-1.0, 1.0])) * 14.0
        self.glide(self.holding(lying).moved(np.array([side, 6.0])), 0.18)
        leg = Leg(0, 1, lying, replace(lying, flip=1.0), arch=6.0)
        self.carry([(card, leg)], self.hand.moved(np.array([-1.6 * side, -4.0])), 0.32)

    def clear(self, side: str) -> None:
        """Gather the cards of a side and slide them into the tray."""
        group = [c for c in self.cards if side in c.drawn.place]
        if not group:
            return
        farthest = max(group, key=lambda c: c.legs[-1].target.x)
        self.glide(self.holding(farthest.legs[-1].target), 0.4)
        pile = min(group, key=lambda c: c.legs[-1].target.x).legs[-1].target
        pile = replace(pile, turn=6.0 + float(self.rng.normal(0, 4)))
        self.slide(group, pile, 0.35)
        self.slide(group, Pose(float(TRAY_MIDDLE[0]), float(TRAY_MIDDLE[1])), 0.6)
        for card in group:
            card.gone = self.now
        self.hand = replace(self.hand, height=0.0)

    def slide(self, group: Sequence[Carried], target: Pose, seconds: float) -> None:
        moves: list[tuple[Carried, Leg]] = []
        for card in group:
            lying = card.legs[-1].target
            dx, dy, spin = self.rng.normal(0, 1, 3) * (2.0, 2.0, 2.0)
            end = Pose(target.x + dx, target.y + dy, target.turn + spin, lying.flip)
            moves.append((card, Leg(0, 1, lying, end)))
        self.carry(moves, self.holding(target), seconds)
        for card in group:
            flight = card.legs[-1]
            if card.removed is None and _distance(flight.origin, flight.target) > _REMOVED_MM:
                card.removed = _first(flight, partial(_has_left, flight.origin))

    def holding(self, card: Pose) -> Pose:
        """Return where the hand is that holds a lying card by its edge on the dealer's side."""
        return card.moved(toward(card.centre, SHOULDER) * (_FINGERS_MM + 18.0))


def _distance(first: Pose, second: Pose) -> float:
    return float(np.hypot(*(first.centre - second.centre)))


def _has_left(origin: Pose, now: Pose) -> bool:
    return _distance(origin, now) > _REMOVED_MM


def _is_out(now: Pose) -> bool:
    return float((now.centre - LIP) @ WAY) >= CARD_MM[0] / 2


def _first(leg: Leg, holds: Callable[[Pose], bool]) -> float:
    """Return the first instant of a motion at which something holds, its end where it never."""
    times = np.linspace(leg.start, leg.end, 200)
    return next((float(t) for t in times if holds(leg.pose(float(t)))), leg.end)
