"""Whether the camera can see the table at all: dark, dazzled, empty or blurred pictures.

One picture in, one short phrase or `None` out; `Watch` adds time. Knows nothing of cards.
"""

from __future__ import annotations

import numpy as np

from vision.sight.frame import Image

DARK = 14.0
BRIGHT = 245.0
LEAST_CONTRAST = 4.0
BLURRED_SHARE = 0.2
PATIENCE_MS = 1500


def sharpness(image: Image) -> float:
    """Return how steep the steepest hundredth of a picture is, in levels over two pixels."""
    rows = image[::8, :, 1].astype(np.int16)
    steps = np.abs(rows[:, 2:] - rows[:, :-2])
    # These are the edges, which blur takes first; the rest is felt and noise.
    return float(np.percentile(steps, 99))


def blind_reason(image: Image, usual_sharpness: float | None = None) -> str | None:
    """Say why nothing can be seen in a picture, or `None`; blur is told by the usual sharpness."""
    sample = image[::8, ::8]
    low, middle, high = np.percentile(sample, (2, 50, 98))
    if high < DARK * 2 and middle < DARK:
        return "the picture is dark"
    if low > BRIGHT:
        return "the picture is dazzled"
    if high - low < LEAST_CONTRAST:
        return "the picture is empty"
    if usual_sharpness is not None and sharpness(image) < BLURRED_SHARE * usual_sharpness:
        return "the picture is blurred"
    return None


class Watch:
    """Tell when sight is lost and when it is back; some patience either way."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._usual: float | None = None
        self._differs_since: int | None = None
        self._looked_at: int | None = None

    def look(self, image: Image, at: int) -> bool:
        """Take a picture (one in 200 ms is looked at); return whether `reason` changed."""
        if self._looked_at is not None and 0 <= at - self._looked_at < 200:
            return False
        self._looked_at = at
        reason = blind_reason(image, self._usual)
        if reason is None:
            now = sharpness(image)
            self._usual = now if self._usual is None else self._usual + 0.02 * (now - self._usual)
        if (reason is None) == (self.reason is None):
            self._differs_since = None
            return False
        self._differs_since = at if self._differs_since is None else self._differs_since
        if at - self._differs_since < PATIENCE_MS:
            return False
        self.reason, self._differs_since = reason, None
        return True
