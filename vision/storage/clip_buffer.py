"""The last seconds of the table in memory, as small JPEGs of the layout, and films made of them.

What lies beyond the layout is cut off and blacked out, so that no guest is filmed. A film is Motion
JPEG in an AVI: it holds the pictures as they are, so making one costs no more than copying them.
"""

from __future__ import annotations

import io
import math
from collections import deque
from collections.abc import Sequence
from fractions import Fraction
from typing import cast

import av
import cv2
import numpy as np
from numpy.typing import ArrayLike

from vision.sight.geometry.frame import Frame, Image

# JPEG quality, 0 to 100, chosen by looking at stills and clips of simulated films. Lower saves disk
# and blurs the indices, which are the proof.
STILL_QUALITY = 88
CLIP_QUALITY = 80
CLIP_WIDTH_PX = 960  # at most; 1920 px halved, with which 7 s take 3.5 MB of memory
LONGEST_PERIOD = 1000  # denominator of a film's rate: exact to a thousandth of a picture a second


class Crop:
    """The part of a picture in which the layout lies; `outline` is n x 2 pixels, convex."""

    def __init__(self, outline: ArrayLike, size: tuple[int, int]) -> None:
        """Lay out the crop of pictures of that width and height."""
        hull = cv2.convexHull(np.asarray(outline, np.float32)).reshape(-1, 2)
        low = np.clip(np.floor(hull.min(axis=0)), 0, np.array(size) - 2).astype(int)
        high = np.clip(np.ceil(hull.max(axis=0)), low + 2, size).astype(int)
        self._part = np.s_[low[1] : high[1], low[0] : high[0]]
        width, height = (int(length) for length in high - low)
        # By a whole number: that halves the cost, and thin strokes are averaged evenly.
        self._shrink = max(1, math.ceil(width / CLIP_WIDTH_PX))
        self.small = (width // self._shrink // 2 * 2, height // self._shrink // 2 * 2)
        self._mask = np.zeros((height, width), np.uint8)
        cv2.fillConvexPoly(self._mask, np.rint(hull - low).astype(np.int32), 255)
        self._small_mask = cv2.resize(self._mask, self.small, interpolation=cv2.INTER_NEAREST)

    def still(self, image: Image) -> bytes:
        """Return the layout as it is, as a JPEG."""
        part = np.ascontiguousarray(image[self._part])
        return _jpeg(cast(Image, cv2.bitwise_and(part, part, mask=self._mask)), STILL_QUALITY)

    def thumbnail(self, image: Image) -> bytes:
        """Return the layout at most 960 pixels wide, as a JPEG."""
        width, height = (length * self._shrink for length in self.small)
        part = image[self._part][:height, :width]
        small = cv2.resize(part, self.small, interpolation=cv2.INTER_AREA)
        return _jpeg(
            cast(Image, cv2.bitwise_and(small, small, mask=self._small_mask)), CLIP_QUALITY
        )


def _jpeg(image: Image, quality: int) -> bytes:
    return bytes(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].data)


class Ring:
    """The pictures of the last `length_s` seconds, at most `fps` of them a second."""

    def __init__(self, crop: Crop, *, length_s: float, fps: float) -> None:
        self._crop = crop
        self._length_ms = round(1000 * length_s)
        self._every_ms = 1000 / fps
        self._pictures: deque[tuple[int, bytes]] = deque(maxlen=math.ceil(length_s * fps) + 2)
        self._next_at = 0.0

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return sum(len(picture) for _, picture in self._pictures)

    def add(self, frame: Frame) -> None:
        """Take a frame, if it is time for one."""
        if self._pictures and frame.at < self._pictures[-1][0]:
            self._pictures.clear()  # the clock was set back
        elif frame.at < self._next_at:
            return
        self._next_at = max(self._next_at + self._every_ms, frame.at + self._every_ms / 2)
        self._pictures.append((frame.at, self._crop.thumbnail(frame.image)))
        while self._pictures[0][0] < frame.at - self._length_ms:
            self._pictures.popleft()

    def film(self, first: int, last: int) -> bytes:
        """Return the film from one moment to another (Unix ms); empty where there is no picture."""
        found = [(at, picture) for at, picture in self._pictures if first <= at <= last]
        if not found:
            return b""
        lasted_s = (found[-1][0] - found[0][0]) / 1000
        fps = (len(found) - 1) / lasted_s if lasted_s > 0 else 1000 / self._every_ms
        return write_film([picture for _, picture in found], self._crop.small, fps)


def write_film(pictures: Sequence[bytes], size: tuple[int, int], fps: float) -> bytes:
    """Return the film of the JPEGs (one or more, all of that width and height) as an AVI file."""
    out = io.BytesIO()
    with av.open(out, "w", format="avi") as film:
        stream = film.add_stream("mjpeg", rate=Fraction(fps).limit_denominator(LONGEST_PERIOD))
        stream.width, stream.height = size
        stream.pix_fmt = "yuvj420p"
        for number, picture in enumerate(pictures):
            packet = av.Packet(picture)
            packet.stream, packet.pts, packet.dts = stream, number, number
            packet.is_keyframe = True
            film.mux(packet)
    return out.getvalue()
