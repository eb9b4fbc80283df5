"""How hands move cards: drawn from the shoe, carried, laid, turned and squared up in one style.

`Dealer` keeps the time it has come to; every motion begins there and, but for one that goes on
meanwhile, moves it on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .deal import BURN, CUT, Drawn
from .style import Carry, Manner, Style, Turning
from .table_places import toward
from .timeline import Carried, Leg, Limb, Pose

Rng = np.random.Generator
# Where a dealer's hand is out of the picture and where it rests, mm from the table's upper edge.
AWAY_MM, REST_MM = -190.0, 22.0
# From the grip of a hand to its fingertips, and how far in from its edge a card is held.
_FINGERS_MM = 30.0
# A card waits this far inside the lip of the shoe, mm.
_INSIDE_MM = 26.0
# A card stops this far before the shoe where it is turned there, pushed back or seen, mm.
_BEFORE_MM = 78.0
# A card that moved this far from where it was has begun to move, mm: less is in no picture.
_BEGUN_MM = 1.0
# Beside its place, a card is turned this far towards dealer or players, mm: a card's length.
_BESIDE_MM = 96.0
# From a card's middle to the grip of a hand that turns it, mm: the hand covers half of it.
_TURNING_GRIP_MM = (4.0, 44.0)
# Offsets below are what was seen in films of dealers, by eye: a card half over a line, its turn
# when it was dropped, and how far a hand goes on before it comes back for it; mm and degrees.
_OVER_LINE_MM = (14.0, 24.0)
_DROPPED_TURN = 40.0
_GOES_ON_MM = 90.0
# A card that is to be tidied later is laid so far off, towards the dealer, mm.
_OFF_MM = (24.0, 38.0)


class Dealer:
    """The hands and cards of one coup, moved one after the other; `now` is in seconds."""

    def __init__(self, rng: Rng, style: Style, *, start: float, ready: float, pace: float) -> None:
        """Begin at `start`; since `ready` the next card can wait in the mouth of the shoe."""
        self.rng = rng
        self.motion, self.manner = style.motion, style.manner
        self.layout = style.layout
        self.pace = pace
        self.start = self.now = start
        self.ready = ready
        self.taken = start
        hand = self.motion.left_handed
        side = 0.0 if hand is None else 1.0 if hand else -1.0
        self.shoulders = {
            Limb.DRAWING: self.layout.shoulder(side),
            Limb.OTHER: self.layout.shoulder(-side or 1.0),
        }
        self.at = {limb: self.away(limb) for limb in self.shoulders}
        self.legs: dict[Limb, list[Leg]] = {limb: [] for limb in self.shoulders}
        self.cards: list[Carried] = []

    # --- hands -----------------------------------------------------------------------------------

    def away(self, limb: Limb) -> Pose:
        """Return where a hand is out of the picture."""
        return Pose(float(self.shoulders[limb][0]), AWAY_MM)

    def rest(self, limb: Limb = Limb.DRAWING) -> Pose:
        """Return where a hand rests at the dealer's edge."""
        return Pose(float(self.shoulders[limb][0]) - 3.0, REST_MM)

    def wait(self, least: float, most: float) -> None:
        """Let a time pass, in seconds at pace 1."""
        self.now += float(self.rng.uniform(least, most)) / self.pace

    def chance(self, share: float) -> bool:
        """Whether something happens that happens in this share of cases."""
        return bool(share and self.rng.random() < share)

    def glide(
        self, target: Pose, seconds: float, limb: Limb = Limb.DRAWING, *, meanwhile: bool = False
    ) -> None:
        """Move an empty hand; `meanwhile` lets the time stand for what happens next."""
        distance = _distance(target, self.at[limb])
        if distance > 1:
            begun = self.now
            self.carry((), target, max(seconds, distance / 2100), limb)
            if meanwhile:
                self.now = begun

    def carry(
        self,
        cards: Sequence[tuple[Carried, Leg]],
        target: Pose,
        seconds: float,
        limb: Limb = Limb.DRAWING,
    ) -> None:
        """Move a hand, and cards with it on the given motions."""
        legs = self.legs[limb]
        self.now = max(self.now, legs[-1].end) if legs else self.now
        end = self.now + seconds / self.pace
        via = cards[0][1].via if cards else None
        if via and cards:
            shift = self.at[limb].centre - cards[0][1].origin.centre
            via = (via[0] + float(shift[0]), via[1] + float(shift[1]))
        legs.append(Leg(self.now, end, self.at[limb], target, via))
        for card, leg in cards:
            card.legs.append(replace(leg, start=self.now, end=end))
        self.at[limb], self.now = target, end

    def holding(self, card: Pose, limb: Limb = Limb.DRAWING, grip_mm: float | None = None) -> Pose:
        """Return where a hand is that holds a lying card, on the side it reaches in from."""
        grip = self.motion.grip_mm if grip_mm is None else grip_mm
        return card.moved(toward(card.centre, self.shoulders[limb]) * grip)

    # --- out of the shoe -------------------------------------------------------------------------

    def draw(self, drawn: Drawn, *, faced: bool = False) -> Carried:
        """Take hold of the next card in the mouth of the shoe; `faced` if it lies face up there."""
        inside = self.layout.mouth - self.layout.way * _INSIDE_MM
        pose = Pose(0.0, 0.0, self.layout.leaving_turn, float(faced)).moved(inside)
        card = Carried(drawn)
        if self.motion.waits_mm:
            waiting = pose.moved(self.layout.way * self.motion.waits_mm)
            since = self.ready + 0.1
            card.legs.append(Leg(since, since + 0.2, pose, waiting))
            self.now = max(self.now, since + 0.2)
            pose = waiting
        self.glide(self.at_mouth(), 0.22)
        self.cards.append(card)
        self.taken = self.now
        if not card.legs:
            card.legs.append(Leg(self.now, self.now + 1e-3, pose, pose))
            self.now += 1e-3
        return card

    def at_mouth(self) -> Pose:
        """Return where the drawing hand is on a card in the mouth."""
        grip = self.layout.mouth - self.layout.way * (8.0 - self.motion.waits_mm)
        reach = toward(grip, self.shoulders[Limb.DRAWING]) * min(_FINGERS_MM, self.motion.grip_mm)
        return Pose(0.0, 0.0).moved(grip + reach)

    def before_shoe(self, card: Carried, mm: float = _BEFORE_MM) -> Pose:
        """Return a card's pose just before the shoe, as it came out."""
        x, y = self.layout.mouth + self.layout.way * mm
        return Pose(float(x), float(y), card.lying.turn, card.lying.flip)

    def slide(self, card: Carried, target: Pose, seconds: float, limb: Limb = Limb.DRAWING) -> None:
        """Move a card under a hand in a straight line."""
        leg = Leg(0, 1, card.lying, target)
        self.carry([(card, leg)], self.holding(target, limb), seconds, limb)

    def left_shoe(self, card: Carried) -> None:
        """Note when a card that has left the shoe began to, and was wholly out, for good."""
        since = card.returns[-1][1] if card.returns else self.taken
        moving = [leg for leg in card.legs if leg.start >= since]
        begun = moving[0].origin
        card.began = first(moving, lambda pose: _distance(begun, pose) > _BEGUN_MM)
        card.out = first(moving, self._is_out)
        self.ready = card.out

    def _is_out(self, pose: Pose) -> bool:
        return float(((pose.corners() - self.layout.mouth) @ self.layout.way).min()) >= 0

    # --- to its place ----------------------------------------------------------------------------

    def target(self, drawn: Drawn) -> Pose:
        """Return where a card is to lie, back up: in its place, as exactly as this dealer lays."""
        x, y, turn = self.layout.places[drawn.place]
        loose = self.motion.untidy_mm
        dx, dy, spin = self.rng.normal(0, 1, 3) * (loose, loose, 0.64 * loose)
        if drawn.place == BURN:
            dx += 4.0 * sum(card.drawn.place == BURN for card in self.cards)
        if drawn.slot is not None and self.manner is Manner.TIDIED:
            dy -= float(self.rng.uniform(*_OFF_MM))
        if drawn.slot is not None and self.chance(self.motion.over_line):
            dx += float(self.rng.choice([-1, 1])) * float(self.rng.uniform(*_OVER_LINE_MM))
        return Pose(x + dx, y + dy, turn + spin)

    def bring(self, card: Carried, target: Pose, *, flip: float) -> None:
        """Carry a card to its place; `flip` is that of its side up when it gets there."""
        target = replace(target, flip=flip)
        plain = card.drawn.slot is not None
        if plain and self.chance(self.motion.drops):
            self._drop(card, target)
        if plain and self.motion.carry is Carry.HANDED_OVER:
            self._hand_over(card, target)
        elif plain and self.motion.carry is Carry.PITCHED:
            self._pitch(card, target)
        else:
            distance = float(np.hypot(*(target.centre - card.lying.centre)))
            leg = self._flight(card, target)
            self.carry([(card, leg)], self.holding(target), 0.5 + distance / 2000)
        self.left_shoe(card)
        card.placed = card.legs[-1].end
        self.now += self.motion.stays_s / self.pace

    def _flight(self, card: Carried, target: Pose) -> Leg:
        bend = self.layout.mouth + self.layout.way * 150.0
        at_mouth = float(np.hypot(*(card.lying.centre - self.layout.mouth))) < _BEFORE_MM + 1
        via = (float(bend[0]), float(bend[1])) if at_mouth else None
        return Leg(0, 1, card.lying, target, via, (0.16, 0.6), 14.0)

    def _pitch(self, card: Carried, target: Pose) -> None:
        """Pull a card and let it go: the hand stops where the card flies on."""
        leg = replace(self._flight(card, target), arch=4.0)
        shift = self.at[Limb.DRAWING].centre - card.lying.centre
        distance = float(np.hypot(*(target.centre - card.lying.centre)))
        seconds = (0.35 + distance / 2400) / self.pace
        card.legs.append(replace(leg, start=self.now, end=self.now + seconds))
        let_go = leg.pose(0.45).moved(shift)
        self.carry((), replace(let_go, flip=0.0, turn=0.0), 0.55 * seconds * self.pace)
        self.glide(self.rest(), 0.3, meanwhile=True)
        self.now = max(self.now, card.legs[-1].end)

    def _hand_over(self, card: Carried, target: Pose) -> None:
        """Give a card from the drawing hand to the other one, which lays it."""
        middle = (card.lying.centre + target.centre) / 2 + self.rng.normal(0, 20, 2)
        between = Pose(float(middle[0]), float(middle[1]), card.lying.turn, card.lying.flip)
        self.glide(self.holding(between, Limb.OTHER), 0.4, Limb.OTHER, meanwhile=True)
        # Out of the shoe along its way: straight there it would pass through the shoe's wall.
        leg = replace(self._flight(card, between), arch=0.0)
        self.carry([(card, leg)], self.holding(between), 0.45)
        self.now = max(self.now, self.legs[Limb.OTHER][-1].end)
        self.wait(0.03, 0.15)
        self.glide(self.rest(), 0.3, meanwhile=True)
        leg = Leg(0, 1, between, target, None, (0.1, 0.7), 14.0)
        self.carry([(card, leg)], self.holding(target, Limb.OTHER), 0.5, Limb.OTHER)
        self.now += self.motion.stays_s / self.pace
        self.glide(self.rest(Limb.OTHER), 0.35, Limb.OTHER, meanwhile=True)

    def _drop(self, card: Carried, target: Pose) -> None:
        """Lose a card on its way; the hand goes on, comes back and picks it up."""
        share = float(self.rng.uniform(0.4, 0.8))
        spot = card.lying.centre * (1 - share) + target.centre * share + self.rng.normal(0, 30, 2)
        turn = float(self.rng.normal(0, _DROPPED_TURN))
        fallen = Pose(float(spot[0]), float(spot[1]), turn, card.lying.flip)
        self.slide(card, fallen, 0.5)
        way = toward(card.lying.centre, target.centre) * _GOES_ON_MM
        self.glide(self.at[Limb.DRAWING].moved(way), 0.2)
        self.wait(0.2, 0.6)
        self.glide(self.holding(fallen), 0.25)
        self.wait(0.1, 0.3)

    def lay(self, drawn: Drawn, *, face_up: bool) -> Carried:
        """Bring the next card from the shoe to its place, face up there if it is to be."""
        return self.lay_drawn(self.draw(drawn), face_up=face_up)

    def lay_drawn(self, card: Carried, *, face_up: bool) -> Carried:
        """Bring a card that was taken hold of to its place."""
        target = self.target(card.drawn)
        turned = card.lying.flip > 0.5
        face_up = (face_up or turned) and card.drawn.place != CUT
        how = self.motion.turning if face_up and not turned else None
        if how is Turning.AT_SHOE:
            self._turn_at_shoe(card)
        if how is Turning.BESIDE:
            aside = self._beside(target)
            self.bring(card, aside, flip=0.0)
            self._turn_over(card, aside)
            self._push_back(card, replace(target, flip=1.0))
            card.placed = self.now
        else:
            flip = float(turned or how in {Turning.AT_SHOE, Turning.IN_AIR})
            self.bring(card, target, flip=flip)
            if how is not None and not flip:
                self.turn([card])
        if card.drawn.slot is not None and self.chance(self.motion.squares):
            self.square(card)
        return card

    def _turn_at_shoe(self, card: Carried) -> None:
        self.slide(card, self.before_shoe(card), 0.35)
        self._turn_over(card, self.before_shoe(card))

    # --- in its place ----------------------------------------------------------------------------

    def turn(self, cards: Sequence[Carried]) -> None:
        """Turn lying cards face up, one after the other or both at once, as this dealer does."""
        how = self.motion.turning
        if how is Turning.BOTH_AT_ONCE and len(cards) > 1:
            self._turn_both(cards)
            return
        for card in cards:
            lying = card.lying
            limb = Limb.OTHER if how is Turning.OTHER_HAND else Limb.DRAWING
            if limb is Limb.OTHER:
                self.glide(self.rest(), 0.35, meanwhile=True)
            if how is Turning.BESIDE:
                self.glide(self.holding(lying), 0.2)
                self.slide(card, self._beside(lying), 0.3)
                self._turn_over(card, card.lying)
                self._push_back(card, replace(lying, flip=1.0))
            else:
                self._turn_over(card, self._fallen(lying), limb)
            if self.chance(self.motion.squares):
                self.square(card, limb)
        if how is Turning.OTHER_HAND:
            self.glide(self.rest(Limb.OTHER), 0.35, Limb.OTHER, meanwhile=True)

    def _fallen(self, lying: Pose) -> Pose:
        """Return where a card comes to lie that is turned where it lay."""
        dx, dy = self.rng.normal(0, 0.5, 2) * self.motion.aside_mm
        return lying.moved(np.array([dx, 0.4 * dy]))

    def _turn_over(self, card: Carried, where: Pose, limb: Limb = Limb.DRAWING) -> None:
        """Turn a card about its long axis, or end over end; the hand goes with its edge."""
        over_end = self.motion.turning is Turning.OVER_END
        side = float(self.rng.choice([-1.0, 1.0])) * 14.0
        grip = float(np.clip(self.motion.grip_mm, *_TURNING_GRIP_MM))
        self.glide(self.holding(card.lying, limb, grip).moved(np.array([side, 6.0])), 0.18, limb)
        leg = Leg(0, 1, card.lying, replace(where, flip=1.0, over_end=over_end), arch=6.0)
        hand = self.holding(where, limb, grip).moved(np.array([-0.6 * side, 2.0]))
        self.carry([(card, leg)], hand, self.motion.turn_s, limb)

    def _turn_both(self, cards: Sequence[Carried]) -> None:
        """Turn a hand's cards as one pack, the second pushed on the first and spread again."""
        first_card, *others = cards
        grip = self.holding(first_card.lying)
        self.glide(self.holding(others[-1].lying), 0.2)
        home = [card.lying for card in cards]
        packed = [
            (card, Leg(0, 1, card.lying, first_card.lying.moved(np.array([7.0 * n, 1.0]))))
            for n, card in enumerate(others, start=1)
        ]
        self.carry(packed, grip, 0.25)
        turning = [(card, Leg(0, 1, card.lying, replace(card.lying, flip=1.0), arch=8.0))
                   for card in cards]  # fmt: skip
        self.carry(turning, grip.moved(np.array([12.0, -3.0])), self.motion.turn_s)
        spread = [(card, Leg(0, 1, card.lying, replace(pose, flip=1.0)))
                  for card, pose in zip(others, home[1:], strict=True)]  # fmt: skip
        self.carry(spread, self.holding(home[-1]), 0.25)

    def _beside(self, lying: Pose) -> Pose:
        """Return a pose beside a card's place, on the dealer's side."""
        return lying.moved(np.array([self.rng.normal(0, 8), -_BESIDE_MM + self.rng.normal(0, 6)]))

    def _push_back(self, card: Carried, target: Pose) -> None:
        self.wait(0.05, 0.25)
        self.glide(self.holding(card.lying), 0.15)
        self.slide(card, target, 0.3)

    def square(self, card: Carried, limb: Limb = Limb.DRAWING) -> None:
        """Push a lying card straight with the fingertips."""
        x, y, turn = self.layout.places[card.drawn.place]
        dx, dy, spin = self.rng.normal(0, 0.8, 3)
        straight = replace(card.lying, x=x + dx, y=y + dy, turn=turn + spin)
        self.glide(self.holding(card.lying, limb, 52.0), 0.15, limb)
        leg = Leg(0, 1, card.lying, straight)
        self.carry([(card, leg)], self.holding(straight, limb, 52.0), 0.2, limb)


def first(legs: Sequence[Leg], holds: Callable[[Pose], bool]) -> float:
    """Return the first instant of a run of motions at which something holds, its end if never."""
    for leg in legs:
        for time in np.linspace(leg.start, leg.end, 200):
            if holds(leg.pose(float(time))):
                return float(time)
    return legs[-1].end


def _distance(one: Pose, two: Pose) -> float:
    return float(np.hypot(*(one.centre - two.centre)))
