"""An hour of the demo with a board, an archive and a browser's reloads: nothing may grow.

`python -m tests.chaos.hour [--minutes N]` plays the demo's film in a loop, archives its messages in
SQLite, and loads the pages of the board again and again. It prints the memory, descriptors and
threads of the three programs and the size of the log, minute by minute, and ends with 1 if memory
has grown by more than `MOST_GROWTH` since a third of the time, or descriptors or threads at all, or
if a result or an alert that the log says was published is not in the archive.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.chaos.tables import family, memory_mb

PAGES = ("", "state", "healthz", "static/board.js", "desk")
RELOAD_S = 2.0
# Memory may move by this share: caches of pictures and the allocator breathe.
MOST_GROWTH = 0.08
# Seconds for the archive to write what was published last.
LATE_S = 60.0
# Descriptors and threads that connections between two reloads may hold.
SLACK = 6
HEAD = "minute | " + " | ".join(
    f"{name}: memory MB, descriptors, threads" for name in ("reader and board", "archive")
) + " | log MB, archive MB, coups | reloads, failed"  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """What a program and its children hold."""

    memory_mb: float
    descriptors: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Size:
        """Measure it; the proportional share of memory, so that shared pages count once."""
        memory, descriptors, threads = 0.0, 0, 0
        for each in family(pid):
            with suppress(OSError):  # a child that has just ended
                memory += memory_mb([each])
                descriptors += len(list(Path(f"/proc/{each}/fd").iterdir()))
                threads += len(list(Path(f"/proc/{each}/task").iterdir()))
        return cls(memory, descriptors, threads)

    def __str__(self) -> str:
        """Return it as a cell of the table."""
        return f"{self.memory_mb:.0f}, {self.descriptors}, {self.threads}"


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command of the program while the block lasts."""
    command = [sys.executable, "-u", "-m", "vision.cli", *words]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def begun(demo: subprocess.Popen[str]) -> tuple[str, Path]:
    """Return the board's address and the log of a demo."""
    assert demo.stdout is not None
    patterns = {
        "url": r" 1\. See the table: (http://127\.0\.0\.1:\d+/)",
        "folder": r"files: +(\S+): log",
    }
    found: dict[str, str] = {}
    for line in demo.stdout:
        for name, pattern in patterns.items():
            if match := re.match(pattern, line):
                found[name] = match[1]
        if found.keys() == patterns.keys():
            return found["url"], Path(found["folder"]) / "demo.sqlite"
    raise SystemExit("the demo did not start; run `shoe-reader demo`")


def drain(process: subprocess.Popen[str]) -> None:
    """Read what a program prints, so that it never waits for us."""
    with suppress(ValueError):  # closed at the end
        for _ in process.stdout or ():
            pass


def coups_of(archive: Path) -> int:
    """Return how many results were archived."""
    with closing(sqlite3.connect(f"file:{archive}?mode=ro", uri=True)) as store:
        return int(store.execute("SELECT count(*) FROM coup").fetchone()[0])


def topics_of(store: Path, query: str) -> Counter[tuple[str, str]]:
    """Return how often each result and alert is there, by what it says of itself."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        found = (json.loads(payload) for (payload,) in db.execute(query) if payload)
        return Counter((message["boot"], message["seq"]) for message in found)


def lost(log: Path, archive: Path) -> int:
    """Print how many results and alerts came; return how many of the log's the archive lacks."""
    kinds = "(topic LIKE '%coup/result' OR topic LIKE '%alert/%')"
    published = topics_of(log, f"SELECT payload FROM message WHERE retain AND {kinds}")
    ends_s = time.monotonic() + LATE_S
    while missing := published - topics_of(archive, f"SELECT payload FROM message WHERE {kinds}"):
        if time.monotonic() > ends_s:
            break
        time.sleep(1)
    print(f"{published.total()} results and alerts published, {missing.total()} lost")
    return missing.total()


def main() -> int:
    """Run it; the exit status says whether something has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    arguments = parser.parse_args()
    ends_s = time.monotonic() + 60 * arguments.minutes
    sizes: list[tuple[Size, Size]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        demo = stack.enter_context(running("demo", "--loop"))
        url, log = begun(demo)
        archive = folder / "archive.sqlite"
        words = ("floor", "archive", "serve", str(log), "--archive", str(archive))
        served = stack.enter_context(running(*words))
        for process in (demo, served):
            threading.Thread(target=drain, args=(process,), daemon=True).start()
        print(HEAD, flush=True)
        reloads = failed = 0
        next_s = time.monotonic() + 60
        while time.monotonic() < ends_s:
            for process in (demo, served):
                if process.poll() is not None:
                    raise SystemExit(f"{process.args!r} ended with {process.returncode}")
            with httpx.Client(base_url=url, timeout=20) as browser:
                for page in PAGES:
                    try:
                        failed += browser.get(page).status_code >= 500
                    except httpx.HTTPError:
                        failed += 1
                    reloads += 1
            time.sleep(RELOAD_S)
            if time.monotonic() >= next_s:
                next_s += 60
                sizes.append((Size.of(demo.pid), Size.of(served.pid)))
                mb = [path.stat().st_size / 1e6 for path in (log, archive)]
                print(
                    f"{len(sizes)} | {sizes[-1][0]} | {sizes[-1][1]} | {mb[0]:.1f}, {mb[1]:.1f}, "
                    f"{coups_of(archive)} | {reloads}, {failed}", flush=True,
                )  # fmt: skip
        missing = lost(log, archive)
    return 1 if failed or missing or not is_flat(sizes) else 0


def is_flat(sizes: list[tuple[Size, Size]]) -> bool:
    """Whether the last third of the time holds no more than the second one."""
    third = len(sizes) // 3
    if not third:
        return True
    for program in (0, 1):
        middle = [size[program] for size in sizes[third : 2 * third]]
        last = [size[program] for size in sizes[2 * third :]]
        grown = max(s.memory_mb for s in last) / max(s.memory_mb for s in middle) - 1
        more = [
            max(getattr(s, name) for s in last) - max(getattr(s, name) for s in middle)
            for name in ("descriptors", "threads")
        ]
        print(f"memory {grown:+.1%}, descriptors {more[0]:+d}, threads {more[1]:+d}")
        if grown > MOST_GROWTH or max(more) > SLACK:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
