"""Cameras that fail, again and again, and what it takes to notice and to recover.

    python -m tests.chaos.camera --camera http --times 50

prints a table: how long each fault went unnoticed, how long it took to see again once the camera
was back, and what threads, processes, handles and memory were left behind.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.camera.video_servers import FAULTS, SIZE, BadCamera, HttpCamera, RtspCamera
from tests.chaos.outcome import Done, LimitBrokenError, rounds
from vision.camera.capture_process import HEADER, Slots
from vision.camera.decoding import Outage, Shot
from vision.camera.source import open_source
from vision.config.table import CameraSection

NOTICED_S = 2.0
RECOVERED_S = 5.0
LIMIT_S = 30.0
CAMERAS: dict[str, type[HttpCamera | RtspCamera]] = {"http": HttpCamera, "rtsp": RtspCamera}


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds."""

    threads: int
    handles: int
    children: int
    memory_kib: int


@dataclass(slots=True)
class Row:
    """What one fault did, so many times; seconds."""

    fault: str
    noticed_s: list[float] = field(default_factory=list)
    recovered_s: list[float] = field(default_factory=list)
    false_shots: int = 0

    @property
    def late(self) -> int:
        """How many outages were noticed or recovered from too late."""
        too_late = sum(seconds > NOTICED_S for seconds in self.noticed_s)
        return too_late + sum(seconds > RECOVERED_S for seconds in self.recovered_s)

    def text(self) -> str:
        """Return the row of the table."""
        cells = [f"{self.fault:9}", f"{len(self.noticed_s):5}"]
        both = (self.noticed_s, self.recovered_s)
        cells += [f"{statistics.median(times):6.2f} s  {max(times):6.2f} s" for times in both]
        return " | ".join([*cells, f"{self.false_shots}"])


def held() -> Held:
    """Return what this process holds now."""
    status = Path("/proc/self/status").read_text("ascii")
    memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    handles = len(list(Path("/proc/self/fd").iterdir()))
    return Held(threading.active_count(), handles, len(children), int(memory.split()[1]))


def settled(before: Held) -> Held:
    """Return what is held once it is as before, or after a while; threads end in their own time."""
    ends_s = time.monotonic() + RECOVERED_S
    while (now := held()).threads > before.threads and time.monotonic() < ends_s:
        time.sleep(0.05)
    return now


def until(shots: Iterator[Shot | Outage], kind: type[Shot | Outage]) -> float:
    """Read until a shot or an outage comes; return how long it took, seconds."""
    began = time.monotonic()
    for shot in shots:
        if isinstance(shot, kind) or time.monotonic() - began > LIMIT_S:
            break
    return time.monotonic() - began


def count_shots(shots: Iterator[Shot | Outage], seconds: float) -> int:
    """Read for some time; return how many pictures came."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += isinstance(next(shots), Shot)
    return count


def endure(
    camera: BadCamera, faults: tuple[str, ...], times: int, seconds: float = math.inf
) -> tuple[list[Row], Held, Held]:
    """Let a camera fail in turn; return the rows, and what was held at first and in the end."""
    shots = open_source(CameraSection(source=camera.url, width=SIZE[0], height=SIZE[1]))
    rows = [Row(fault) for fault in faults]
    until(shots, Shot)
    count_shots(shots, 1.0)
    before = held()
    for _ in rounds(times, seconds):
        for row in rows:
            camera.fail(row.fault)
            row.noticed_s.append(until(shots, Outage))
            row.false_shots += count_shots(shots, 0.5)
            camera.mend()
            row.recovered_s.append(until(shots, Shot))
            count_shots(shots, 0.5)
    after = settled(before)
    close = getattr(shots, "close", None)
    if close is not None:
        close()
    return rows, before, after


def run(name: str, times: int, seconds: float = math.inf) -> Done:
    """Let a camera fail so often, or until the time is over; LimitBrokenError."""
    text, tries, broken = table(name, FAULTS, times, seconds)
    if broken:
        raise broken
    return Done(tries, text)


def table(
    name: str, faults: tuple[str, ...], times: int, seconds: float = math.inf
) -> tuple[str, int, LimitBrokenError | None]:
    """Let a camera fail; return what to print, the number of faults, and what was broken."""
    camera = CAMERAS[name]()
    try:
        rows, before, after = endure(camera, faults, times, seconds)
    finally:
        camera.close()
    late = [row.fault for row in rows if row.late]
    head = "fault | times | noticed p50, worst | recovered p50, worst | shown wrongly"
    lines = [f"{name}: {head}", *(row.text() for row in rows)]
    lines += [f"held before {before}", f"held after  {after}", f"late: {', '.join(late) or 'none'}"]
    text = "\n".join(lines)
    same = after.threads <= before.threads and after.children == before.children
    shown = sum(row.false_shots for row in rows)
    text += "" if same else "\nthreads or processes were left behind"
    broken = LimitBrokenError(text, wrong=shown, late=sum(row.late for row in rows))
    kept = same and not shown and not late
    return text, sum(len(row.noticed_s) for row in rows), None if kept else broken


def cost(pictures: int = 100) -> str:
    """Return what the way through shared memory costs for each 1080p picture, milliseconds."""
    fd = os.memfd_create("cost")
    os.ftruncate(fd, HEADER)
    slots = Slots(fd)
    slots.fit(1920, 1080)
    dice = np.random.default_rng(1)
    sizes = (1080, 1920), (540, 960), (540, 960)
    layers = [dice.integers(0, 255, size, np.uint8) for size in sizes]
    began = time.process_time()
    for number in range(pictures):
        for slot, layer in zip(slots.layers(number, layers), layers, strict=True):
            slot[:] = layer
    written = time.process_time()
    for number in range(pictures):
        _ = [layer.copy() for layer in slots.layers(number, layers)]
    read = time.process_time()
    os.close(fd)
    laid, taken = ((b - a) / pictures * 1000 for a, b in ((began, written), (written, read)))
    return f"1080p: laid in shared memory {laid:.2f} ms, taken out {taken:.2f} ms of processor time"


def main() -> None:
    """Print the table for one camera; the exit code says whether every promise was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--camera", choices=CAMERAS, default="http")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--faults", nargs="*", default=FAULTS, choices=FAULTS)
    parser.add_argument("--cost", action="store_true", help="only the cost of a picture")
    args = parser.parse_args()
    if args.cost:
        print(cost())
        return
    text, _, broken = table(args.camera, tuple(args.faults), args.times)
    print(text)
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
