"""The face of a rectified card: calibrated log-probabilities, and whether it can be read at all.

Knows pixels only; it is given an `infer` callable and never opens a model file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One look at one card.

    `log_p` holds 52 calibrated log-probabilities by `Card.index`; `readable` (0 to 1) is the
    probability that a face of a known kind is readable here.
    """

    log_p: NDArray[np.float32]
    readable: float
