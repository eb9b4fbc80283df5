"""The capture process: reads one live source and puts its pictures into shared memory.

`vision.camera.source` starts it and kills it when it hangs: a `read()` of a video library may never
return, and only the end of its process frees thread and handles. It has three ways to its parent:

**Settings** (standard input). One line of JSON: the [camera] section, with the passwords of the
address filled in, so that they never stand in the list of processes. When standard input closes,
the parent is gone, and this process ends at once.

**Pictures** (a memory file, `SLOTS` slots after a header of `HEADER` bytes). Picture n, counted
from 1, lies in slot n % SLOTS: planes of brightness and colours one after the other, without
padding, or height x width x 3 bytes, BGR, as its report says. A slot has room for the latter. The
header has a mark of 8 bytes a slot, little-endian: n while the slot holds the whole picture n, 0
while it is written. Nothing is locked: the parent copies a slot and then looks at its mark; another
number means that the picture was overwritten meanwhile, and the copy is dropped. The file only
grows, as both sides map it.

**Reports** (a pipe). One `CaptureReport` of `REPORT_FORM` for everything that happens:

| signal  | meaning                                                     | followed by          |
|---------|-------------------------------------------------------------|----------------------|
| OPENING | it begins to open the source                                | OPENED, LOST         |
| OPENED  | the source answers                                          | any of those below   |
| PICTURE | picture `number` is whole in its slot                       | the same             |
| REPEAT  | a picture came that equals the last one to the bit; dropped | the same             |
| DAMAGED | a picture came that is not whole; dropped                   | the same             |
| LOST    | the source failed or ended; it is opened again after a pause | OPENING             |

A report is dropped when the pipe is full: it would be old when it is read.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import ssl
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from enum import IntEnum
from struct import Struct
from typing import Any, NamedTuple

import av
import av.error
import av.logging
import cv2
import numpy as np

from vision.camera.decoding import Coding, Planes, pixels, shown_stream
from vision.camera.whole_pictures import WholePictures
from vision.pictures import MOST_PIXELS
from vision.sight.geometry.plane import Image

# Options of the video library. RTSP by TCP. No time is spent on finding out format and rate: what
# comes meanwhile holds a key frame, and the next may be seconds off.
OPTIONS = {"rtsp_transport": "tcp", "analyzeduration": "500000", "fpsprobesize": "0"}
# What the video library may open for an address, by its scheme. Without this list a camera, or who
# stands in its place, could send the library to files of this machine, or to other machines.
PROTOCOLS = {
    "rtsp": "rtsp,rtp,udp,tcp",
    "rtsps": "rtsps,rtsp,rtp,srtp,udp,tls,tcp",
    "http": "http,https,tls,tcp",
    "https": "https,tls,tcp",
    "rtmp": "rtmp,tcp",
    "rtmps": "rtmps,tls,tcp",
    "rtp": "rtp,udp",
    "srt": "srt,udp",
    "udp": "udp",
    "tcp": "tcp",
}
# Seconds of damaged pictures after which a stream is opened again: longer than a key frame is away
# with usual encoders. Lower, and a stream that recovers is torn down.
DAMAGED_S = 3.0
# Seconds that the library waits longer than [camera] stall_s, so that the parent, whose clock
# counts, is the first to report a stall.
LATER_S = 0.2
# Seconds before the source is opened again, by the number of failures in a row: soon at first, and
# never so often that a camera's log-in is hammered.
PAUSES_S = (0.3, 0.6, 1.0)
# Every how manyth row and column decides whether two pictures are equal before all are compared:
# a sample that differs is found at 1/256 of the cost.
SAMPLE = 16
av.logging.set_level(None)  # silent; any level has threads wait for the interpreter to log
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)

# Slots: the parent takes milliseconds to copy one, so with 4 it has three frame times for it.
SLOTS = 4
# Bytes before the first slot: one page, because slots start at page borders.
HEADER = 4096


class Signal(IntEnum):
    """What a report says; see the table above."""

    OPENING = 0
    OPENED = 1
    PICTURE = 2
    REPEAT = 3
    LOST = 4
    DAMAGED = 5


class CaptureReport(NamedTuple):
    """A signal, its monotonic instant (seconds), and of a picture its number and size (pixels).

    The rest is how the picture is coded: see `Coding`.
    """

    signal: int
    at_s: float
    number: int = 0
    width: int = 0
    height: int = 0
    form: int = 0
    matrix: int = 0
    span: int = 0

    @property
    def coding(self) -> Coding:
        """How the picture is coded."""
        return Coding(self.form, self.matrix, self.span)


REPORT_FORM = Struct("=BdQIIBBB")


def slot_offset(number: int, width: int, height: int) -> int:
    """Return where picture `number` begins in the shared memory, in bytes."""
    return HEADER + number % SLOTS * _slot_size(width, height)


def memory_size(width: int, height: int) -> int:
    """Return how large the shared memory must be for pictures of that size, in bytes."""
    return HEADER + SLOTS * _slot_size(width, height)


def _slot_size(width: int, height: int) -> int:
    return -(-width * height * 3 // HEADER) * HEADER


class Slots:
    """The shared memory, as this process writes it."""

    def __init__(self, memory_fd: int) -> None:
        self._fd = memory_fd
        self._memory = mmap.mmap(memory_fd, HEADER)
        self._size = (0, 0)
        self._slots: list[Image] = []

    def fit(self, width: int, height: int) -> None:
        """Make room for pictures of that size; memory only grows, as the reader maps it too."""
        if self._size == (width, height):
            return
        if os.fstat(self._fd).st_size < memory_size(width, height):
            os.ftruncate(self._fd, memory_size(width, height))
        self._memory = mmap.mmap(self._fd, memory_size(width, height))
        self._memory[: 8 * SLOTS] = bytes(8 * SLOTS)  # slots of another size lie elsewhere
        count = _slot_size(width, height)
        self._slots = [
            np.frombuffer(self._memory, np.uint8, count, slot_offset(number, width, height))
            for number in range(SLOTS)
        ]
        self._size = (width, height)

    def layers(self, number: int, like: Sequence[Image]) -> list[Image]:
        """Return the layers in the slot of picture `number`, shaped as these, after `fit`."""
        slot, found = self._slots[number % SLOTS], []
        for layer in like:
            found.append(slot[: layer.size].reshape(layer.shape))
            slot = slot[layer.size :]
        return found

    def mark(self, number: int, value: int) -> None:
        """Mark the slot of picture `number` as holding picture `value`."""
        start = 8 * (number % SLOTS)
        self._memory[start : start + 8] = value.to_bytes(8, "little")


class CaptureLoop:
    """Opens one source again and again; reports go to `pipe_fd`, pictures into `slots`."""

    def __init__(self, settings: dict[str, Any], pipe_fd: int, slots: Slots) -> None:
        self._settings = settings
        self._pipe_fd = pipe_fd
        self._slots = slots
        self._number = 0

    def serve(self) -> None:
        """Open the source and read it, for ever, with growing pauses after failures."""
        failures = 0
        while True:
            self.report(Signal.OPENING)
            before = self._number
            with contextlib.closing(pictures(self._settings)) as shown:
                for seen in shown:
                    if isinstance(seen, Signal):
                        self.report(seen)
                    else:
                        self._take(seen)
            self.report(Signal.LOST)
            failures = 0 if self._number > before else failures + 1
            time.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])

    def report(self, signal: Signal, *picture: int) -> None:
        """Report to the parent, as `CaptureReport` has it; dropped when the pipe is full."""
        report = CaptureReport(signal, time.monotonic(), self._number, *picture)
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe_fd, REPORT_FORM.pack(*report))

    def _take(self, seen: Image | Planes) -> None:
        slots, number = self._slots, self._number + 1
        layers, coding = (
            (seen.layers, seen.coding) if isinstance(seen, Planes) else ((seen,), Coding())
        )
        height, width = layers[0].shape[:2]
        slots.fit(width, height)
        if (
            self._settings["frozen_s"] > 0
            and self._number
            and _same(slots.layers(self._number, layers), layers)
        ):
            self.report(Signal.REPEAT)
            return
        slots.mark(number, 0)
        for slot, layer in zip(slots.layers(number, layers), layers, strict=True):
            slot[:] = layer
        slots.mark(number, number)
        self._number = number
        self.report(Signal.PICTURE, width, height, *coding)


def _same(layers: Sequence[Image], others: Sequence[Image]) -> bool:
    """Whether two pictures are equal to the last bit, as no two of a live sensor are."""
    for part in (np.s_[::SAMPLE, ::SAMPLE], np.s_[:]):
        pairs = zip(layers, others, strict=True)
        if not all(np.array_equal(layer[part], other[part]) for layer, other in pairs):
            return False
    return True


def pictures(settings: dict[str, Any]) -> Generator[Image | Planes | Signal, None, None]:
    """Yield OPENED once the source is open, then pictures, or DAMAGED, until it fails or ends."""
    source = str(settings["source"])
    with contextlib.suppress(OSError, ValueError, av.error.FFmpegError):
        yield from (
            _camera(int(source), settings) if source.isdigit() else _address(source, settings)
        )


def _camera(number: int, settings: dict[str, Any]) -> Iterator[Image | Signal]:
    capture = cv2.VideoCapture(number)
    capture.set(cv2.CAP_PROP_FRAME_WIDTH, settings["width"])
    capture.set(cv2.CAP_PROP_FRAME_HEIGHT, settings["height"])
    capture.set(cv2.CAP_PROP_FPS, settings["fps"])
    good, image = capture.isOpened(), None
    try:
        while good:
            yield Signal.OPENED if image is None else np.asarray(image, np.uint8)
            good, image = capture.read()
    finally:
        capture.release()


def options_of(source: str, tls_ca: str) -> dict[str, str]:
    """Return the library's options for an address; its certificate must be of an authority trusted.

    `tls_ca` is a file of certificates to trust, empty for those that this machine trusts.
    """
    trusted = tls_ca or ssl.get_default_verify_paths().cafile
    return {
        **OPTIONS,
        "protocol_whitelist": PROTOCOLS[scheme_of(source)],
        "tls_verify": "1",
        **({"ca_file": trusted} if trusted else {}),
    }


def scheme_of(source: str) -> str:
    """Return the scheme of an address, in small letters."""
    return source.partition("://")[0].lower()


def _address(source: str, settings: dict[str, Any]) -> Iterator[Image | Planes | Signal]:
    """Read a stream; pictures that are not whole are left out, and a run of them ends it."""
    open_s, stall_s, began = settings["open_s"], settings["stall_s"] + LATER_S, time.monotonic()
    options = options_of(source, str(settings["tls_ca"]))
    timeout = (open_s, stall_s)
    # A name that the camera gives itself may be in any coding.
    with av.open(source, options=options, timeout=timeout, metadata_errors="ignore") as container:
        # The library calls a stream open that fell silent while its format was looked for.
        if time.monotonic() - began > open_s:
            return
        yield Signal.OPENED
        stream = shown_stream(container)
        if stream is None:
            return
        whole, damaged_s = WholePictures(stream), math.inf
        for packet in _in_time(container.demux(stream), stall_s):
            for frame in whole.decode(packet):
                if frame is None or frame.width * frame.height > MOST_PIXELS:
                    damaged_s = min(damaged_s, time.monotonic())
                    yield Signal.DAMAGED
                    continue
                damaged_s = math.inf
                yield pixels(frame)
            if time.monotonic() - damaged_s > DAMAGED_S:
                return


def _in_time(packets: Iterator[av.Packet[Any]], stall_s: float) -> Iterator[av.Packet[Any]]:
    """Yield packets until one is late: what the library gives out after a silence is old."""
    asked = time.monotonic()
    for packet in packets:
        if time.monotonic() - asked >= stall_s:
            return
        yield packet
        asked = time.monotonic()


def _end_with_parent() -> None:
    """End at once when the parent is gone, whatever the video library is waiting for."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Capture by the settings from standard input until killed; arguments: the two handles."""
    pipe_fd, memory_fd = (int(word) for word in sys.argv[1:3])
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.set_blocking(pipe_fd, False)
    CaptureLoop(settings, pipe_fd, Slots(memory_fd)).serve()


if __name__ == "__main__":
    main()
