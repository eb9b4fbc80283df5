"""Shoe Reader: cards in front of a camera become coups on a board.

As a library: `read_cards` finds the cards in a picture, `play_coup` deals a coup by the rules,
`next_slot` asks the tableau, `house_edges` computes odds, `fold_log` opens a log, and `step` takes
a table (`new_table`) from one event to the next. Each is imported when it is first used.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

from vision.version import VERSION

if TYPE_CHECKING:
    from vision.app.library import fold_log, house_edges, play_coup, read_cards
    from vision.config.profiles import load_profile
    from vision.game.cards import Card, parse_cards
    from vision.game.coup.state import new_table
    from vision.game.fold.step import step
    from vision.game.tableau import next_slot

# Read by the picture library as it is loaded: no file may ask for more memory than any camera does.
os.environ.setdefault("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 27))

__version__ = VERSION
__all__ = [
    "Card",
    "fold_log",
    "house_edges",
    "load_profile",
    "new_table",
    "next_slot",
    "parse_cards",
    "play_coup",
    "read_cards",
    "step",
]

_HOMES = {
    "Card": "vision.game.cards",
    "fold_log": "vision.app.library",
    "house_edges": "vision.app.library",
    "load_profile": "vision.config.profiles",
    "new_table": "vision.game.coup.state",
    "next_slot": "vision.game.tableau",
    "parse_cards": "vision.game.cards",
    "play_coup": "vision.app.library",
    "read_cards": "vision.app.library",
    "step": "vision.game.fold.step",
}


def __getattr__(name: str) -> object:
    """Import one of the names above from where it is defined."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vision' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
