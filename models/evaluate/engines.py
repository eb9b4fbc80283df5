"""What an engine of a cluster costs before it does anything: start it and do one task.

`python -m models.evaluate.engines NAME`; NAME is `distributed` or `ray`, as installed in the
environment that it is run with. It prints the cost of the import, then of one worker that has done
one task: processes, memory, core-seconds. This file needs nothing else of the project, and can be
run by its path.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

MARK = "SHOE_READER_ENGINE"  # in the environment of all processes that are counted
TICKS = os.sysconf("SC_CLK_TCK")  # of the times in /proc, a second


def main(name: str) -> None:
    """Print the costs of an engine."""
    if MARK not in os.environ:
        # What is in /proc is the environment that a process was begun with.
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, MARK: name})  # noqa: S606
    began = time.process_time()
    engine = importlib.import_module(name)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name}: import {time.process_time() - began:.1f} core-seconds, {most} MB", flush=True)
    began = time.monotonic()
    engine_started(name, engine)
    took = time.monotonic() - began
    count, memory, cores = _costs()
    print(f"one task: {count} processes, {memory} MB, {cores:.1f} core-seconds, {took:.0f} s")


def engine_started(name: str, engine: Any) -> None:
    """Start one worker and have it do one task; it ends with this process."""
    if name == "distributed":
        cluster = engine.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
        engine.Client(cluster).submit(pow, 2, 3).result()
    else:
        engine.init(num_cpus=1, include_dashboard=False, logging_level="ERROR")
        engine.get(engine.remote(lambda: pow(2, 3)).remote())


def _costs() -> tuple[int, int, float]:
    """Return how many marked processes there are, their memory in MB and their core-seconds."""
    count, memory, cores = 0, 0, 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if MARK not in (folder / "environ").read_text("utf-8", "replace"):
                continue
            status = (folder / "status").read_text("utf-8")
            times = (folder / "stat").read_text("utf-8").rsplit(")", 1)[1].split()
        except OSError:
            continue
        count += 1
        memory += int(status.partition("VmRSS:")[2].split()[0]) if "VmRSS:" in status else 0
        cores += (int(times[11]) + int(times[12])) / TICKS
    return count, memory // 1024, cores


if __name__ == "__main__":
    main(sys.argv[1])
