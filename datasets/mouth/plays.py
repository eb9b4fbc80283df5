"""What happens at the mouth of a shoe, drawn at random as movements over time, with its truth.

A play is a few actions, one after another: a card drawn at any speed, waiting half out, going
back, held before the mouth while the next is drawn; two drawn as one, of which one may stay; a hand
that only comes near, an arm that reaches over; a card carried past. Not tied to any game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from vision.sight.geometry.plane import shared_area

from ..render.paint import Points
from .answers import HIDDEN, Answer, Mouth, Placed, answer
from .movements import Channel, Moving, eased, value_at
from .shoes import Held, Kind, Lying, Moment, Rng, Shoe, Thing

# How a card is drawn: pulled out, held and carried off; in one sweep; pulled and let go. Shares.
PULLED, SWEPT = 0.5, 0.35
# A hand is out of sight so far from the mouth on its arm's side, mm; an arm whose hand is so far
# beyond the mouth hides the next card if its middle passes within so many mm.
AWAY_MM, BEYOND_MM, ARM_MM = 300.0, 80.0, 45.0
# Shares: draws of two cards at once; of these, the second laid flush on the first or lying under
# it; staying when the first is taken away. Of single cards, held before the mouth for the next.
TWO, FLUSH, UNDER, STAYS, HELD = 0.4, 0.3, 0.6, 0.45, 0.3
# Share of the hands that pass before the shoe without a card: the next one may wait half out.
EMPTY = 0.5
# How fast a card is swept out and carried off on average, mm/s, and in how many seconds it is
# pulled out: of quick dealers a slow camera has one picture in which it is out. All are drawn
# evenly on a scale of logarithms.
SWEEP_MM_S, CARRY_MM_S, PULL_S = (220, 2000), (300, 2000), (0.05, 0.7)


class Play:
    """Actions at one shoe: `moment(time)` and `answer(time)`, 0 <= time < `length` s."""

    def __init__(
        self,
        shoe: Shoe,
        rng: Rng,
        *,
        actions: int = 1,
        first: Kind | None = None,
        reaches: bool = False,
    ) -> None:
        """Play with a next card that shows `first`, None: any; or an arm only `reaches` over it."""
        self.shoe, self.rng = shoe, rng
        self.depth = shoe.size[0]
        self.cards: list[Moving] = []
        self.rests: list[tuple[float, Kind, int]] = []
        # The hand that draws, and another, the dealer's or somebody else's.
        self.hands: tuple[dict[str, Channel], dict[str, Channel]] = ({}, {})
        self.forth: Channel = [(-1.0, 0.0)]  # the front edge of the next card
        self.things: list[tuple[float, float, Thing, Thing]] = []
        self.arms = float(rng.uniform(-2.1, 2.1)), float(rng.uniform(-np.pi, np.pi))
        self.under = self._holds = False
        self.number = int(rng.integers(100))
        self.time, self.length = 0.0, np.inf
        for which in (0, 1):
            self._hand_to(0.01, *self._home(which), which=which)
        if first is None:
            first = Kind.BACK if rng.random() < 0.65 else self._any_kind()
        self._next(first)
        self._wait(rng.uniform(0.3, 1.0))
        for _ in range(actions):
            if reaches:
                self._reach_over()
            else:
                self._action()
            self._wait(float(rng.choice([0.0, rng.uniform(0, 0.8)])))
        ends = [card.gone for card in self.cards if np.isfinite(card.gone)]
        self.time = max([self.time, *ends]) + 0.6
        self.length = self.time

    def moment(self, time: float) -> Moment:
        """Return what there is at an instant."""
        cards = [card.at(time) for card in self.cards]
        rest = max((r for r in self.rests if r[0] <= time), key=lambda r: r[0])
        hands = tuple(h for which in (1, 0) if (h := self._held(which, time)) is not None)
        out = tuple(c for c in cards if c is not None)
        return Moment(
            rest[1], rest[2], out, hands, value_at(self.forth, time), tuple(self._moved(time))
        )

    def _held(self, which: int, time: float) -> Held | None:
        """Return a hand at an instant, None while it is away on its own side."""
        x, y, turn = (value_at(self.hands[which][name], time) for name in ("x", "y", "turn"))
        side = x * np.cos(self.arms[which]) + y * np.sin(self.arms[which])
        if side > 0 and np.hypot(x, y) > AWAY_MM - 10:
            return None
        return Held(x, y, turn, self.under and which == 0, which)

    def speed(self, time: float) -> float:
        """Return how fast the hand or a card moves along the exit, mm/s."""
        before, after = self.moment(time - 0.01), self.moment(time + 0.01)
        gaps = [abs(b.x - a.x) for a, b in zip(before.cards, after.cards, strict=False)]
        return max(gaps, default=0.0) / 0.02

    def answer(self, time: float) -> Answer:
        """Return what a watcher should say of an instant."""
        moment = self.moment(time)
        moving = [(c, p) for c in self.cards if (p := c.at(time)) is not None]
        cards = [self._placed(card, lying) for card, lying in moving]
        hand = any(np.hypot(h.x, h.y) < 110 for h in moment.hands)
        shows = self.shoe.shows_rest and not any(map(_covers_mouth, moment.hands))
        kind = int(moment.rest) if shows else HIDDEN
        mouth = Mouth(self.depth, kind, self.shoe.waits)
        reported = answer(cards, mouth, hand=hand)
        if reported.phase > 0 and any(map(_covers_mouth, moment.hands)):
            # What lies under an arm is not to be seen: nobody could say.
            reported = replace(reported, phase=-1, kind=-1, together=-1)
        shown = {moment.rest, *(lying.kind for _, lying in moving)}
        return reported if Kind.CUT in shown else reported.without_cut()

    def departures(self) -> list[tuple[float, Kind, bool]]:
        """Return when cards were wholly out (s), what they showed, and whether two left as one."""
        fellows = {card.number - 1 for card in self.cards if card.follows}
        found = []
        for card in self.cards:
            if card.drawn and not card.follows:
                time = self._out(card)
                if time is not None:
                    found.append((time, card.kind, card.number in fellows))
        return sorted(found)

    def _out(self, card: Moving) -> float | None:
        end = min(card.gone, self.length)
        for time in np.arange(card.born, end, 0.01):
            seen = card.at(float(time))
            if seen is not None and self._placed(card, seen).rear >= 0:
                return float(time)
        return None

    def _placed(self, card: Moving, lying: Lying) -> Placed:
        along = self.shoe.card_mm(lying)[:, 0] + self.shoe.waits
        share = self._in_patch(lying)
        front, rear = float(along.max()), float(along.min())
        kind = int(lying.kind)
        return Placed(front, rear, lying.y, share, kind, card.drawn, card.follows, card.under)

    def _moved(self, time: float) -> Iterator[Thing]:
        """Yield the things that are pushed past, and shadows that fall, at an instant."""
        for begin, end, start, stop in self.things:
            if begin <= time < end:
                share = (time - begin) / (end - begin)
                x, y = start.x + share * (stop.x - start.x), start.y + share * (stop.y - start.y)
                yield Thing(x, y, start.number)

    def _in_patch(self, card: Lying) -> float:
        corners = self.shoe.card_mm(card).astype(np.float32)
        return shared_area(corners, self.shoe.extent.astype(np.float32)) / (63 * 88)

    # --- what is done ---

    def _between(self, low: float, high: float) -> float:
        """Return a number between two, drawn evenly on a scale of logarithms."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def _wait(self, seconds: float) -> None:
        self.time += float(seconds)

    def _next(self, kind: Kind) -> None:
        self.number += 1
        # What is there at first has always been there.
        self.rests.append((self.time if self.rests else -1.0, kind, self.number))

    def _any_kind(self) -> Kind:
        return Kind(int(self.rng.choice([0, 1, 2], p=[0.2, 0.3, 0.5])))

    def _home(self, which: int = 0) -> tuple[float, float]:
        way = self.arms[which] + self.rng.normal(0, 0.4)
        return float(np.cos(way) * AWAY_MM), float(np.sin(way) * AWAY_MM)

    def _hand_to(self, seconds: float, x: float, y: float, *, which: int = 0) -> None:
        """Move a hand; time goes on."""
        turn = self.arms[which] - np.pi / 2 + self.rng.normal(0, 0.1)
        for name, value in (("x", x), ("y", y), ("turn", turn)):
            keys = self.hands[which].setdefault(name, [(0.0, value)])
            keys += eased(keys[-1][1], value, self.time, self.time + seconds)
        self.time += seconds

    def _action(self) -> None:
        rng = self.rng
        acts: list[tuple[float, Callable[[], None]]] = [
            (0.56, self._draw),
            (0.07, self._hover),
            (0.18, self._reach_over),
            (0.08, self._carry_past),
            (0.06, self._rest_hand),
            (0.05, self._push_thing),
        ]
        odds = np.array([p for p, _ in acts])
        acts[int(rng.choice(len(acts), p=odds))][1]()

    def _hover(self) -> None:
        """Bring a hand to the mouth or near it, and away."""
        rng = self.rng
        self._hand_to(rng.uniform(0.2, 0.6), rng.uniform(-25, 80), rng.uniform(-40, 40))
        self._wait(float(rng.uniform(0, 0.8)))
        self._hand_to(rng.uniform(0.2, 0.6), *self._home())

    def _reach_over(self) -> None:
        """Reach over the mouth with an arm to something beyond it, rest there, and go back."""
        rng, which = self.rng, int(self.rng.integers(2))
        far, beside = rng.uniform(60, 400), rng.normal(0, 45)
        cos, sin = np.cos(self.arms[which]), np.sin(self.arms[which])
        x, y = -far * cos - beside * sin, -far * sin + beside * cos
        self._hand_to(rng.uniform(0.25, 0.8), x, y, which=which)
        for _ in range(int(rng.integers(0, 4))):
            self._wait(float(rng.uniform(0.1, 0.7)))
            near = np.array([x, y]) + rng.normal(0, 20, 2)
            self._hand_to(rng.uniform(0.2, 0.6), *near, which=which)
        if which and rng.random() < 0.4:
            self._draw()  # the dealer draws under somebody's arm
        self._hand_to(rng.uniform(0.25, 0.8), *self._home(which), which=which)

    def _rest_hand(self) -> None:
        """Rest a hand at the mouth, and shift it a little."""
        rng = self.rng
        x, y = rng.uniform(-10, 40), rng.uniform(-30, 30)
        self._hand_to(0.4, x, y)
        for _ in range(3):
            self._hand_to(rng.uniform(0.1, 0.5), x + rng.normal(0, 6), y + rng.normal(0, 6))
        self._hand_to(0.4, *self._home())

    def _push_thing(self) -> None:
        """Push a chip past the mouth with a hand, or let a shadow fall over it."""
        rng = self.rng
        side, seconds = float(rng.choice([-1, 1])), float(rng.uniform(0.2, 1.0))
        number = int(rng.integers(-1, 2))
        start, stop = (
            Thing(float(rng.uniform(-10, 130)), way * 130.0, number) for way in (side, -side)
        )
        if number >= 0:
            self._hand_to(0.3, start.x, start.y)
        self.things.append((self.time, self.time + seconds, start, stop))
        if number < 0:
            self._wait(seconds)
            return
        self._hand_to(seconds, stop.x, stop.y)
        self._hand_to(0.3, *self._home())

    def _carry_past(self) -> None:
        """Carry a card from elsewhere by, or lay it down before the shoe; or pass without one."""
        rng = self.rng
        side = float(rng.choice([-1, 1]))
        start, end = (rng.uniform(45, 130), side * 160.0), (rng.uniform(45, 130), -side * 160.0)
        middle = (rng.uniform(50, 110), rng.uniform(-50, 50))
        self._hand_to(0.3, *start)
        card = None if rng.random() < EMPTY else self._carried(*start)
        for x, y in (middle, end):
            seconds = float(rng.uniform(0.15, 0.5))
            if card is not None:
                self._card_to(card, seconds, x=x, y=y)
            self._hand_to(seconds, x, y)
            self._wait(float(rng.choice([0, 0, rng.uniform(0, 0.8)])))
        if card is not None:
            card.gone = self.time
        self._hand_to(0.3, *self._home())

    def _carried(self, x: float, y: float) -> Moving:
        """Return a card that comes from elsewhere, in a hand at a place."""
        card = self._card(Kind(int(self.rng.choice([0, 1, 1, 2]))), drawn=False)
        place = {"x": x, "y": y, "turn": self.rng.uniform(-1.6, 1.6), "lift": 20.0}
        card.channels = {name: [(0, value)] for name, value in place.items()}
        return card

    def _card(self, kind: Kind, *, drawn: bool) -> Moving:
        self.number += 1
        card = Moving(kind, self.number, drawn, self.time)
        self.cards.append(card)
        return card

    def _card_to(self, card: Moving, seconds: float, **values: float) -> None:
        """Move a card from now on; time does not go on."""
        for name, value in values.items():
            keys = card.channels[name]
            keys += eased(value_at(keys, self.time), value, self.time, self.time + seconds)

    def _draw(self) -> None:
        """Draw the card at rest, in one go or in several, or two at once; it may go back."""
        rng = self.rng
        self.time = max(self.time, self.forth[-1][0])
        press = np.array([rng.uniform(-22, 12), rng.normal(0, 22)])
        if rng.random() < 0.25:  # under the flat hand
            press = np.array([rng.uniform(-45, -10), rng.normal(0, 12)])
        self.under = bool(rng.random() < 0.12)
        self._hand_to(rng.uniform(0.15, 0.6), *press)
        self._wait(float(rng.choice([0.0, rng.uniform(0, 0.5)])))
        _, kind, number = self.rests[-1]
        card = self._leaving(kind, number)
        fellow = self._fellow(number + 1) if rng.random() < TWO else None
        self._next(Kind.BACK if rng.random() < 0.7 else self._any_kind())
        self._sink()
        pair = self._apart()
        how = rng.random()
        if how > PULLED:
            self._sweep(card, fellow, press, let_go=how > PULLED + SWEPT)
        elif self._steps(card, fellow, press, pair):
            if fellow is None and not self._holds and rng.random() < HELD:
                self._hold(card)
                return
            self._carry_off(card, fellow, press)
        else:
            self.rests.append((self.time, kind, number))
            self.forth += [(self.time, -self.shoe.waits), (self.time + 0.001, 0.0)]
            card.gone = self.time
            if fellow is not None:
                fellow.gone = self.time
            self._hand_to(rng.uniform(0.2, 0.5), *self._home())
            return
        self._come_forth(card)

    def _fellow(self, number: int) -> Moving:
        """Return a second card that leaves with the one at rest, beneath it or on it."""
        fellow = self._leaving(Kind.BACK, number)
        fellow.follows, fellow.under = True, bool(self.rng.random() < UNDER)
        if fellow.under:  # what is drawn first lies lowest
            self.cards[-2:] = self.cards[-1:] + self.cards[-2:-1]
        return fellow

    def _apart(self) -> tuple[float, float, float]:
        """Return how a second card lies to the first: behind and beside it, mm, and askew."""
        rng = self.rng
        behind = rng.uniform(0, 5) if rng.random() < FLUSH else rng.uniform(5, 0.55 * self.depth)
        wide = rng.random() < 0.3
        return behind, rng.normal(0, 10 if wide else 3), rng.normal(0, 0.15 if wide else 0.03)

    def _hold(self, card: Moving) -> None:
        """Give a card to the other hand, which holds it before the mouth; draw the next one."""
        rng, start = self.rng, self.time
        side = float(rng.choice([-1, 1]))
        x, y = rng.uniform(75, 150), side * rng.uniform(0, 75)
        seconds = float(rng.uniform(0.2, 0.5))
        self._card_to(
            card, seconds, x=x, y=y, turn=rng.normal(0, 0.5), lift=float(rng.uniform(3, 30))
        )
        grip = (x + rng.uniform(0, 35), y + side * rng.uniform(0, 35))
        self._hand_to(seconds, *grip, which=1)
        if rng.random() < 0.25:
            card.turned = self.time + float(rng.uniform(0, 0.5))
        end = self.time + float(rng.uniform(0.4, 2.2))
        self._holds, now, self.time = True, self.time, end
        way, goes = self.arms[1] + rng.normal(0, 0.5), float(rng.uniform(0.2, 0.6))
        self._card_to(card, goes, x=np.cos(way) * 260, y=np.sin(way) * 260)
        self._hand_to(goes, *self._home(1), which=1)
        card.gone = self.time
        self._come_forth(card)
        self.time = now if rng.random() < 0.5 else start + 0.5 * seconds
        self._draw()
        self.time = max(self.time, card.gone)

    def _sink(self) -> None:
        """Let the card behind the one that is drawn lie in the shoe."""
        self.forth += [(self.time, 0.0), (self.time + 0.001, -self.shoe.waits)]

    def _come_forth(self, before: Moving) -> None:
        """Let the next card come out of the lip a little, where the shoe makes it wait so."""
        out = self._out(before)
        begin = (self.time if out is None else out) + float(self.rng.uniform(0.05, 0.4))
        if begin > self.forth[-1][0]:
            self.forth += [(begin, -self.shoe.waits), (begin + 0.2, 0.0)]

    def _sweep(self, card: Moving, fellow: Moving | None, press: Points, *, let_go: bool) -> None:
        """Draw a card and bring it away in one movement; `let_go`: it slides on alone."""
        rng = self.rng
        far, way = rng.uniform(170, 330), rng.normal(0, 0.5)
        seconds = far / self._between(*SWEEP_MM_S)
        x, y = float(np.cos(way) * far), float(np.sin(way) * far)
        turn = rng.normal(0, 0.35)
        for number, one in enumerate(c for c in (card, fellow) if c is not None):
            aside = rng.normal(0, 6, 2) * number
            goal = x - self.depth / 2 - 0.4 * self.depth * number
            self._card_to(one, seconds, x=goal + aside[0], lift=float(rng.uniform(2, 30)))
            begin = self.time + 0.25 * seconds
            for name, value in (("y", y + aside[1]), ("turn", turn)):
                one.channels[name] += eased(0.0, value, begin, self.time + seconds)
            one.gone = self.time + seconds
        if rng.random() < 0.3:
            card.turned = self.time + seconds * float(rng.uniform(0.4, 0.9))
        share = 0.4 if let_go else 1.0
        start = self.time
        self._hand_to(seconds * share, press[0] + share * x, press[1] + share * y)
        if let_go:
            self._hand_to(0.25, *self._home())
        self.time = max(self.time, start + seconds)
        self.under = False
        if rng.random() < 0.7:
            self._hand_to(0.2, *self._home())

    def _leaving(self, kind: Kind, number: int) -> Moving:
        card = Moving(kind, number, True, self.time)
        keys = {"x": -self.depth / 2, "y": 0.0, "turn": 0.0, "lift": 0.0}
        card.channels = {name: [(self.time, value)] for name, value in keys.items()}
        self.cards.append(card)
        return card

    def _steps(
        self, card: Moving, fellow: Moving | None, press: Points, pair: tuple[float, float, float]
    ) -> bool:
        """Pull the card out; return whether it stays out."""
        rng = self.rng
        goes_back = rng.random() < 0.15
        shifts = [self.depth + float(rng.uniform(4, 45))]
        if rng.random() < 0.25:
            shifts.insert(0, float(rng.uniform(0.1, 0.9)) * self.depth)
        if goes_back:
            shifts[-1] = float(rng.uniform(0.15, 1.4)) * self.depth
            shifts.append(0.0)
        drift = rng.normal(0, 5)
        for number, shift in enumerate(shifts):
            self._pull(card, fellow, press, (shift, drift, *pair))
            if number < len(shifts) - 1:
                self._pause(press, shift)
        return not goes_back

    def _pull(
        self,
        card: Moving,
        fellow: Moving | None,
        press: Points,
        way: tuple[float, float, float, float, float],
    ) -> None:
        """Move the cards and the hand to a shift in one go."""
        rng = self.rng
        shift, drift, behind, beside, askew = way
        seconds = self._between(*PULL_S)
        out = shift / self.depth
        turn = out * rng.normal(0, 0.05 if rng.random() < 0.7 else 0.25)
        self._card_to(
            card, seconds, x=shift - self.depth / 2, y=drift * out, turn=turn, lift=6 * out
        )
        if fellow is not None:
            x = max(shift - behind, 0.0) - self.depth / 2
            self._card_to(fellow, seconds, x=x, y=(drift + beside) * out, turn=turn + askew * out)
        self._hand_to(seconds, press[0] + shift * rng.uniform(0.85, 1.0), press[1] + drift * out)

    def _pause(self, press: Points, shift: float) -> None:
        """Wait with the card out, the hand on it or away."""
        rng = self.rng
        if rng.random() < 0.35:
            self._hand_to(0.3, *self._home())
            self._wait(float(rng.uniform(0.1, 1.2)))
            self._hand_to(0.3, press[0] + shift, press[1])
        elif rng.random() < 0.4:  # left alone, and a hand passes over it
            self._hand_to(0.3, *self._home())
            self._carry_past()
            self._hand_to(0.3, press[0] + shift, press[1])
        else:
            self._wait(float(rng.uniform(0.05, 0.8)))

    def _carry_off(self, card: Moving, fellow: Moving | None, press: Points) -> None:
        """Take the card away over the table, perhaps turning it up, or leave it lying a while."""
        rng = self.rng
        self._wait(float(rng.choice([0.0, 0.0, rng.uniform(0, 0.5)])))
        way = rng.normal(0, 0.7)
        far = rng.uniform(180, 260)
        x, y = np.cos(way) * far, np.sin(way) * far
        seconds = far / self._between(*CARRY_MM_S)
        turn = rng.normal(0, 0.8)
        if rng.random() < 0.3:
            card.turned = self.time + seconds * float(rng.uniform(0.1, 0.6))
        stays = fellow if rng.random() < STAYS else None
        for one in (card, fellow):
            if one is not None and one is not stays:
                self._card_to(
                    one, seconds, x=x + 30, y=y, turn=turn, lift=float(rng.uniform(5, 40))
                )
                one.gone = self.time + seconds
        self._hand_to(seconds, x + 30 + press[0], y + press[1])
        self.under = False
        if stays is not None:
            self._fetch(stays, press)
        elif rng.random() < 0.7:
            self._hand_to(0.2, *self._home())

    def _fetch(self, card: Moving, press: Points) -> None:
        """Come back for the second of two, which stayed before the shoe, and take it away."""
        rng = self.rng
        if rng.random() < 0.5:
            self._hand_to(0.25, *self._home())
        self._wait(float(rng.uniform(0.1, 2.0)))
        lies = card.at(self.time)
        x = self.depth if lies is None else lies.x
        self._hand_to(rng.uniform(0.2, 0.5), x + press[0], press[1])
        self._carry_off(card, None, press)


def _covers_mouth(hand: Held) -> bool:
    """Whether an arm that reaches beyond the mouth lies over it."""
    away = hand.turn + np.pi / 2  # from the grip to the elbow
    along = -(hand.x * np.cos(away) + hand.y * np.sin(away))
    beside = hand.y * np.cos(away) - hand.x * np.sin(away)
    return bool(along > BEYOND_MM and abs(beside) < ARM_MM)
