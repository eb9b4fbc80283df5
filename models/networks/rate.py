"""The learning rate over a run, of all networks."""

from __future__ import annotations

import math

# Steps over which the learning rate rises to its first value; without it the first steps diverge.
WARM_UP_STEPS = 60


def schedule(share: float, steps: int) -> float:
    """Return the learning rate's factor at a share (0 to 1) of the time: warm up, then cosine."""
    return min(1.0, steps / WARM_UP_STEPS) * (0.02 + 0.49 * (1 + math.cos(math.pi * share)))
