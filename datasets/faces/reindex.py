"""Art under other indices: corners washed clean, then stamped in our glyphs or a system font.

For training only; fonts are whatever the machine has, read with Pillow.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Suit

from .courts import Color
from .designs import random_design
from .faces import Design, Sheet, index_mark, stamp_indices
from .glyphs import Image

_WASH = (0.185, 0.265)  # part of width and height taken up by the old index
_FONTS = Path("/usr/share/fonts")
_FAMILIES = (
    "DejaVu",
    "Free",
    "Lato-",
    "Liberation",
    "Roboto",
    "LinLibertine",
    "LinBiolinum",
    "Nimbus",
    "C059",
    "P052",
    "URW",
)


@cache
def index_fonts() -> tuple[Path, ...]:
    """Return the installed fonts fit for indices, in fixed order; none without Pillow."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        return ()
    files = (p for p in _FONTS.rglob("*") if p.suffix in (".ttf", ".otf"))
    fit = (
        p
        for p in files
        if p.stem.startswith(_FAMILIES)
        and not any(
            w in p.stem for w in ("Hairline", "Thin", "Shadow", "Initials", "Math", "_K", "_I")
        )
    )
    return tuple(sorted(fit))


def font_mark(rank: str, font: Path, height: int, width: int) -> Image:
    """Return the mask of an index in a font, `height` px high, squeezed to `width` px if wider."""
    from PIL import Image as Picture
    from PIL import ImageDraw, ImageFont

    text = "10" if rank == "T" else rank
    face = ImageFont.truetype(str(font), 4 * height)
    canvas = Picture.new("L", (16 * height, 8 * height), 0)
    ImageDraw.Draw(canvas).text((height, height), text, fill=255, font=face)
    ink = np.asarray(canvas.crop(canvas.getbbox()))
    natural = round(ink.shape[1] * height / ink.shape[0])
    most = round(width * 1.15) if rank in "TQ" else width
    size = (max(2, min(natural, most)), height)
    return np.asarray(cv2.resize(ink, size, interpolation=cv2.INTER_AREA))


def reindex(art: NDArray[Any], size_mm: tuple[float, float], *, seed: int) -> NDArray[Any]:
    """Return faces (52, h, w, 4) in card order, their indices replaced by random ones.

    Half of the courts are drawn as another court of their suit: its index alone names a card,
    since one maker's queen looks like another's king.
    """
    rng = np.random.default_rng(seed)
    art = art[_courts_mixed(np.random.default_rng([seed, 1]))]
    drawn = random_design(rng)
    fonts = index_fonts()
    font = fonts[int(rng.integers(len(fonts)))] if fonts and rng.random() < 0.75 else None
    height, width = drawn.index
    room = size_mm[0] * 0.17
    design = Design(
        size=size_mm,
        pen=drawn.pen,
        index=(min(height, 14.0), min(width, room)),
        index_at=(min(width, room) / 2 + float(rng.uniform(1.1, 1.8)), drawn.index_at[1]),
        index_suit=min(drawn.index_suit, room),
        gap=drawn.gap,
        corners=drawn.corners,
        pip_family=drawn.pip_family,
        inks=tuple((suit, _ink(art[i])) for i, suit in enumerate("cdhs")),
    )
    return np.stack(
        [_one(face, str(card), design, font) for card, face in zip(DECK, art, strict=True)]
    )


def _courts_mixed(rng: np.random.Generator) -> NDArray[np.intp]:
    """Return whose art each of the 52 cards gets: jack, queen and king of some suits change."""
    order = np.arange(len(DECK)).reshape(-1, len(Suit))
    for suit in Suit:
        order[-3:, suit] = np.roll(order[-3:, suit], int(rng.choice([0, 0, 1, 2])))
    return order.reshape(-1)


def _ink(ace: Image) -> Color:
    """Return the colour an ace's pip is printed in: the middle one of what is not paper."""
    height, width = ace.shape[:2]
    middle = ace[height // 3 : -height // 3, width // 4 : -width // 4, :3].reshape(-1, 3)
    pip = middle[middle.min(axis=1) < 120]
    b, g, r = np.median(pip, axis=0) if len(pip) else (0.0, 0.0, 0.0)
    return int(b), int(g), int(r)


def _one(face: Image, card: str, design: Design, font: Path | None) -> Image:
    rank, suit = card[0], card[1]
    image = np.ascontiguousarray(face[:, :, :3])
    height, width = image.shape[:2]
    b, g, r = np.median(image[height // 40, width // 3 : width // 2], axis=0)
    paper = (int(b), int(g), int(r)) if min(b, g, r) > 200 else (255, 255, 255)
    _wash(image, paper)
    sheet = Sheet(replace(design, paper=paper), height, image=image)
    if font is None:
        mark = index_mark(sheet, rank)
    else:
        mark = font_mark(rank, font, sheet.px(design.index[0]), sheet.px(design.index[1]))
    stamp_indices(sheet, suit, mark=mark, halo=True)
    return np.dstack([image, face[:, :, 3]])


def _wash(image: Image, paper: tuple[int, ...]) -> None:
    """Paint the four corners in the paper's colour, in place."""
    height, width = image.shape[:2]
    x, y = round(width * _WASH[0]), round(height * _WASH[1])
    for view in (image, image[::-1, ::-1], image[:, ::-1], image[::-1]):
        view[:y, :x] = paper
