"""Recordings through fsspec: their contents' hash, where they can be cut, their frames and stills.

Only the bytes that are asked for are moved: a piece of a film in an object store costs its own
length and not the film's. Frames are decoded as `vision.camera.files` has them, to the last bit,
but by number: a frame that is missing or damaged leaves a gap and shifts no other.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import IO, NamedTuple, cast

import av
import cv2
import fsspec
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from vision.camera.planes import upright
from vision.errors import ConfigurationError, OutsideError
from vision.secrets import masked, shown
from vision.sight.geometry.frame import Frame, Image, Pixels

# Bytes read at once to hash a film. Smaller asks an object store more often, larger only takes
# memory.
CHUNK = 1 << 20
# Frames a second of a film that does not say; what recorders use most. Wrong, and all times are.
USUAL_FPS = Fraction(30)
# Width in px and quality (0 to 100) of the pictures of a report: a card's index stays legible.
# Smaller is not legible, larger makes a report of a bad evening hundreds of megabytes.
JPEG_WIDTH, JPEG_QUALITY = 1280, 80


@dataclass(frozen=True, slots=True)
class Survey:
    """What a recording is: SHA-256 of its bytes, its length, and where decoding can begin.

    `fps` is a fraction as text; `keys` are the numbers of its key frames, the first is 0.
    """

    sha256: str
    size: int
    fps: str
    frames: int
    keys: tuple[int, ...]

    @property
    def rate(self) -> Fraction:
        """The frames a second."""
        return Fraction(self.fps)

    def at(self, frame: int) -> int:
        """Return the time of a frame in ms from the film's start, as a run of the film has it."""
        return round(1000 * frame / float(self.rate))


@dataclass(slots=True)
class Moved:
    """Counts the bytes that a film's file has given."""

    count: int = 0


class Counted:
    """A file that counts what is read of it; the rest as PyAV needs it."""

    def __init__(self, file: IO[bytes], moved: Moved) -> None:
        self._file = file
        self._moved = moved

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes."""
        found = self._file.read(size)
        self._moved.count += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the byte it stands at."""
        return self._file.tell()


def stamp(url: str) -> str:
    """Return what changes when a film is replaced, without reading it; OutsideError."""
    with _reachable(url):
        system, path = fsspec.url_to_fs(url)
        return str(system.ukey(path))


def survey(url: str) -> Survey:
    """Read a film through once; OutsideError where it is no film or cannot be read."""
    digest, size = hashlib.sha256(), 0
    with _reachable(url), fsspec.open(url, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
    with _opened(url, Moved()) as (container, stream):
        rate = stream.average_rate or USUAL_FPS
        frames, keys = _key_frames(container, stream, rate)
    if keys is None:
        raise OutsideError(
            f"{shown(url)}: its time stamps go back: the file has several recordings; "
            "split it and read each by itself"
        )
    if not frames:
        raise OutsideError(f"{shown(url)}: contains no frame; record or copy it again")
    return Survey(digest.hexdigest(), size, str(rate), frames, keys)


def _key_frames(
    container: InputContainer, stream: VideoStream, rate: Fraction
) -> tuple[int, tuple[int, ...] | None]:
    """Return how many frames there are, and the numbers of those where decoding can begin.

    From the film's own index; where it has none, from its packets. `None`: they do not rise.
    """
    index = stream.index_entries
    if stream.frames and len(index) >= stream.frames:
        times = [(entry.timestamp, entry.is_keyframe) for entry in index]
    else:
        packets = (packet for packet in _packets(container, stream) if packet.pts is not None)
        times = [(cast(int, packet.pts), packet.is_keyframe) for packet in packets]
    first = min((time for time, _ in times), default=0)
    numbers = [(_number(stream, rate, time - first), key) for time, key in times]
    count = max((number + 1 for number, _ in numbers), default=0)
    keys = [number for number, key in numbers if key]
    return count, tuple(sorted({0, *keys})) if keys == sorted(keys) else None


def _packets(container: InputContainer, stream: VideoStream) -> Iterator[av.Packet[VideoStream]]:
    """Yield the packets of a film as far as it goes."""
    try:
        yield from container.demux(stream)
    except FFmpegError:
        return


def _number(stream: VideoStream, rate: Fraction, ticks: int) -> int:
    return round(ticks * (stream.time_base or Fraction(1, 1000)) * rate)


def frames(
    url: str, found: Survey, first: int, moved: Moved
) -> Iterator[tuple[int, Pixels | None]]:
    """Yield the frames from a key frame on, each with its number; `None` for a damaged one.

    OutsideError where the film cannot be opened or its store fails meanwhile.
    """
    with _opened(url, moved) as (container, stream):
        base = stream.start_time or 0
        if first:
            time_base = stream.time_base or Fraction(1, 1000)
            container.seek(base + round(first / found.rate / time_base), stream=stream)
        for frame in _decoded(container, stream):
            if frame.pts is None:
                continue
            number = _number(stream, found.rate, frame.pts - base)
            if number >= first:
                yield number, None if frame.is_corrupt else upright(frame)


def _decoded(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """Yield what can be decoded; a packet that cannot be is passed over."""
    for packet in _packets(container, stream):
        try:
            yield from packet.decode()
        except FFmpegError:
            continue


class Still(NamedTuple):
    """A picture that is wanted of a film: the number of its frame."""

    url: str
    survey: Survey
    frame: int


def jpeg_of(still: Still) -> bytes:
    """Return a frame of a film as JPEG; b"" where it cannot be decoded; OutsideError."""
    key = max(key for key in still.survey.keys if key <= max(0, still.frame))
    for number, pixels in frames(still.url, still.survey, key, Moved()):
        if number >= still.frame and pixels is not None:
            return _jpeg(Frame(pixels, still.survey.at(number), number).image)
    return b""


def _jpeg(image: Image) -> bytes:
    scale = min(1.0, JPEG_WIDTH / image.shape[1])
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def digest_of(image: Image) -> str:
    """Return the SHA-256 of a frame's pixels."""
    return hashlib.sha256(np.ascontiguousarray(image).data).hexdigest()


@contextmanager
def _opened(url: str, moved: Moved) -> Iterator[tuple[InputContainer, VideoStream]]:
    with _reachable(url), fsspec.open(url, "rb") as file:
        try:
            container = av.open(
                Counted(cast(IO[bytes], file), moved), "r", metadata_errors="ignore"
            )
        except FFmpegError as error:
            raise OutsideError(
                f"{shown(url)}: is not a film that can be opened ({error.strerror}): the "
                "recording was cut off or damaged; copy it again, or repair its "
                "index"
            ) from error
        with container:
            if not container.streams.video:
                raise OutsideError(f"{shown(url)}: has no pictures; give the recording of a table")
            stream = container.streams.video[0]
            # One thread: a piece has one core, and others have theirs.
            stream.thread_type = "NONE"
            yield container, stream


@contextmanager
def _reachable(url: str) -> Iterator[None]:
    """Turn what fsspec says into words for people."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConfigurationError(f"{shown(url)}: no such recording; check the address") from error
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{shown(url)}: this kind of address cannot be read ({masked(str(error))}); install "
            "what fsspec names for it, on the workers too"
        ) from error
    except FFmpegError as error:
        raise OutsideError(
            f"{shown(url)}: cannot be read on ({error.strerror}); copy the film again, or check "
            "the disk"
        ) from error
    except OSError as error:
        raise OutsideError(
            f"{shown(url)}: cannot be read ({masked(str(error.strerror or error))}); check the "
            "disk, the network or the object store and its keys"
        ) from error
