"""`shoe-reader odds`: exact probabilities and house edges of one profile or of all.

Prints only; counting and wording are the game's. For the back office: odds from what is left of a
shoe are never to be shown at a table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from vision.commands.printing.odds_tables import (
    CONVENTION,
    TextTable,
    edge_table,
    figures_table,
    guide_html,
    guide_markdown,
    probabilities,
)
from vision.config.profiles import load_profile, profile_names
from vision.errors import ConfigurationError
from vision.game.cards import Card, parse_cards
from vision.game.odds import count, edges, published_figures, remaining
from vision.game.rules import Profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    words = "a packaged profile or the path of a .toml file; none: all packaged ones"
    parser.add_argument("profile", nargs="*", help=words)
    parser.add_argument("--decks", type=int, help="another number of decks than the profile's")
    words = 'cards that have left the shoe, as in "As Td 9h" (back office only)'
    parser.add_argument("--gone", default="", metavar="CARDS", help=words)
    add = parser.add_mutually_exclusive_group().add_argument
    add("--markdown", action="store_true", help="the tables in Markdown")
    add("--guide", choices=("markdown", "html"), help="the players' Guide to the House Edge")
    words = "every figure that the rule sheets publish, ours, and the convention of each"
    add("--published", action="store_true", help=words)


def run(args: argparse.Namespace) -> None:
    """Print what was asked for."""
    if args.published:
        print(figures_table(published_figures()).markdown())
        return
    if args.decks is not None and not 1 <= args.decks <= 12:
        raise ConfigurationError(f"--decks: is {args.decks}; write a whole number from 1 to 12")
    gone = _gone(args.gone)
    if gone and args.guide:
        raise ConfigurationError("--guide: needs a full shoe; leave out --gone")
    names = args.profile or profile_names()
    print("\n\n".join(_told(load_profile(name), args, gone) for name in names))


def _gone(text: str) -> tuple[Card, ...]:
    try:
        return parse_cards(text)
    except ValueError as error:
        raise ConfigurationError(f"--gone: {error}") from error


def _told(profile: Profile, args: argparse.Namespace, gone: Sequence[Card]) -> str:
    decks = args.decks or profile.rules.decks
    try:
        counts = count(remaining(decks, gone), profile.rules.tableau)
    except ValueError as error:
        raise ConfigurationError(f"--gone: {error}") from error
    found = edges(counts, profile.betting)
    if args.guide == "markdown":
        return guide_markdown(profile, decks, found)
    if args.guide == "html":
        return guide_html(profile, decks, found)
    shoe = f"{decks} decks, {len(gone)} cards gone" if gone else f"{decks} decks, full shoe"
    tables = (probabilities(counts), edge_table(found))
    return "\n\n".join((f"{profile.name}: {profile.title}. {shoe}.", *_shown(tables, args)))


def _shown(tables: Sequence[TextTable], args: argparse.Namespace) -> tuple[str, ...]:
    form = TextTable.markdown if args.markdown else TextTable.text
    return (*(form(table) for table in tables), CONVENTION)
