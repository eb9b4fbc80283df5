"""Cut the power at every write: what fsync allows to be lost is lost, and the table goes on.

A signed table with evidence is run under `record_writes.c`, which records each change of a file in
order. For every prefix of that, disks are made as a power cut may leave them: what was synced is
there; of what was not, nothing, everything, or some of it with the last write torn at a sector. A
name counts as there once its folder was synced. On each disk the program must open the log with
everything that it had taken, and log, anchors, messages and evidence must pass the audit.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.outcome import Done, LimitBrokenError
from tests.chaos.table import config_of
from tests.table_log import clean
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.cli import main
from vision.record.facts import EvidenceKept, Medium
from vision.storage.anchors import anchors_of, make_keys
from vision.storage.evidence import EvidenceStore, folder_of
from vision.storage.log_reader import read_log

SECTOR = 512  # bytes that a disk writes whole; a write is torn between two of them
TAKEN = "taken"  # the file in which the table counts what is durable by its word
LOG = "t.sqlite"
EVERY = 9  # events between two pictures: a dozen in the play, so that most moments have some


def work(folder: Path) -> None:
    """Run a signed table for some coups, with a picture before each; count what is durable."""
    log = folder / "disk" / LOG
    config = config_of(1, signing_key=str(folder / "key"), anchor_every_s=1)
    pictures = EvidenceStore(folder_of(log))
    with Journal(config, Destinations(log)) as journal, (folder / "disk" / TAKEN).open("wb") as out:
        for number, event in enumerate(clean().events):
            stored = EvidenceKept(event.at, f"s1-1-c{number}", Medium.STILL, "s1", 1, "", 0, number)
            picture = f"picture {number}".encode() * 400
            pieces = [pictures.keep(stored, picture)] if number % EVERY == 0 else []
            journal.take([*pieces, event])
            out.write(f"{journal._store.head[0]}\n".encode())
            out.flush()


# --- the disk as it may be left ------------------------------------------------------------------


@dataclass
class Inode:
    """A file: what is on the disk, and the changes since that may not be."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[str, int, bytes]] = field(default_factory=list)


@dataclass
class Disk:
    """Names and files; `names` are those that a running system sees, `kept` survive a power cut.

    One that `lies` says that it has synced, and has not.
    """

    lies: bool = False
    names: dict[str, Inode] = field(default_factory=dict)
    kept: dict[str, Inode] = field(default_factory=dict)

    def change(self, operation: str, path: str, offset: int, data: bytes) -> None:
        """Take in one recorded operation."""
        match operation:
            case "create":
                self.names[path] = Inode()
            case "write" | "truncate" if path in self.names:
                self.names[path].pending.append((operation, offset, data))
            case "rename":
                self.names[data.decode()] = self.names.pop(path)
            case "unlink":
                self.names.pop(path, None)
            case "sync" if self.lies:
                pass
            case "sync" if path in self.names:
                inode = self.names[path]
                _apply(inode.durable, inode.pending)
                inode.pending = []
            case "sync":
                self._sync_folder(path)

    def _sync_folder(self, folder: str) -> None:
        """Have the names in a folder on the disk."""
        for name in [name for name in self.kept if str(Path(name).parent) == folder]:
            del self.kept[name]
        here = {
            name: inode for name, inode in self.names.items() if str(Path(name).parent) == folder
        }
        self.kept.update(here)

    def left(self, how: str, draw: random.Random) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents as a power cut may leave them: `none`, `all` or `some` lost."""
        names = self.names if how == "all" else self.kept
        if how == "some" and draw.random() < 1 / 2:
            names = {**self.kept, **self.names}
        for name, inode in names.items():
            content = bytearray(inode.durable)
            _apply(content, _surviving(inode.pending, how, draw))
            yield name, bytes(content)


def _surviving(
    pending: list[tuple[str, int, bytes]], how: str, draw: random.Random
) -> list[tuple[str, int, bytes]]:
    if how != "some":
        return pending if how == "all" else []
    some = [change for change in pending if draw.random() < 1 / 2]
    if some and some[-1][0] == "write":
        operation, offset, data = some[-1]
        some[-1] = operation, offset, data[: draw.randrange(0, len(data) + 1, SECTOR)]
    return some


def _apply(content: bytearray, changes: list[tuple[str, int, bytes]]) -> None:
    for operation, offset, data in changes:
        if operation == "truncate":
            del content[offset:]
            content.extend(bytes(offset - len(content)))
        else:
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data


# --- the trial -----------------------------------------------------------------------------------


def recorded(folder: Path) -> list[tuple[str, str, int, bytes]]:
    """Run the table under the recorder; return every change of its disk, in order."""
    library, trace = folder / "record.so", folder / "trace"
    source = Path(__file__).with_name("record_writes.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    (folder / "disk").mkdir()
    make_keys(folder / "key")
    recording = {"RECORD_UNDER": f"{folder}/disk", "RECORD_TO": str(trace)}
    environment = {**os.environ, **recording, "LD_PRELOAD": str(library)}
    words = [sys.executable, "-m", "tests.chaos.power_loss", "work", str(folder)]
    subprocess.run(words, check=True, env=environment, capture_output=True)
    return list(_changes(trace.read_bytes()))


def _changes(trace: bytes) -> Iterator[tuple[str, str, int, bytes]]:
    at = 0
    while at < len(trace):
        end = trace.index(b"\n", at)
        operation, path, offset, size = trace[at:end].decode().split("\t")
        at = end + 1 + int(size)
        yield operation, path, int(offset), trace[end + 1 : at]


def check(folder: Path, left: dict[str, bytes], taken: int) -> None:
    """Put a disk there and open it; AssertionError where anything taken is missing or bad."""
    disk = folder / "disk"
    shutil.rmtree(disk, ignore_errors=True)
    for name, content in left.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    disk.mkdir(exist_ok=True)
    log = disk / LOG
    config = config_of(1, signing_key=str(folder / "key"), anchor_every_s=1)
    journal = Journal(config, Destinations(log))
    if (lost := taken - journal._store.head[0]) > 0:
        raise LimitBrokenError(f"{lost} of {taken} records are missing", lost=lost)
    seqs = [message.seq for message in journal._store.pending(0, 100_000)]
    assert seqs == list(range(1, len(seqs) + 1)), "messages are missing"
    journal.take([])
    journal.close()
    words = ["audit", str(log)]
    if any('"is":"Anchored"' in record.body for record in read_log(log)):
        words += ["--public-key", str(folder / "key.pub")]
    if taken and anchors_of(log).exists() and anchors_of(log).stat().st_size:
        words += ["--anchors", str(anchors_of(log))]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(words) == 0
    named = sum('"is":"EvidenceKept"' in record.body for record in read_log(log))
    there = sum(path.suffix == ".jpg" for path in folder_of(log).rglob("*"))
    if there < named:
        raise LimitBrokenError(f"{there} of {named} pictures", lost=named - there)


def run(most: int, seconds: float = math.inf, seed: int = 1, *, lies: bool = False) -> Done:
    """Cut the power at so many moments, three ways each, or until the time is over.

    AssertionError where something is lost, as with a disk that `lies` of having synced.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        changes = recorded(folder)
        of_the_table = [
            n for n, change in enumerate(changes) if not change[1].endswith(f"/{TAKEN}")
        ]
        moments = set(draw.sample(of_the_table, min(most, len(of_the_table))))
        disk, taken, tried, cuts = Disk(lies), 0, 0, 0
        ends_s = time.monotonic() + seconds
        for number, (operation, path, offset, data) in enumerate(changes):
            if path.endswith("/" + TAKEN):
                taken = int(data.split()[-1]) if operation == "write" else taken
                continue
            disk.change(operation, path, offset, data)
            if number not in moments or (cuts and time.monotonic() > ends_s):
                continue
            cuts += 1
            for how in ("none", "all", "some"):
                check(folder, dict(disk.left(how, draw)), taken)
                tried += 1
    syncs = sum(operation == "sync" for operation, *_ in changes)
    words = (
        f"{len(changes)} changes of the disk, {syncs} of them syncs: the power cut at "
        f"{cuts} of them, {tried} disks, everything taken was there on each"
    )
    return Done(tried, words)


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(Path(sys.argv[2]))
    else:
        print(run(int(sys.argv[1])).words)
