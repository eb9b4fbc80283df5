"""How a dealer takes the cards away: hand by hand, one by one, swept, in two goes, face down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .deal import CUT
from .handling import Dealer, first
from .style import Collecting
from .timeline import Carried, Leg, Limb, Pose

# A card this far from where it lay has been taken away, mm; the truth says so from then on.
_REMOVED_MM = 20.0
# The palm lies this much nearer to the cards when it sweeps them all, mm from a card's middle.
_PALM_MM = 30.0


def collect(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Take all cards off the table into the tray."""
    if dealer.at[Limb.OTHER] != dealer.away(Limb.OTHER):
        dealer.glide(dealer.rest(Limb.OTHER), 0.4, Limb.OTHER, meanwhile=True)
    lying = [card for card in cards if card.gone is None and card.drawn.place != CUT]
    _WAYS[dealer.motion.collecting](dealer, lying)


def take(dealer: Dealer, group: Sequence[Carried]) -> None:
    """Push cards together from the farthest to the nearest and slide them into the tray."""
    if not group:
        return
    tray = dealer.layout.tray
    group = sorted(group, key=lambda card: abs(card.lying.x - tray[0]))
    dealer.glide(dealer.holding(group[-1].lying), 0.4)
    if len(group) > 1:
        pile = replace(group[0].lying, turn=6.0 + float(dealer.rng.normal(0, 4)))
        _push(dealer, group, pile, 0.35)
    _push(dealer, group, Pose(*tray), 0.6)
    for card in group:
        card.gone = dealer.now


def _push(dealer: Dealer, group: Sequence[Carried], target: Pose, seconds: float) -> None:
    moves: list[tuple[Carried, Leg]] = []
    for card in group:
        lying = card.lying
        dx, dy, spin = dealer.rng.normal(0, 1, 3) * (2.0, 2.0, 2.0)
        end = replace(lying, x=target.x + dx, y=target.y + dy, turn=target.turn + spin)
        moves.append((card, Leg(0, 1, lying, end)))
    dealer.carry(moves, dealer.holding(target), seconds)
    for card in group:
        _note_removed(card)


def _note_removed(card: Carried) -> None:
    """Note when a card left its place, if its last motion took it away."""
    flight = card.legs[-1]
    far = float(np.hypot(*(flight.origin.centre - flight.target.centre)))
    if card.removed is None and far > _REMOVED_MM:
        card.removed = first([flight], lambda pose: _apart(flight.origin, pose) > _REMOVED_MM)


def _apart(one: Pose, two: Pose) -> float:
    return float(np.hypot(*(one.centre - two.centre)))


def _sides(cards: Sequence[Carried]) -> list[list[Carried]]:
    sides = [[card for card in cards if side in card.drawn.place] for side in ("PUNTO", "BANCO")]
    others = [card for card in cards if not any(card in side for side in sides)]
    return [group for group in (*sides, others) if group]


def _by_hand(dealer: Dealer, cards: Sequence[Carried]) -> None:
    for group in _sides(cards):
        take(dealer, group)


def _one_by_one(dealer: Dealer, cards: Sequence[Carried]) -> None:
    for card in cards:
        take(dealer, [card])


def _swept(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Push one hand's cards on the other's and everything off in one movement."""
    tray = dealer.layout.tray[0]
    sides = sorted(_sides(cards), key=lambda group: -abs(group[0].lying.x - tray))
    if len(sides) > 1:
        far, near = sides[0], sides[-1]
        dealer.glide(dealer.holding(far[-1].lying, grip_mm=_PALM_MM), 0.4)
        meeting = min(near, key=lambda card: -abs(card.lying.x - tray)).lying
        _push(dealer, far, meeting, 0.5)
    take(dealer, cards)


def _two_goes(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Take the third cards first, or the second where there are none, then the rest."""
    ends = "34" if any(card.drawn.place[-1] in "34" for card in cards) else "2"
    early = [card for card in cards if card.drawn.place[-1] in ends]
    take(dealer, early)
    dealer.wait(0.2, 0.7)
    take(dealer, [card for card in cards if card not in early])


def _face_down(dealer: Dealer, cards: Sequence[Carried]) -> None:
    """Turn each hand's cards on their faces in one heap, then take them off."""
    for group in _sides(cards):
        dealer.glide(dealer.holding(group[-1].lying), 0.35)
        if len(group) > 1:
            _push(dealer, group, group[0].lying, 0.35)
        down = [(card, Leg(0, 1, card.lying, replace(card.lying, flip=0.0), arch=8.0))
                for card in group]  # fmt: skip
        dealer.carry(down, dealer.holding(group[0].lying), dealer.motion.turn_s)
        take(dealer, group)


_WAYS: dict[Collecting, Callable[[Dealer, Sequence[Carried]], None]] = {
    Collecting.BY_HAND: _by_hand,
    Collecting.ONE_BY_ONE: _one_by_one,
    Collecting.SWEPT: _swept,
    Collecting.TWO_GOES: _two_goes,
    Collecting.FACE_DOWN: _face_down,
}
