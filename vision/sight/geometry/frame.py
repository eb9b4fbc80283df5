"""A picture of the table with its time, and the array types of pictures and points."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Points = NDArray[np.float32]


class Coded(Protocol):
    """A picture as its source codes it: the brightness (height x width) is there, BGR is made."""

    @property
    def luma(self) -> Image:
        """The brightness, in the levels of the source."""

    def bgr(self) -> Image:
        """Return the picture as height x width x 3, BGR."""


Pixels = Image | Coded


class Frame:
    """A picture, its Unix time in milliseconds and its running number.

    `still`, once sight has looked at it: nothing in it has moved for a second.
    Any thread may ask for anything; two that need the colours first at once both convert them.
    """

    __slots__ = ("_image", "_pixels", "at", "index", "still")

    def __init__(self, image: Pixels, at: int, index: int) -> None:
        self.at = at
        self.index = index
        self.still = False
        self._pixels = image
        self._image: Image | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.luma.shape
        return width, height

    @property
    def luma(self) -> Image:
        """The brightness (height x width): the source's own, of a BGR picture its green."""
        return self._pixels[:, :, 1] if isinstance(self._pixels, np.ndarray) else self._pixels.luma

    @property
    def image(self) -> Image:
        """The picture (height x width x 3, BGR); made at the first need and kept."""
        if isinstance(self._pixels, np.ndarray):
            return self._pixels
        image = self._image
        if image is None:
            image = self._image = self._pixels.bgr()
        return image
