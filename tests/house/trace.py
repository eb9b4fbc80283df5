"""Trace one short film through the table reader: modules entered, calls, file switches and folds.

`python -m tests.house.trace [ROOT] [--film DIR] [--json]`: ROOT is any checkout of this project,
this one by default, read in a process of its own; DIR holds the film (`shoe-reader simulate`), made
there by this checkout where it is missing, by default in the folder for temporary files. So two
checkouts read the same film. Nothing is published. What is counted, by `sys.setprofile` on the main
thread (where a recording is read from end to end):

- *frame*: from the end of one frame to the end of the next, the camera's part included;
- *modules*: files of `vision` in which a function is called;
- *calls*: calls of functions of `vision`; each resumption of a generator is one, a comprehension,
  and a method made by a decorator, is none;
- *switches*: calls into another file than the call before;
- *records*: events in the log that the rules fold: all but evidence and signatures;
- *folds*: calls of `step`, by which the rules fold one event into a table; *rule modules*: files
  entered within them;
- what the reader does once a second (disk, clock, link, health) is left out, because it falls on
  other frames on each machine;
- *coup*: the frames from the result of the coup before to its own result. The first coup includes
  the start of the run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

HERE = Path(__file__).parents[2]
COUPS = 2
FILM = ("--coups", str(COUPS), "--fps", "10", "--size", "1280x720", "--seed", "77", "--quiet")
PROOFS = frozenset({"evidence", "anchor"})  # topics of records that the rules do not fold
# Where the parts lie, the present layout first, then that of commit 46a86b5.
READERS = (("vision.app.reader", "TableReader"), ("vision.app", "App"))
DESTINATIONS = (
    ("vision.app.run_log", "Destinations"),
    ("vision.app.journal", "Destinations"),
    ("vision.app.journal", "Outputs"),
    ("vision.journal", "Outputs"),
)
LOADERS = (("vision.config.table", "load"), ("vision.config", "load"))


@dataclass
class Span:
    """What happened during one frame."""

    modules: set[str] = field(default_factory=set)
    rule_modules: set[str] = field(default_factory=set)
    calls: int = 0
    switches: int = 0
    folds: Counter[str] = field(default_factory=Counter)
    topics: list[str] = field(default_factory=list)
    records: int = 0
    reads: int = 0


# The function of the reader whose return ends a frame.
FRAME_ENDS = ("app/reader.py", "_take")


class Tracer:
    """The profile function and the listener of a reader: a span for each frame."""

    def __init__(self, root: Path) -> None:
        self.spans = [Span()]
        self._prefix = f"{root / 'vision'}{os.sep}"
        self._rules = f"{self._prefix}game{os.sep}"
        self._file = ""
        self._fold: FrameType | None = None  # the call of `step` that has not returned yet

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call."""
        code = frame.f_code
        path = code.co_filename
        if frame is self._fold and event == "return":
            self._fold = None
        if event == "return" and code.co_name == FRAME_ENDS[1] and path.endswith(FRAME_ENDS[0]):
            self.spans.append(Span())
        if event != "call" or code.co_name[0] == "<" or not path.startswith(self._prefix):
            return
        span = self.spans[-1]
        span.calls += 1
        span.modules.add(path)
        if path != self._file:
            span.switches += 1
            self._file = path
        if code.co_name == "step" and path.startswith(self._rules):
            span.folds[type(frame.f_locals.get("event")).__name__] += 1
            self._fold = frame
        if self._fold is not None:
            span.rule_modules.add(path)

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        """Answer as a listener of the reader: each step is a record."""
        return self._heard

    def _heard(self, news: Any) -> None:
        span = self.spans[-1]
        topics = [message.topic.split("/", 4)[-1] for message in news.messages]
        span.topics += topics
        span.records += not PROOFS.intersection(topics)
        for topic, message in zip(topics, news.messages, strict=True):
            span.reads += topic == "card" and json.loads(message.payload)["event"] == "read"


def found(places: Iterable[tuple[str, str]]) -> Any:
    """Return the first of those names that the checkout has."""
    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"none of {places} is there: add the new place to tests/house/trace.py")


def trace(root: Path, film: Path) -> list[Span]:
    """Return the spans of one run of the reader in `root`, which this process must import."""
    tracer = Tracer(root)
    with tempfile.TemporaryDirectory() as folder:
        outputs = found(DESTINATIONS)(Path(folder) / "log.sqlite", publish=False)
        config = found(LOADERS)(film / "table.toml")
        reader = found(READERS)(config, outputs, tracer, speed=0.0, new_shoe=True)
        sys.modules[type(reader).__module__].TICK_S = math.inf  # type: ignore[attr-defined]
        sys.setprofile(tracer.profile)
        try:
            reader.run()
        finally:
            sys.setprofile(None)
    return tracer.spans


def summary(spans: list[Span]) -> dict[str, Any]:
    """Return the figures of a run; its last span, the end of the run, is in the totals only."""
    frames = spans[1:-1]  # the first frame holds the start of the run
    busy = [span for span in frames if span.records]
    folds = sum((span.folds for span in spans), Counter[str]())
    return {
        "frames": len(spans) - 1,
        "modules ever entered": len(union(span.modules for span in spans)),
        "frames without events": _figures([span for span in frames if not span.records]),
        "frames with events": _figures(busy),
        "frames with a card read": _figures([span for span in busy if span.reads]),
        "coups": [_coup(coup) for coup in coups(spans)],
        "records": sum(span.records for span in spans),
        "folds": sum(folds.values()),
        "folds by event": dict(folds.most_common()),
    }


def _figures(spans: list[Span]) -> dict[str, object]:
    def of(values: list[int]) -> list[float]:
        return [median(values), max(values)]

    return {
        "frames": len(spans),
        "modules": of([len(span.modules) for span in spans]),
        "calls": of([span.calls for span in spans]),
        "switches": of([span.switches for span in spans]),
        "folds": sum(sum(span.folds.values()) for span in spans),
        "records": sum(span.records for span in spans),
    }


def coups(spans: list[Span]) -> list[list[Span]]:
    """Return the spans of each coup, up to the one in which its result is published."""
    found_: list[list[Span]] = [[]]
    for span in spans:
        found_[-1].append(span)
        if "coup/result" in span.topics:
            found_.append([])
    return found_[:-1]


def _coup(spans: list[Span]) -> dict[str, int]:
    return {
        "frames": len(spans),
        "modules": len(union(span.modules for span in spans)),
        "rule modules": len(union(span.rule_modules for span in spans)),
        "calls": sum(span.calls for span in spans),
        "switches": sum(span.switches for span in spans),
        "records": sum(span.records for span in spans),
        "folds": sum(sum(span.folds.values()) for span in spans),
    }


def union(sets: Iterable[set[str]]) -> set[str]:
    """Return what is in any of the sets."""
    return set().union(*sets)


def make_film(film: Path) -> None:
    """Deal the film where it is missing."""
    if not (film / "table.toml").exists():
        program = "import sys; from datasets.dealing.simulate import main; main(sys.argv[1:])"
        words = [sys.executable, "-c", program, str(film), *FILM]
        subprocess.run(words, check=True, cwd=HERE, env={**os.environ, "PYTHONPATH": str(HERE)})


def traced(root: Path, film: Path) -> dict[str, Any]:
    """Return the figures of the checkout `root`, read in a process that imports no other."""
    # -P keeps out this folder, whose modules have names of the standard library.
    program = [sys.executable, "-P", __file__, str(root), "--film", str(film), "--here"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        program, cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def show(result: dict[str, Any]) -> None:
    """Print the figures as tables."""
    print(f"frames {result['frames']}, modules ever entered {result['modules ever entered']}")
    print(f"\n{'median (most)':26}{'frames':>8}{'modules':>14}{'calls':>16}{'switches':>14}")
    for name in ("frames without events", "frames with events", "frames with a card read"):
        row = result[name]
        parts = [f"{middle:g} ({most})" for middle, most in (row[k] for k in COLUMNS)]
        print(f"{name:26}{row['frames']:8}{parts[0]:>14}{parts[1]:>16}{parts[2]:>14}")
    for number, row in enumerate(result["coups"], 1):
        print(f"coup {number}: " + ", ".join(f"{value} {name}" for name, value in row.items()))
    share = result["folds"] / result["records"]
    print(f"\n{result['folds']} folds for {result['records']} records: {share:.2f} a record")
    print(", ".join(f"{name} {many}" for name, many in result["folds by event"].items()))


COLUMNS = ("modules", "calls", "switches")


def main(words: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m tests.house.trace")
    parser.add_argument("root", nargs="?", type=Path, default=HERE)
    parser.add_argument("--film", type=Path, help="the folder of the film")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(words)
    root = args.root.resolve()
    film = args.film or Path(tempfile.gettempdir()) / f"shoe-reader-trace-{COUPS}"
    if args.here:
        print(json.dumps(summary(trace(root, film))))
        return 0
    make_film(film)
    result = traced(root, film.resolve())
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
