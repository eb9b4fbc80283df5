"""Run the fault injection, each part in a process of its own, and print one table at the end.

    python -m tests.chaos [PART ...] [--scale 0.02] [--jobs 1] [--minutes 58]

A part is named whole, or by its first word: `broker` is every fault of the broker. A part that
fails, hangs or crashes stops no other. The exit code is 1 if any limit was broken or a part did
not run to its end, 130 after Ctrl-C; the table is printed always.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.parts import COLUMNS, PARTS, TOOLS, Part

MINUTES = 58  # for everything, so that the table is there within the hour
SLACK_S = 60.0  # what a part may need beyond twice its share of the hour before it is ended
CLEAN_UP_S = 10.0  # for a part that is interrupted to end what it has started
TAIL = 20  # lines of output that are shown of a part that failed


@dataclass
class Running:
    """A part at work."""

    name: str
    process: subprocess.Popen[bytes]
    folder: Path
    limit_s: float
    began_s: float = field(default_factory=time.monotonic)

    @property
    def passed_s(self) -> float:
        """How long it has been at work."""
        return time.monotonic() - self.began_s

    def stop(self) -> None:
        """Interrupt it, so that it ends what it started; then end its whole session."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(CLEAN_UP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def outcome(self) -> dict[str, Any]:
        """Return what came of it: as it wrote it, or that it ended without a word."""
        path = self.folder / "result"
        if path.exists():
            return dict(json.loads(path.read_text("utf-8")))
        return broken(f"ended by itself with exit code {self.process.returncode}", self.passed_s)

    def tail(self) -> str:
        """Return the end of what it printed."""
        lines = (self.folder / "output").read_text("utf-8", "replace").splitlines()
        return "\n".join(lines[-TAIL:])


def broken(words: str, took_s: float = 0.0) -> dict[str, Any]:
    """Return the outcome of a part that wrote none."""
    return {"kept": False, "tries": None, "counts": {}, "words": words, "took_s": took_s}


@dataclass
class Session:
    """A run of some parts: those to come, those at work, and what came of the others."""

    scale: float
    jobs: int
    ends_s: float
    folder: Path
    waiting: list[str]
    running: list[Running] = field(default_factory=list)
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self) -> None:
        """Run all, so many at a time."""
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.jobs:
                self.begin(self.waiting.pop(0))
            for one in list(self.running):
                self.look_at(one)
            time.sleep(0.05)

    def begin(self, name: str) -> None:
        """Start a part, unless this machine lacks what it needs or the time is over."""
        part, left_s = PARTS[name], self.ends_s - time.monotonic()
        if lacks := [tool for tool in part.needs if not TOOLS[tool]]:
            self.end(name, {**broken(f"not tried: needs {lacks[0]}"), "kept": None})
            return
        if left_s <= 0:
            self.end(name, broken("not tried: the time was over"))
            return
        planned_s = sum(PARTS[other].seconds for other in (name, *self.waiting)) / self.jobs
        seconds = part.seconds * min(1.0, left_s / planned_s)
        folder = self.folder / str(len(self.outcomes) + len(self.running))
        folder.mkdir()
        words = [name, str(scaled(part, self.scale)), str(seconds), str(folder / "result")]
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.parts", *words],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        limit_s = min(2 * part.seconds + SLACK_S, left_s)
        self.running.append(Running(name, process, folder, limit_s))

    def look_at(self, one: Running) -> None:
        """Take the outcome of a part that has ended, or end one that is over its time."""
        if one.process.poll() is None and one.passed_s < one.limit_s:
            return
        over = one.process.poll() is None
        one.stop()
        words = f"ended after {one.passed_s:.0f} s, which is over its time"
        self.running.remove(one)
        self.end(one.name, broken(words, one.passed_s) if over else one.outcome(), one.tail())

    def end(self, name: str, outcome: dict[str, Any], tail: str = "") -> None:
        """Keep what came of a part, and print it."""
        self.outcomes[name] = outcome
        print(f"{name}:\n{outcome['words']}", flush=True)
        if outcome["kept"] is False and tail:
            print(tail, flush=True)

    def stop(self) -> None:
        """End what is at work; it counts as not run."""
        for one in self.running:
            one.stop()


def scaled(part: Part, scale: float) -> int:
    """Return a part's count at a scale."""
    return max(part.least, round(part.whole * scale))


def table(outcomes: dict[str, dict[str, Any]]) -> str:
    """Return the table: a row for each part that has an outcome, in the order of the parts."""
    head = ["fault", "tries", *COLUMNS, "time", ""]
    rows = [head] + [row(name, outcomes[name]) for name in PARTS if name in outcomes]
    widths = [max(len(one[i]) for one in rows) for i in range(len(head) - 1)]
    return "\n".join(
        " | ".join([one[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                    zip(one[1:-1], widths[1:], strict=True)), one[-1]]).rstrip(" |")
        for one in rows
    )  # fmt: skip


def row(name: str, outcome: dict[str, Any]) -> list[str]:
    """Return a row: – is not counted by the part, ? is not known because the part failed."""
    counts = outcome["counts"]
    cells = ["–" if column not in counts else "?" if counts[column] is None else
             str(counts[column]) for column in COLUMNS]  # fmt: skip
    verdict = {True: "", False: "BROKEN: ", None: ""}[outcome["kept"]]
    if outcome["kept"] is not True:
        verdict += (outcome["words"].splitlines() or [""])[0][:80]
    tries = "–" if outcome["tries"] is None else str(outcome["tries"])
    return [name, tries, *cells, f"{outcome['took_s']:.0f} s", verdict]


def chosen(names: list[str]) -> list[str]:
    """Return the parts that are named, whole or by the first word; all without a name."""
    return [
        part for part in PARTS if not names or part in names or part.split(maxsplit=1)[0] in names
    ]


def main(words: list[str]) -> int:
    """Run the parts that are named, or all; print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0, help="of everything; 0 is the shortest")
    parser.add_argument("--jobs", type=int, default=1, help="parts at a time; 1 for true times")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for everything")
    args = parser.parse_args(words)
    unknown = [name for name in args.parts if not chosen([name])]
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        ends_s = time.monotonic() + 60 * args.minutes
        session = Session(args.scale, args.jobs, ends_s, Path(folder), chosen(args.parts))
        interrupted = False
        try:
            session.run()
        except KeyboardInterrupt:
            interrupted = True
            session.stop()
        print(f"\n{table(session.outcomes)}", flush=True)
    if interrupted:
        return 130
    return int(any(outcome["kept"] is False for outcome in session.outcomes.values()))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: parts outlive us else
    sys.exit(main(sys.argv[1:]))
