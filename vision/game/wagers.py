"""The bets of the rule sheets: what each wins on, and the terms of a house.

Odds are to one; odds and money are exact (`Fraction`). A coup reaches this module as its outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from vision.game.events import Winner
from vision.game.outcome import Outcome


class Bet(StrEnum):
    """Everything a player can stake on, in the order in which it is listed."""

    BANCO = "banco"
    PUNTO = "punto"
    EGALITE = "egalite"
    EGALITE_0 = "egalite_0"
    EGALITE_1 = "egalite_1"
    EGALITE_2 = "egalite_2"
    EGALITE_3 = "egalite_3"
    EGALITE_4 = "egalite_4"
    EGALITE_5 = "egalite_5"
    EGALITE_6 = "egalite_6"
    EGALITE_7 = "egalite_7"
    EGALITE_8 = "egalite_8"
    EGALITE_9 = "egalite_9"
    THREE_GIVING_EIGHT = "three_giving_eight"
    PUNTO_PAIR = "punto_pair"
    BANCO_PAIR = "banco_pair"
    EITHER_PAIR = "either_pair"

    @property
    def is_main(self) -> bool:
        """Whether it is a bet on one of the two hands."""
        return self in (Bet.BANCO, Bet.PUNTO)

    @property
    def total(self) -> int | None:
        """The total that an individual Egalite names; None for every other bet."""
        return EGALITES.index(self) if self in EGALITES else None


EGALITES: tuple[Bet, ...] = tuple(Bet(f"egalite_{total}") for total in range(10))


# What each bet wins on; a Banco or Punto bet on an Egalite is no winner.
WINS: Mapping[Bet, Callable[[Outcome], bool]] = {
    Bet.BANCO: lambda outcome: outcome.winner is Winner.BANCO,
    Bet.PUNTO: lambda outcome: outcome.winner is Winner.PUNTO,
    Bet.EGALITE: lambda outcome: outcome.winner is Winner.EGALITE,
    Bet.THREE_GIVING_EIGHT: lambda outcome: outcome.three_giving_eight,
    Bet.PUNTO_PAIR: lambda outcome: outcome.punto_pair,
    Bet.BANCO_PAIR: lambda outcome: outcome.banco_pair,
    Bet.EITHER_PAIR: lambda outcome: outcome.punto_pair or outcome.banco_pair,
}


def wins(bet: Bet, outcome: Outcome) -> bool:
    """Whether the bet is a winning one."""
    if bet.total is not None:
        return outcome.egalite_points == bet.total
    return WINS[bet](outcome)


def odds_text(odds: Fraction) -> str:
    """Write odds as the sheets do: `19-20`, `9-1`."""
    return f"{odds.numerator}-{odds.denominator}"


def parse_odds(text: str) -> Fraction:
    """Read odds such as `19-20` or `9-1`; ValueError for anything else."""
    parts = [part.strip() for part in text.split("-")]
    if len(parts) != 2 or not all(p.isascii() and p.isdigit() and int(p) > 0 for p in parts):
        raise ValueError(f"'{text}' is not odds: write two whole numbers, as in 19-20 or 9-1")
    return Fraction(int(parts[0]), int(parts[1]))


class Rounding(StrEnum):
    """How a commission is rounded to whole units."""

    EXACT = "exact"
    DOWN = "down"
    NEAREST = "nearest"
    UP = "up"


@dataclass(frozen=True, slots=True)
class Commission:
    """What the house keeps of a win: a share (0 to 1), rounded to whole `unit`s of money."""

    share: Fraction
    rounding: Rounding = Rounding.EXACT
    unit: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Offer:
    """The terms of one bet: odds to one, who may make it, and for how much.

    `needs` names the bets of which the same player must have made one; empty for a bet that stands
    alone. `maximum` is None where the table states none.
    """

    bet: Bet
    name: str
    odds: Fraction
    needs: tuple[Bet, ...] = ()
    minimum: Fraction = Fraction(1)
    maximum: Fraction | None = None
    commission: Commission | None = None

    @property
    def terms(self) -> str:
        """The odds in words: `9-1`, or `1-1 less 5 %`."""
        text = odds_text(self.odds)
        if self.commission is None:
            return text
        return f"{text} less {float(self.commission.share * 100):g} %"

    @property
    def net_odds(self) -> Fraction:
        """What a winner keeps of one unit staked, before any rounding of the commission."""
        return self.odds * (1 - (self.commission.share if self.commission else 0))


@dataclass(frozen=True, slots=True)
class Betting:
    """What may be staked at a table, and what an Egalite does to Banco and Punto bets.

    `double_chance` is the lowest and highest share of the stake (0 to 1) that may be agreed to be
    paid on an Egalite, on top of the stake; None where an Egalite is a stand-off.
    """

    offers: tuple[Offer, ...]
    both_hands: bool = False
    double_chance: tuple[Fraction, Fraction] | None = None

    def offer(self, bet: Bet) -> Offer | None:
        """Return the terms of a bet; None if the house does not offer it."""
        return next((offer for offer in self.offers if offer.bet is bet), None)


@dataclass(frozen=True, slots=True)
class WinningWager:
    """A bet that a coup pays, with its terms in words, for the result message."""

    bet: Bet
    name: str
    odds: str


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):g} %"


def winning_wagers(outcome: Outcome, betting: Betting) -> tuple[WinningWager, ...]:
    """Return the bets that a coup pays, in the order of the profile, with their odds in words.

    Where Double Chance is played an Egalite pays Banco and Punto the agreed percentage: they are
    listed with the range.
    """
    paid = []
    for offer in betting.offers:
        if wins(offer.bet, outcome):
            paid.append(WinningWager(offer.bet, offer.name, offer.terms))
        elif offer.bet.is_main and outcome.winner is Winner.EGALITE and betting.double_chance:
            low, high = betting.double_chance
            terms = f"{_percent(low)} to {_percent(high)}, as agreed"
            paid.append(WinningWager(offer.bet, f"{offer.name}, Double Chance", terms))
    return tuple(paid)
