"""`shoe-reader odds` and `explain`: what bets cost, and what the tableau demands for given cards.

Prints only; counting and wording are the game's. Every figure is rounded here and only here, from
exact fractions. For the back office: odds from what is left of a shoe are never to be shown at a
table.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

from vision.commands.printing.console import TextTable
from vision.config.profiles import DEFAULT, in_a_line, load_profile, profile_names
from vision.errors import ConfigurationError
from vision.game.cards import Card, parse_cards
from vision.game.explain import LaidCard, dealt_in_order, dealt_to_hands, tableau_rows
from vision.game.explain import explain as explained
from vision.game.odds import Edge, OutcomeCounts, count, edges, percent, remaining
from vision.game.rules import Profile
from vision.game.wagers import EGALITES, Bet, winning_wagers

EXAMPLE = 'write them as dealt, "9s 7d 4h Kc 2d", or as two hands, "9s 4h 2d / 7d Kc"'
DIGITS = 10  # decimals; published tables have four to ten
CONVENTION = (
    "House edge: the share of the stake that the house keeps on average, odds to 1. Per bet made "
    "counts every bet; per bet resolved leaves out those that an Egalite returns."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = "a packaged profile or the path of a .toml file; none: the packaged ones are listed"
    parser.add_argument("profile", nargs="*", help=words)
    parser.add_argument("--decks", type=int, help="another number of decks than the profile's")
    words = 'cards that have left the shoe, as in "As Td 9h" (back office only)'
    parser.add_argument("--gone", default="", metavar="CARDS", help=words)
    parser.add_argument("--markdown", action="store_true", help="the tables in Markdown")


def run(args: argparse.Namespace) -> None:
    """Print what was asked for; ConfigurationError."""
    if args.decks is not None and not 1 <= args.decks <= 12:
        raise ConfigurationError(f"--decks: is {args.decks}; write a whole number from 1 to 12")
    if not args.profile:
        if args.decks or args.gone or args.markdown:
            raise ConfigurationError("odds: no profile is named; shoe-reader odds lists them")
        for name in profile_names():
            print(f"{name:<18} {in_a_line(load_profile(name))}")
        return
    print("\n\n".join(_odds_of(load_profile(name), args) for name in args.profile))


def _odds_of(profile: Profile, args: argparse.Namespace) -> str:
    decks = args.decks or profile.rules.decks
    try:
        gone = parse_cards(args.gone)
        counts = count(remaining(decks, gone), profile.rules.tableau)
    except ValueError as error:
        raise ConfigurationError(f"--gone: {error}") from error
    found = edges(counts, profile.betting)
    shoe = f"{decks} decks, {len(gone)} cards gone" if gone else f"{decks} decks, full shoe"
    form = TextTable.markdown if args.markdown else TextTable.text
    tables = (form(table) for table in (probabilities(counts), edge_table(found)))
    return "\n\n".join((f"{profile.name}: {profile.title}. {shoe}.", *tables, CONVENTION))


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
        *((f"Coup of {cards} cards", n) for cards, n in enumerate(counts.lengths, start=4)),
    ]
    return TextTable(
        (f"of {counts.total} runs of six cards", "count", "probability"),
        tuple((what, str(n), ten_digits(Fraction(n, counts.total))) for what, n in rows),
    )


def edge_table(found: Iterable[Edge]) -> TextTable:
    """Return the house edge of each bet under both conventions, in per cent to four decimals."""
    rows = tuple(
        (
            edge.offer.name,
            edge.offer.terms
            + ("" if edge.share is None else f", Egalite pays {float(edge.share * 100):g} %"),
            ten_digits(edge.wins),
            f"{percent(edge.per_bet, 4)} %",
            f"{percent(edge.per_resolved, 4)} %",
        )
        for edge in found
    )
    return TextTable(("bet", "pays", "wins", "per bet made", "per bet resolved"), rows)


def add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("cards", nargs="*", metavar="CARDS", help="cards in the order in which they left the "
        'shoe, as in "9s 7d 4h Kc 2d"; or the two hands as they lie, Punto first, as in "9s 4h 2d '
        '/ 7d Kc"')  # fmt: skip
    add("--profile", default=DEFAULT, help="a packaged profile or the path of a .toml file")
    add("--table", action="store_true", help="print the tableau")


def explain(args: argparse.Namespace) -> None:
    """Print the tableau, the explanation, or both; ConfigurationError."""
    profile = load_profile(args.profile)
    text = " ".join(args.cards).strip()
    if not text and not args.table:
        raise ConfigurationError(f"no cards given: {EXAMPLE}; or ask for --table")
    if args.table:
        for heading, *rows in tableau_rows(profile.rules.tableau):
            print(TextTable(heading, tuple(rows)).text(), end="\n\n")
    if not text:
        return
    explanation = explained(_dealt(text, profile), profile.rules)
    print("\n".join(explanation.lines))
    if explanation.outcome is not None:
        paid = winning_wagers(explanation.outcome, profile.betting)
        print("Pays: " + "; ".join(f"{wager.name} {wager.odds}" for wager in paid) + ".")


def _dealt(text: str, profile: Profile) -> tuple[LaidCard, ...]:
    try:
        hands = [parse_cards(hand) for hand in text.split("/")]
        _refuse_extra_copies([card for hand in hands for card in hand], profile.rules.decks)
        if len(hands) == 1:
            return dealt_in_order(hands[0])
        if len(hands) > 2:
            raise ValueError(f"there are {len(hands)} hands; a coup has two")
        return dealt_to_hands(hands[0], hands[1], profile.rules.deal_order)
    except ValueError as error:
        raise ConfigurationError(f"CARDS: {error}; {EXAMPLE}") from error


def _refuse_extra_copies(cards: list[Card], decks: int) -> None:
    for card, copies in Counter(cards).items():
        if copies > decks:
            raise ValueError(f"{card} is there {copies} times, but {decks} decks hold {decks}")
