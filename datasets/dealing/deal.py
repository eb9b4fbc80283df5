"""The cards of a simulated shoe: what leaves it, where each card is laid, and what goes wrong.

Deals by the tableau of the game, or against it where a mistake is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vision.errors import ConfigurationError
from vision.game.cards import DECK, Card, points_of
from vision.game.events import Slot

from .dealer_mistakes import BY_CHANCE, FROM_SIGHT, MOST, Laid, Moment, lay_out
from .scenario import Dealing, Plan, Scenario, Slip

Rng = np.random.Generator
CUT = "CUT"
BURN_FACE = "BURN_FACE"
BURN = "BURN"
# Draws of a shoe in search of cards that fit a scenario; then it is called impossible.
_TRIES = 5000


@dataclass(frozen=True, slots=True)
class Drawn:
    """A card that leaves the shoe and the place it is laid on; the cut card has no face, order 0.

    A card that does not come from the shoe has order 0 too. `place` is a slot's name, `PUNTO_4`,
    `BANCO_4`, `BURN_FACE`, `BURN` or `CUT`.
    """

    order: int
    card: Card | None
    place: str

    @property
    def slot(self) -> Slot | None:
        """The slot it is laid in, None outside all."""
        return Slot[self.place] if self.place in Slot.__members__ else None


@dataclass(frozen=True, slots=True)
class Mistake:
    """A fault that is in a coup: its code, the card that makes it, and the moment that decides.

    `order` is None where a card is missing; the moment is then when the hands are removed.
    """

    code: str
    order: int | None
    moment: Moment


@dataclass(frozen=True, slots=True)
class Coup:
    """One coup as dealt; number 0 is the burn."""

    number: int
    dealing: Dealing
    drawn: tuple[Drawn, ...]
    mistakes: tuple[Mistake, ...]

    def hand(self, side: str) -> tuple[Card, ...]:
        """Return the cards that lie with `PUNTO` or `BANCO`, by place."""
        lying = sorted((d.place, d.card) for d in self.drawn if d.card and side in d.place)
        return tuple(card for _, card in lying)

    @property
    def winner(self) -> str:
        """Who wins with the cards as they lie: `punto`, `banco` or `egalite`."""
        punto, banco = points_of(self.hand("PUNTO")), points_of(self.hand("BANCO"))
        return "egalite" if punto == banco else "punto" if punto > banco else "banco"


def deal(scenario: Scenario) -> tuple[Coup, ...]:
    """Deal a scenario: its coups, fewer where the shoe ends before.

    ConfigurationError where a coup's laid down cards do not allow its slip, or the shoe has not
    enough cards for one coup.
    """
    coups = tuple(_Dealer(scenario).coups())
    if not any(coup.number for coup in coups):
        raise ConfigurationError(
            f"from: the shoe has no coup left after {scenario.started_at} cards; lower it"
        )
    return coups


class _Dealer:
    """Holds the shoe while it is dealt; `out` counts cards gone, those before the film too."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.rng = np.random.default_rng([scenario.seed, 1])
        shoe = list(DECK) * scenario.decks
        self.rng.shuffle(shoe)
        self.shoe = shoe[scenario.started_at :]
        self.out = scenario.started_at
        self.cut_at = 52 * scenario.decks - scenario.cut_from_back if scenario.cut_from_back else -1
        self.order = 0
        self.seen: Counter[Card] = Counter()

    def coups(self) -> Iterator[Coup]:
        """Deal the burn, then coups up to the number asked for or the last after the cut card."""
        if self.scenario.burn:
            yield self._burn()
        left = self.scenario.coups
        for number in range(1, self.scenario.coups + 1):
            if left <= 0 or len(self.shoe) < MOST:
                return
            coup = self._coup(number)
            yield coup
            left -= 1
            cut = [i for i, drawn in enumerate(coup.drawn) if drawn.place == CUT]
            if cut:
                left = min(left, 1 if cut[0] else 0)

    def _burn(self) -> Coup:
        first = self.shoe[0]
        cards = self.shoe[: 1 + (first.points or 10)]
        places = (BURN_FACE, *(BURN,) * (len(cards) - 1))
        return Coup(0, Dealing.FACE_DOWN, self._take(cards, places), ())

    def _coup(self, number: int) -> Coup:
        plan = self._plan(number)
        slip = plan.slip
        cards, (places, faults) = self._find(number, plan, slip)
        before, first = self.seen.copy(), self.order + 1
        drawn = self._take(cards, places)
        mistakes = [
            Mistake(code, None if at is None else first + at, when) for code, at, when in faults
        ]
        for order, card in enumerate(cards, start=first):
            before[card] += 1
            if before[card] > self.scenario.decks:
                mistakes.append(Mistake("DUP_CARD", order, "face"))
        return Coup(number, self._dealing(plan), drawn, tuple(mistakes))

    def _plan(self, number: int) -> Plan:
        plan = self.scenario.plans.get(number, Plan())
        every = self.scenario.slip_every
        if plan.slip is None and every and number % every == 0:
            mistakes = self._mistakes()
            chosen = mistakes[int(self.rng.integers(len(mistakes)))]
            plan = Plan(chosen, plan.cards, plan.dealing)
        if plan.slip is Slip.EXPOSED_EARLY and not self._have_a_turn(plan):
            raise ConfigurationError(
                f"coup {number}: the fault '{plan.slip}' needs faces that have their turn; set "
                "dealing to punto-first"
            )
        return plan

    def _mistakes(self) -> tuple[Slip, ...]:
        """Return the mistakes that chance may choose from."""
        if self.scenario.slips:
            return self.scenario.slips
        if not self.scenario.from_sight:
            return BY_CHANCE
        early = self._have_a_turn(Plan())
        return BY_CHANCE + tuple(s for s in FROM_SIGHT if early or s is not Slip.EXPOSED_EARLY)

    def _have_a_turn(self, plan: Plan) -> bool:
        """Whether no card may be turned before all four lie: face down alone, they are at once."""
        return (plan.dealing or self.scenario.dealing) is Dealing.PUNTO_FIRST

    def _dealing(self, plan: Plan) -> Dealing:
        dealing = plan.dealing or self.scenario.dealing
        if dealing is Dealing.MIXED:
            plain = [d for d in Dealing if d is not Dealing.MIXED]
            return plain[int(self.rng.integers(len(plain)))]
        return dealing

    def _find(self, number: int, plan: Plan, slip: Slip | None) -> tuple[Sequence[Card], Laid]:
        """Return cards, places and faults of a coup: the next of the shoe, mixed until they fit."""
        fixed = list(plan.cards)
        if slip is Slip.NINTH_COPY and not fixed:
            fixed = self._copies(number)
        for _ in range(_TRIES):
            cards = (fixed + self._rest(fixed))[:MOST]
            made = lay_out(slip, cards, bool(self.rng.integers(2)))
            if made is not None and len(made[0]) <= len(cards):
                return cards[: len(made[0])], made
            if len(fixed) >= MOST:
                break
            self.rng.shuffle(self.shoe)
        raise ConfigurationError(
            f"coup {number}: the fault '{slip}' cannot happen with the cards "
            f"{' '.join(map(str, fixed)) or 'left in the shoe'}; give other cards or none"
        )

    def _rest(self, fixed: Sequence[Card]) -> list[Card]:
        rest = self.shoe[: MOST + 2 * len(fixed)]
        for card in fixed:
            if card in rest:
                rest.remove(card)
        return rest

    def _copies(self, number: int) -> list[Card]:
        decks = self.scenario.decks
        ready = sorted(card for card, count in self.seen.items() if count >= decks)
        if not ready:
            raise ConfigurationError(
                f"coup {number}: no card has been out {decks} times yet; deal more coups before "
                "the fault 'ninth-copy', or set decks = 1"
            )
        return [ready[int(self.rng.integers(len(ready)))]]

    def _take(self, cards: Sequence[Card], places: Sequence[str]) -> tuple[Drawn, ...]:
        drawn: list[Drawn] = []
        for card, place in zip(cards, places, strict=True):
            if self.out == self.cut_at:
                drawn.append(Drawn(0, None, CUT))
            self.order += 1
            self.out += 1
            self.seen[card] += 1
            if card in self.shoe:
                self.shoe.remove(card)
            drawn.append(Drawn(self.order, card, place))
        return tuple(drawn)
