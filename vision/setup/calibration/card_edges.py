"""Find the true corners of a card in a picture: its four edges to a fraction of a pixel.

A detector's box is good to some pixels and has no perspective; lens and plane are fitted to the
edges themselves.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.plane import Image

Vector = NDArray[np.float64]

# The constants below were chosen on rendered cards with known corners.
# Profiles across an edge: more steady the line, and cost time.
SAMPLES = 28
# The part of an edge that is used: corners are round, and the outermost part belongs to them.
FROM, TO = 0.14, 0.86
# How far from the detector's box an edge is looked for, as a share of the card's short side (at
# least 3 px). Smaller, a loose box has no edge; larger, print is taken for an edge.
REACH = 0.14
# Distance of the samples along a profile, px.
STEP_PX = 0.5
# How many samples from the straight way a profile's own edge may lie.
NEAR_STEPS = 4
# Least fall in brightness at an edge, grey levels over 4 samples (2 px): above noise, and below
# that of a white card on felt.
LEAST_CONTRAST = 8.0
# Share of the profiles that must show the edge; fewer, and it is hidden.
LEAST_SHARE = 0.6
# Mean distance of the edge's points from their line, px; more, and the edge is not straight.
MOST_OFF_PX = 0.7


def true_corners(image: Image, quad: Vector) -> Vector | None:
    """Return the corners (4 x 2 px) of the bright card near a quad (4 x 2 px, clockwise).

    The order is the quad's. `None` where an edge is hidden, or no straight edge is to be seen.
    """
    corners = np.asarray(quad, np.float64)
    sides = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    reach = max(3.0, REACH * float(sides.min()))
    grey = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (0, 0), 0.8)
    lines = []
    for i in range(4):
        line = _edge(np.asarray(grey, np.uint8), corners[i], corners[(i + 1) % 4], reach)
        if line is None:
            return None
        lines.append(line)
    found = [np.cross(lines[i - 1], lines[i]) for i in range(4)]
    if any(abs(point[2]) < 1e-9 for point in found):
        return None
    out = np.array([point[:2] / point[2] for point in found])
    return out if np.linalg.norm(out - corners, axis=1).max() < 2.5 * reach else None


def _edge(grey: NDArray[np.uint8], start: Vector, end: Vector, reach: float) -> Vector | None:
    """Return the line (a, b, c) of the edge near the way from start to end, card to its right."""
    along = (end - start) / np.linalg.norm(end - start)
    outward = np.array([along[1], -along[0]])
    offsets = np.arange(-reach, reach + STEP_PX / 2, STEP_PX)
    share = np.linspace(FROM, TO, SAMPLES)
    middles = start + share[:, None] * (end - start)
    spots = middles[:, None] + offsets[:, None] * outward
    levels = cv2.remap(
        grey,
        (spots[:, :, 0] - 0.5).astype(np.float32),
        (spots[:, :, 1] - 0.5).astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    ).astype(np.float64)
    fall = np.zeros_like(levels)
    fall[:, 2:-2] = levels[:, :-4] - levels[:, 4:]
    peaks = _peaks(fall, _best_line(fall, share))
    good = np.isfinite(peaks)
    if good.mean() < LEAST_SHARE:
        return None
    points = middles[good] + (peaks[good] * STEP_PX - reach)[:, None] * outward
    return _line(points, outward)


def _best_line(fall: Vector, share: Vector) -> Vector:
    """Return the straight way across the profiles where the picture falls off most, as columns."""
    columns = np.arange(0, fall.shape[1], 2)
    first, last = (grid.ravel() for grid in np.meshgrid(columns, columns))
    part = (share - FROM) / (TO - FROM)
    ways = first[:, None] + (last - first)[:, None] * part
    total = fall[np.arange(len(share)), np.round(ways).astype(int)].sum(axis=1)
    return np.asarray(ways[int(total.argmax())], np.float64)


def _peaks(fall: Vector, way: Vector) -> Vector:
    """Return where each profile falls off most near the way, in columns; NaN where it does not."""
    peaks = np.full(len(fall), np.nan)
    for i, profile in enumerate(fall):
        low = max(1, round(way[i]) - NEAR_STEPS)
        high = min(len(profile) - 2, round(way[i]) + NEAR_STEPS)
        if high < low:
            continue
        at = low + int(profile[low : high + 1].argmax())
        before, here, after = profile[at - 1 : at + 2]
        bend = before - 2 * here + after
        if here >= LEAST_CONTRAST and bend < 0:
            peaks[i] = at + 0.5 * (before - after) / bend
    return peaks


def _line(points: Vector, outward: Vector) -> Vector | None:
    """Fit a line to points of an edge, without those astray; `None` where it is not straight."""
    for _ in range(3):
        middle = points.mean(axis=0)
        normal = np.linalg.svd(points - middle)[2][1]
        off = (points - middle) @ normal
        typical = 1.5 * float(np.median(np.abs(off))) + 0.1
        points = points[np.abs(off) <= 2.5 * typical]
    if len(points) < LEAST_SHARE * 0.6 * SAMPLES or float(np.abs(off).mean()) > MOST_OFF_PX:
        return None
    normal = normal if normal @ outward > 0 else -normal
    return np.append(normal, -float(normal @ middle))
