"""What one picture of the shoe's mouth shows: is a card out, how far, which side up, under a hand.

The network sees three small patches, the mouth at rest, some frames ago and now, and is given as an
`infer` callable. It was trained on mouths drawn at random (`datasets/mouth`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.frame import Image
from vision.sight.mouth.colours import Cells, changed_cells

Tensor = NDArray[np.float32]
Infer = Callable[[Tensor], Tensor]
Patch = Callable[[Image], Image]
# What the network's values are called, in their order.
LABELS = (
    "rest", "partly", "wholly", "shift", "back", "face", "cut", "none", "hand", "together",
)  # fmt: skip
# The patch of before is the last one that is at least so old, ms: the network was trained on 40 to
# 110. Shorter shows no movement; longer is not what it knows.
BEFORE_MS = 45
# A patch is compared with one at least so old, ms, to know whether anything moves: slower than a
# hand that rests, faster than a dealer waits.
STILL_MS = 400
# Mean difference of two patches, 0 to 1, below which nothing moved. A patch averages ten pixels and
# more a cell: noise and compression leave 0.002 to 0.006 on the films at hand, a finger in the
# corner 0.01. Higher learns a creeping hand as rest; lower never learns in a dim room.
STILL_DIFFERENCE = 0.008
# For so long, ms, must a mouth be still that does not look at rest to be learnt as rest: a card
# laid before the shoe, a hand that lies there. Shorter, and a hand that waits is rest; longer, and
# the watcher is blind the longer after a thing is laid down.
LEARN_CHANGED_MS = 4_000
# The same if a card seems to be partly out: dealers wait with one half out.
LEARN_PARTLY_MS = 30_000
# How fast the rest is learnt, share a frame's 100 ms: follows the light in a second.
LEARN_SHARE = 0.2
LEARN_EVERY_MS = 100


class Phases(NamedTuple):
    """Probabilities (0 to 1, their sum 1) of how far a card is out."""

    rest: float
    partly: float
    wholly: float


class Shown(NamedTuple):
    """Probabilities (0 to 1, their sum 1) of what the foremost card shows; `none`: hidden."""

    back: float
    face: float
    cut: float
    none: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one picture shows.

    `shift` is how far the card that is out has come, in depths of a card (1: just wholly out);
    `shown` is of that card, or of the one at rest; `hand` and `together` are probabilities. `cells`
    are the colours of what is not there at rest, where something seems to be out.
    """

    phases: Phases
    shift: float
    shown: Shown
    hand: float
    together: float
    cells: Cells | None = None


class MouthMeter:
    """Measures picture after picture, and learns meanwhile what the mouth looks like at rest."""

    def __init__(self, patch: Patch, infer: Infer) -> None:
        self._patch = patch
        self._infer = infer
        self._rest: Tensor | None = None
        self._past: deque[tuple[int, Tensor]] = deque()
        self._still_since: int | None = None
        self._learnt = 0

    def __call__(self, image: Image, at: int) -> Measurement:
        """Measure the mouth in a picture taken at a time (ms, not before the last one)."""
        now = as_tensor(self._patch(image))
        rest = now if self._rest is None else self._rest
        before = self._earlier(at, BEFORE_MS, now)
        values = self._infer(np.concatenate([rest, before, now])[None])[0]
        found = measurement(values)
        if found.phases.rest < 0.5:
            found = replace(found, cells=changed_cells(now, rest))
        share = np.float32(LEARN_SHARE if self._is_rest(now, at, found) else 0)
        self._rest = rest + share * (now - rest)
        self._past.append((at, now))
        return found

    def _earlier(self, at: int, age: int, otherwise: Tensor) -> Tensor:
        """Return the last patch that is at least so old, or the oldest that there is."""
        for then, patch in reversed(self._past):
            if at - then >= age:
                return patch
        return self._past[0][1] if self._past else otherwise

    def _is_rest(self, now: Tensor, at: int, found: Measurement) -> bool:
        """Whether to learn from this patch: the mouth has been still for long enough."""
        moved = float(np.abs(now - self._earlier(at, STILL_MS, now)).mean())
        while self._past and at - self._past[0][0] > 2 * STILL_MS:
            self._past.popleft()
        if moved > STILL_DIFFERENCE or not self._past:
            self._still_since = None
            return False
        if self._still_since is None:
            self._still_since = at
        if at - self._still_since < _patience(found) or at - self._learnt < LEARN_EVERY_MS:
            return False
        self._learnt = at
        return True


def _patience(found: Measurement) -> int:
    """Return for how long a mouth must be still to be learnt as rest, ms."""
    if found.phases.partly > 0.5:
        return LEARN_PARTLY_MS
    at_rest = found.phases.rest > 0.5 and found.hand < 0.5
    return STILL_MS if at_rest else LEARN_CHANGED_MS


def as_tensor(patch: Image) -> Tensor:
    """Return a patch (HEIGHT x WIDTH x 3, BGR) as the network takes it (3 x ..., RGB, 0 to 1)."""
    return np.ascontiguousarray(patch[:, :, ::-1].transpose(2, 0, 1), np.float32) / np.float32(255)


def measurement(values: Tensor) -> Measurement:
    """Return what the values of the network (10,) mean."""
    hand, together = (1 / (1 + np.exp(-values[8:10]))).tolist()
    phases, shown = Phases(*_softmax(values[:3])), Shown(*_softmax(values[4:8]))
    return Measurement(phases, float(values[3]), shown, hand, together)


def _softmax(logits: Tensor) -> list[float]:
    powers = np.exp(logits - logits.max())
    return [float(p) for p in powers / powers.sum()]
