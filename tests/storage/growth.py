"""Shows how a table's log grows: `python -m tests.storage.growth` deals 20,000 coups into one.

Whole shoes are dealt, folded with roads and messages, and written signed as a reader does, with a
checkpoint at the beginning of each shoe and with messages of the last days only; a shoe is one
transaction, so that the disk is not measured. In each shoe an alert is raised that nobody closes.
Ten times on the way it prints, in processor time, what a coup costs, what a restart takes, an
export of one coup, and an audit of what came in the last day; and the memory of the process and the
size of the file. `--whole` audits and replays all at the end; an audit uses two processes, so that
is given by the clock too.
"""

from __future__ import annotations

import argparse
import io
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from time import monotonic, process_time

from tests.game.speed import shoe
from tests.table_log import NOON, header, session_of
from vision.app.restore import restored
from vision.cli import main as command
from vision.clock import DAY_MS
from vision.game.commands import CallInspector
from vision.game.events import Event, Role, ShoeStarted, Started
from vision.storage.anchors import LogSigner, anchors_of, make_keys, sign_head
from vision.storage.log import Entry, Store
from vision.storage.retention import LogLimits
from vision.wire.session import TableSession, advance, session_to_json

LIMITS = LogLimits(keep_days=400, messages_days=7, max_mb=20_000)
SHOES = 8  # different ones, dealt in turn: dealing them takes longer than what is measured
PAUSE_MS = 600_000  # between two shoes, for the shuffle
COUP_MS = 36_000  # 100 coups an hour; the house of the tests deals faster


@dataclass(frozen=True, slots=True)
class Shoe:
    """A shoe's name, its events, and how many coups it has."""

    name: str
    events: tuple[Event, ...]
    coups: int


def shoes(count: int = SHOES) -> Iterator[Shoe]:
    """Yield shoe after shoe for ever, each later than the one before; `count` different ones."""
    dealt = [shoe(seed) for seed in range(count)]
    at = NOON
    for number, coups in enumerate(cycle(dealt)):
        name = f"shoe-{number}"
        events: list[Event] = [ShoeStarted(at, name), CallInspector(at, "Bo", Role.DEALER)]
        for index, coup in enumerate(coups):
            begin = coup[0].at
            events += [replace(e, at=at + index * COUP_MS + e.at - begin) for e in coup]
        yield Shoe(name, tuple(events), len(coups))
        at += len(coups) * COUP_MS + PAUSE_MS


def write_shoe(
    store: Store, desk: TableSession, dealt: Shoe, signer: LogSigner | None = None
) -> TableSession:
    """Fold and write a shoe, with its checkpoint and signature; return the session after it."""
    entries = []
    for event in dealt.events:
        before = desk.table.shoes
        step = advance(desk, event)
        desk = step.session
        checkpoint = session_to_json(desk) if desk.table.shoes != before else None
        entries.append(Entry(event, step.messages, checkpoint))
    if signer is not None:
        head = store.head_after(entries)
        anchor, step = sign_head(signer, store.hash_of(0), head, desk, "shoe")
        entries.append(Entry(anchor, step.messages))
        desk = step.session
    store.append(entries)
    return desk


def write_shoes(path: Path, count: int) -> None:
    """Write a log of so many shoes."""
    with Store(path, header(), has_outbox=False) as store:
        desk = begun(store)
        for _, dealt in zip(range(count), shoes(1), strict=False):
            desk = write_shoe(store, desk, dealt)


def begun(store: Store) -> TableSession:
    """Begin a run, and return its session."""
    started = Started(NOON, "b1", "0.1")
    step = advance(session_of(store.header), started)
    store.append([Entry(started, step.messages)])
    return step.session


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds that the work takes; what it prints is dropped."""
    began = process_time()
    with redirect_stdout(io.StringIO()):
        work()
    return process_time() - began


def restart(path: Path, signer: LogSigner | None) -> None:
    """Open the log as a reader does when it starts."""
    with Store(path, header(), has_outbox=False):
        restored(path, header(), signer)


def export(path: Path, name: str) -> None:
    """Export the second coup of a shoe."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "coup"))
        assert command(["log", "export", str(path), out, "--shoe", name, "--coup", "2"]) == 0


def audit(path: Path, since: tuple[int, str]) -> None:
    """Verify what came since that record."""
    words = ["audit", str(path), "--public-key", str(path.with_name("key.pub"))]
    assert command([*words, "--since", f"{since[0]}:{since[1]}"]) == 0


def main() -> None:
    """Deal, and print a line at every tenth of the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coups", type=int, default=20_000, metavar="N", help="coups (20000)")
    parser.add_argument("--lines", type=int, default=10, metavar="N", help="lines to print (10)")
    parser.add_argument("--whole", action="store_true", help="audit and replay all at the end")
    arguments = parser.parse_args()
    print(
        "  coups   MB of log  memory MB  a coup ms  restart ms  export ms: newest, 20 shoes ago  "
        "audit of a day s",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.sqlite")
        _grow(path, arguments.coups, arguments.coups // arguments.lines)
        trust = ("--public-key", str(path.with_name("key.pub")))
        whole = (("audit", *trust), ("replay", "--check")) if arguments.whole else ()
        for name, *more in whole:
            began = monotonic()
            took = seconds(partial(command, [name, str(path), *more]))
            print(f"{name} of all: {took:.1f} s here, {monotonic() - began:.1f} s by the clock")


def _grow(path: Path, most: int, every: int) -> None:
    make_keys(path.with_name("key"))
    own = header()
    signer = LogSigner(path.with_name("key"), anchors_of(path), own["site"], own["table"], 1e9)
    coups, named = 0, []
    heads: list[tuple[int, tuple[int, str]]] = []
    endless = shoes()
    while coups < most:
        with Store(path, own, has_outbox=False) as store:
            desk = restored(path, own, signer)[0] if coups else begun(store)
            before, began = coups, process_time()
            for dealt in endless:
                desk = write_shoe(store, desk, dealt, signer)
                store.prune(LIMITS, desk.table.clock)
                coups += dealt.coups
                named.append(dealt.name)
                heads.append((desk.table.clock, store.head))
                if coups - before >= every:
                    break
            each = (process_time() - began) / (coups - before)
        restarted = seconds(partial(restart, path, signer))
        _print_line(path, f"{coups:7}", each, restarted, named, heads)


def _print_line(
    path: Path,
    coups: str,
    each: float,
    restarted: float,
    named: list[str],
    heads: list[tuple[int, tuple[int, str]]],
) -> None:
    now = heads[-1][0]
    yesterday = max((h for h in heads if h[0] <= now - DAY_MS), default=heads[0])[1]
    exports = [seconds(partial(export, path, name)) for name in (named[-2], named[-20:][0])]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{coups}  {path.stat().st_size / 1e6:9.1f}  {memory:9.0f}  {1000 * each:9.2f}  "
        f"{1000 * restarted:10.0f}  {1000 * exports[0]:17.0f}  {1000 * exports[1]:12.0f}  "
        f"{seconds(partial(audit, path, yesterday)):16.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
