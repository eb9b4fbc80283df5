"""The bets of the rule sheets: what each wins on, the terms of a house, and settling wagers.

Odds are to one; odds and money are exact (`Fraction`). A coup reaches this module as its outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor

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

    def on(self, win: Fraction) -> Fraction:
        """Return the commission on a win; half a unit rounds up under `nearest`."""
        due = win * self.share
        units = due / self.unit
        match self.rounding:
            case Rounding.EXACT:
                return due
            case Rounding.DOWN:
                return floor(units) * self.unit
            case Rounding.UP:
                return ceil(units) * self.unit
            case _:
                return floor(units + Fraction(1, 2)) * self.unit


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
class Wager:
    """A stake on a bet; `player` tells the wagers of several players apart."""

    bet: Bet
    stake: Fraction
    player: str = ""


class Result(StrEnum):
    """What became of a wager."""

    WON = "won"
    LOST = "lost"
    STAND_OFF = "stand-off"
    DOUBLE_CHANCE = "double chance"


@dataclass(frozen=True, slots=True)
class Settlement:
    """A settled wager: `profit` is what the player gains (negative: loses), less commission."""

    wager: Wager
    result: Result
    profit: Fraction
    commission: Fraction = Fraction(0)

    @property
    def returned(self) -> Fraction:
        """What the player takes from the table: stake and profit, or nothing."""
        return self.wager.stake + self.profit


@dataclass(frozen=True, slots=True)
class WinningWager:
    """A bet that a coup pays, with its terms in words, for the result message."""

    bet: Bet
    name: str
    odds: str


class IllegalWagersError(ValueError):
    """Wagers that the house refuses; `refusals` holds every reason."""

    def __init__(self, refusals: tuple[str, ...]) -> None:
        super().__init__("; ".join(refusals))
        self.refusals = refusals


NOTHING_AGREED: Mapping[str, Fraction] = {}


def refusals(
    wagers: Iterable[Wager], betting: Betting, agreed: Mapping[str, Fraction] = NOTHING_AGREED
) -> tuple[str, ...]:
    """Return every reason to refuse the wagers; empty if all are accepted.

    `agreed` holds, for each player, the share (0 to 1) agreed for Double Chance. "All wagers must
    be within the specified minimums and maximums displayed at the table": limits hold for what one
    player has on one bet altogether.
    """
    by_player: dict[str, dict[Bet, Fraction]] = {}
    reasons = []
    for wager in wagers:
        if wager.stake <= 0:
            reasons.append(
                _of_player(wager.player, f"a stake of {wager.stake} on {wager.bet.value}")
            )
        stakes = by_player.setdefault(wager.player, {})
        stakes[wager.bet] = stakes.get(wager.bet, Fraction(0)) + wager.stake
    for player, stakes in by_player.items():
        reasons += [_of_player(player, words) for words in _player_refusals(stakes, betting)]
        reasons += [
            _of_player(player, w) for w in _share_refusals(stakes, betting, agreed.get(player))
        ]
    return tuple(reasons)


def _of_player(player: str, words: str) -> str:
    return f"{player}: {words}" if player else words


def _player_refusals(stakes: Mapping[Bet, Fraction], betting: Betting) -> list[str]:
    reasons = []
    if Bet.BANCO in stakes and Bet.PUNTO in stakes and not betting.both_hands:
        # "may wager with the Bank (BANCO) or against the Bank (PUNTO/PLAYER) ... but not on both"
        reasons.append("Banco and Punto together; a player may wager on one of them only")
    for bet, stake in stakes.items():
        offer = betting.offer(bet)
        if offer is None:
            reasons.append(f"{bet.value} is not offered at this table")
        else:
            reasons += _offer_refusals(offer, stake, stakes)
    return reasons


def _offer_refusals(offer: Offer, stake: Fraction, stakes: Mapping[Bet, Fraction]) -> list[str]:
    reasons = []
    if stake < offer.minimum:
        reasons.append(f"{stake} on {offer.name} is under the minimum of {offer.minimum}")
    if offer.maximum is not None and stake > offer.maximum:
        reasons.append(f"{stake} on {offer.name} is over the maximum of {offer.maximum}")
    if offer.needs and not any(bet in stakes for bet in offer.needs):
        needed = " or ".join(bet.value for bet in offer.needs)
        reasons.append(f"{offer.name} must be accompanied by a wager on {needed}")
    return reasons


def _share_refusals(
    stakes: Mapping[Bet, Fraction], betting: Betting, share: Fraction | None
) -> list[str]:
    if betting.double_chance is None:
        return [] if share is None else ["no Double Chance is played at this table"]
    if not any(bet.is_main for bet in stakes) and share is None:
        return []
    low, high = betting.double_chance
    between = f"{_percent(low)} to {_percent(high)}"
    if share is None:
        return [f"no percentage agreed for Double Chance; agree one of {between} before the coup"]
    if not low <= share <= high:
        return [f"Double Chance at {_percent(share)} is outside {between}"]
    return []


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):g} %"


def settle(
    outcome: Outcome,
    wagers: Iterable[Wager],
    betting: Betting,
    agreed: Mapping[str, Fraction] = NOTHING_AGREED,
) -> tuple[Settlement, ...]:
    """Settle wagers on a finished coup, in the order given.

    Raises IllegalWagersError with every reason if the house refuses any of them.
    """
    placed = tuple(wagers)
    if reasons := refusals(placed, betting, agreed):
        raise IllegalWagersError(reasons)
    # `refusals` has seen to it that every bet has an offer.
    offers = {offer.bet: offer for offer in betting.offers}
    return tuple(
        _settled(wager, outcome, offers[wager.bet], agreed.get(wager.player)) for wager in placed
    )


def _settled(wager: Wager, outcome: Outcome, offer: Offer, share: Fraction | None) -> Settlement:
    if wins(wager.bet, outcome):
        win = wager.stake * offer.odds
        commission = offer.commission.on(win) if offer.commission else Fraction(0)
        return Settlement(wager, Result.WON, win - commission, commission)
    if wager.bet.is_main and outcome.winner is Winner.EGALITE:
        if share is None:
            # "any Bank or Player bets are deemed a stand off" (sheets 1 and 2)
            return Settlement(wager, Result.STAND_OFF, Fraction(0))
        # "... are paid at a previously agreed percentage of the amount staked" (sheet 0)
        return Settlement(wager, Result.DOUBLE_CHANCE, wager.stake * share)
    return Settlement(wager, Result.LOST, -wager.stake)


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
