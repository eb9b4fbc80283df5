"""Shoe Reader: cards in front of a camera become coups on a board.

As a library: `read_cards` finds the cards in a picture, `play_coup` deals a coup by the rules,
`next_slot` asks the tableau, `house_edges` computes odds, `fold_log` opens a log, and `step` takes
a table (`new_table`) from one event to the next. What each needs is imported when it is first used.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from vision.version import VERSION

if TYPE_CHECKING:
    from vision.config.profiles import load_profile
    from vision.game.cards import Card, parse_cards
    from vision.game.coup.state import new_table
    from vision.game.explain import Explanation
    from vision.game.fold.step import step
    from vision.game.odds import Edge
    from vision.game.tableau import next_slot
    from vision.inference.load import ModelSet
    from vision.sight.geometry.plane import Image
    from vision.sight.stills.reader import StillCard
    from vision.wire.session import TableSession

# Read by the picture library as it is loaded: no file may ask for more memory than any camera does.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 27))

__version__ = VERSION
__all__ = [
    "Card", "fold_log", "house_edges", "load_profile", "new_table", "next_slot", "parse_cards",
    "play_coup", "read_cards", "step",
]  # fmt: skip

ERROR_BOUND = 0.02  # probability; as `shoe-reader read` has it: below it a card is named
_HOMES = {
    "Card": "vision.game.cards",
    "load_profile": "vision.config.profiles",
    "new_table": "vision.game.coup.state",
    "next_slot": "vision.game.tableau",
    "parse_cards": "vision.game.cards",
    "step": "vision.game.fold.step",
}


def __getattr__(name: str) -> object:
    """Import one of the names above from where it is defined."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vision' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return what is here, the names that are imported when first used included."""
    return sorted({*globals(), *__all__})


def read_cards(
    picture: str | PathLike[str] | Image, *, bound: float = ERROR_BOUND
) -> tuple[StillCard, ...]:
    """Return the cards in a picture: a file, or an array of height x width x 3 (BGR, 8 bits).

    A card is named if its probability of error is at most `bound`. OutsideError where a file is
    missing or not a picture, ConfigurationError where an array is of another kind.
    """
    from vision.pictures import checked_picture, picture_in
    from vision.sight.stills.reader import read_still

    if isinstance(picture, str | PathLike):
        return read_still(_models(), picture_in(Path(picture)), bound=bound)
    return read_still(_models(), checked_picture(picture), bound=bound)


@cache
def _models() -> ModelSet:
    from vision.inference.load import for_pictures

    return for_pictures(threads=1)


def play_coup(cards: str, profile: str = "") -> Explanation:
    """Deal cards in the order in which they left the shoe, as in `9c 3s Kd 4h`, by a house's rules.

    The answer explains each step; its `outcome` is None where the coup is wrong or not complete.
    """
    from vision.config.profiles import DEFAULT, load_profile
    from vision.game.cards import parse_cards
    from vision.game.explain import dealt_in_order, explain

    return explain(dealt_in_order(parse_cards(cards)), load_profile(profile or DEFAULT).rules)


def house_edges(profile: str = "") -> tuple[Edge, ...]:
    """Return the exact edge of every bet that a house offers, from a full shoe."""
    from vision.config.profiles import DEFAULT, load_profile
    from vision.game.odds import count, edges, full_shoe

    house = load_profile(profile or DEFAULT)
    return edges(count(full_shoe(house.rules.decks), house.rules.tableau), house.betting)


def fold_log(log: str | PathLike[str]) -> TableSession:
    """Return the table as its log leaves it; BrokenChainError where the log was changed."""
    from vision.storage.log_reader import folded

    return folded(Path(log))
