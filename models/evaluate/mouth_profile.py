"""A watcher of the shoe's mouth without a network, to compare: where new straight edges stand.

It gives the values that the network gives, so that the same filter and state machine follow. The
edges of a card that comes out run across the exit, one card's depth apart, and were not there at
rest; how much of a column of the patch is such an edge says where they are.
"""

from __future__ import annotations

import cv2
import numpy as np

from vision.sight.mouth.measurement import LABELS, Tensor
from vision.sight.mouth.patch import CELL_MM, HEIGHT

# Depth of a card along the exit, mm: long side first, as almost every shoe deals.
DEPTH_MM = 63.0
# A change of colour, 0 to 1, between the columns beside one, from which it is an edge.
EDGE = 0.12
# Share of the rows of a card's width that must be an edge: hands cover up to two thirds.
LEADING, TRAILING = 0.3, 0.2
# Half the width of a card, in cells, about the patch's middle.
HALF = round(44 / CELL_MM)
# Columns in which the edge of the card at rest is looked for, and how far beyond it, in cells, a
# new edge is one that has come out.
LIP = slice(round(20 / CELL_MM), round(95 / CELL_MM))
OUT = 2
# How surely its answers are given: it has no probabilities of its own.
SURE = 3.0


def profile(tensor: Tensor) -> Tensor:
    """Return the network's values (1 x 10) for its input (1 x 9 x 56 x 80)."""
    rest, _, now = tensor[0].reshape(3, 3, HEIGHT, -1)
    before, after = _edges(rest), _edges(now)
    new = _columns((after > EDGE) & (cv2.dilate(before, np.ones((3, 5))) < EDGE))
    lip = LIP.start + int(np.argmax(_columns(before > EDGE)[LIP]))
    values = np.full(len(LABELS), -SURE, np.float32)
    values[LABELS.index("back")] = SURE
    leading = [x for x in range(lip + OUT, len(new)) if new[x] >= LEADING]
    phase, shift = "rest", 0.0
    if leading:
        far = leading[-1]
        shift = (far - lip) * CELL_MM / DEPTH_MM
        tail = far - round(DEPTH_MM / CELL_MM)
        seen = tail > lip and new[max(tail - 3, lip) : tail + 4].max(initial=0.0) >= TRAILING
        phase = "wholly" if seen else "partly"
    values[LABELS.index(phase)] = SURE
    values[LABELS.index("shift")] = shift
    return values[None]


def _edges(patch: Tensor) -> Tensor:
    """Return how much the colour changes along the exit, the most of the three channels."""
    smooth = [cv2.GaussianBlur(channel, (1, 5), 0) for channel in patch]
    slopes = [np.abs(cv2.Sobel(c, cv2.CV_32F, 1, 0, ksize=1)) for c in smooth]
    return np.asarray(np.max(slopes, axis=0), np.float32)


def _columns(edge: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Tensor:
    """Return the share of a card's width that is an edge, column by column, two together."""
    rows = edge[HEIGHT // 2 - HALF : HEIGHT // 2 + HALF]
    near = rows | np.roll(rows, 1, axis=1)
    return np.asarray(near.mean(axis=0), np.float32)
