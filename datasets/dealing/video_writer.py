"""Writing a film: frames to a video or a folder, text to a file, never a half-written one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cv2

from vision.errors import OutsideError

from ..render.paint import Image

Frames = Iterator[tuple[Image, int]]
# JPEG quality of single frames: no visible loss.
_JPEG_QUALITY = 95


class Progress:
    """A line on stderr with frames done, speed and time left, twice a second."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total = total
        self.quiet = quiet
        self.done = 0
        self.began = self.printed = time.monotonic()

    def step(self) -> None:
        """Count one more frame, and print the progress twice a second."""
        self.done += 1
        now = time.monotonic()
        whole = self.done == self.total
        if self.quiet or (now - self.printed < 0.5 and not whole):
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


def write_video(path: Path, frames: Frames, progress: Progress, *, fps: float) -> None:
    """Write the frames as MPEG-4 video; OutsideError where they did not all get there."""
    first, _ = next(frames)
    size = (first.shape[1], first.shape[0])
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), fps, size)
    try:
        if not writer.isOpened():
            raise OutsideError(f"{path}: cannot be written; is the folder writable?")
        writer.write(first)
        progress.step()
        for image, _ in frames:
            writer.write(image)
            progress.step()
    finally:
        writer.release()
    _check_whole(path, progress.total)


def _check_whole(path: Path, frames: int) -> None:
    """Raise OutsideError where the encoder lost frames; it raises nothing itself."""
    film_back = cv2.VideoCapture(str(path))
    found = int(film_back.get(cv2.CAP_PROP_FRAME_COUNT))
    film_back.release()
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
