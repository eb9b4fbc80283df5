"""Where pictures come from: a camera, a stream, a video file or a folder of pictures.

A live source is read by a process of its own, because a `read()` may block for ever, and watched
by the reader's clock: it is opened anew after a stall and yields its newest picture. A file yields
every frame, none dropped. Knows nothing of what the pictures show.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vision.camera import files
from vision.camera.capture_process import FORM, HEADER, SLOTS, Report, Word, needed, place
from vision.camera.shots import Outage, Shot
from vision.clock import now_ms
from vision.errors import OutsideError
from vision.secrets import filled
from vision.sight.geometry.frame import Frame, Image

START_S = 5.0
POLL_S = 0.1
SAY_AGAIN_S = 0.5
GRACE_S = 0.5  # in which the process may give up a silent source by itself and open it anew
# So many new pictures in a row end an outage: a frozen stream shows a few when it is opened anew.
BACK_PICTURES = 5
RESTART_PAUSES_S = (0.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a live camera is asked for, and how long (seconds) it may show nothing new.

    `frozen_s` is the same for pictures that come but are equal to the last bit; 0: they may be.
    `open_s` is how long an address may take to answer.
    """

    width: int = 1920
    height: int = 1080
    fps: float = 30.0
    stall_s: float = 1.5
    frozen_s: float = 0.8
    open_s: float = 2.5


def open_source(
    source: str, wanted: Wanted, *, speed: float = 1.0, start_ms: int | None = None
) -> Iterator[Shot | Outage]:
    """Open a source and yield its frames, and its outages.

    `source` is a camera number, an address with `://`, a video file or a folder of pictures.
    `speed` paces files (1 real time, 0 as fast as it goes); their frame i has the time `start_ms`
    (default: now) + round(1000 i / fps). ConfigurationError when there is no such source or a
    file is no video, OutsideError when a camera does not answer or a file ends too early.
    """
    start = now_ms() if start_ms is None else start_ms
    if is_live(source):
        filled(source)  # a variable that is not set is told before anything starts
        capture = Capture(source, wanted)
        _await_opening(source, wanted, capture)
        return _watched(source, wanted, capture)
    path = Path(source)
    pace = files.Pace(start, speed)
    if path.is_dir():
        return files.folder(path, files.picture_files(path), wanted.fps, pace)
    return files.video(path, files.open_video(path), pace)


def is_live(source: str) -> bool:
    """Whether a source goes on by itself: a camera number or an address."""
    return source.isdigit() or "://" in source


class Capture:
    """One capture process and the memory that it lays its pictures in.

    `heard_s` is the monotonic instant of its last word, `word` that word, `run` how many new
    pictures have come without another word between them.
    """

    def __init__(self, source: str, wanted: Wanted) -> None:
        self._memory_fd = os.memfd_create("shoe-reader-pictures")
        os.ftruncate(self._memory_fd, HEADER)
        self._memory: mmap.mmap | None = None
        self._pipe_fd, theirs = os.pipe()
        os.set_blocking(self._pipe_fd, False)
        self._rest = b""
        self.heard_s = time.monotonic()
        self.word: Word | None = None
        self.run = 0
        self._process = subprocess.Popen(  # noqa: S603  # our own module
            [
                sys.executable,
                "-m",
                "vision.camera.capture_process",
                str(theirs),
                str(self._memory_fd),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs, self._memory_fd),
            # Ctrl-C is for the reader, which ends this process in order.
            start_new_session=True,
        )
        os.close(theirs)
        self._order(source, wanted)

    def _order(self, source: str, wanted: Wanted) -> None:
        order = {**asdict(wanted), "source": filled(source)}
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()

    def newest(self, timeout_s: float) -> tuple[Image, float] | None:
        """Return the newest picture and its monotonic instant, or None when none comes in time."""
        ready, _, _ = select.select([self._pipe_fd], [], [], timeout_s)
        newest = None
        for report in self._reports() if ready else ():
            self.word, self.heard_s = Word(report.word), time.monotonic()
            self.run = self.run + 1 if report.word == Word.PICTURE else 0
            newest = report if report.word == Word.PICTURE else newest
        image = None if newest is None else self._picture(newest)
        return None if newest is None or image is None else (image, newest.taken_s)

    def _reports(self) -> Iterator[Report]:
        """Return all that was said since the last call; a dead process is a lost source."""
        try:
            said = os.read(self._pipe_fd, 1 << 20)
        except BlockingIOError:
            return
        if not said:
            time.sleep(POLL_S)
            yield Report(Word.LOST, time.monotonic())
        said = self._rest + said
        whole = len(said) - len(said) % FORM.size
        self._rest = said[whole:]
        yield from map(Report._make, FORM.iter_unpack(said[:whole]))

    def _picture(self, report: Report) -> Image | None:
        """Copy a picture out; None when the process has laid another over it meanwhile."""
        size = needed(report.width, report.height)
        if self._memory is None or len(self._memory) < size:
            self._memory = mmap.mmap(self._memory_fd, size, prot=mmap.PROT_READ)
        start = place(report.number, report.width, report.height)
        count = report.width * report.height * 3
        image = np.frombuffer(self._memory, np.uint8, count, start).copy()
        mark = 8 * (report.number % SLOTS)
        whole = int.from_bytes(self._memory[mark : mark + 8], "little") == report.number
        return image.reshape(report.height, report.width, 3) if whole else None

    def hangs(self, wanted: Wanted) -> bool:
        """Whether the process will not come back by itself: nothing but its end helps."""
        if self._process.poll() is not None:
            return True
        patience = {None: START_S, Word.OPENING: wanted.open_s + 1, Word.LOST: START_S}
        return time.monotonic() - self.heard_s > patience.get(self.word, wanted.stall_s + GRACE_S)

    def close(self) -> None:
        """End the process, whatever it waits for, and let go of its memory."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        # Within a driver that hangs even a killed process stays; it is collected when it can be.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        for handle in (self._pipe_fd, self._memory_fd):
            os.close(handle)
        self._memory = None


@dataclass(slots=True)
class _Watch:
    """What is known of a live source: when it last showed something new, and its size."""

    seen_s: float
    seen_at: int
    size: tuple[int, int] | None = None
    odd_size: tuple[int, int] | None = None

    def shot(self, image: Image, taken_s: float, index: int) -> Shot | None:
        """Return the picture, if it has the size of the first one."""
        height, width = image.shape[:2]
        self.size = self.size or (width, height)
        if (width, height) != self.size:
            self.odd_size = (width, height)
            return None
        self.odd_size = None
        self.seen_s = time.monotonic()
        self.seen_at = now_ms() - round(1000 * (self.seen_s - taken_s))
        return Shot(Frame(image, self.seen_at, index), taken_s)

    def complaint(self, word: Word | None, wanted: Wanted) -> str:
        """Say in a short phrase why there is no new picture, "" while it is not late."""
        silent = time.monotonic() - self.seen_s
        if self.odd_size is not None:
            return f"the picture has become {self.odd_size[0]} x {self.odd_size[1]} px"
        if word is Word.LOST:
            return "camera lost"
        if word is Word.REPEAT and 0 < wanted.frozen_s <= silent:
            return f"the picture is frozen for {wanted.frozen_s:g} s"
        if silent >= wanted.stall_s:
            return f"no picture for {wanted.stall_s:g} s"
        return ""


def _watched(source: str, wanted: Wanted, capture: Capture) -> Iterator[Shot | Outage]:
    """Yield the newest pictures of a live source; while there are none, outages as time passes.

    The capture process opens a source that was lost anew by itself, for as long as it takes; one
    that hangs, or whose pictures are no good, is ended and another one started.
    """
    watch = _Watch(time.monotonic(), now_ms())
    index, restarts, reason = 0, 0, ""
    said_s = restarted_s = -SAY_AGAIN_S
    try:
        while True:
            picture = capture.newest(POLL_S)
            good = picture is not None and (not reason or capture.run >= BACK_PICTURES)
            shot = watch.shot(*picture, index) if picture is not None and good else None
            if shot is not None:
                index, restarts, reason = index + 1, 0, ""
                yield shot
                continue
            if not reason and (reason := watch.complaint(capture.word, wanted)):
                capture.run = 0
            now = time.monotonic()
            if reason and now - said_s >= SAY_AGAIN_S:
                said_s = now
                yield Outage(now_ms(), reason, watch.seen_at)
            pause = RESTART_PAUSES_S[min(restarts, len(RESTART_PAUSES_S) - 1)]
            useless = watch.odd_size is not None or capture.word is Word.REPEAT
            if reason and (capture.hangs(wanted) or useless) and now - restarted_s >= pause:
                capture.close()
                watch.odd_size = None
                capture, restarts, restarted_s = Capture(source, wanted), restarts + 1, now
    finally:
        capture.close()


def _await_opening(source: str, wanted: Wanted, capture: Capture) -> None:
    """Wait until a live source answers for the first time; OutsideError with the cure."""
    deadline = time.monotonic() + wanted.open_s + START_S
    while time.monotonic() < deadline and capture.word is not Word.LOST:
        capture.newest(POLL_S)
        if capture.word in (Word.OPENED, Word.PICTURE, Word.REPEAT):
            return
    capture.close()
    if source.isdigit():
        raise OutsideError(
            f"camera {source}: does not open: it is unplugged, or another program uses it; check "
            f"that /dev/video{source} exists and that nothing else holds it"
        )
    raise OutsideError(
        f"{source}: no video comes from this address within {wanted.open_s:g} s; check that the "
        "camera is on, the address right and the network reaches it"
    )
