"""Decode pictures: those of films and folders, every one in order, and their planes.

A film is decoded ahead in a thread, so that a disk or network share that hangs is noticed. A
picture stays as it was coded until somebody wants its colours: of most only the brightness is
looked at, whether anything moves, and that is a plane of its own. The conversion is FFmpeg's, so
that the colours are those which the stream says it has. Pictures have no times here;
`vision.camera.source` gives them.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import threading
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, cast

import av
import av.logging
import numpy as np
from av import Packet
from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.stream import VideoStream

from vision.camera.whole_pictures import WholePictures
from vision.errors import ConfigurationError, OutsideError
from vision.files import in_order
from vision.pictures import decode_picture, why_no_picture
from vision.sight.geometry.plane import Image, Pixels

T = TypeVar("T")

log = logging.getLogger(__name__)

# No chatter of the video library on stderr, and none in Python: with any level a thread that
# decodes waits for the interpreter to log an error, and the one that closes the film for it.
av.logging.set_level(None)


class Lack(Enum):
    """Why there is no picture: none can be read for `STALL_S`, or this one is not whole."""

    LATE = 1
    DAMAGED = 2


class Decoded(NamedTuple):
    """A frame or its lack, and its stamp in seconds, where the container has one."""

    pixels: Pixels | Lack
    stamp_s: float | None = None


# File names that are taken as pictures of a folder, and videos of the ISO container (MP4).
PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
OTHER_PICTURES = frozenset({".avif", ".heic", ".heif"})
ISO_VIDEOS = frozenset({".m4v", ".mov", ".mp4"})

# Frames decoded ahead: enough to keep the reader busy, at 3 MB each (1080p) little memory.
AHEAD = 4
# Frames a second of a video that does not say; what recorders use most. Wrong, and all times are.
USUAL_FPS = 30.0
# Seconds without a frame to read until the reader is blind ([camera] stall_s is for live sources),
# and until the run ends. A network share may reconnect within the second.
STALL_S = 1.5
HANGS_S = 30.0
# Seconds that a thread that works ahead waits for room before it looks whether it is still needed;
# longer, and the end of a run is noticed later. Then how long the end of the decoder's is waited
# for: a read from a share that hangs never ends.
LOOK_S = 0.1
JOIN_S = 2.0
# Containers, in FFmpeg's names, that say in their header how long the film is, as this alone shows
# that its end is missing; of others FFmpeg makes a length of the first and last stamps. And frames
# that a film may be shorter than that: such lengths are rounded.
SAY_LENGTH = frozenset({"matroska,webm", "avi", "flv", "asf", "nut"})
LENGTH_ERROR = 2

# What a picture is kept in: BGR, or 8 bits of brightness and colours at half the width and height.
# The last has the full range of levels by its name, the one before what `Coding.span` says.
FORMATS = ("bgr24", "yuv420p", "yuvj420p")
# The colour spaces that FFmpeg converts, in its numbers; others are taken for one that is not said.
MATRICES, UNSAID = frozenset({0, 1, 2, 4, 5, 6, 7, 9}), 2


def open_video(path: Path) -> InputContainer:
    """Open a video file; ConfigurationError when it is missing or is no video."""
    if not path.exists():
        raise ConfigurationError(
            f"{path}: no such file; give a camera number, an rtsp:// or http:// address, a video "
            "file or a folder of pictures"
        )
    with contextlib.suppress(FFmpegError):
        film = av.open(str(path), metadata_errors="ignore")
        # A list of films (`ffconcat`) names others, which need not lie where this one does.
        if film.format.name != "concat" and shown_stream(film) is not None:
            return film
    raise ConfigurationError(
        f"{path}: is not a video that can be read (or it was cut off before its index); "
        "check it with a player, and copy or record it again"
    )


def shown_stream(film: InputContainer) -> VideoStream | None:
    """Return the stream of the largest pictures, `None` where a film has none.

    A preview, or the picture of a cover, may come before it.
    """
    # Of pictures that there is no decoder for not even the width can be asked.
    sizes = {s: getattr(s, "width", 0) * getattr(s, "height", 0) for s in film.streams.video}
    moving = [s for s in sizes if not s.disposition & Disposition.attached_pic and sizes[s]]
    return max(moving, key=sizes.__getitem__, default=None)


def fps_of(film: InputContainer) -> float:
    """Return the frames a second of an opened video."""
    stream = shown_stream(film)
    rate = None if stream is None else stream.guessed_rate
    return _plausible(float(rate or 0), USUAL_FPS, least=0.1, most=1000.0)


class Ahead(Generic[T]):
    """Takes the items of an iterator in a thread, up to `most` of them before they are wanted."""

    def __init__(self, items: Iterator[T], most: int, name: str) -> None:
        """Begin at once; `name` is the thread's."""
        self._items = items
        self._queue: queue.Queue[T | _End] = queue.Queue(most)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def get(self, timeout_s: float | None = None) -> T | None:
        """Return the next item, `None` at the end, or raise what the iterator has raised.

        queue.Empty where none comes in time.
        """
        item = self._queue.get(timeout=timeout_s)
        if not isinstance(item, _End):
            return item
        if item.error is not None:
            raise item.error
        return None

    def close(self, join_s: float) -> None:
        """End the thread after the item that it is at, unless that takes longer."""
        self._closed.set()
        self._thread.join(join_s)

    def _work(self) -> None:
        end = _End()
        try:
            for item in self._items:
                self._put(item)
                if self._closed.is_set():
                    return
        except BaseException as error:  # raised again in the thread that waits
            end = _End(error)
        self._put(end)

    def _put(self, item: T | _End) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=LOOK_S)
                return


class _End(NamedTuple):
    """The items have ended, or an error has ended them."""

    error: BaseException | None = None


def video(path: Path, film: InputContainer) -> Iterator[Decoded]:
    """Yield every frame of a video or that it is damaged, LATE for every `STALL_S` without one.

    OutsideError when the video ends early, or after `HANGS_S` without a frame.
    """
    reading = _Reading(film)
    ahead = Ahead(reading.frames(), AHEAD, "film")
    count = whole = waits = 0
    last: Pixels | Lack | None = None
    try:
        while True:
            try:
                item = ahead.get(STALL_S)
            except queue.Empty:
                waits += 1
                if waits * STALL_S >= HANGS_S:
                    raise OutsideError(
                        f"{path}: nothing can be read after {count} frames for {HANGS_S:g} s; "
                        "check the disk or the network share that it lies on"
                    ) from None
                yield Decoded(Lack.LATE)
                continue
            if item is None:
                break
            yield item
            last, count, waits = item.pixels, count + 1, 0
            whole += last is not Lack.DAMAGED
    finally:
        ahead.close(JOIN_S)
    if last is None or last is Lack.DAMAGED or reading.lacks_end(path, count):
        raise OutsideError(
            f"{path}: the video is cut off: after {whole} whole frames the rest is missing or "
            "damaged. Everything up to there was read; copy or record it again to have the rest"
        )


def _plausible(value: float, otherwise: float, *, least: float, most: float) -> float:
    """Return what a file says of itself where it is possible, else the other value."""
    return value if least <= value <= most else otherwise


class _Reading:
    """A video that is read once, and how much of what it says of its length has come."""

    def __init__(self, film: InputContainer) -> None:
        self._film = film
        self._stream = cast("VideoStream", shown_stream(film))  # as `open_video` made sure
        # How many frames the film says that it has; 0: nothing.
        self._promised = round(_plausible(self._stream.frames, 0.0, least=0.0, most=1e9))
        says_length = film.format.name in SAY_LENGTH
        self._length_s = (film.duration or 0) / av.time_base if says_length else 0.0
        self._fps = fps_of(film)
        self._end_s = 0.0  # as far as any of its streams has come
        self._broken = False

    def frames(self) -> Iterator[Decoded]:
        """Yield what can be decoded, as far as the file can be read, and close it."""
        whole = WholePictures(self._stream)
        with self._film:
            for packet in self._packets():
                # The packet that ends a stream names it, and has no index of it.
                if packet.stream.index != self._stream.index:
                    continue
                with contextlib.suppress(FFmpegError):
                    for frame in whole.decode(packet):
                        if frame is None:
                            yield Decoded(Lack.DAMAGED)
                        else:
                            yield Decoded(upright(frame), frame.time)

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        """Yield the packets of all streams, and note how far they go."""
        try:
            for packet in self._film.demux():
                if packet.pts is not None and packet.time_base is not None:
                    end = (packet.pts + (packet.duration or 0)) * packet.time_base
                    self._end_s = max(self._end_s, float(end))
                yield cast("Packet[VideoStream]", packet)
        except FFmpegError:
            self._broken = True

    def lacks_end(self, path: Path, decoded: int) -> bool:
        """Whether frames at the end never came.

        Only MP4 and its kin count their frames exactly; of other containers the last two may be
        missing unnoticed.
        """
        if self._broken or path.suffix.lower() in ISO_VIDEOS:
            return self._broken or decoded < self._promised
        return self._length_s - self._end_s > LENGTH_ERROR / self._fps


def picture_files(folder: Path) -> list[Path]:
    """Return the pictures of a folder in the order of their names; ConfigurationError without any.

    Numbers in names count as numbers; where names have none, the order is a guess, and said.
    """
    names = in_order(p for p in folder.iterdir() if p.suffix.lower() in PICTURES)
    others = [p.name for p in folder.iterdir() if p.suffix.lower() in OTHER_PICTURES]
    if not names:
        found = f" but {others[0]}, which is not read: save it as JPEG" if others else ""
        raise ConfigurationError(
            f"{folder}: holds no pictures{found}; give a folder of {', '.join(sorted(PICTURES))} "
            "files"
        )
    if others:
        log.warning(
            "%s: %s and the like (%d) are not read; save them as JPEG",
            folder,
            others[0],
            len(others),
        )
    forms = {re.sub("[0-9]+", "0", path.stem.casefold()) for path in names}
    if len(names) > 1 and (len(forms) > 1 or "0" not in min(forms)):
        log.warning(
            "%s: the names of the pictures do not give their order, which is guessed: from %s to "
            "%s; number them if that is wrong",
            folder,
            names[0].name,
            names[-1].name,
        )
    return names


def pictures(names: list[Path]) -> Iterator[Decoded]:
    """Yield the pictures of some files, without stamps; OutsideError names one that is none."""
    for name in names:
        data = name.read_bytes()
        image = decode_picture(data)
        if image is None:
            raise OutsideError(f"{name}: cannot be read: {why_no_picture(data)}; or remove it")
        yield Decoded(image)


# --- planes ---------------------------------------------------------------------------------------


class Coding(NamedTuple):
    """Which of the `FORMATS`, and the colour space and range of levels in FFmpeg's numbers."""

    form: int = 0
    matrix: int = 0
    span: int = 0


class Planes:
    """A picture of even width and height in one of the `FORMATS` after the first.

    `layers` are brightness and both colours, each height x width of its own.
    """

    def __init__(self, frame: VideoFrame) -> None:
        self._frame = frame
        self._lock = threading.Lock()
        form = FORMATS.index(frame.format.name)
        self.coding = Coding(form, frame.colorspace, frame.color_range)
        self.layers = tuple(_rows(plane) for plane in frame.planes)
        self.luma = self.layers[0]

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
