"""Cameras that fail, again and again, and what it takes to notice and to recover.

    python -m tests.chaos.camera --camera http --times 50

prints a table: how long each fault went unnoticed, how long it took to see again once the camera
was back, and what threads, processes, handles and memory were left behind.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.edge.video_servers import FAULTS, SIZE, BadCamera, HttpCamera, RtspCamera
from vision.edge.camera import Wanted, open_source
from vision.edge.shots import Outage, Shot

NOTICED_S = 2.0
RECOVERED_S = 5.0
LIMIT_S = 30.0
CAMERAS: dict[str, type[HttpCamera] | type[RtspCamera]] = {"http": HttpCamera, "rtsp": RtspCamera}


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


def endure(camera: BadCamera, faults: tuple[str, ...], times: int) -> tuple[list[Row], Held, Held]:
    """Let a camera fail in turn; return the rows, and what was held at first and in the end."""
    shots = open_source(camera.url, Wanted(*SIZE))
    rows = [Row(fault) for fault in faults]
    until(shots, Shot)
    count_shots(shots, 1.0)
    before = held()
    for _ in range(times):
        for row in rows:
            camera.fail(row.fault)
            row.noticed_s.append(until(shots, Outage))
            row.false_shots += count_shots(shots, 0.5)
            camera.mend()
            row.recovered_s.append(until(shots, Shot))
            count_shots(shots, 0.5)
    after = held()
    close = getattr(shots, "close", None)
    if close is not None:
        close()
    return rows, before, after


def main() -> None:
    """Print the table for one camera; the exit code says whether every promise was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--camera", choices=CAMERAS, default="http")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--faults", nargs="*", default=FAULTS, choices=FAULTS)
    args = parser.parse_args()
    camera = CAMERAS[args.camera]()
    try:
        rows, before, after = endure(camera, tuple(args.faults), args.times)
    finally:
        camera.close()
    print(
        f"{args.camera}: fault | times | noticed p50, worst | recovered p50, worst | shown wrongly"
    )
    for row in rows:
        print(row.text())
    print(f"held before {before}\nheld after  {after}")
    late = [
        row.fault for row in rows
        if max(row.noticed_s) > NOTICED_S or max(row.recovered_s) > RECOVERED_S
    ]  # fmt: skip
    print(f"late: {', '.join(late) or 'none'}")
    raise SystemExit(1 if late else 0)


if __name__ == "__main__":
    main()
