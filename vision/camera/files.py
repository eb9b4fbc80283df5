"""Files as sources: a video or a folder of pictures, every frame, none dropped.

Says when a video was cut off. Knows nothing of cameras, nor of what the pictures show.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import cv2
import numpy as np

from vision.camera.shots import Outage, Shot
from vision.errors import ConfigurationError, OutsideError
from vision.sight.geometry.frame import Frame, Image

# No chatter of the video library on stderr; it reads this at every opening.
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)

PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
PNG = b"\x89PNG\r\n\x1a\n"
BOXED = frozenset({".m4v", ".mov", ".mp4"})
AHEAD = 4
USUAL_FPS = 30.0
STALL_S = 1.5
HANGS_S = 30.0


class Pace:
    """The clock of a file: frame times, and waiting for them at the asked speed."""

    def __init__(self, start_ms: int, speed: float) -> None:
        self._start_ms = start_ms
        self._speed = speed
        self._began_s: float | None = None

    def shot(self, image: Image, index: int, fps: float) -> Shot:
        """Wait until the frame is due and return it."""
        if self._began_s is None:
            self._began_s = time.monotonic()
        taken_s = time.monotonic()
        if self._speed > 0:
            # Waiting in line behind an earlier frame counts as lateness, as it would with a camera.
            taken_s = self._began_s + index / fps / self._speed
            time.sleep(max(0.0, taken_s - time.monotonic()))
        return Shot(Frame(image, self.at(index, fps), index), taken_s)

    def at(self, index: int, fps: float) -> int:
        """Return the time of a frame, Unix ms."""
        return self._start_ms + round(1000 * index / fps)


def open_video(path: Path) -> cv2.VideoCapture:
    """Open a video file; ConfigurationError when it is missing or is no video."""
    if not path.exists():
        raise ConfigurationError(
            f"{path}: no such file; give a camera number, an rtsp:// or http:// address, a video "
            "file or a folder of pictures"
        )
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    if not capture.isOpened() or capture.get(cv2.CAP_PROP_FRAME_WIDTH) == 0:
        raise ConfigurationError(
            f"{path}: is not a video that can be read (or it was cut off before its index); "
            "check it with a player, and copy or record it again"
        )
    return capture


def video(path: Path, capture: cv2.VideoCapture, pace: Pace) -> Iterator[Shot | Outage]:
    """Yield every frame of a video, decoded ahead in a thread; OutsideError if it ends early.

    While the disk or the network share gives nothing, outages; after half a minute OutsideError.
    """
    fps = _number(capture.get(cv2.CAP_PROP_FPS), USUAL_FPS, least=0.1, most=1000.0)
    promised = int(_number(capture.get(cv2.CAP_PROP_FRAME_COUNT), 0.0, least=0.0, most=1e9))
    decoded: queue.Queue[Image | None] = queue.Queue(maxsize=AHEAD)
    closed = threading.Event()
    decoder = threading.Thread(target=_decode, args=(capture, decoded, closed), daemon=True)
    decoder.start()
    index, waits = 0, 0
    try:
        while True:
            try:
                image = decoded.get(timeout=STALL_S)
            except queue.Empty:
                waits += 1
                if waits * STALL_S >= HANGS_S:
                    raise _hangs(path, index) from None
                yield Outage(
                    pace.at(index, fps), f"{path.name} gives no picture", pace.at(index, fps)
                )
                continue
            if image is None:
                break
            yield pace.shot(image, index, fps)
            index, waits = index + 1, 0
    finally:
        closed.set()
        decoder.join(timeout=2.0)
    if cut_off(path, promised, index):
        raise OutsideError(
            f"{path}: the video is cut off: it ends in the middle of a frame after {index} of "
            f"{max(promised, index)} frames. Everything up to there was read; copy or record it "
            "again to have the rest"
        )


def _number(value: float, otherwise: float, *, least: float, most: float) -> float:
    """Return what a file says of itself, where it makes sense."""
    return value if least <= value <= most else otherwise


def _hangs(path: Path, index: int) -> OutsideError:
    return OutsideError(
        f"{path}: nothing can be read after {index} frames for {HANGS_S:g} s; check the disk or "
        "the network share that it lies on"
    )


def _decode(
    capture: cv2.VideoCapture, out: queue.Queue[Image | None], closed: threading.Event
) -> None:
    """Decode to the end, or until nobody listens any more; None marks the end."""
    image: Image | None
    while not closed.is_set():
        good, picture = capture.read()
        image = cast(Image, picture) if good else None
        while not closed.is_set():
            try:
                out.put(image, timeout=0.2)
                break
            except queue.Full:
                continue
        if image is None:
            break
    capture.release()


def folder(path: Path, names: list[Path], fps: float, pace: Pace) -> Iterator[Shot]:
    """Yield the pictures of a folder by name; OutsideError names the one that is none."""
    for index, name in enumerate(names):
        try:
            image = open_picture(name)
        except OSError:
            image = None
        if image is None:
            raise OutsideError(f"{name}: is not a picture that can be read; remove it from {path}")
        yield pace.shot(image, index, fps)


def open_picture(path: Path) -> Image | None:
    """Return the picture in a file (H x W x 3, BGR), `None` where there is none; OSError."""
    raw = path.read_bytes()
    if raw.startswith(PNG) and not _whole_png(raw):
        return None
    data = np.frombuffer(raw, np.uint8)
    try:
        image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    except cv2.error:
        return None
    return None if image is None else np.asarray(image, np.uint8)


def _whole_png(raw: bytes) -> bool:
    """Walk the chunks to the end: OpenCV 5 never returns from one that is longer than its file."""
    place = len(PNG)
    while place + 12 <= len(raw):
        length = int.from_bytes(raw[place : place + 4])
        if raw[place + 4 : place + 8] == b"IEND":
            return True
        place += 12 + length
    return False


def picture_files(folder: Path) -> list[Path]:
    """Return the pictures of a folder by name; ConfigurationError when there are none."""
    names = sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES)
    if not names:
        raise ConfigurationError(
            f"{folder}: holds no pictures; give a folder of {', '.join(sorted(PICTURES))} files"
        )
    return names


def cut_off(path: Path, promised: int, decoded: int) -> bool:
    """Whether a video lacks its end: a box longer than the file, or frames that never came.

    Only MP4 and its kin count their frames exactly; elsewhere two missing frames are allowed.
    """
    if path.suffix.lower() in BOXED:
        return decoded < promised or _box_beyond_end(path)
    return decoded < promised - 2


def _box_beyond_end(path: Path) -> bool:
    """Walk the top-level boxes (size, type) of an ISO media file."""
    size = path.stat().st_size
    place = 0
    with path.open("rb") as file:
        while place + 8 <= size:
            file.seek(place)
            length = int.from_bytes(file.read(4))
            if length == 1:
                file.seek(place + 8)
                length = int.from_bytes(file.read(8))
            if length == 0:
                return False
            if length < 8:
                return True
            place += length
    return place > size
