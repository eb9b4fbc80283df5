"""Decode pictures: those of films and folders, all in order and in time, and their planes.

A film is decoded ahead in a thread, so that a disk or network share that hangs is noticed. A
picture stays as it was coded until somebody wants its colours: of most only the brightness is
looked at, whether anything moves, and that is a plane of its own. The conversion is FFmpeg's, so
that the colours are those which the stream says it has.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
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
from vision.pictures import decode_picture, why_no_picture
from vision.sight.geometry.plane import Frame, Image, Pixels

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


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A frame, and the monotonic instant (seconds) at which it could be looked at.

    Of a live source, `skipped` frames came since the last one and were dropped because nobody took
    them, and `damaged` ones because they were not whole.
    """

    frame: Frame
    taken_s: float
    skipped: int = 0
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Outage:
    """There is no picture at Unix time `at` (ms), for `reason`, a short phrase; yielded repeatedly.

    `since` is the Unix time (ms) of the last picture that was good; `damaged` pictures of a live
    source came since then, or since the outage before, and were not whole.
    """

    at: int
    reason: str
    since: int = 0
    damaged: int = 0


# File names of videos of the ISO container (MP4).
ISO_VIDEOS = frozenset({".m4v", ".mov", ".mp4"})

# Seconds between two outages that are yielded while there is no picture: clock and health go on.
OUTAGE_EVERY_S = 0.5
# Seconds between two frames of a file, beyond what its rate has, that are a gap: a card that lies
# for less may have come and gone unseen. More, and a dealer is blamed for what nobody saw; less,
# and a recorder that skips a few frames makes the reader blind.
GAP_S = 1.0
# Frames by which a stamp may go back, as those of two frames that were mixed up; further back or
# further ahead than a day it is another clock's, and the run's goes on from where it was.
BACK_FRAMES = 2
LEAP_S = 86_400.0
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
WITH_LENGTH = frozenset({"matroska,webm", "avi", "flv", "asf", "nut"})
LENGTH_ERROR = 2

# The form of a picture: BGR, or 8 bits of brightness and colours at half the width and height.
# The last has the full range of levels by its name, the one before what `Coding.span` says.
FORMATS = ("bgr24", "yuv420p", "yuvj420p")
# The colour spaces that FFmpeg converts, in its numbers; others are taken for one not stated.
MATRICES, UNSTATED = frozenset({0, 1, 2, 4, 5, 6, 7, 9}), 2


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
        has_length = film.format.name in WITH_LENGTH
        self._length_s = (film.duration or 0) / av.time_base if has_length else 0.0
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


def pictures(names: list[Path]) -> Iterator[Decoded]:
    """Yield the pictures of some files, without stamps; OutsideError names one that is none."""
    for name in names:
        data = name.read_bytes()
        image = decode_picture(data)
        if image is None:
            raise OutsideError(f"{name}: cannot be read: {why_no_picture(data)}; or remove it")
        yield Decoded(image)


class Pace:
    """The clock of a file: the times of its frames, and waiting for them at the speed asked for.

    A frame has the time of its stamp, counted from the first; without one, or where stamps stand
    still or run back, it comes 1 / fps after the frame before. `odd` says why the last frame's
    stamp did not count, "" where it did; `stuck` is how many in a row have not risen.
    """

    def __init__(self, start_ms: int, fps: float, speed: float) -> None:
        self._start_ms = start_ms
        self._step_s = 1 / fps
        self._speed = speed
        self.waits = speed > 0  # for the moment by the clock at which a frame is due
        self.gap_s = GAP_S + self._step_s  # of no frame; at a low rate they are further apart
        self._began_s: float | None = None
        self._base_s: float | None = None  # the stamp of the run's second 0
        self._stamped_s = self.now_s = -self._step_s  # the last frame with a stamp, and of all
        self.odd, self.stuck = "", 0

    @property
    def has_no_times(self) -> bool:
        """Whether the stamps are no times: more have not risen than a decoder mixes up."""
        return self.stuck > BACK_FRAMES

    def advance(self, stamp_s: float | None) -> None:
        """Set the time to that of the next frame."""
        due_s, self.odd = self.now_s + self._step_s, ""
        if stamp_s is None:
            self.now_s = due_s
            return
        base_s = stamp_s - due_s if self._base_s is None else self._base_s
        ahead_s = stamp_s - base_s - self._stamped_s
        rises, lags = 0 < ahead_s <= LEAP_S, stamp_s - base_s < due_s
        leaps = not -BACK_FRAMES * self._step_s <= ahead_s <= LEAP_S
        if leaps and not self.has_no_times:
            self.odd = f"leap by {ahead_s:+.1f} s"
        if leaps or (rises and lags and self.has_no_times):
            base_s = stamp_s - due_s
        self.stuck = 0 if rises else self.stuck + 1
        self._base_s, self._stamped_s = base_s, stamp_s - base_s
        # The times of a run rise.
        self.now_s = max(self._stamped_s, due_s if self.has_no_times else self.now_s + 0.001)

    def wait(self, second: float) -> float:
        """Wait until a second of the film is due; return the monotonic instant when it was."""
        if not self.waits:
            return time.monotonic()
        if self._began_s is None:
            self._began_s = time.monotonic() - second / self._speed
        # Waiting in line behind an earlier frame counts as lateness, as it would with a camera.
        taken_s = self._began_s + second / self._speed
        time.sleep(max(0.0, taken_s - time.monotonic()))
        return taken_s

    def at(self, second: float) -> int:
        """Return the time of a second of the film, Unix ms."""
        return self._start_ms + round(1000 * second)


def paced(shown: Iterator[Decoded], path: Path, pace: Pace) -> Iterator[Shot | Outage]:
    """Yield the frames of a file when they are due; outages where there are none for long.

    Read as fast as it goes, nothing is due: what is read must not hang on how busy the machine is.
    """
    index = damaged = 0
    good_s, warned = 0.0, False
    blind_s = pace.gap_s  # when the next outage is due if no good frame comes
    for pixels, stamp_s in shown:
        if pixels is Lack.LATE:
            if pace.waits:
                now = pace.at(max(pace.now_s, 0.0))
                yield Outage(now, f"{path.name} gives no picture", now)
            continue
        pace.advance(stamp_s)
        if pace.has_no_times and not warned:
            warned = True
            log.warning("%s: its time stamps do not rise; its frame rate gives the times", path)
        if pace.odd:
            since = pace.at(good_s)
            yield Outage(since, f"the time stamps of {path.name} {pace.odd}", since)
        lacks = isinstance(pixels, Lack)
        damaged += lacks
        while blind_s < pace.now_s or (lacks and blind_s == pace.now_s):
            reason = "is damaged" if damaged else "has a gap in its time stamps"
            pace.wait(blind_s)
            yield Outage(pace.at(blind_s), f"{path.name} {reason}", pace.at(good_s))
            blind_s += OUTAGE_EVERY_S
        if not isinstance(pixels, Lack):
            good_s, blind_s, damaged = pace.now_s, pace.now_s + pace.gap_s, 0
            yield Shot(Frame(pixels, pace.at(good_s), index), pace.wait(good_s))
        index += 1


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
    """Return a decoded picture: its planes where they can stay, else BGR."""
    even = frame.width % 2 == 0 and frame.height % 2 == 0
    # Rows may be stored from the bottom up: the line size is then negative.
    as_planes = even and frame.format.name in FORMATS[1:] and frame.planes[0].line_size > 0
    return Planes(frame) if as_planes else bgr(frame)


def upright(frame: VideoFrame) -> Image | Planes:
    """Return a decoded picture, turned as its film says that it is to be shown."""
    # A film without a matrix of its display, but with zeros, has no angle.
    quarters = round(frame.rotation / 90) % 4 if abs(frame.rotation) <= 180 else 0
    return np.ascontiguousarray(np.rot90(bgr(frame), quarters)) if quarters else pixels(frame)


def bgr(frame: VideoFrame) -> Image:
    """Return a decoded picture as height x width x 3, BGR: its own memory, not a copy of it."""
    if frame.colorspace not in MATRICES:
        frame.colorspace = UNSTATED
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
