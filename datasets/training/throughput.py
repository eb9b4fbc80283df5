"""How many training pictures are made a second: `python -m datasets.training.throughput`.

Each kind is made for some seconds by as many processes as there are cores to be used, from when
every one of them has loaded its decks and made its first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import cv2

from .crops import crops
from .outlines import outlines
from .scene import stills

KINDS: dict[str, Callable[[int], Iterator[object]]] = {
    "stills of 416 x 416 px, for the detector": stills,
    "outlines, for the corner finder": outlines,
    "crops, for the classifier": crops,
}


def rate(kind: str, seconds: float, seed: int) -> float:
    """Return how many pictures of a kind one process makes a second."""
    cv2.setNumThreads(1)
    making = KINDS[kind](seed)
    next(making)
    begun, made = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        next(making)
        made += 1
    return made / (time.perf_counter() - begun)


def main() -> None:
    """Make each kind in turn, print the rates."""
    parser = argparse.ArgumentParser(
        prog="python -m datasets.training.throughput", description=__doc__
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="for each kind")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    for kind in KINDS:
        with ProcessPoolExecutor(arguments.processes) as pool:
            seeds = range(arguments.processes)
            total = sum(pool.map(partial(rate, kind, arguments.seconds), seeds))
        print(f"{total:8.0f} a second  {kind}", flush=True)


if __name__ == "__main__":
    main()
