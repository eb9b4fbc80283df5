"""How long the steps of reading take: detector, classifier and a whole frame, on one core and two.

`python -m models.evaluate.speed DIR/table.toml` with a film of `shoe-reader simulate DIR`. Times
are of the clock: run it on a machine that does nothing else. Every frame is looked at.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np

from vision.app.pipeline import SightPipeline
from vision.config.table import TableConfig, load
from vision.errors import OutsideError
from vision.inference.load import open_models
from vision.sight.geometry.frame import Frame, Image

# First frames, which are not timed: memory is laid out in them.
WARM_UP = 10


class Timed:
    """A callable that keeps how long each call took, in ms."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self.took: list[float] = []

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call it."""
        began = time.perf_counter()
        result = self._call(*args, **options)
        self.took.append(1000 * (time.perf_counter() - began))
        return result

    def row(self, name: str) -> str:
        """Return how often it was called, and the median and 99th percentile of ms."""
        took = np.array(self.took[WARM_UP:])
        if not len(took):
            return f"{name} | 0 | - | - |"
        p50, p99 = np.percentile(took, (50, 99))
        return f"{name} | {len(took)} | {p50:.1f} | {p99:.1f} |"


def frames_of(source: str, most: int) -> Iterator[Frame]:
    """Yield the first frames of a film; OutsideError if there are none."""
    film = cv2.VideoCapture(source)
    fps, number = film.get(cv2.CAP_PROP_FPS), 0
    while number < most:
        there, image = film.read()
        if not there:
            break
        yield Frame(cast(Image, image), round(1000 * number / fps), number)
        number += 1
    if number <= WARM_UP:
        raise OutsideError(f"{source}: no film; make one with shoe-reader simulate")


def rows(config: TableConfig, cores: int, most: int) -> Iterator[str]:
    """Yield a row of each step on so many cores of the processor."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    cv2.setNumThreads(cores)
    models = open_models(threads=cores)
    detector, classifier = Timed(models.detector), Timed(models.classifier)
    timed = replace(models, detector=cast(Any, detector), classifier=cast(Any, classifier))
    fast = config.models.model_copy(update={"looks_per_s": 1000.0})
    watcher = SightPipeline(config.model_copy(update={"models": fast}), timed, decks=8)
    watcher.begin_shoe(1)
    step = Timed(watcher.see)
    for frame in frames_of(config.camera.source, most):
        step(frame)
    named = {"detector and corners": detector, "classifier": classifier, "whole frame": step}
    for name, one in named.items():
        yield f"| {cores} | {one.row(name)}"


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, metavar="TABLE.toml")
    parser.add_argument("--frames", type=int, default=1000, help="frames of the film to use")
    arguments = parser.parse_args()
    config = load(arguments.table)
    # One core first would leave the process on it: the most comes first.
    print("| cores | step | times | p50, ms | p99, ms |\n|---|---|---|---|---|")
    for cores in (2, 1):
        for row in rows(config, cores, arguments.frames):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
