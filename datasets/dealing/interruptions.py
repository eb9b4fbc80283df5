"""What happens beside the dealing: players look at cards, chips are pushed, arms reach in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .handling import Dealer
from .style import Looking, Manner
from .table_places import FIELD_MM, SPOTS, toward
from .timeline import Bet, Carried, Leg, Limb, Pose, Pushed, Reach

Rng = np.random.Generator
# A guest's hand rests out of the picture, and the shoulder is, so far below its edge, mm.
_GUEST_MM, _GUEST_SHOULDER_MM = 130.0, 700.0
# A card is bent open by at most this share of turning it while it is peeked at or squeezed: its
# face is not to be seen from above.
_PEEK, _SQUEEZE = 0.2, 0.36
# How far a card is drawn to the player who squeezes it, mm: not off the camera's picture.
_SQUEEZED_MM = (70.0, 130.0)

# A card that a player opened lies so far from where it lay, mm (standard deviation of either way);
# one that was folded stands so high along its middle, mm.
_GIVEN_BACK_MM, _FOLD_MM = 9.0, (3.0, 9.0)


def bet(rng: Rng, start: float, pace: float) -> tuple[Bet, Reach]:
    """Let a guest change a bet from `start` on; return it and the hand."""
    spot = int(rng.integers(len(SPOTS)))
    x = float(SPOTS[spot][0])
    away = Pose(x + float(rng.normal(0, 60)), FIELD_MM[1] + _GUEST_MM)
    over = Pose(x, float(SPOTS[spot][1]) + 12.0)
    half = 0.55 / pace
    legs = (
        Leg(start, start + half, away, over),
        Leg(start + half * 1.2, start + half * 2.2, over, away),
    )
    return Bet(spot, start + half * 1.1), Reach(Limb.GUEST, legs, _below(away))


def look_at(dealer: Dealer, cards: Sequence[Carried]) -> list[Reach]:
    """Let a player peek at cards that lie face down, or squeeze them; they stay face down."""
    look = {Looking.PEEKED: _peek, Looking.SQUEEZED: _squeeze}.get(dealer.motion.looking)
    if look is None:
        return []
    dealer.glide(dealer.rest(), 0.35)
    return [look(dealer, card) for card in cards]


def _peek(dealer: Dealer, card: Carried) -> Reach:
    """Lift an edge of a card and let it down."""
    lying = card.lying
    open_ = replace(lying, flip=float(dealer.rng.uniform(0.5, 1.0)) * _PEEK)
    hold = _Player(dealer, lying)
    hold.carry([], lying, 0.55)
    hold.carry([card], open_, 0.3)
    dealer.wait(0.3, 1.0)
    hold.carry([card], lying, 0.25)
    return hold.leave()


def _squeeze(dealer: Dealer, card: Carried) -> Reach:
    """Draw a card near, bend it open little by little, and give it back."""
    lying = card.lying
    near = lying.moved(np.array([dealer.rng.normal(0, 15), dealer.rng.uniform(*_SQUEEZED_MM)]))
    hold = _Player(dealer, lying)
    hold.carry([], lying, 0.55)
    hold.carry([card], near, 0.4)
    for share in np.sort(dealer.rng.uniform(0.3, 1.0, 3)):
        hold.carry([card], replace(near, flip=float(share) * _SQUEEZE), 0.45)
        dealer.wait(0.1, 0.4)
    hold.carry([card], near, 0.25)
    reach = hold.leave()
    dealer.glide(dealer.holding(near), 0.3)
    dealer.slide(card, lying, 0.4)
    return reach


def open_by_player(dealer: Dealer, cards: Sequence[Carried]) -> list[Reach]:
    """Let a player squeeze cards that lie face down and open them, one after the other."""
    if cards:
        dealer.glide(dealer.rest(), 0.35)
    return [reach for card in cards for reach in _open(dealer, card)]


def _open(dealer: Dealer, card: Carried) -> list[Reach]:
    """Bend a card open where it lies, or drawn near; turn it, and lay it near its place."""
    rng, lying = dealer.rng, card.lying
    stays = dealer.manner is Manner.SQUEEZED_IN_PLACE
    fold = float(rng.uniform(*_FOLD_MM)) if dealer.manner is Manner.FOLDED else 0.0
    near = lying.moved(np.array([rng.normal(0, 15), rng.uniform(*_SQUEEZED_MM)]))
    near = lying if stays else near
    two = dealer.manner is not Manner.SQUEEZED_ONE_HANDED
    hold, other = _Player(dealer, lying), _Player(dealer, lying.moved(np.array([50.0, 0.0])))
    hold.carry([], lying, 0.55)
    now = dealer.now
    if two:
        other.carry([], lying.moved(np.array([38.0, 8.0])), 0.5)
        dealer.now = max(now, dealer.now)
    if not stays:
        hold.carry([card], near, 0.45)
    for share in np.sort(rng.uniform(0.2, 1.0, int(rng.integers(2, 5)))):
        hold.carry([card], replace(near, flip=float(share) * _SQUEEZE), 0.45)
        dealer.wait(0.1, 0.6)
    open_ = replace(near, flip=1.0, fold=fold)
    hold.carry([card], open_, 0.4)
    reaches = [hold.leave(), *([other.leave()] if two else [])]
    dealer.wait(0.2, 0.8)
    if not stays:
        loose = rng.normal(0, 1, 2) * _GIVEN_BACK_MM
        back = replace(lying.moved(loose), flip=1.0, fold=fold, turn=lying.turn + rng.normal(0, 5))
        dealer.glide(dealer.holding(open_), 0.3)
        dealer.slide(card, back, 0.4)
        dealer.glide(dealer.rest(), 0.3)
    return reaches


class _Player:
    """A guest's hand at a card; it moves with the dealer's time."""

    def __init__(self, dealer: Dealer, card: Pose) -> None:
        self.dealer = dealer
        self.away = Pose(card.x + float(dealer.rng.normal(0, 80)), FIELD_MM[1] + _GUEST_MM)
        self.shoulder = _below(self.away)
        self.at = self.away
        self.legs: list[Leg] = []

    def carry(self, cards: Sequence[Carried], target: Pose, seconds: float) -> None:
        grip = target.moved(toward(target.centre, self.shoulder) * 40.0)
        self._move(replace(grip, flip=0.0, turn=0.0), seconds, cards, target)

    def _move(
        self, hand: Pose, seconds: float, cards: Sequence[Carried] = (), target: Pose | None = None
    ) -> None:
        end = self.dealer.now + seconds / self.dealer.pace
        self.legs.append(Leg(self.dealer.now, end, self.at, hand))
        for card in cards:
            card.legs.append(Leg(self.dealer.now, end, card.lying, target or card.lying))
        self.at, self.dealer.now = hand, end

    def leave(self) -> Reach:
        now = self.dealer.now
        self._move(self.away, 0.5)
        self.dealer.now = now + 0.2 / self.dealer.pace
        return Reach(Limb.GUEST, tuple(self.legs), self.shoulder)


def push_through(dealer: Dealer) -> Pushed:
    """Let the dealer push a chip or the marker across the empty places of the hands."""
    rng, y = dealer.rng, dealer.layout.places["PUNTO_1"][1]
    x0, x1 = rng.permutation([rng.uniform(200, 400), rng.uniform(640, 900)])
    here = Pose(float(x0), y + float(rng.normal(0, 30)))
    there = Pose(float(x1), y + float(rng.normal(0, 30)))
    dealer.glide(dealer.holding(here, grip_mm=12.0), 0.45)
    dealer.carry((), dealer.holding(there, grip_mm=12.0), float(rng.uniform(0.6, 1.3)))
    across = replace(dealer.legs[Limb.DRAWING][-1], origin=here, target=there)
    off = Pose(dealer.at[Limb.DRAWING].x, -80.0)
    dealer.carry((), dealer.holding(off, grip_mm=12.0), 0.5)
    away = replace(dealer.legs[Limb.DRAWING][-1], origin=there, target=off)
    chip = bool(rng.random() < 0.6)
    lies = Leg(dealer.start, across.start, here, here)
    return Pushed(int(rng.integers(64)), (lies, across, away), chip)


def pay(dealer: Dealer) -> tuple[Pushed, Reach]:
    """Let the dealer pay chips from the rack to a spot, and a guest take them; return both."""
    rng, spot = dealer.rng, SPOTS[int(dealer.rng.integers(len(SPOTS)))]
    rack = Pose(float(rng.uniform(500, 720)), 20.0)
    there = Pose(float(spot[0]), float(spot[1]) - 24.0)
    dealer.glide(dealer.holding(rack, grip_mm=12.0), 0.45)
    dealer.wait(0.2, 0.8)
    dealer.carry((), dealer.holding(there, grip_mm=12.0), 0.8)
    across = replace(dealer.legs[Limb.DRAWING][-1], origin=rack, target=there)
    dealer.wait(0.1, 0.4)
    dealer.glide(dealer.rest(), 0.5)
    hand = _Player(dealer, there)
    hand.carry([], there, 0.6)
    off = Pose(there.x, FIELD_MM[1] + _GUEST_MM)
    taken = Leg(dealer.now, dealer.now + 0.5 / dealer.pace, there, off)
    reach = hand.leave()
    return Pushed(int(rng.integers(64)), (across, taken), chip=True), reach


def stranger(rng: Rng, start: float, end: float) -> Reach:
    """Return a second person's arm that reaches over the layout for a while, from either end."""
    side = -1.0 if rng.random() < 0.5 else 1.0
    edge = 0.0 if side < 0 else FIELD_MM[0]
    y = float(rng.uniform(180, 420))
    away = Pose(edge + side * 140.0, y)
    over = Pose(edge - side * float(rng.uniform(150, 480)), y + float(rng.normal(0, 50)))
    goes, stays = float(rng.uniform(0.4, 0.8)), float(rng.uniform(0.2, 1.8))
    begun = float(rng.uniform(start, max(start + 0.1, end - 2 * goes - stays)))
    legs = (
        Leg(begun, begun + goes, away, over),
        Leg(begun + goes + stays, begun + 2 * goes + stays, over, away),
    )
    return Reach(Limb.STRANGER, legs, np.array([edge + side * 760.0, y - 60.0]))


def _below(away: Pose) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array([away.x, FIELD_MM[1] + _GUEST_SHOULDER_MM])
