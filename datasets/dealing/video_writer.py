"""Writing a film: frames to a video or a folder, text to a file, never a half-written one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import av
import cv2

from vision.errors import OutsideError

from ..render.paint import Image

Frames = Iterator[tuple[Image, int]]
# JPEG quality of single frames: no visible loss.
_JPEG_QUALITY = 95
# x264's constant rate factor, 0 to 51. At 26 a film of 1080p takes 4.3 MB a minute, a twelfth of
# what it took as MPEG-4; like a camera's own encoder it smooths the grain of the sensor away (felt
# that lies still changes by 0.1 grey levels from picture to picture). At 23 a film is five times as
# large, higher blurs the indices.
CRF = 26
# Seconds between two key frames, where decoding can begin, unless said otherwise: 0 leaves it to
# x264, which puts one at every 250th frame. Recorders of surveillance have one or two a second;
# more of them make a larger film, fewer let it be cut at fewer places.
KEY_EVERY_S = 0.0
# How long x264 looks for savings: slower ones take as long as drawing the picture.
_PRESET = "veryfast"
# x264's code for newer processors reads memory that nobody wrote, so that a film's first pictures
# came out in other bytes in every fourth film of two runs. That for SSE2, which every processor of
# 64 bits has, gives the bytes of its plain C code in the same time.
_CODE = "asm=SSE2"


class Encoding(NamedTuple):
    """How frames become a video: so many a second, x264's rate factor, seconds between key frames.

    A picture that differs much from the one before is a key frame too.
    """

    fps: float
    crf: int = CRF
    key_every_s: float = KEY_EVERY_S

    @property
    def options(self) -> dict[str, object]:
        """The options of x264."""
        found: dict[str, object] = {
            "crf": str(self.crf), "preset": _PRESET, "x264-params": _CODE,
        }  # fmt: skip
        if self.key_every_s:
            found["g"] = str(max(1, round(self.fps * self.key_every_s)))
        return found


class Progress:
    """A line on stderr with frames done, speed and time left, twice a second on a terminal."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total = total
        self.quiet = quiet
        self.done = 0
        self.began = self.printed = time.monotonic()

    def step(self) -> None:
        """Count one more frame; print the progress where it is due, and at the end."""
        self.done += 1
        now = time.monotonic()
        whole = self.done == self.total
        due = sys.stderr.isatty() and now - self.printed >= 0.5
        if self.quiet or not (due or whole):
            return
        self.printed = now
        speed = self.done / max(now - self.began, 1e-3)
        left = (self.total - self.done) / speed
        end = "\n" if whole else ""
        line = f"\r{self.done} of {self.total} frames, {speed:.0f} a second, {left:.0f} s left  "
        print(line, end=end, file=sys.stderr, flush=True)


def write_folder(path: Path, frames: Frames, progress: Progress) -> None:
    """Write every frame as a numbered JPEG; OutsideError where one cannot be written."""
    path.mkdir(exist_ok=True)
    for number, (image, _) in enumerate(frames):
        name = path / f"{number:06d}.jpg"
        if not cv2.imwrite(str(name), image, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]):
            raise OutsideError(f"{name}: cannot be written; is the disk full?")
        progress.step()


def write_video(path: Path, frames: Frames, progress: Progress, encoding: Encoding) -> None:
    """Write the frames as H.264 video; OutsideError where they did not all get there.

    The same frames give the same bytes with the same version of the encoder.
    """
    first, _ = next(frames)
    try:
        with av.open(path, "w") as film:
            stream = film.add_stream("libx264", rate=Fraction(encoding.fps).limit_denominator(1000))
            stream.height, stream.width = first.shape[:2]
            stream.pix_fmt = "yuv420p"
            stream.thread_count = 1
            stream.options = encoding.options
            for image in chain((first,), (image for image, _ in frames)):
                film.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
                progress.step()
            film.mux(stream.encode())
    except av.error.FFmpegError as error:
        raise OutsideError(
            f"{path}: cannot be written: {error.strerror}; is the folder writable, the disk full?"
        ) from error
    _check_whole(path, progress.total)


def _check_whole(path: Path, frames: int) -> None:
    """Raise OutsideError where frames are missing from the file."""
    with av.open(path) as film:
        found = film.streams.video[0].frames
    if found != frames:
        raise OutsideError(f"{path}: holds {found} of {frames} frames; is the disk full?")


def write_text(path: Path, text: str) -> None:
    """Write a whole text file or leave what was there."""
    partial = path.with_name(f"partial-{path.name}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
