"""Pictures as decoders give them: planes of brightness and colour, made BGR only on demand.

Of most pictures only the brightness is looked at, whether anything moves, and that is a plane of
its own. The conversion is FFmpeg's, so that the colours are those which the stream says it has.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from numpy.typing import NDArray

Image = NDArray[np.uint8]

# What a picture is kept in: BGR, or 8 bits of brightness and colours at half the width and height.
# The last has the full range of levels by its name, the one before what `Coding.span` says.
FORMATS = ("bgr24", "yuv420p", "yuvj420p")


# The colour spaces that FFmpeg converts, in its numbers; others are taken for one that is not said.
MATRICES, UNSAID = frozenset({0, 1, 2, 4, 5, 6, 7, 9}), 2


class Coding(NamedTuple):
    """Which of the `FORMATS`, and the colour space and range of levels in FFmpeg's numbers."""

    form: int = 0
    matrix: int = 0
    span: int = 0


class Planes:
    """A picture of even width and height in one of the `FORMATS` after the first."""

    def __init__(self, frame: VideoFrame) -> None:
        self._frame = frame
        self._lock = threading.Lock()
        self.luma = _rows(frame.planes[0])

    @property
    def coding(self) -> Coding:
        """How the picture is coded."""
        frame = self._frame
        return Coding(FORMATS.index(frame.format.name), frame.colorspace, frame.color_range)

    @property
    def layers(self) -> tuple[Image, ...]:
        """Brightness and both colours, each height x width of its own."""
        return tuple(_rows(plane) for plane in self._frame.planes)

    def bgr(self) -> Image:
        """Return the picture as height x width x 3, BGR; one thread at a time converts a frame."""
        with self._lock:
            return bgr(self._frame)


def pixels(frame: VideoFrame) -> Image | Planes:
    """Return a decoded picture: its planes where they can be kept, else BGR."""
    even = frame.width % 2 == 0 and frame.height % 2 == 0
    # Rows may be kept from the bottom up: the line size is then negative.
    kept = even and frame.format.name in FORMATS[1:] and frame.planes[0].line_size > 0
    return Planes(frame) if kept else bgr(frame)


def upright(frame: VideoFrame) -> Image | Planes:
    """Return a decoded picture, turned as its film says that it is to be shown."""
    # A film without a matrix of its display, but with zeros, has no angle.
    quarters = round(frame.rotation / 90) % 4 if abs(frame.rotation) <= 180 else 0
    return np.ascontiguousarray(np.rot90(bgr(frame), quarters)) if quarters else pixels(frame)


def bgr(frame: VideoFrame) -> Image:
    """Return a decoded picture as height x width x 3, BGR: its own memory, not a copy of it."""
    if frame.colorspace not in MATRICES:
        frame.colorspace = UNSAID
    # In one thread: to begin others for each picture takes a tenth more of the processor.
    plane = frame.reformat(format="bgr24", threads=1).planes[0]
    return _rows(plane, 3).reshape(frame.height, frame.width, 3)


def byte_count(coding: Coding, width: int, height: int) -> int:
    """Return how many bytes a picture takes without padding."""
    return width * height * 3 if coding.form == 0 else width * height * 3 // 2


def unpacked(data: Image, coding: Coding, width: int, height: int) -> Image | Planes:
    """Return a copy of the picture whose layers follow one another without padding in `data`."""
    if coding.form == 0:
        return data.reshape(height, width, 3).copy()
    frame = VideoFrame(width, height, FORMATS[coding.form])
    frame.colorspace, frame.color_range = coding.matrix, coding.span
    picture = Planes(frame)
    for layer in picture.layers:
        layer[:] = data[: layer.size].reshape(layer.shape)
        data = data[layer.size :]
    return picture


def _rows(plane: VideoPlane, depth: int = 1) -> Image:
    """Return the rows of a plane of so many bytes a pixel, without what pads them."""
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : depth * plane.width]
