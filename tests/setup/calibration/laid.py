"""Pictures of drawn tables on which eight cards are laid, for the tests of the calibration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import cast

import numpy as np

from datasets.dealing.table_places import Layout
from models.evaluate.laid_cards import (
    Pose,
    Style,
    camera_over,
    laid_by_hand,
    layout_for,
    seen,
    table,
)
from vision.board.desk.table_editor import Measure
from vision.commands.printing.drawn_film import live_measuring
from vision.setup.calibration.cards import LaidCards
from vision.sight.geometry.plane import Homography, Image

SIZE = (1280, 720)
WIDE_MM = 1180.0
LAYOUT = layout_for(np.random.default_rng(3), WIDE_MM)
CARDS = laid_by_hand(np.random.default_rng(4), LAYOUT)
PLANE = camera_over(SIZE, WIDE_MM + 60, 12.0, 0.0, (1.3, -0.1))


def picture(
    cards: Mapping[str, Pose] = CARDS,
    *,
    others: Mapping[str, Pose] | None = None,
    card_mm: tuple[float, float] = (63.0, 88.0),
    plane: Homography = PLANE,
    layout: Layout = LAYOUT,
) -> Image:
    """Return a picture of the table with cards on it; `others` are more cards, by face."""
    rng = np.random.default_rng(5)
    above = table(rng, Style(card_mm=card_mm), layout, cards, others)
    return seen(above.image, plane, SIZE, rng)


@cache
def good() -> Image:
    """Return the picture of a table on which all cards lie right."""
    return picture()


def moved(**cards: Pose) -> dict[str, Pose]:
    """Return the cards with some laid elsewhere."""
    return {**CARDS, **cards}


def without(*places: str) -> dict[str, Pose]:
    """Return the cards but for some."""
    return {name: pose for name, pose in CARDS.items() if name not in places}


def measuring() -> Measure:
    """Return what measures pictures as the set-up page does, each picture only once."""
    known: dict[int, LaidCards] = {}
    real = live_measuring()

    def measure(image: Image, left_out: Collection[str], size: str | None) -> LaidCards:
        key = hash((image.tobytes(), tuple(left_out), size))
        if key not in known:
            known[key] = cast(LaidCards, real(image, left_out, size))
        return known[key]

    return measure
