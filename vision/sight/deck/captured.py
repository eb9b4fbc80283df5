"""Cards of a house deck as they were captured: what a deck is learnt from, and learnt again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.sight.deck.head import Labels


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """The captured cards: N crops (136 x 96 x 3), their cards (N,), and which are kept apart."""

    crops: NDArray[np.uint8]
    cards: Labels
    kept: NDArray[np.bool_]
    backs: NDArray[np.uint8]
