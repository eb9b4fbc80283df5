"""The face of a rectified card: calibrated log-probabilities, and whether it can be read at all.

Knows pixels only; it is given an `infer` callable and never opens a model file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import RANK_LETTERS, SUIT_LETTERS
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import rectify

Tensor = NDArray[np.float32]
Infer = Callable[[Tensor], Tensor]

CROP_SIZE = (96, 136)
RANKS, SUITS = len(RANK_LETTERS), len(SUIT_LETTERS)


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One look at one card.

    `log_p` holds 52 calibrated log-probabilities by `Card.index`; `readable` (0 to 1) is the
    probability that a face of a known kind is readable here; `strange` is how far it is from the
    enrolled deck's own cards, in spreads of their own looks: 0 where no deck is enrolled.
    """

    log_p: NDArray[np.float32]
    readable: float
    strange: float = 0.0

    @property
    def confidence(self) -> float:
        """How sure the look is of its best face, 0 to 1."""
        return self.readable * float(np.exp(self.log_p.max()))


class Classifier:
    """Reads cards given by their quads from the full picture.

    `infer` maps N x 3 x H x W (RGB, 0 to 1) to N x 18 logits: 13 ranks, 4 suits, readable.
    The temperatures divide the logits, so that the stated probabilities are the measured ones.
    """

    def __init__(
        self, infer: Infer, *, temperature: float = 1.0, readable_temperature: float = 1.0
    ) -> None:
        self._infer = infer
        self._temperature = temperature
        self._readable_temperature = readable_temperature

    def __call__(self, image: Image, quads: Sequence[Points]) -> tuple[Look, ...]:
        """Return one look for each quad (4 x 2 pixels, clockwise, edge 0-1 a short side)."""
        if not quads:
            return ()
        return self.of_crops([rectify(image, quad, CROP_SIZE) for quad in quads])

    def of_crops(self, crops: Sequence[Image]) -> tuple[Look, ...]:
        """Return one look for each rectified card (136 x 96 x 3, BGR)."""
        return self.looks(self._infer(batch(crops)))

    def looks(self, logits: Tensor) -> tuple[Look, ...]:
        """Turn N x 18 logits into looks."""
        ranks = _log_softmax(logits[:, :RANKS] / self._temperature)
        suits = _log_softmax(logits[:, RANKS : RANKS + SUITS] / self._temperature)
        joint = (ranks[:, :, None] + suits[:, None, :]).reshape(len(logits), RANKS * SUITS)
        readable = 1 / (1 + np.exp(-logits[:, RANKS + SUITS] / self._readable_temperature))
        return tuple(
            Look(row.astype(np.float32), float(p)) for row, p in zip(joint, readable, strict=True)
        )


def batch(crops: Sequence[Image]) -> Tensor:
    """Return crops (H x W x 3, BGR) as one N x 3 x H x W tensor, RGB, 0 to 1."""
    return np.asarray(cv2.dnn.blobFromImages(list(crops), 1 / 255, swapRB=True), np.float32)


def _log_softmax(logits: Tensor) -> Tensor:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)
