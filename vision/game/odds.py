"""Exact probabilities and house edges, by counting every ordered run of six cards.

Counts are whole numbers: a coup of four or five cards is weighted with every way in which the next
two or one cards of the shoe could have followed, so all counts have one denominator. From what is
left of a shoe it serves the back office only; nothing of it may reach the public side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, perm
from operator import eq, gt, lt

from vision.game.cards import Card, Rank
from vision.game.tableau import Tableau
from vision.game.wagers import Bet, Betting, Offer

LONGEST = 6  # cards of the longest coup, three for each hand; every count is of runs of that many


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """How many of `total` equally likely ordered runs of six cards end in each way.

    `totals[punto][banco]` are the runs that end with those totals; `lengths` those in which the
    coup has four, five or six cards; `naturals` those with a natural in Punto, in Banco, in both.
    """

    total: int
    totals: tuple[tuple[int, ...], ...]
    lengths: tuple[int, int, int]
    naturals: tuple[int, int, int]
    three_giving_eight: int
    punto_pair: int
    banco_pair: int
    both_pairs: int

    @property
    def natural(self) -> int:
        """Runs with a natural in either hand."""
        punto, banco, both = self.naturals
        return punto + banco - both

    def of(self, bet: Bet) -> int:
        """Return the number of runs in which the bet wins."""
        if bet.total is not None:
            return self.totals[bet.total][bet.total]
        return RUNS[bet](self)

    def ahead(self, by: Callable[[int, int], bool]) -> int:
        """Return the runs of which the totals of Punto and Banco compare so."""
        cells = ((p, b, n) for p, row in enumerate(self.totals) for b, n in enumerate(row))
        return sum(n for punto, banco, n in cells if by(punto, banco))


# The runs in which each bet wins, by the table of `wagers.WINS`.
RUNS: Mapping[Bet, Callable[[OutcomeCounts], int]] = {
    Bet.BANCO: lambda counts: counts.ahead(lt),
    Bet.PUNTO: lambda counts: counts.ahead(gt),
    Bet.EGALITE: lambda counts: counts.ahead(eq),
    Bet.THREE_GIVING_EIGHT: lambda counts: counts.three_giving_eight,
    Bet.PUNTO_PAIR: lambda counts: counts.punto_pair,
    Bet.BANCO_PAIR: lambda counts: counts.banco_pair,
    Bet.EITHER_PAIR: lambda counts: counts.punto_pair + counts.banco_pair - counts.both_pairs,
}


def full_shoe(decks: int) -> tuple[int, ...]:
    """Return how many cards of each of the 13 ranks, ace first, a new shoe holds."""
    return (4 * decks,) * len(Rank)


def remaining(decks: int, gone: Sequence[Card]) -> tuple[int, ...]:
    """Return the ranks left when those cards have gone; ValueError if one was never there."""
    left = list(full_shoe(decks))
    for card, copies in Counter(gone).items():
        if copies > decks:
            raise ValueError(f"{copies} copies of {card} have gone; {decks} decks hold {decks}")
        left[card.rank - 1] -= copies
    return tuple(left)


@lru_cache(maxsize=32)
def count(ranks: tuple[int, ...], tableau: Tableau) -> OutcomeCounts:
    """Count every coup that can be dealt from those ranks (13 numbers, ace first).

    ValueError if fewer than six cards are left: such a shoe can run out within a coup.
    """
    cards = sum(ranks)
    if cards < LONGEST:
        raise ValueError(f"{cards} cards are left; a coup can need {LONGEST}")
    tally = _Tally(cards)
    for punto, banco, weight, left in _openings(_by_points(ranks)):
        tally.opening(punto, banco, weight)
        _finish(tally, tableau, (punto, banco), weight, left)
    in_hand, in_both = _pairs(ranks)
    rest = perm(cards - 4, 2)
    return OutcomeCounts(
        total=perm(cards, LONGEST),
        totals=tuple(tuple(row) for row in tally.totals),
        lengths=(tally.lengths[0], tally.lengths[1], tally.lengths[2]),
        naturals=(tally.naturals[0], tally.naturals[1], tally.naturals[2]),
        three_giving_eight=tally.three_giving_eight,
        punto_pair=in_hand * rest,
        banco_pair=in_hand * rest,
        both_pairs=in_both * rest,
    )


class _Tally:
    """Running sums; `scale` makes a coup of four or five cards a run of six."""

    def __init__(self, cards: int) -> None:
        self.scale = (perm(cards - 4, 2), cards - 5, 1)
        self.totals = [[0] * 10 for _ in range(10)]
        self.lengths = [0, 0, 0]
        self.naturals = [0, 0, 0]
        self.three_giving_eight = 0

    def opening(self, punto: int, banco: int, weight: int) -> None:
        """Note which of the two first hands are naturals."""
        for index, holds in enumerate((punto >= 8, banco >= 8, punto >= 8 and banco >= 8)):
            self.naturals[index] += weight * self.scale[0] * holds

    def ended(self, punto: int, banco: int, thirds: int, weight: int) -> None:
        """Note a finished coup with that many third cards."""
        weight *= self.scale[thirds]
        self.totals[punto % 10][banco % 10] += weight
        self.lengths[thirds] += weight

    def banco_drew(self, punto: int, banco: int, thirds: int, weight: int, left: list[int]) -> None:
        """Note every coup that ends with one more card to Banco, one of those left."""
        weight *= self.scale[thirds]
        row = self.totals[punto % 10]
        for card, number in enumerate(left):
            row[(banco + card) % 10] += weight * number
        self.lengths[thirds] += weight * sum(left)


def _by_points(ranks: tuple[int, ...]) -> list[int]:
    left = [0] * 10
    for rank, number in zip(Rank, ranks, strict=True):
        left[rank.points] += number
    return left


def _pairs_of_points(left: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield every unordered pair of card points and the number of ordered ways to draw it."""
    for low in range(10):
        for high in range(low, 10):
            ways = left[low] * (left[low] - 1) if low == high else 2 * left[low] * left[high]
            if ways > 0:
                yield low, high, ways


def _openings(left: list[int]) -> Iterator[tuple[int, int, int, list[int]]]:
    """Yield the points of the two first hands, their weight and what is left by points.

    The order of the four cards does not matter to a count: every order of dealing is as likely.
    """
    for a, b, punto_ways in _pairs_of_points(left):
        left[a] -= 1
        left[b] -= 1
        for c, d, banco_ways in _pairs_of_points(left):
            left[c] -= 1
            left[d] -= 1
            yield (a + b) % 10, (c + d) % 10, punto_ways * banco_ways, left
            left[c] += 1
            left[d] += 1
        left[a] += 1
        left[b] += 1


def _finish(
    tally: _Tally, tableau: Tableau, hands: tuple[int, int], weight: int, left: list[int]
) -> None:
    punto, banco = hands
    if punto >= 8 or banco >= 8:
        tally.ended(punto, banco, 0, weight)
    elif tableau.punto_draws(punto):
        _punto_drew(tally, tableau, hands, weight, left)
    elif tableau.banco_draws(banco, None):
        tally.banco_drew(punto, banco, 1, weight, left)
    else:
        tally.ended(punto, banco, 0, weight)


def _punto_drew(
    tally: _Tally, tableau: Tableau, hands: tuple[int, int], weight: int, left: list[int]
) -> None:
    punto, banco = hands
    for third, number in enumerate(left):
        ways = weight * number
        if banco == 3 and third == 8:
            tally.three_giving_eight += ways * tally.scale[1]
        if tableau.banco_draws(banco, third):
            left[third] -= 1
            tally.banco_drew(punto + third, banco, 2, ways, left)
            left[third] += 1
        else:
            tally.ended(punto + third, banco, 1, ways)


def _pairs(ranks: tuple[int, ...]) -> tuple[int, int]:
    """Count the ordered four-card openings with a pair in one given hand, and in both."""
    cards = sum(ranks)
    one = sum(n * (n - 1) for n in ranks)
    both = sum(
        n * (n - 1) * ((m - 2) * (m - 3) if rank == other else m * (m - 1))
        for rank, n in enumerate(ranks)
        for other, m in enumerate(ranks)
    )
    return one * perm(cards - 2, 2), both


@dataclass(frozen=True, slots=True)
class Edge:
    """What a bet costs: shares (0 to 1) of the stake that the house keeps on average.

    `per_bet` counts every bet made; `per_resolved` leaves out those that end in a stand-off.
    `share` is the Double Chance percentage that was taken, if any.
    """

    offer: Offer
    wins: Fraction
    per_bet: Fraction
    per_resolved: Fraction
    share: Fraction | None = None


def edges(counts: OutcomeCounts, betting: Betting) -> tuple[Edge, ...]:
    """Return the edge of every bet on offer; Banco and Punto at both ends of a Double Chance."""
    found = []
    for offer in betting.offers:
        if offer.bet.is_main and betting.double_chance:
            found += [edge(counts, offer, share) for share in betting.double_chance]
        else:
            found.append(edge(counts, offer))
    return tuple(found)


def edge(counts: OutcomeCounts, offer: Offer, share: Fraction | None = None) -> Edge:
    """Return what one bet costs; `share` is what an Egalite pays a Banco or Punto bet.

    Without `share` an Egalite is a stand-off for Banco and Punto. The commission is taken exactly.
    """
    won = Fraction(counts.of(offer.bet), counts.total)
    level = Fraction(counts.of(Bet.EGALITE), counts.total) if offer.bet.is_main else Fraction(0)
    gain = won * offer.net_odds - (1 - won - level) + level * (share or 0)
    stands_off = level if share is None else Fraction(0)
    return Edge(offer, won, -gain, -gain / (1 - stands_off), share)


def percent(share: Fraction, places: int) -> str:
    """Write a share as a percentage with that many decimals, halves rounded up."""
    units = floor(share * 100 * 10**places + Fraction(1, 2))
    sign, digits = "-" if units < 0 else "", str(abs(units)).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
