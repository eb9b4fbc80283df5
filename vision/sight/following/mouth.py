"""What the mouth of the shoe shows in one picture, as the witness of the lip that it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.mouth import Cells, Infer, KnownColours, MouthMeter, MouthPatch, Tensor
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import TableView

# The colours of a card that left are learnt once the mouth has been at rest for so long, ms.
LEARN_AFTER_MS = 150


class MouthSight:
    """Gives the values of the mouth's network, and how new the colours are, picture by picture."""

    def __init__(self, view: TableView, infer: Infer) -> None:
        self._infer = infer
        self._meter = MouthMeter(MouthPatch(view), self._kept)
        self._values = np.zeros(10, np.float32)
        self._colours = KnownColours()
        self._passage: list[Cells] = []
        self._rest_since: int | None = None

    def _kept(self, tensor: Tensor) -> Tensor:
        values = self._infer(tensor)
        self._values = values[0]
        return values

    def values(self, image: Image, at: int) -> NDArray[np.float32]:
        """Return 11 values of a picture at a time (ms): the network's, the share of new colours.

        That share is NaN while the colours of cards are not known or nothing is out.
        """
        found = self._meter(image, at)
        novelty = float("nan")
        if found.cells is not None:
            share = self._colours.novelty([found.cells])
            novelty = novelty if share is None else share
            self._passage.append(found.cells)
            self._rest_since = None
        elif self._rest_since is None:
            self._rest_since = at
        elif self._passage and at - self._rest_since >= LEARN_AFTER_MS:
            self._colours.learn(self._passage)
            self._passage = []
        return np.append(self._values, np.float32(novelty))
