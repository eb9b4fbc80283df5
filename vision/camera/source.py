"""Open a source of pictures: a camera, a stream, a video file or a folder of pictures.

A live source is read by a process of its own (`vision.camera.capture_process`), because a `read()`
may block for ever. It is watched by this process's clock, opened again after a stall, and yields
its newest picture. A file yields every frame, none dropped, at the pace that is asked for.
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
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vision.camera import decoding
from vision.camera.capture_process import (
    HEADER,
    PROTOCOLS,
    REPORT_FORM,
    SLOTS,
    CaptureReport,
    Signal,
    memory_size,
    scheme_of,
    slot_offset,
)
from vision.camera.decoding import OUTAGE_EVERY_S, Outage, Pace, Shot, byte_count, paced, unpacked
from vision.clock import now_ms
from vision.config.table import CameraSection
from vision.errors import ConfigurationError, OutsideError
from vision.files import picture_files
from vision.secrets import filled, shown
from vision.sight.geometry.plane import Frame, Pixels

# Seconds that a new capture process may take for its first report, chosen with room for a slow
# machine: Python and the video library must be loaded. Lower, and a slow start looks like a hang.
START_S = 5.0
# Seconds of one wait for a report; bounds how late a stall is noticed.
POLL_S = 0.1
# Seconds beyond [camera] stall_s in which the capture process may give up a silent source by
# itself, which is quicker than a new process.
GRACE_S = 0.5
# New pictures in a row that end an outage: a frozen stream shows a few when it is opened again.
# Fewer, and blindness would flicker; more delay its end.
BACK_PICTURES = 5
# Seconds between two new capture processes, by how many came before without a picture.
RESTART_PAUSES_S = (0.0, 0.5, 1.0)
# Bytes read from the pipe at once; a report has 28.
PIPE_BYTES = 1 << 20
# Seconds that the end of a killed process is waited for.
KILL_S = 1.0


def open_source(
    camera: CameraSection, *, speed: float = 1.0, start_ms: int | None = None
) -> Iterator[Shot | Outage]:
    """Open the camera's source and yield its frames, and its outages.

    The source is a camera number, an address with `://`, a video file or a folder of pictures.
    `speed` paces files (1 real time, 0 as fast as it goes). Their frames have the time `start_ms`
    (default: now) and what their stamps say, those without stamps what their number says.
    ConfigurationError when there is no such source or a file is no video, OutsideError when a
    camera does not answer or a file ends too early.
    """
    if is_live(camera.source):
        scheme = scheme_of(camera.source)
        if "://" in camera.source and scheme not in PROTOCOLS:
            raise ConfigurationError(
                f"camera.source: '{scheme}://' is not a camera address; give one that begins with "
                f"{', '.join(PROTOCOLS)}"
            )
        filled(camera.source)  # a variable that is not set is reported before anything starts
        capture = Capture(camera)
        _await_opening(camera, capture)
        return _watched(camera, capture)
    path = Path(camera.source)
    if path.is_dir():
        shown, fps = decoding.pictures(picture_files(path)), camera.fps
    else:
        video = decoding.open_video(path)
        shown, fps = decoding.video(path, video), decoding.fps_of(video)
    return paced(shown, path, Pace(now_ms() if start_ms is None else start_ms, fps, speed))


def frames(camera: CameraSection, *, every_ms: int = 0) -> Iterator[Frame]:
    """Yield the frames of a source as fast as they come, so many ms apart at least."""
    due = 0
    for shot in open_source(camera, speed=0):
        if isinstance(shot, Shot) and shot.frame.at >= due:
            due = shot.frame.at + every_ms
            yield shot.frame


def first_frame(camera: CameraSection) -> Frame:
    """Return the first frame of a source; OutsideError where none comes.

    A live source that is out of order is not waited for; damaged pictures of a file are passed.
    """
    live = is_live(camera.source)
    items = open_source(camera, speed=0)
    shot = next((item for item in items if live or isinstance(item, Shot)), None)
    if not isinstance(shot, Shot):
        raise OutsideError(
            f"{shown(camera.source)}: no picture comes; check that the camera sends one"
        )
    return shot.frame


def is_live(source: str) -> bool:
    """Whether a source goes on by itself: a camera number or an address."""
    return source.isdigit() or "://" in source


class Capture:
    """One capture process, and the memory that it puts its pictures in.

    `signal` is that of its last report, `received_s` the monotonic instant when it came, `run` how
    many new pictures have come without another report between them, `skipped` how many came before
    the newest one and were not taken.
    """

    def __init__(self, camera: CameraSection) -> None:
        self._memory_fd = os.memfd_create("shoe-reader-pictures")
        os.ftruncate(self._memory_fd, HEADER)
        self._memory: mmap.mmap | None = None
        self._pipe_fd, theirs = os.pipe()
        os.set_blocking(self._pipe_fd, False)
        self.received_s = time.monotonic()
        self.signal: Signal | None = None
        self.run = 0
        self.skipped = 0
        self.damaged = 0
        self._number = 0
        self._process = subprocess.Popen(  # noqa: S603  # our own module
            [
                sys.executable,
                "-P",  # no module comes from the working folder, which anybody may have filled
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
        settings = {**camera.model_dump(), "source": filled(camera.source)}
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()

    def newest(self, timeout_s: float) -> tuple[Pixels, float] | None:
        """Return the newest picture and its monotonic instant, or None when none comes in time."""
        ready, _, _ = select.select([self._pipe_fd], [], [], timeout_s)
        newest = None
        for report in self._reports() if ready else ():
            self.signal, self.received_s = Signal(report.signal), time.monotonic()
            if self.signal is Signal.DAMAGED:
                self.damaged += 1
                continue
            self.run = self.run + 1 if self.signal is Signal.PICTURE else 0
            newest = report if self.signal is Signal.PICTURE else newest
        if newest is None:
            return None
        self.skipped, self._number = newest.number - self._number - 1, newest.number
        pixels = self._picture(newest)
        return None if pixels is None else (pixels, newest.at_s)

    def _reports(self) -> Iterator[CaptureReport]:
        """Return all reports since the last call; a process that has ended is a lost source."""
        try:
            data = os.read(self._pipe_fd, PIPE_BYTES)
        except BlockingIOError:
            return
        if not data:
            time.sleep(POLL_S)
            yield CaptureReport(Signal.LOST, time.monotonic())
        # Each is written at once, and the pipe holds less than is read: none comes in parts.
        yield from map(CaptureReport._make, REPORT_FORM.iter_unpack(data))

    def _picture(self, report: CaptureReport) -> Pixels | None:
        """Copy a picture out; None when the process has written over it meanwhile."""
        size = memory_size(report.width, report.height)
        if self._memory is None or len(self._memory) < size:
            self._memory = mmap.mmap(self._memory_fd, size, prot=mmap.PROT_READ)
        start = slot_offset(report.number, report.width, report.height)
        count = byte_count(report.coding, report.width, report.height)
        slot = np.frombuffer(self._memory, np.uint8, count, start)
        pixels = unpacked(slot, report.coding, report.width, report.height)
        mark = 8 * (report.number % SLOTS)
        whole = int.from_bytes(self._memory[mark : mark + 8], "little") == report.number
        return pixels if whole else None

    def hangs(self, camera: CameraSection) -> bool:
        """Whether the process will not recover by itself, so that only its end helps."""
        if self._process.poll() is not None:
            return True
        patience = {None: START_S, Signal.OPENING: camera.open_s + 1, Signal.LOST: START_S}
        return time.monotonic() - self.received_s > patience.get(
            self.signal, camera.stall_s + GRACE_S
        )

    def close(self) -> None:
        """End the process, whatever it waits for, and free its memory."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        # Within a driver that hangs even a killed process stays; it is collected when it can be.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=KILL_S)
        for handle in (self._pipe_fd, self._memory_fd):
            os.close(handle)
        self._memory = None


@dataclass(slots=True)
class _Freshness:
    """What is known of a live source: when it last showed something new, and its size."""

    seen_s: float
    seen_at: int
    size: tuple[int, int] | None = None
    odd_size: tuple[int, int] | None = None

    def shot(self, pixels: Pixels, taken_s: float, index: int) -> Shot | None:
        """Return the picture, if it has the size of the first one."""
        seen_s = time.monotonic()
        frame = Frame(pixels, now_ms() - round(1000 * (seen_s - taken_s)), index)
        self.size = self.size or frame.size
        if frame.size != self.size:
            self.odd_size = frame.size
            return None
        self.odd_size = None
        self.seen_s, self.seen_at = seen_s, frame.at
        return Shot(frame, taken_s)

    def complaint(self, signal: Signal | None, camera: CameraSection) -> str:
        """Return in a short phrase why there is no new picture, "" while it is not late."""
        silent = time.monotonic() - self.seen_s
        if self.odd_size is not None:
            return f"the picture has become {self.odd_size[0]} x {self.odd_size[1]} px"
        if signal is Signal.LOST:
            return "camera lost"
        if signal is Signal.REPEAT and 0 < camera.frozen_s <= silent:
            return f"the picture is frozen for {camera.frozen_s:g} s"
        if silent >= camera.stall_s and signal is Signal.DAMAGED:
            return f"every picture is damaged for {camera.stall_s:g} s"
        if silent >= camera.stall_s:
            return f"no picture for {camera.stall_s:g} s"
        return ""


def _watched(camera: CameraSection, capture: Capture) -> Iterator[Shot | Outage]:
    """Yield the newest pictures of a live source; while there are none, outages as time passes.

    The capture process opens a lost source again by itself, for as long as it takes; a process that
    hangs, or whose pictures are useless, is ended and another one started.
    """
    freshness = _Freshness(time.monotonic(), now_ms())
    index, restarts, reason = 0, 0, ""
    yielded_s = restarted_s = -OUTAGE_EVERY_S
    try:
        while True:
            picture = capture.newest(POLL_S)
            good = picture is not None and (not reason or capture.run >= BACK_PICTURES)
            shot = freshness.shot(*picture, index) if picture is not None and good else None
            if shot is not None:
                index, restarts, reason = index + 1, 0, ""
                yield replace(shot, skipped=capture.skipped, damaged=capture.damaged)
                capture.damaged = 0
                continue
            if not reason and (reason := freshness.complaint(capture.signal, camera)):
                capture.run = 0
            now = time.monotonic()
            if reason and now - yielded_s >= OUTAGE_EVERY_S:
                yielded_s = now
                yield Outage(now_ms(), reason, freshness.seen_at, capture.damaged)
                capture.damaged = 0
            pause = RESTART_PAUSES_S[min(restarts, len(RESTART_PAUSES_S) - 1)]
            useless = freshness.odd_size is not None or capture.signal is Signal.REPEAT
            if reason and (capture.hangs(camera) or useless) and now - restarted_s >= pause:
                capture.close()
                freshness.odd_size = None
                capture, restarts, restarted_s = Capture(camera), restarts + 1, now
    finally:
        capture.close()


def _await_opening(camera: CameraSection, capture: Capture) -> None:
    """Wait until a live source answers for the first time; OutsideError with the cure."""
    deadline = time.monotonic() + camera.open_s + START_S
    while time.monotonic() < deadline and capture.signal is not Signal.LOST:
        capture.newest(POLL_S)
        if capture.signal in (Signal.OPENED, Signal.PICTURE, Signal.REPEAT, Signal.DAMAGED):
            return
    capture.close()
    source = camera.source
    if source.isdigit():
        raise OutsideError(
            f"camera {source}: does not open: it is unplugged, or another program uses it; check "
            f"that /dev/video{source} exists and that nothing else holds it"
        )
    raise OutsideError(
        f"{shown(source)}: no video comes from this address within {camera.open_s:g} s; check that "
        "the camera is on, the address right and the network reaches it, and of https or rtsps "
        "that its certificate is of an authority in [camera] tls_ca"
    )
