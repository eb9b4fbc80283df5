"""The bets on the simulated table: chips beside the printed words, which guests may change.

Must not know of cards, hands or time.
"""

from __future__ import annotations

import numpy as np

from ..render import clutter
from ..render.paint import Image, Points, inks, lay, shadow
from .stage import Stage
from .table_places import SPOTS

Rng = np.random.Generator
_AROUND = np.linspace(0, 2 * np.pi, 24, endpoint=False)
_RIM = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])


class Chips:
    """Which chip lies on which spot; spots are numbered as in `SPOTS`."""

    def __init__(self, rng: Rng, split: str) -> None:
        self._split = split
        self._lying: dict[int, tuple[clutter.Sprite, Points]] = {}
        for spot in range(len(SPOTS)):
            if rng.random() < 0.3:
                self.change(rng, spot)

    def change(self, rng: Rng, spot: int) -> None:
        """Take the chip away, or lay one where there is none."""
        if self._lying.pop(spot, None) is None:
            chip = clutter.sprite(rng, split=self._split, chips=True)
            self._lying[spot] = (chip, SPOTS[spot] + rng.normal(0, 5, 2))

    def paint(self, image: Image, stage: Stage) -> None:
        """Paint all chips with their shadows on the whole picture."""
        scale = stage.camera.scale
        for chip, middle in self._lying.values():
            half = np.array(chip.size_mm) / 2
            square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half + middle
            base, top = stage.camera.project(square), stage.camera.project(square, chip.height_mm)
            offset = stage.sun * (1 + 0.4 * chip.height_mm)
            disc = stage.camera.project(_RIM * half + middle)
            shadow(image, disc, soft=4 * scale, strength=0.4, offset=offset)
            light = stage.light_at(base.mean(axis=0))
            lay(image, chip.levels, top, tint=inks(np.diag([light, light, light, 0.0])[:3]))
