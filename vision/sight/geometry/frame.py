"""A picture of the table with its time, and the array types of pictures and points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Points = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture (height x width x 3, BGR), its Unix time in milliseconds and its running number."""

    image: Image
    at: int
    index: int
