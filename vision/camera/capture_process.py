"""The capture process: opens one live source, again and again, and lays its pictures in memory.

`vision.camera.source` starts it, shares a piece of memory with it, and kills it when it hangs: a
`read()` that never returns then leaves neither thread nor handle behind. The address comes by
standard input, never in the list of processes. Knows nothing of tables.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Generator, Iterator
from enum import IntEnum
from struct import Struct
from typing import Any, NamedTuple

import av
import av.error
import av.logging
import cv2
import numpy as np

from vision.sight.geometry.frame import Image

# RTSP by TCP; what is damaged is an error, not a guess. No time is lost on finding out format and
# pace; what came meanwhile is shown: it holds a key frame, and the next may be seconds off.
OPTIONS = {
    "rtsp_transport": "tcp",
    "err_detect": "explode",
    "fflags": "discardcorrupt",
    "analyzeduration": "500000",
    "fpsprobesize": "0",
}
MOST_DAMAGED = 90
LATER_S = 0.2  # so that it is the reader that says how long nothing has come
av.logging.set_level(av.logging.PANIC)
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)

SLOTS = 4
HEADER = 4096
MOST_PIXELS = 64_000_000
PAUSES_S = (0.3, 0.6, 1.0)


class Word(IntEnum):
    """What the process says: it opens, it opened, there is a picture or the same again, it lost."""

    OPENING = 0
    OPENED = 1
    PICTURE = 2
    REPEAT = 3
    LOST = 4


class Report(NamedTuple):
    """One word, its monotonic instant (seconds), and of a picture its number and size."""

    word: int
    taken_s: float
    number: int = 0
    width: int = 0
    height: int = 0


FORM = Struct("=BdQII")


def place(number: int, width: int, height: int) -> int:
    """Return where picture `number` lies in the shared memory, in bytes."""
    return HEADER + number % SLOTS * _room(width, height)


def needed(width: int, height: int) -> int:
    """Return how large the shared memory must be for pictures of that size, in bytes."""
    return HEADER + SLOTS * _room(width, height)


def _room(width: int, height: int) -> int:
    return -(-width * height * 3 // HEADER) * HEADER


class Slots:
    """The shared memory as this process writes it; a slot's mark is 0 while it is written."""

    def __init__(self, memory_fd: int) -> None:
        self._fd = memory_fd
        self._memory = mmap.mmap(memory_fd, HEADER)
        self._size = (0, 0)
        self._images: list[Image] = []

    def fit(self, width: int, height: int) -> None:
        """Make room for pictures of that size; memory only grows, as the reader maps it too."""
        if self._size == (width, height):
            return
        if os.fstat(self._fd).st_size < needed(width, height):
            os.ftruncate(self._fd, needed(width, height))
        self._memory = mmap.mmap(self._fd, needed(width, height))
        count = width * height * 3
        self._images = [
            np.frombuffer(
                self._memory, np.uint8, count, place(number, width, height)
            ).reshape(height, width, 3)
            for number in range(SLOTS)
        ]  # fmt: skip
        self._size = (width, height)

    def image(self, number: int) -> Image:
        """Return the slot of picture `number`; `fit` comes before."""
        return self._images[number % SLOTS]

    def mark(self, number: int, value: int) -> None:
        """Mark the slot of picture `number` as holding picture `value`."""
        start = 8 * (number % SLOTS)
        self._memory[start : start + 8] = value.to_bytes(8, "little")


class Source:
    """One opened source and what it shows, told through `pipe_fd`."""

    def __init__(self, order: dict[str, Any], pipe_fd: int, slots: Slots) -> None:
        self._order = order
        self._pipe_fd = pipe_fd
        self._slots = slots
        self._number = 0

    def serve(self) -> None:
        """Open the source and read it, for as long as it takes, with growing pauses."""
        failures = 0
        while True:
            self.tell(Word.OPENING)
            before = self._number
            self._read()
            self.tell(Word.LOST)
            failures = 0 if self._number > before else failures + 1
            time.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])

    def tell(self, word: Word, width: int = 0, height: int = 0) -> None:
        """Say a word; where nobody listens for a long time it is lost, as it is old by then."""
        report = Report(word, time.monotonic(), self._number, width, height)
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe_fd, FORM.pack(*report))

    def _read(self) -> None:
        with contextlib.closing(pictures(self._order)) as shown:
            for image in shown:
                if image is None:
                    self.tell(Word.OPENED)
                else:
                    self._take(image)

    def _take(self, image: Image) -> None:
        """Lay a picture in the next slot and tell of it."""
        slots, number = self._slots, self._number + 1
        height, width = image.shape[:2]
        slots.fit(width, height)
        if self._order["frozen_s"] > 0 and self._number and _same(slots.image(self._number), image):
            self.tell(Word.REPEAT, width, height)
            return
        slots.mark(number, 0)
        slots.image(number)[:] = image
        slots.mark(number, number)
        self._number = number
        self.tell(Word.PICTURE, width, height)


def _same(one: Image, other: Image) -> bool:
    """Whether two pictures are equal to the last bit, as no two of a living sensor are."""
    # A sample decides nearly always, at a hundredth of the cost.
    return np.array_equal(one[::16, ::16], other[::16, ::16]) and np.array_equal(one, other)


def pictures(order: dict[str, Any]) -> Generator[Image | None, None, None]:
    """Yield `None` once the source is open, then its pictures, until it fails or ends."""
    source = str(order["source"])
    with contextlib.suppress(OSError, ValueError, av.error.FFmpegError):
        yield from _camera(int(source), order) if source.isdigit() else _address(source, order)


def _camera(number: int, order: dict[str, Any]) -> Iterator[Image | None]:
    capture = cv2.VideoCapture(number)
    capture.set(cv2.CAP_PROP_FRAME_WIDTH, order["width"])
    capture.set(cv2.CAP_PROP_FRAME_HEIGHT, order["height"])
    capture.set(cv2.CAP_PROP_FPS, order["fps"])
    good, image = capture.isOpened(), None
    try:
        while good:
            yield image if image is None else np.asarray(image, np.uint8)
            good, image = capture.read()
    finally:
        capture.release()


def _address(source: str, order: dict[str, Any]) -> Iterator[Image | None]:
    """Read a stream; a picture that came damaged is none, and a run of them is the end of it."""
    open_s, stall_s, began = order["open_s"], order["stall_s"] + LATER_S, time.monotonic()
    with av.open(source, options=OPTIONS, timeout=(open_s, stall_s)) as container:
        # A stream that falls silent while its format is looked for counts as open, too late.
        if time.monotonic() - began > open_s:
            return
        yield None
        damaged = 0
        for packet in _in_time(container.demux(video=0), stall_s):
            try:
                frames = packet.decode()
            except av.error.InvalidDataError:
                frames = []
                damaged += 1
            for frame in frames:
                if frame.is_corrupt or frame.width * frame.height > MOST_PIXELS:
                    damaged += 1
                    continue
                damaged = 0
                yield np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
            if damaged > MOST_DAMAGED:
                return


def _in_time(packets: Iterator[av.Packet[Any]], stall_s: float) -> Iterator[av.Packet[Any]]:
    """Yield packets until one is late: what the library lets go of after a silence is old."""
    asked = time.monotonic()
    for packet in packets:
        if time.monotonic() - asked >= stall_s:
            return
        yield packet
        asked = time.monotonic()


def _end_with_reader() -> None:
    """End at once when the reader is gone, whatever the video library is waiting for."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serve the order that comes by standard input until killed; arguments: the two handles."""
    pipe_fd, memory_fd = (int(word) for word in sys.argv[1:3])
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_reader, daemon=True).start()
    os.set_blocking(pipe_fd, False)
    Source(order, pipe_fd, Slots(memory_fd)).serve()


if __name__ == "__main__":
    main()
