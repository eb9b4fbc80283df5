"""`shoe-reader explain`: what the tableau demands for given cards, card by card."""

from __future__ import annotations

import argparse
from collections import Counter

from vision.commands.printing.odds_tables import TextTable
from vision.config.profiles import DEFAULT, load_profile
from vision.errors import ConfigurationError
from vision.game.cards import Card, parse_cards
from vision.game.explain import (
    LaidCard,
    dealt_in_order,
    dealt_to_hands,
    explain,
    tableau_rows,
)
from vision.game.rules import Profile
from vision.game.wagers import winning_wagers

EXAMPLE = 'write them as dealt, "9s 7d 4h Kc 2d", or as two hands, "9s 4h 2d / 7d Kc"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add = parser.add_argument
    add("cards", nargs="*", metavar="CARDS", help="cards in the order in which they left the "
        'shoe, as in "9s 7d 4h Kc 2d"; or the two hands as they lie, Punto first, as in "9s 4h 2d '
        '/ 7d Kc"')  # fmt: skip
    add("--profile", default=DEFAULT, help="a packaged profile or the path of a .toml file")
    add("--table", action="store_true", help="print the tableau")


def run(args: argparse.Namespace) -> None:
    """Print the explanation, the tableau, or both."""
    profile = load_profile(args.profile)
    text = " ".join(args.cards)
    if not text.strip() and not args.table:
        raise ConfigurationError(f"no cards given: {EXAMPLE}; or ask for --table")
    if args.table:
        for heading, *rows in tableau_rows(profile.rules.tableau):
            print(TextTable(heading, tuple(rows)).text(), end="\n\n")
    if text.strip():
        _explain(_dealt(text, profile), profile)


def _dealt(text: str, profile: Profile) -> tuple[LaidCard, ...]:
    hands = text.split("/")
    try:
        cards = [parse_cards(hand) for hand in hands]
        _refuse_extra_copies([card for hand in cards for card in hand], profile.rules.decks)
        if len(cards) == 1:
            return dealt_in_order(cards[0])
        if len(cards) > 2:
            raise ValueError(f"there are {len(cards)} hands; a coup has two")
        return dealt_to_hands(cards[0], cards[1], profile.rules.deal_order)
    except ValueError as error:
        raise ConfigurationError(f"CARDS: {error}; {EXAMPLE}") from error


def _refuse_extra_copies(cards: list[Card], decks: int) -> None:
    for card, copies in Counter(cards).items():
        if copies > decks:
            raise ValueError(f"{card} is there {copies} times, but {decks} decks hold {decks}")


def _explain(dealt: tuple[LaidCard, ...], profile: Profile) -> None:
    explanation = explain(dealt, profile.rules)
    print("\n".join(explanation.lines))
    if explanation.outcome is not None:
        paid = winning_wagers(explanation.outcome, profile.betting)
        print("Pays: " + "; ".join(f"{wager.name} {wager.odds}" for wager in paid) + ".")
