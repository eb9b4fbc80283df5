"""A coup in time: where every card and the hands are at each instant.

Turns dealt coups into motions in one dealer's style; the film draws them and the truth is read off
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from vision.game.cards import DECK

from .collecting import collect, take
from .deal import BURN, BURN_FACE, CUT, Coup, Drawn
from .handling import Dealer
from .interruptions import bet, look_at, open_by_player, pay, push_through, stranger
from .manners import (
    SQUEEZES,
    burn_place,
    is_burned_away,
    lay_two,
    pause,
    push_winner,
    reach_over,
    takes_two,
    tidy,
)
from .scenario import Dealing, Scenario
from .style import PLAIN, Manner, Style
from .timeline import Act, Bet, Carried, Leg, Limb, Pushed, Reach

# The share of coups before which a guest changes a bet.
_BETS = 0.6
# Cards that leave the shoe together lie this far apart, mm: the second one's edge shows.
_TOGETHER_MM = 19.0
# A card pushed back had come this far out of the shoe at least and at most, mm.
_RETURNED_MM = (62.0, 95.0)
# A card that is face up in the shoe is pulled this far, mm: its index shows.
_SHOWING_MM = 14.0
# Whose hands draw instead of the dealer's once another dealer has taken over.
RELIEF = {Limb.DRAWING: Limb.RELIEF, Limb.OTHER: Limb.RELIEF_OTHER}
# Of two cards at once, in any manner, the share whose second one is not carried along.
_LEFT_LYING = 0.5
# A second card that stays before the shoe lies there for so long, s.
_STAYS_S = (0.5, 2.0)
# A hand that hides a card's exchange lies this far from its middle, mm.
_HIDING_MM = 3.0


def choreograph(coups: Iterable[Coup], scenario: Scenario, style: Style = PLAIN) -> tuple[Act, ...]:
    """Return the acts of all coups, one after the other from second 0."""
    acts: list[Act] = []
    start = ready = 0.0
    relieved = style.manner is Manner.RELIEVED
    for coup in coups:
        rng = np.random.default_rng([scenario.seed, 2, coup.number])
        dealer = Dealer(rng, style, start=start, ready=ready, pace=scenario.pace)
        limbs = RELIEF if relieved and coup.number > scenario.coups / 2 else {}
        acts.append(_Coup(dealer, coup, limbs).act())
        start, ready = acts[-1].end, dealer.ready
    return tuple(acts)


class _Coup:
    """One coup as it is played by a dealer, mistakes and interruptions included."""

    def __init__(self, dealer: Dealer, coup: Coup, limbs: Mapping[Limb, Limb]) -> None:
        self.dealer, self.limbs = dealer, limbs
        self.coup = coup
        self.wrong = {m.order: m.code for m in coup.mistakes if m.order is not None}
        self.guests: list[Reach] = []
        self.pushed: list[Pushed] = []
        self.bet: Bet | None = None

    def act(self) -> Act:
        """Play the coup from its first wait to the last hand's leaving."""
        dealer = self.dealer
        dealer.wait(0.4, 0.9)
        if dealer.motion.both_hands:
            dealer.glide(dealer.rest(Limb.OTHER), 0.4, Limb.OTHER, meanwhile=True)
        if self.coup.number:
            self._before()
            self._play()
        else:
            self._burn()
        for limb in (Limb.OTHER, Limb.DRAWING):
            dealer.glide(dealer.away(limb), 0.4, limb)
        dealer.wait(0.1, 0.3)
        if dealer.chance(dealer.motion.strangers):
            self.guests.append(stranger(dealer.rng, dealer.start, dealer.now))
        return self._written()

    def _written(self) -> Act:
        dealer = self.dealer
        hands = [
            Reach(self.limbs.get(limb, limb), tuple(legs), dealer.shoulders[limb])
            for limb, legs in dealer.legs.items()
            if legs
        ]
        return Act(
            self.coup,
            dealer.start,
            dealer.now,
            tuple(dealer.cards),
            (*self.guests, *reversed(hands)),
            self.bet,
            tuple(self.pushed),
        )

    def _before(self) -> None:
        """Let a guest bet, and chips or the marker be pushed through the empty layout."""
        dealer = self.dealer
        if dealer.rng.random() < _BETS:
            self.bet, reach = bet(dealer.rng, dealer.start, dealer.pace)
            self.guests.append(reach)
            dealer.now = max(dealer.now, dealer.start + 0.88 / dealer.pace)
        if dealer.chance(dealer.motion.pushes):
            self.pushed.append(push_through(dealer))

    def _play(self) -> None:
        dealer, coup = self.dealer, self.coup
        face_up = coup.dealing is Dealing.FACE_UP
        opening = [d for d in coup.drawn if d.place[-1] in "12" or d.place == CUT]
        self._lay_all(opening, face_up=face_up)
        dealer.glide(dealer.rest(), 0.4)
        pause(dealer)
        if not face_up:
            self._reveal()
        tidy(dealer, dealer.cards)
        self._take_one_off()
        for drawn in [d for d in coup.drawn if d not in opening]:
            dealer.glide(dealer.rest(), 0.3)
            dealer.wait(0.1, 0.5)
            self._lay_all([drawn], face_up=face_up)
            third = [card for card in dealer.cards if card.drawn is drawn]
            if not face_up:
                self._squeeze(third)
                self._turn(third)
            tidy(dealer, third)
        dealer.glide(dealer.rest() if dealer.rng.random() < 0.5 else dealer.away(Limb.DRAWING), 0.4)
        dealer.wait(1.0, 2.0)
        self._switch()
        lying = [card for card in dealer.cards if card.gone is None]
        push_winner(dealer, [c for c in lying if coup.winner.upper() in c.drawn.place])
        if dealer.manner is Manner.PAY_OUT_BETWEEN:
            self._clear_and_pay()
        else:
            collect(dealer, dealer.cards)

    def _clear_and_pay(self) -> None:
        """Clear the losing hand, pay a bet, and clear the other one."""
        dealer = self.dealer
        loser = "PUNTO" if self.coup.winner == "banco" else "BANCO"
        collect(dealer, [card for card in dealer.cards if loser in card.drawn.place])
        thing, guest = pay(dealer)
        self.pushed.append(thing)
        self.guests.append(guest)
        collect(dealer, dealer.cards)

    def _burn(self) -> None:
        dealer = self.dealer
        for number, drawn in enumerate(self.coup.drawn):
            card = dealer.draw(drawn)
            where = burn_place(dealer, drawn, number)
            dealer.bring(card, where, flip=float(drawn.place == BURN_FACE))
            if is_burned_away(dealer, drawn):
                card.gone = card.removed = dealer.now
            if drawn.place == BURN_FACE:
                dealer.glide(dealer.away(Limb.DRAWING), 0.35)
                dealer.wait(1.2, 1.8)
        dealer.wait(0.3, 0.6)
        take(dealer, [c for c in dealer.cards if BURN in c.drawn.place and c.gone is None])

    # --- dealing ---------------------------------------------------------------------------------

    def _lay_all(self, drawn: Sequence[Drawn], *, face_up: bool) -> None:
        """Lay cards one after the other, those that stick together in pairs."""
        left, dealer = list(drawn), self.dealer
        while left:
            now = left.pop(0)
            if left and self.wrong.get(left[0].order) == "TWO_CARDS_OUT":
                self._lay_together(now, left.pop(0), face_up=face_up)
            elif self._may_hold(now, *left[:2]) and takes_two(dealer):
                lay_two(dealer, now, left.pop(0), face_up=face_up)
            else:
                reach_over(dealer)
                self._lay(now, face_up=face_up)

    def _may_hold(self, *cards: Drawn) -> bool:
        """Whether two cards may be drawn one after the other: none, nor the next, has a mistake."""
        clean = (card.slot is not None and card.order not in self.wrong for card in cards)
        return len(cards) > 1 and all(clean)

    def _lay(self, drawn: Drawn, *, face_up: bool) -> None:
        dealer, code = self.dealer, self.wrong.get(drawn.order)
        card = dealer.draw(drawn, faced=code == "EXPOSED_IN_SHOE")
        if code == "EXPOSED_IN_SHOE":
            self._show_in_mouth(card)
        elif code == "RETURNED_TO_SHOE":
            self._push_back(card)
        elif code == "EXPOSED_EARLY":
            self._flash(card)
        dealer.lay_drawn(card, face_up=face_up and code != "UNREAD")
        if code == "UNREAD":
            self._cover(card)

    def _show_in_mouth(self, card: Carried) -> None:
        """Pull a card that lies face up in the shoe a little, see it, and wait."""
        dealer = self.dealer
        mm = max(_SHOWING_MM - dealer.motion.waits_mm, 4.0)
        dealer.slide(card, card.lying.moved(dealer.layout.way * mm), 0.3)
        dealer.glide(dealer.rest(), 0.4)
        card.shown = card.legs[0].end if dealer.motion.waits_mm else dealer.now
        dealer.wait(0.8, 1.6)
        dealer.glide(dealer.at_mouth(), 0.4)

    def _push_back(self, card: Carried) -> None:
        """Draw a card wholly, push it back into the shoe, and take hold of it once more."""
        dealer = self.dealer
        inside = card.lying
        mm = float(dealer.rng.uniform(*_RETURNED_MM))
        dealer.slide(card, dealer.before_shoe(card, mm), 0.4)
        dealer.left_shoe(card)
        out = card.out
        dealer.wait(0.1, 0.5)
        dealer.slide(card, inside, 0.4)
        card.returns.append((out, dealer.now))
        card.shown = dealer.now
        dealer.glide(dealer.rest(), 0.3)
        dealer.wait(0.4, 0.9)
        dealer.glide(dealer.at_mouth(), 0.3)

    def _flash(self, card: Carried) -> None:
        """Let a card's face be seen before it is laid face down."""
        dealer = self.dealer
        before = dealer.before_shoe(card)
        dealer.slide(card, before, 0.35)
        middle = before.moved((np.array([540.0, 250.0]) - before.centre) * 0.4)
        dealer.slide(card, replace(middle, flip=1.0), 0.35)
        card.shown = dealer.now
        dealer.wait(0.15, 0.5)
        dealer.slide(card, middle, 0.3)

    def _lay_together(self, one: Drawn, two: Drawn, *, face_up: bool) -> None:
        """Draw two cards that stick together, part them on the table, and lay the second."""
        dealer = self.dealer
        if dealer.manner is not None and dealer.rng.random() < _LEFT_LYING:
            self._leave_second(one, two, face_up=face_up)
            return
        lead = dealer.draw(one)
        trail = Carried(two)
        behind = lead.lying.moved(-dealer.layout.way * _TOGETHER_MM)
        trail.legs.append(Leg(dealer.now, dealer.now + 1e-3, behind, behind))
        dealer.cards.append(trail)
        dealer.now += 1e-3
        target = dealer.target(one)
        shift = np.array([_TOGETHER_MM * np.sign(dealer.layout.way[0]) * -1, -4.0])
        ways = [(lead, target), (trail, target.moved(shift))]
        legs = [(card, Leg(0, 1, card.lying, end)) for card, end in ways]
        dealer.carry(legs, dealer.holding(target), 0.9)
        for card in (lead, trail):
            dealer.left_shoe(card)
        lead.placed = dealer.now
        trail.shown = trail.out
        dealer.wait(0.3, 0.8)
        where = dealer.target(two)
        dealer.slide(trail, where, 0.4)
        trail.placed = dealer.now
        if face_up:
            dealer.turn([lead])
            dealer.turn([trail])

    def _leave_second(self, one: Drawn, two: Drawn, *, face_up: bool) -> None:
        """Draw two cards as one, flush or staggered; the second stays before the shoe a while."""
        dealer, rng = self.dealer, self.dealer.rng
        lead = dealer.draw(one)
        trail = Carried(two)
        apart = float(rng.choice([rng.uniform(0, 4), rng.uniform(8, 26)]))
        behind = lead.lying.moved(-dealer.layout.way * apart)
        trail.legs.append(Leg(dealer.now, dealer.now + 1e-3, behind, behind))
        dealer.cards.append(trail)
        dealer.now += 1e-3
        out = dealer.before_shoe(lead, float(rng.uniform(70, 95)))
        legs = [(lead, Leg(0, 1, lead.lying, out)),
                (trail, Leg(0, 1, behind, out.moved(-dealer.layout.way * apart)))]  # fmt: skip
        dealer.carry(legs, dealer.holding(out), 0.5)
        for card in (lead, trail):
            dealer.left_shoe(card)
        trail.shown = trail.out
        dealer.wait(0.1, 0.6)
        dealer.lay_drawn(lead, face_up=face_up)
        dealer.left_shoe(trail)
        dealer.wait(*_STAYS_S)
        dealer.glide(dealer.holding(trail.lying), 0.35)
        dealer.lay_drawn(trail, face_up=face_up)

    # --- turning ---------------------------------------------------------------------------------

    def _reveal(self) -> None:
        """Turn both hands' cards, Punto's first, as the coup is dealt; a player may look before."""
        dealer = self.dealer
        dealer.wait(0.1, 0.4)
        for side in ("PUNTO", "BANCO"):
            cards = [card for card in dealer.cards if side in card.drawn.place]
            self._squeeze(cards)
            if side == "PUNTO":
                closed = [c for c in cards if c.lying.flip < 0.5 and not self._is_covered(c)]
                self.guests += look_at(dealer, closed)
            self._turn(cards)
            if self.coup.dealing is Dealing.PUNTO_FIRST:
                dealer.glide(dealer.rest(), 0.4)
                dealer.wait(0.2, 0.6)

    def _squeeze(self, cards: Sequence[Carried]) -> None:
        """Let a player open cards that lie face down, where players do."""
        if self.dealer.manner in SQUEEZES:
            open_ = [c for c in cards if c.lying.flip < 0.5 and not self._is_covered(c)]
            self.guests += open_by_player(self.dealer, open_)

    def _turn(self, cards: Sequence[Carried]) -> None:
        """Turn those of the cards that are not face up already, nor to stay covered."""
        lying = [c for c in cards if c.lying.flip < 0.5 and not self._is_covered(c)]
        if lying:
            self.dealer.turn(lying)

    def _is_covered(self, card: Carried) -> bool:
        return self.wrong.get(card.drawn.order) == "UNREAD"

    def _cover(self, card: Carried) -> None:
        """Leave the other hand on a card from now on, until the table is cleared."""
        dealer = self.dealer
        hand = dealer.holding(card.lying, Limb.OTHER, 6.0)
        dealer.glide(hand, 0.4, Limb.OTHER, meanwhile=True)

    # --- mistakes after that ---------------------------------------------------------------------

    def _find(self, code: str) -> Carried | None:
        return next((c for c in self.dealer.cards if self.wrong.get(c.drawn.order) == code), None)

    def _take_one_off(self) -> None:
        card = self._find("WRONG_REMOVED")
        if card is not None:
            take(self.dealer, [card])
            self.dealer.glide(self.dealer.rest(), 0.4)
            self.dealer.wait(1.5, 2.5)

    def _switch(self) -> None:
        """Exchange a card that lies for another one, under a hand."""
        dealer, card = self.dealer, self._find("SWITCH")
        if card is None:
            return
        dealer.glide(dealer.holding(card.lying, grip_mm=_HIDING_MM), 0.4)
        dealer.wait(0.2, 0.5)
        others = [face for face in DECK if face != card.drawn.card]
        face = others[int(dealer.rng.integers(len(others)))]
        new = Carried(Drawn(0, face, card.drawn.place))
        dx, dy, spin = dealer.rng.normal(0, 1.5, 3)
        lies = replace(card.lying, x=card.lying.x + dx, y=card.lying.y + dy,
                       turn=card.lying.turn + spin)  # fmt: skip
        new.legs.append(Leg(dealer.now, dealer.now + 1e-3, lies, lies))
        card.gone = card.removed = dealer.now
        dealer.cards.append(new)
        dealer.wait(0.2, 0.4)
        dealer.glide(dealer.rest(), 0.4)
        card.shown = dealer.now
        dealer.wait(1.2, 2.0)
