"""Measures what one reading of a film costs: `python -m models.evaluate.bench_reading WORK TABLE`.

A process of its own for each measurement, so that processor time and memory are those of this work
alone; `models.evaluate.bench` starts it and prints what it finds. WORK is `decode`, every frame
decoded to BGR by OpenCV and nothing else, or `read`, the whole reader. One line of JSON comes out.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2

from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.reader import SeenShot, TableReader
from vision.app.run_log import Destinations
from vision.camera.decoding import Outage
from vision.config.table import TableConfig, load
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import CornerFinder, Detector
from vision.sight.detection.mouth import MouthSight
from vision.sight.following.follower import Follower
from vision.sight.motion_gate import MotionGate
from vision.sight.quality.camera_position import CameraPosition
from vision.sight.quality.view import ViewCheck
from vision.sight.reading.faces import FaceReader
from vision.wire.session import Step

# What is timed as a part of the work: its name, and the method in which it is done. A part that
# another one calls is not counted in that one.
PARTS: tuple[tuple[str, type, str], ...] = (
    ("gate", MotionGate, "moving"),
    ("view", ViewCheck, "look"),
    ("view", CameraPosition, "look"),
    ("mouth", MouthSight, "values"),
    ("detector", Detector, "cards_and_hands"),
    ("corners", CornerFinder, "__call__"),
    ("classifier", Classifier, "__call__"),
    ("follower", Follower, "see"),
    ("faces", FaceReader, "look"),
    ("evidence", EvidenceRecorder, "look"),
    ("log", Journal, "take"),
)


class Stopwatch:
    """Processor seconds of the main thread by part, each without the parts that it calls."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._local = threading.local()

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, with its time added to a part."""

        @functools.wraps(call)
        def measured(*args: Any, **options: Any) -> Any:
            # Parts call one another in one thread only.
            inner: list[float] = self._local.__dict__.setdefault("inner", [0.0])
            began = time.thread_time()
            inner.append(0.0)
            try:
                return call(*args, **options)
            finally:
                took = time.thread_time() - began
                self.spent[name] = self.spent.get(name, 0.0) + took - inner.pop()
                inner[-1] += took

        return measured


class Watch:
    """Listens to a run: when its first picture was done, and what it had cost by then."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.frames = 0
        self.first_s = 0.0
        self._stopwatch = stopwatch
        self._before = 0.0

    def take(self, _step: Step) -> None:
        """Take a step: nothing is to be done."""

    def count(self) -> None:
        """Count a picture; what came before the second is the start, not the reading."""
        self.frames += 1
        if self.frames == 1:
            self.first_s, self._before = time.monotonic(), _processor_s()
            self._stopwatch.spent.clear()

    def counted(self, note: Callable[[SeenShot], None]) -> Callable[[SeenShot], None]:
        """Return what counts each picture that is noted."""

        def noted(seen: SeenShot) -> None:
            note(seen)
            if not isinstance(seen.shot, Outage):
                self.count()

        return noted

    def result(self) -> dict[str, Any]:
        """Return frames, processor time and memory since the first picture."""
        return {
            "frames": self.frames - 1,
            "processor_s": _processor_s() - self._before,
            "memory_mb": most_memory_mb(),
        }


def _processor_s() -> float:
    """Return the processor time of this process and of those that it started and that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def most_memory_mb() -> float:
    """Return the most memory that this process has held, MB.

    `ru_maxrss` would not do: it begins with that of the process which started this one.
    """
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:  # no Linux: the figure may be the parent's
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    most = next(line for line in lines if line.startswith("VmHWM"))
    return float(most.split()[1]) / 1024


def decode(config: TableConfig) -> dict[str, Any]:
    """Decode a film to its end, all of it to BGR, and look at nothing.

    By a plain loop of OpenCV, which the reader itself does not use: a floor that stays the same
    when the reader learns to decode less.
    """
    watch = Watch(Stopwatch())
    film = cv2.VideoCapture(config.camera.source)
    while film.read()[0]:
        watch.count()
    return watch.result()


def read(config: TableConfig, log: Path, *, speed: float, began_s: float) -> dict[str, Any]:
    """Read a film to its end; `began_s` is the monotonic instant at which the process began."""
    stopwatch = Stopwatch()
    for name, owner, method in PARTS:
        setattr(owner, method, stopwatch.timed(name, getattr(owner, method)))
    watch = Watch(stopwatch)
    publish = config.broker.kind != "none"
    reader = TableReader(
        config, Destinations(log, publish=publish), watch, speed=speed, new_shoe=True
    )
    setattr(reader.checks, "note", watch.counted(reader.checks.note))  # noqa: B010 a method of one object
    opened_s = time.time()  # frames are due from the first look at the film on, at once from here
    reader.run()
    return {
        **watch.result(),
        "start_s": watch.first_s - began_s,
        "film_began": opened_s,
        "looked": reader.metrics.sight().looked,
        "parts_s": stopwatch.spent,
    }


def main() -> int:
    """Do one piece of work and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=["decode", "read"])
    parser.add_argument("table", type=Path)
    parser.add_argument("--log", type=Path, default=Path("bench.sqlite"))
    parser.add_argument("--port", type=int, help="of the broker at 127.0.0.1 (none)")
    parser.add_argument("--speed", type=float, default=0.0)
    parser.add_argument("--began-s", type=float, default=0.0)
    arguments = parser.parse_args()
    config = load(arguments.table)
    kind = "none" if arguments.port is None else "external"
    broker = {"kind": kind, "host": "127.0.0.1", "port": arguments.port or 1}
    config = config.model_copy(update={"broker": config.broker.model_copy(update=broker)})
    found = (
        decode(config)
        if arguments.work == "decode"
        else read(config, arguments.log, speed=arguments.speed, began_s=arguments.began_s)
    )
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
