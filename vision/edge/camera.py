"""Where pictures come from: a camera, a stream, a video file or a folder of pictures.

Capture runs in its own thread and is watched by the reader's clock, because a `read()` may block
for ever. A live source is re-opened after a stall and yields its newest picture; a file yields
every frame, none dropped. Knows nothing of what the pictures show.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import cv2

from vision.edge import media
from vision.edge.shots import Outage, Shot, now_ms
from vision.errors import OutsideError
from vision.sight.frame import Frame, Image

# Read by the video library at every opening: RTSP by TCP, and no chatter on stderr.
os.environ.setdefault("OPENCV_FFMPEG_CAPTURE_OPTIONS", "rtsp_transport;tcp")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)

OPEN_TIMEOUT_S = 5.0
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a live camera is asked for, and how long it may be silent."""

    width: int = 1920
    height: int = 1080
    fps: float = 30.0
    stall_s: float = 2.0


def open_source(
    source: str, wanted: Wanted, *, speed: float = 1.0, start_ms: int | None = None
) -> Iterator[Shot | Outage]:
    """Open a source and yield its frames, and for a live source its outages.

    `source` is a camera number, an address with `://`, a video file or a folder of pictures.
    `speed` paces files (1 real time, 0 as fast as it goes); their frame i has the time `start_ms`
    (default: now) + round(1000 i / fps). ConfigurationError when there is no such source or a
    file is no video, OutsideError when a camera does not answer or a file ends too early.
    """
    start = now_ms() if start_ms is None else start_ms
    if is_live(source):
        capture = _Capture(source, wanted)
        _await_opening(source, capture)
        return _watched(source, wanted, capture)
    path = Path(source)
    if path.is_dir():
        return media.folder(path, media.picture_files(path), wanted.fps, media.Pace(start, speed))
    return media.video(path, media.open_video(path), media.Pace(start, speed))


def is_live(source: str) -> bool:
    """Whether a source goes on by itself: a camera number or an address."""
    return source.isdigit() or "://" in source


class _Capture:
    """One attempt at a live source: a thread that keeps the newest picture."""

    def __init__(self, source: str, wanted: Wanted) -> None:
        self._source = source
        self._wanted = wanted
        self._newest: queue.Queue[tuple[Image, int, float]] = queue.Queue(maxsize=1)
        self._closed = threading.Event()
        self.opened = threading.Event()
        self.failed = threading.Event()
        threading.Thread(target=self._work, name="capture", daemon=True).start()

    def newest(self, timeout_s: float) -> tuple[Image, int, float] | None:
        """Return the newest picture with its two times, or None when none comes in time."""
        try:
            return self._newest.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def is_lost(self, silent_s: float, stall_s: float) -> bool:
        """Whether it failed, or has been silent for too long to be waited for."""
        patience_s = stall_s if self.opened.is_set() else stall_s + OPEN_TIMEOUT_S
        return self.failed.is_set() or silent_s >= patience_s

    def complaint(self, stall_s: float) -> str:
        """Say in a short phrase why no picture comes."""
        return "camera lost" if self.failed.is_set() else f"no picture for {stall_s:g} s"

    def close(self) -> None:
        """Let the thread end when its `read()` returns; it may never do so."""
        self._closed.set()

    def _work(self) -> None:
        capture = self._open()
        if not capture.isOpened():
            self.failed.set()
            return
        self.opened.set()
        while not self._closed.is_set():
            good, image = capture.read()
            if not good:
                break
            self._put((cast(Image, image), now_ms(), time.monotonic()))
        self.failed.set()
        capture.release()

    def _put(self, picture: tuple[Image, int, float]) -> None:
        while True:
            try:
                self._newest.put_nowait(picture)
                return
            except queue.Full:
                self.newest(0)

    def _open(self) -> cv2.VideoCapture:
        if not self._source.isdigit():
            timeout = round(1000 * OPEN_TIMEOUT_S)
            options = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, timeout]
            options += [cv2.CAP_PROP_READ_TIMEOUT_MSEC, timeout]
            return cv2.VideoCapture(self._source, cv2.CAP_FFMPEG, options)
        capture = cv2.VideoCapture(int(self._source))
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, self._wanted.width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, self._wanted.height)
        capture.set(cv2.CAP_PROP_FPS, self._wanted.fps)
        return capture


def _watched(source: str, wanted: Wanted, capture: _Capture) -> Iterator[Shot | Outage]:
    """Yield the newest pictures of a live source; while there are none, outages as time passes.

    A source that fails or stalls is opened afresh, with growing pauses, for as long as it takes.
    """
    index, failures, reason = 0, 0, ""
    heard_s = time.monotonic()
    try:
        while True:
            picture = capture.newest(0.2)
            if picture is not None:
                image, at, taken_s = picture
                yield Shot(Frame(image, at, index), taken_s)
                index, failures, reason, heard_s = index + 1, 0, "", time.monotonic()
            elif capture.is_lost(time.monotonic() - heard_s, wanted.stall_s):
                reason = reason or capture.complaint(wanted.stall_s)
                capture.close()
                for _ in range(2 ** min(failures, 3)):
                    yield Outage(now_ms(), reason)
                    time.sleep(PAUSE_S)
                capture, failures, heard_s = (
                    _Capture(source, wanted),
                    failures + 1,
                    time.monotonic(),
                )
            elif reason:
                yield Outage(now_ms(), reason)
    finally:
        capture.close()


def _await_opening(source: str, capture: _Capture) -> None:
    """Wait until a live source answers for the first time; OutsideError with the cure."""
    deadline = time.monotonic() + OPEN_TIMEOUT_S + 1.0
    while time.monotonic() < deadline and not capture.failed.is_set():
        if capture.opened.wait(0.05):
            return
    capture.close()
    if source.isdigit():
        raise OutsideError(
            f"camera {source}: does not open: it is unplugged, or another program uses it; check "
            f"that /dev/video{source} exists and that nothing else holds it"
        )
    raise OutsideError(
        f"{source}: no video comes from this address within {OPEN_TIMEOUT_S:g} s; check that the "
        "camera is on, the address right and the network reaches it"
    )
