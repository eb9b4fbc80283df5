"""The motion gate: whether a frame is worth the detector's time.

Works on a thumbnail of the brightness and keeps no full picture. Knows nothing of cards: it
wakes on any local change about as large as a card's corner, and lets a still table rest.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.plane import Frame, Image, Points

# Chosen on simulated films at sensor noise of 1 to 7 levels.
WIDTH = 160  # cells of the thumbnail across: a card's corner is about one; more cost time
LEAST_CHANGE = 5.0  # levels (0 to 255) of a cell that count as motion in a noiseless picture
# And so many times the noise of the picture; lower, and noise wakes the detector.
NOISE_FACTOR = 6.0
# After a change in a part of the picture it is looked at in every frame for so long, ms: longer
# than a card takes to leave the shoe. Shorter, and one that stops on its way is seen less often.
STIRRED_MS = 1000
# And so often, ms, while nothing changes there: what is learnt of it follows the light. Longer, and
# a change too slight for the thumbnail is seen later, and with a slow camera the follower takes the
# pause for blindness (`GAP_MS`); shorter costs time only.
QUIET_MS = 400
# The cells of which medians are taken: every fourth of every fourth row, some 900 of 14,400. Fewer,
# and noise of 1 level moves the median by more than a hundredth of `LEAST_CHANGE`; more cost time.
SAMPLED = np.s_[::4, ::4]
# Mean change of all cells since the frame before, in levels, from which on the picture may be gone,
# or be back: of 11 films 1 frame in 100 changes by 2 to 11. Lower costs checks of the view; higher,
# and the first dark pictures of a dark table are taken for what lies there.
SUDDEN = 8.0
DRIFT_PER_FRAME = 0.15  # levels by which the still picture follows a slow change of light


def thumbnail(luma: Image) -> NDArray[np.float32]:
    """Return the brightness of a picture as a thumbnail 160 cells wide, 0 to 255."""
    height = max(1, round(WIDTH * luma.shape[0] / luma.shape[1]))
    # Two whole rows of each cell: as many samples as every second pixel each way, read in order.
    rows = luma[:: max(1, luma.shape[0] // (2 * height))]
    return np.asarray(cv2.resize(rows, (WIDTH, height), interpolation=cv2.INTER_AREA), np.float32)


class MotionGate:
    """Say of each frame whether something moves or has just come to rest.

    The frame is compared with the one before it and with the table as last seen at rest, which
    follows slow changes of the light. After a change the gate stays open for `settle_ms`, and it
    opens once every `heartbeat_ms` whatever happens, so that nothing slow is missed for good.
    """

    def __init__(self, *, settle_ms: int = 1000, heartbeat_ms: int = 5000) -> None:
        self._settle_ms = settle_ms
        self._heartbeat_ms = heartbeat_ms
        # The thumbnail of the frame taken last; an empty one before the first.
        self.thumbnail: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._still = self.thumbnail
        self._noise = 1.0
        self._moved_at = 0
        self._opened_at = 0
        self.still_at = 0  # when a frame was last still: nothing had changed for `settle_ms`
        self.sudden = False  # the picture changed as a whole since the one before
        self.light = 1.0  # how many times as bright it is then

    def differing(self, one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return the cells where two pieces of thumbnails differ, be it by their light only."""
        return np.asarray(self._local(np.abs(one - other)) > self._least)

    def moving(self, frame: Frame) -> bool:
        """Take the next frame; return whether the detector should look at it."""
        now = thumbnail(frame.luma)
        is_first = self.thumbnail.shape != now.shape
        then = now if is_first else self.thumbnail
        self.sudden = cv2.norm(now, then, cv2.NORM_L1) > SUDDEN * now.size
        if self.sudden:
            self.light = float(np.median(now[SAMPLED] / np.maximum(then[SAMPLED], 1)))
        if is_first:
            self._still, self._moved_at = now.copy(), frame.at
        elif self._changed(now, then, learn=True):
            self._moved_at = frame.at
        elif frame.at - self._moved_at >= self._settle_ms:
            if self._changed(now, self._still):
                # Something new lies still: one more look at it, then it is the table.
                self._still, self._moved_at = now.copy(), frame.at
            else:
                self._still += np.clip(now - self._still, -DRIFT_PER_FRAME, DRIFT_PER_FRAME)
        self.thumbnail = now
        awake = frame.at - self._moved_at < self._settle_ms
        if not awake:
            self.still_at = frame.at
        if awake or frame.at - self._opened_at >= self._heartbeat_ms:
            self._opened_at = frame.at
            return True
        return False

    @property
    def _least(self) -> float:
        """The change of a cell, in levels, that is more than noise."""
        return max(LEAST_CHANGE, NOISE_FACTOR * self._noise)

    def _changed(
        self, now: NDArray[np.float32], then: NDArray[np.float32], *, learn: bool = False
    ) -> bool:
        difference = now - then
        # A lamp that brightens or a camera that adapts shifts the whole picture: no motion.
        difference -= np.float32(_median(difference))
        size = np.asarray(np.abs(difference, out=difference), np.float32)
        if learn:
            typical = _median(size) * 1.5
            self._noise += 0.05 * (typical - self._noise)
        return bool(self._local(size).max() > self._least)

    @staticmethod
    def _local(size: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the mean change of each cell and three neighbours."""
        return np.asarray(cv2.blur(size, (2, 2)), np.float32)


def _median(cells: NDArray[np.float32]) -> float:
    """Return the median of the sampled cells; `np.median` takes twice as long for so few."""
    few = np.sort(cells[SAMPLED], axis=None)
    return float(few[few.size // 2])


class WatchedPart:
    """A part of what a gate is shown, to be compared with how it looked before."""

    def __init__(self, gate: MotionGate, outline: Points, size: tuple[int, int]) -> None:
        """Watch what a gate is shown within an outline (n x 2 px) of pictures of that size."""
        self._gate = gate
        self._size = np.asarray(size, np.float32)
        self._outline = outline / self._size
        self._cells = np.s_[0:0, 0:0]
        self._stored: NDArray[np.float32] | None = None
        self._looked_at = self._stirred_at = 0

    def due(self, at: int) -> bool:
        """Return whether to look at the frame taken last, at `at` ms: it changed, or it is time."""
        if self.change() is not None:
            self._stirred_at = at
        stirred = 0 <= at - self._stirred_at < STIRRED_MS
        if not stirred and 0 <= at - self._looked_at < QUIET_MS:
            return False
        self.keep()
        self._looked_at = at
        return True

    def change(self) -> Points | None:
        """Return where the frame taken last differs from the one that was kept, `None` if nowhere.

        Two opposite corners (2 x 2 px) of what holds all of it.
        """
        now, stored = self._gate.thumbnail, self._stored
        if stored is None or stored.shape != now.shape:
            whole = self._outline * self._size
            return np.stack([whole.min(axis=0), whole.max(axis=0)])
        rows, columns = self._cells
        cells = np.argwhere(self._gate.differing(stored[rows, columns], now[rows, columns]))
        if not len(cells):
            return None
        # A cell stands for the mean of itself and the ones above and to the left of it.
        first = np.array((rows.start, columns.start))
        found = np.stack([first + cells.min(axis=0) - 1, first + cells.max(axis=0) + 1])
        return np.asarray(found[:, ::-1] * (self._size / now.shape[::-1]), np.float32)

    def keep(self) -> None:
        """Keep how it looks in the frame that the gate took last."""
        before, self._stored = self._stored, self._gate.thumbnail
        if before is not None and before.shape == self._stored.shape:
            return
        # The rows and columns of the thumbnail that show the part, and a cell about it.
        size = np.array(self._stored.shape[::-1])
        low = np.clip(np.floor(self._outline.min(axis=0) * size) - 1, 0, size - 1).astype(int)
        high = np.clip(np.ceil(self._outline.max(axis=0) * size) + 1, 1, size).astype(int)
        self._cells = np.s_[low[1] : high[1], low[0] : high[0]]
