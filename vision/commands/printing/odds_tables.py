"""Print odds: probabilities, house edges and the players' guide, as text, Markdown or HTML.

Returns texts and prints nothing. Every figure is rounded here and only here, from exact fractions.
It must not know how anything is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from importlib.resources import files

from jinja2 import Environment

from vision.game.odds import Edge, Figure, OutcomeCounts, percent
from vision.game.rules import Profile
from vision.game.wagers import EGALITES, Bet

DIGITS = 10  # decimals; published tables have four to ten
CONVENTION = (
    "House edge: the share of the stake that the house keeps on average, odds to 1. Per bet made "
    "counts every bet; per bet resolved leaves out those that an Egalite returns."
)
EXPLANATION = (
    "The House Edge is a measure of how much the House expects to win, as a percentage of the "
    "wager. In a wager with a House Edge of five percent a player loses, on average over time, "
    "5 for every 100 wagered."
)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A heading and rows of words, the first column left, the others right."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return the table in columns, for a terminal."""
        lines = (self.heading, *self.rows)
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.heading))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rule = (":--", *("--:" for _ in self.heading[1:]))
        return "\n".join(f"| {' | '.join(line)} |" for line in (self.heading, rule, *self.rows))


def ten_digits(share: Fraction) -> str:
    """Write a share to ten significant digits."""
    context = Context(prec=DIGITS)
    return f"{context.divide(Decimal(share.numerator), Decimal(share.denominator)):f}"


def probabilities(counts: OutcomeCounts) -> TextTable:
    """Return what a coup can bring, with exact counts and probabilities to ten digits."""
    punto, banco, _ = counts.naturals
    rows = [
        ("Banco wins", counts.of(Bet.BANCO)),
        ("Punto wins", counts.of(Bet.PUNTO)),
        ("Egalite", counts.of(Bet.EGALITE)),
        *((f"Egalite at {bet.total}", counts.of(bet)) for bet in EGALITES),
        ("Three giving eight", counts.three_giving_eight),
        ("Punto pair", counts.punto_pair),
        ("Banco pair", counts.banco_pair),
        ("Either pair", counts.of(Bet.EITHER_PAIR)),
        ("Both pairs", counts.both_pairs),
        ("Punto natural", punto),
        ("Banco natural", banco),
        ("A natural in either hand", counts.natural),
        *(
            (f"Coup of {cards} cards", number)
            for cards, number in zip((4, 5, 6), counts.lengths, strict=True)
        ),
    ]
    return TextTable(
        (f"of {counts.total} runs of six cards", "count", "probability"),
        tuple((what, str(n), ten_digits(Fraction(n, counts.total))) for what, n in rows),
    )


def edge_table(edges: Iterable[Edge]) -> TextTable:
    """Return the house edge of each bet under both conventions, in per cent to four decimals."""
    rows = []
    for edge in edges:
        terms = edge.offer.terms
        if edge.share is not None:
            terms += f", Egalite pays {float(edge.share * 100):g} %"
        rows.append(
            (
                edge.offer.name,
                terms,
                ten_digits(edge.wins),
                f"{percent(edge.per_bet, 4)} %",
                f"{percent(edge.per_resolved, 4)} %",
            )
        )
    return TextTable(("bet", "pays", "wins", "per bet made", "per bet resolved"), tuple(rows))


def _guide_lines(
    profile: Profile, decks: int, edges: tuple[Edge, ...]
) -> tuple[str, TextTable, tuple[str, ...]]:
    rows = tuple(
        (
            edge.offer.name
            + (
                f" at {float(edge.share * 100):g} % Double Chance" if edge.share is not None else ""
            ),
            edge.offer.terms,
            f"{percent(edge.per_bet, 2)} %",
        )
        for edge in edges
    )
    notes = [f"From {decks} decks, per bet made: every bet counts, odds are to 1."]
    means = _double_chance_means(edges)
    if len(means) == 2:
        low, high = sorted(means)
        notes.append(
            f"The mean of Banco and Punto varies from {percent(low, 3)} % to {percent(high, 3)} % "
            "with the Double Chance percentage that has been agreed."
        )
    title = f"{profile.title}: a players' guide to the house edge"
    return title, TextTable(("Wager", "Pays", "House edge"), rows), tuple(notes)


def _double_chance_means(edges: tuple[Edge, ...]) -> list[Fraction]:
    shares = sorted({edge.share for edge in edges if edge.share is not None})
    means = []
    for share in shares:
        both = [edge.per_bet for edge in edges if edge.share == share]
        means.append(sum(both, Fraction(0)) / len(both))
    return means


def guide_markdown(profile: Profile, decks: int, edges: tuple[Edge, ...]) -> str:
    """Return the Guide to the House Edge of a profile in Markdown."""
    title, table, notes = _guide_lines(profile, decks, edges)
    return "\n\n".join((f"# {title}", EXPLANATION, table.markdown(), *notes)) + "\n"


def guide_html(profile: Profile, decks: int, edges: tuple[Edge, ...]) -> str:
    """Return the Guide to the House Edge of a profile as a page of HTML."""
    title, table, notes = _guide_lines(profile, decks, edges)
    page = files("vision.commands.printing").joinpath("guide.html").read_text("utf-8")
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(page)
    return template.render(title=title, table=table, paragraphs=(EXPLANATION, *notes))


def figures_table(figures: Iterable[Figure]) -> TextTable:
    """Return the figures that the rule sheets publish, ours, and where the two agree."""
    rows = []
    for figure in figures:
        agreeing = "; ".join(reading.words for reading in figure.agreeing)
        rows.append(
            (
                f"sheet {figure.sheet}: {figure.what}",
                f"{figure.published} %",
                f"{percent(figure.ours.value, 4)} %",
                figure.ours.words,
                agreeing or "none that we tried",
            )
        )
    return TextTable(
        ("figure", "published", "ours", "our convention", "they agree under"), tuple(rows)
    )
