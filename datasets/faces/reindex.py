"""Art under other indices, for training: corners washed clean, then stamped anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, Suit

from .courts import Color
from .designs import random_design
from .faces import Design, Sheet, index_mark, stamp_indices
from .fonts import random_font
from .glyphs import Image

_WASH = (0.185, 0.265)  # part of width and height taken up by the old index


def reindex(art: NDArray[Any], size_mm: tuple[float, float], *, seed: int) -> NDArray[Any]:
    """Return faces (52, h, w, 4) in card order, their indices replaced by random ones.

    Half of the courts are drawn as another court of their suit: its index alone names a card,
    since one maker's queen looks like another's king.
    """
    rng = np.random.default_rng(seed)
    art = art[_courts_mixed(np.random.default_rng([seed, 1]))]
    drawn = random_design(rng)
    font = random_font(rng, share=0.75)
    height, width = drawn.index
    room = size_mm[0] * 0.17
    design = Design(
        size=size_mm,
        pen=drawn.pen,
        font=font,
        index=(min(height, 14.0), min(width, room)),
        index_at=(min(width, room) / 2 + float(rng.uniform(1.1, 1.8)), drawn.index_at[1]),
        index_suit=min(drawn.index_suit, room),
        gap=drawn.gap,
        corners=drawn.corners,
        pip_family=drawn.pip_family,
        inks=tuple((suit, _ink(art[i])) for i, suit in enumerate("cdhs")),
    )
    return np.stack([_one(face, str(card), design) for card, face in zip(DECK, art, strict=True)])


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


def _one(face: Image, card: str, design: Design) -> Image:
    rank, suit = card[0], card[1]
    image = np.ascontiguousarray(face[:, :, :3])
    height, width = image.shape[:2]
    b, g, r = np.median(image[height // 40, width // 3 : width // 2], axis=0)
    paper = (int(b), int(g), int(r)) if min(b, g, r) > 200 else (255, 255, 255)
    _wash(image, paper)
    sheet = Sheet(replace(design, paper=paper), height, image=image)
    stamp_indices(sheet, suit, mark=index_mark(sheet, rank), halo=True)
    return np.dstack([image, face[:, :, 3]])


def _wash(image: Image, paper: tuple[int, ...]) -> None:
    """Paint the four corners in the paper's colour, in place."""
    height, width = image.shape[:2]
    x, y = round(width * _WASH[0]), round(height * _WASH[1])
    for view in (image, image[::-1, ::-1], image[:, ::-1], image[::-1]):
        view[:y, :x] = paper
