"""How a simulated film looks: deck, back, table, camera and noise, chosen or drawn by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vision.errors import ConfigurationError

from ..faces.designs import DESIGNS
from ..faces.registry import back_names, deck_names
from .cloth import TABLES
from .style import PLAIN, Style
from .table_places import Camera


@dataclass(frozen=True, slots=True)
class Look:
    """How a film looks: the cards, the table, the camera; `noise` is in grey levels.

    `style` has where things stand on the table, what the dealer wears, and the camera's optics.
    """

    camera: Camera
    deck: str
    back: str
    table: str
    split: str = "test"
    seed: int = 1
    fps: float = 15.0
    noise: float = 2.5
    style: Style = PLAIN


def look_for(split: str, seed: int, camera: Camera, **chosen: Any) -> Look:
    """Return a look of a split ("train" or "test"); what is not chosen is drawn by the seed.

    `chosen` holds other fields of `Look`; None leaves one open. ConfigurationError names a deck,
    back or table that there is not, and those there are.
    """
    rng = np.random.default_rng([seed, 4])
    known = {"back": back_names(), "table": tuple(TABLES)}
    own = {
        "deck": [name for name in DESIGNS if name in deck_names(split)],
        "back": back_names(split),
        "table": [name for name, cloth in TABLES.items() if cloth.split == split],
    }
    picked = {key: names[int(rng.integers(len(names)))] for key, names in own.items()}
    given = {key: value for key, value in chosen.items() if value is not None}
    for key, names in known.items():
        if key in given and given[key] not in names:
            raise ConfigurationError(
                f"--{key}: no {key} '{given[key]}'; there are: {', '.join(names)}"
            )
    return Look(camera=camera, split=split, seed=seed, **{**picked, **given})
