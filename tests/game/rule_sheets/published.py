"""The figures that the rule sheets publish, ours, and the conventions that each could mean.

`python -m tests.game.rule_sheets.published` prints them as the table of `deploy/odds.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from vision.commands.printing.console import TextTable
from vision.game.odds import Edge, count, edge, full_shoe, percent
from vision.game.tableau import STANDARD
from vision.game.wagers import Bet, Commission, Offer

# As many decks as make the shoe endless for any figure that is ever printed.
ENDLESS = 10**6
# The shoes for which odds are published: decks, and the heading of the column.
SHOES = ((8, "8 decks"), (6, "6 decks"), (ENDLESS, "endless shoe"))


@dataclass(frozen=True, slots=True)
class Convention:
    """A figure under one convention; the value is a share, 0 to 1."""

    words: str
    value: Fraction


@dataclass(frozen=True, slots=True)
class Figure:
    """A published percentage and what it could mean; the first reading is ours."""

    sheet: int
    what: str
    published: str
    readings: tuple[Convention, ...]

    @property
    def ours(self) -> Convention:
        """The figure per bet made, from 8 decks, with odds to 1."""
        return self.readings[0]

    @property
    def agreeing(self) -> tuple[Convention, ...]:
        """The readings that give exactly the published digits."""
        places = len(self.published.partition(".")[2])
        return tuple(r for r in self.readings if percent(r.value, places) == self.published)


def published_figures() -> tuple[Figure, ...]:
    """Return all figures of sheets 0 and 4; sheets 1 to 3 publish none."""
    return (
        _double_chance("0.195", 10),
        _double_chance("0.956", 2),
        Figure(0, "Egalite at 9-1", "4.84", _side(Bet.EGALITE, 9)),
        Figure(0, "Three giving eight at 180-1", "17.77", _side(Bet.THREE_GIVING_EIGHT, 180)),
        Figure(0, "UR WAY Egalite 7 at 45-1", "8.43", _side(Bet.EGALITE_7, 45)),
        Figure(0, "UR WAY Egalite 6 at 45-1", "13.42", _side(Bet.EGALITE_6, 45)),
        Figure(4, "Banco at 1-1 less 5 %", "1.17", _main(Bet.BANCO, Fraction(5, 100))),
        Figure(4, "Punto at 1-1", "1.36", _main(Bet.PUNTO, Fraction(0))),
        Figure(4, "Egalite at 8-1", "14.12", _side(Bet.EGALITE, 8)),
    )


def _edge(decks: int, offer: Offer, share: Fraction | None = None) -> Edge:
    return edge(count(full_shoe(decks), STANDARD), offer, share)


def _double_chance(published: str, percentage: int) -> Figure:
    share = Fraction(percentage, 100)
    banco = Offer(Bet.BANCO, "Banco", Fraction(19, 20))
    punto = Offer(Bet.PUNTO, "Punto", Fraction(1))
    readings = []
    for decks, shoe in SHOES:
        ours, theirs = (_edge(decks, offer, share).per_bet for offer in (banco, punto))
        readings += [
            Convention(f"mean of Banco and Punto, {shoe}", (ours + theirs) / 2),
            Convention(f"Banco, {shoe}", ours),
            Convention(f"Punto, {shoe}", theirs),
        ]
    return Figure(0, f"Double Chance at {percentage} %", published, tuple(readings))


def _main(bet: Bet, share: Fraction) -> tuple[Convention, ...]:
    offer = Offer(bet, bet.value, Fraction(1), commission=Commission(share))
    readings = []
    for decks, shoe in SHOES:
        found = _edge(decks, offer)
        readings += [
            Convention(f"per bet made, {shoe}", found.per_bet),
            Convention(f"per bet resolved, {shoe}", found.per_resolved),
        ]
    return tuple(readings)


def _side(bet: Bet, odds: int) -> tuple[Convention, ...]:
    readings = []
    for decks, shoe in SHOES:
        found = _edge(decks, Offer(bet, bet.value, Fraction(odds)))
        rounded = Fraction(floor(found.wins * 10**5 + Fraction(1, 2)), 10**5)
        readings += [
            Convention(f"{odds} to 1, {shoe}", found.per_bet),
            Convention(f"{odds} for 1, {shoe}", 1 - found.wins * odds),
            Convention(
                f"{odds} for 1, {shoe}, from a probability rounded to {percent(rounded, 3)} %",
                1 - rounded * odds,
            ),
        ]
    return tuple(readings)


def figures_table(figures: Iterable[Figure]) -> TextTable:
    """Return the figures that the rule sheets publish, ours, and where the two agree."""
    rows = tuple(
        (
            f"sheet {figure.sheet}: {figure.what}",
            f"{figure.published} %",
            f"{percent(figure.ours.value, 4)} %",
            figure.ours.words,
            "; ".join(reading.words for reading in figure.agreeing) or "none that we tried",
        )
        for figure in figures
    )
    return TextTable(("figure", "published", "ours", "our convention", "they agree under"), rows)


if __name__ == "__main__":
    print(figures_table(published_figures()).markdown())
