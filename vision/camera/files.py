"""Decode video files and folders of pictures: every frame in order, none dropped.

A video is decoded ahead in a thread, so that a disk or network share that hangs is noticed; its
frames stay as they were coded until somebody wants their colours (`vision.camera.planes`). Frames
have no times here; `vision.camera.source` gives them.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import av
import av.logging
from av.container import InputContainer
from av.error import FFmpegError

from vision.camera.losses import WholePictures
from vision.camera.pictures import open_picture
from vision.camera.planes import upright
from vision.errors import ConfigurationError, OutsideError
from vision.sight.geometry.frame import Image, Pixels

# No chatter of the video library on stderr, and none in Python: with any level a thread that
# decodes waits for the interpreter to log an error, and the one that closes the film for it.
av.logging.set_level(None)


class Lack(Enum):
    """Why there is no picture: none can be read for `STALL_S`, or this one is not whole."""

    LATE = 1
    DAMAGED = 2


# What the thread that decodes hands on: a frame or its lack, the end, or why it came to an end.
Decoded = Pixels | Lack | BaseException | None

# File names that are taken as pictures of a folder, and videos of the ISO container (MP4).
PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
ISO_VIDEOS = frozenset({".m4v", ".mov", ".mp4"})

# Frames decoded ahead: enough to keep the reader busy, at 3 MB each (1080p) little memory.
AHEAD = 4
# Frames a second of a video that does not say; what recorders use most. Wrong, and all times are.
USUAL_FPS = 30.0
# Seconds without a frame until the reader is blind ([camera] stall_s is for live sources), and
# until the run ends. A network share may reconnect within the second.
STALL_S = 1.5
HANGS_S = 30.0
# Seconds that the decoder thread waits before it looks whether it is still needed, and that its
# end is waited for.
LOOK_S = 0.2
JOIN_S = 2.0
# Frames of other containers than MP4 that may be missing at the end: their counts are estimates.
COUNT_ERROR = 2


def open_video(path: Path) -> InputContainer:
    """Open a video file; ConfigurationError when it is missing or is no video."""
    if not path.exists():
        raise ConfigurationError(
            f"{path}: no such file; give a camera number, an rtsp:// or http:// address, a video "
            "file or a folder of pictures"
        )
    with contextlib.suppress(FFmpegError):
        film = av.open(str(path), metadata_errors="ignore")
        shown = film.streams.video
        # Of pictures that there is no decoder for not even the width can be asked.
        if shown and hasattr(shown[0], "width") and shown[0].width:
            return film
    raise ConfigurationError(
        f"{path}: is not a video that can be read (or it was cut off before its index); "
        "check it with a player, and copy or record it again"
    )


def fps_of(film: InputContainer) -> float:
    """Return the frames a second of an opened video."""
    rate = film.streams.video[0].guessed_rate
    return _plausible(float(rate or 0), USUAL_FPS, least=0.1, most=1000.0)


def video(path: Path, film: InputContainer) -> Iterator[Pixels | Lack]:
    """Yield every frame of a video or that it is damaged, LATE for every `STALL_S` without one.

    OutsideError when the video ends early, or after `HANGS_S` without a frame.
    """
    promised = _promised(film)
    decoded: queue.Queue[Decoded] = queue.Queue(maxsize=AHEAD)
    closed = threading.Event()
    decoder = threading.Thread(target=_decode, args=(film, decoded, closed), daemon=True)
    decoder.start()
    count = whole = waits = 0
    try:
        while True:
            try:
                pixels = decoded.get(timeout=STALL_S)
            except queue.Empty:
                waits += 1
                if waits * STALL_S >= HANGS_S:
                    raise _hangs(path, count) from None
                yield Lack.LATE
                continue
            if pixels is None:
                break
            if isinstance(pixels, BaseException):
                raise pixels
            yield pixels
            count, waits = count + 1, 0
            whole = count if pixels is not Lack.DAMAGED else whole
    finally:
        closed.set()
        decoder.join(timeout=JOIN_S)
    if cut_off(path, promised, count):
        raise OutsideError(
            f"{path}: the video is cut off: it ends in the middle of a frame after {whole} of "
            f"{max(promised, whole)} frames. Everything up to there was read; copy or record it "
            "again to have the rest"
        )


def _promised(film: InputContainer) -> int:
    """Return how many frames a video says that it has: by count, else by its length."""
    count: float = film.streams.video[0].frames
    if not count and film.duration:
        count = film.duration / av.time_base * fps_of(film)
    return round(_plausible(count, 0.0, least=0.0, most=1e9))


def _plausible(value: float, otherwise: float, *, least: float, most: float) -> float:
    """Return what a file says of itself where it is possible, else the other value."""
    return value if least <= value <= most else otherwise


def _hangs(path: Path, count: int) -> OutsideError:
    return OutsideError(
        f"{path}: nothing can be read after {count} frames for {HANGS_S:g} s; check the disk or "
        "the network share that it lies on"
    )


def _decode(film: InputContainer, out: queue.Queue[Decoded], closed: threading.Event) -> None:
    """Decode to the end, or until `closed` is set; `None` or an error marks the end."""
    end: Decoded = None
    try:
        with film:
            for pixels in _frames(film):
                _put(pixels, out, closed)
                if closed.is_set():
                    return
    except BaseException as error:  # raised again in the thread that waits
        end = error
    _put(end, out, closed)


def _put(pixels: Decoded, out: queue.Queue[Decoded], closed: threading.Event) -> None:
    """Put a frame into the queue once there is room, unless `closed` is set before."""
    while not closed.is_set():
        with contextlib.suppress(queue.Full):
            out.put(pixels, timeout=LOOK_S)
            return


def _frames(film: InputContainer) -> Iterator[Pixels | Lack]:
    """Yield what can be decoded, as far as the file can be read."""
    with contextlib.suppress(FFmpegError):
        stream = film.streams.video[0]
        whole = WholePictures(stream)
        for packet in film.demux(stream):
            with contextlib.suppress(FFmpegError):
                for frame in whole.decode(packet):
                    yield Lack.DAMAGED if frame is None else upright(frame)


def picture_files(folder: Path) -> list[Path]:
    """Return the pictures of a folder by name; ConfigurationError when there are none."""
    names = sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES)
    if not names:
        raise ConfigurationError(
            f"{folder}: holds no pictures; give a folder of {', '.join(sorted(PICTURES))} files"
        )
    return names


def pictures(names: list[Path]) -> Iterator[Image]:
    """Yield the pictures of some files; OutsideError names a file that is not a picture."""
    for name in names:
        image = open_picture(name)
        if image is None:
            raise OutsideError(
                f"{name}: is not a picture that can be read; remove it from {name.parent}"
            )
        yield image


def cut_off(path: Path, promised: int, decoded: int) -> bool:
    """Whether a video lacks its end: a box longer than the file, or frames that never came.

    Only MP4 and its kin count their frames exactly.
    """
    if path.suffix.lower() in ISO_VIDEOS:
        return decoded < promised or _box_beyond_end(path)
    return decoded < promised - COUNT_ERROR


def _box_beyond_end(path: Path) -> bool:
    """Walk the top-level boxes (length, type) of an ISO media file."""
    size = path.stat().st_size
    at = 0
    with path.open("rb") as file:
        while at + 8 <= size:
            file.seek(at)
            length = int.from_bytes(file.read(4))
            if length == 1:  # a 64-bit length follows the type
                file.seek(at + 8)
                length = int.from_bytes(file.read(8))
            if length == 0:  # to the end of the file
                return False
            if length < 8:
                return True
            at += length
    return at > size
