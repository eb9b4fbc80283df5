"""The freely licensed decks of Debian's packages: one SVG sheet holds a whole deck.

Only designs with the letters A J Q K and usual suit colours are named; the others are left out on
purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.errors import ConfigurationError
from vision.game.cards import DECK

from .glyphs import Image
from .imported_art import draw, finish, size_mm

_ACE_LOW = "A23456789TJQK"
_ACE_HIGH = "AKQJT98765432"
# Cards of a suit lie in one row.
_COLUMNS = 13


@dataclass(frozen=True, slots=True)
class Sheet:
    """One file with a whole deck: a row for each suit, a column for each rank.

    `rows` is how many rows of cards the picture is high; 0 where cards lie apart from each
    other, and are found one by one.
    """

    path: Path
    licence: str
    suits: str = "cdhs"
    ranks: str = _ACE_LOW
    rows: int = 5


_GNOME = Path("/usr/share/aisleriot/cards")
_KDE = Path("/usr/share/carddecks")
_GPL3, _GPL2 = "GPL-3.0-or-later (gnome-cards-data)", "GPL-2.0-or-later (kdegames-card-data-kf5)"
_GNOME_NAMES = (
    "anglo",
    "anglo_bitmap",
    "anglo_modern",
    "anglo_poker",
    "atlasnye",
    "bellot",
    "dondorf",
    "gnomangelo",
    "gnomangelo_bitmap",
    "neoclassical",
    "orell",
    "ornamental",
    "paris",
    "plastic",
    "tango",
    "tigullio",
)
_SMALL_INDEX = (
    "anglo",
    "anglo_bitmap",
    "anglo_modern",
    "anglo_poker",
    "atlasnye",
    "gnomangelo",
    "gnomangelo_bitmap",
    "neoclassical",
    "orell",
    "paris",
)
# The last number is the rows of cards, 0 where they lie apart.
_ALL = {
    **{f"gnome-{name}": Sheet(_GNOME / f"{name}.svgz", _GPL3) for name in _GNOME_NAMES},
    "kde-standard": Sheet(_KDE / "svg-standard/standard.svgz", _GPL2, "shcd", _ACE_HIGH, 4),
    "kde-penguins": Sheet(_KDE / "svg-penguins/penguins.svgz", _GPL2, "cshd", _ACE_HIGH, 0),
    "kde-jolly-royal": Sheet(_KDE / "svg-jolly-royal/jolly-royal.svgz", _GPL2, "chds", rows=0),
    "kde-white": Sheet(_KDE / "svg-nicu-white/white.svgz", _GPL2, "cdhs", "23456789TAJQK", 0),
}
# Foreign letters (B D K) or a spoilt index: of use only under other indices.
_ONLY_REINDEXED = {
    f"gnome-{name}": Sheet(_GNOME / f"{name}.svgz", _GPL3)
    for name in ("berlin", "lattmann", "rheinland", "simplistic")
}


def installed_sheets() -> dict[str, Sheet]:
    """Return the decks of Debian's packages that are installed, by name."""
    return {name: sheet for name, sheet in _ALL.items() if sheet.path.is_file()}


def reindexable_sheets() -> dict[str, Sheet]:
    """Return the installed decks whose corners are small enough to be given other indices."""
    small = {n: s for n, s in _ALL.items() if n.removeprefix("gnome-") in _SMALL_INDEX}
    return {n: s for n, s in (small | _ONLY_REINDEXED).items() if s.path.is_file()}


def sheet_faces(sheet: Sheet, height: int) -> tuple[NDArray[Any], tuple[float, float]]:
    """Return (52, h, w, 4) BGRA faces in card order of one deck, and their size in mm.

    Raises ConfigurationError where the file does not hold a deck in the layout expected.
    """
    picture = draw(sheet.path, width=round(_COLUMNS * height * 0.8))
    cards = _grid(picture, sheet) if sheet.rows else _apart(picture, sheet)
    size = size_mm(next(iter(cards.values())))
    width = round(height * size[0] / size[1])
    return np.stack([finish(cards[str(card)], height, width) for card in DECK]), size


def _grid(picture: Image, sheet: Sheet) -> dict[str, Image]:
    height, width = picture.shape[0] / sheet.rows, picture.shape[1] / _COLUMNS
    cards = {}
    for row, suit in enumerate(sheet.suits):
        for column, rank in enumerate(sheet.ranks):
            y, x = np.round([row * height, column * width]).astype(int)
            cards[rank + suit] = picture[y : y + int(height), x : x + int(width)]
    return cards


def _apart(picture: Image, sheet: Sheet) -> dict[str, Image]:
    """Find the cards as separate patches, four rows of thirteen from the top left."""
    _, _, stats, _ = cv2.connectedComponentsWithStats((picture[:, :, 3] > 60).astype(np.uint8))
    height, width = np.median(stats[stats[:, cv2.CC_STAT_AREA] > 5000][:, [3, 2]], axis=0)
    boxes = [b for b in stats[1:] if 0.9 < b[2] / width < 1.12 and 0.9 < b[3] / height < 1.12]
    boxes.sort(key=lambda b: int(b[1]))
    if len(boxes) < len(DECK):
        raise ConfigurationError(
            f"{sheet.path}: {len(boxes)} cards found in place of 52; the package has changed"
        )
    cards = {}
    for row, suit in enumerate(sheet.suits):
        line = sorted(boxes[row * 13 : row * 13 + 13], key=lambda b: int(b[0]))
        for rank, (x, y, w, h, _) in zip(sheet.ranks, line, strict=True):
            cards[rank + suit] = picture[y : y + h, x : x + w]
    return cards
