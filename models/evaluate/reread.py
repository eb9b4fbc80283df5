"""What re-reading on a cluster costs and whether it stays exact: one process, workers, a kill.

`python -m models.evaluate.reread FOLDER [--films 8] [--coups 3]` deals the films into FOLDER, where
they are kept, and reads them in pieces: uncut, in this process, with one worker, with two, and with
two of which one is killed after the first piece. It prints for each the seconds by the clock and of
the cores, and how many films gave the same messages byte for byte as this process gave in pieces.
Then they are read once more with a classifier whose weights were spoilt, and compared with the
reading before. On a machine with other work the seconds by the clock mean little.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
from distributed import Client
from onnx import numpy_helper

from datasets.dealing.simulate import main as simulate
from vision.app.piece_reader import read_piece, reader_of
from vision.inference.load import packaged
from vision.reread.cluster import Cluster, Here, Pool, Results, own_workers
from vision.reread.progress import Progress
from vision.reread.recordings import recordings
from vision.reread.report import summary, write_report
from vision.reread.rereading import Reading, Reread, Rereading

# Length of a piece, in minutes: about a coup, so that short films are cut too. Longer pieces cost
# less, as each seeks its rest and reads some seconds twice.
MINUTES = 0.2
# Standard deviation of the noise that spoils a weight, as a share of the weights' own: enough for
# wrong reads, too little for none at all. Chosen by trying.
NOISE = 0.5

T = TypeVar("T")
R = TypeVar("R")


class Killing(Cluster):
    """A cluster of our own of which a worker is killed when the first piece has come back."""

    killed = False

    def run(self, work: Callable[[T], R], tasks: Mapping[str, T]) -> Results[R]:
        """Do the work, and kill a worker after the first piece."""
        for name, result in super().run(work, tasks):
            if work is read_piece and not self.killed:
                self.killed = True
                with Client(self._address, set_as_default=False) as client:
                    os.kill(max(client.run(os.getpid).values()), signal.SIGKILL)
            yield name, result


def deal(folder: Path, films: int, coups: int) -> list[str]:
    """Deal the films that are not there yet; return their paths."""
    for seed in range(1, films + 1):
        own = folder / f"table-{seed}"
        if not (own / "deal.mp4").exists():
            words = ["--coups", str(coups), "--seed", str(seed), "--fps", "10", "--quiet"]
            simulate([str(own), *words, "--size", "1280x720"])
    return [str(folder / f"table-{seed}" / "deal.mp4") for seed in range(1, films + 1)]


def read(
    urls: list[str], out: Path, pool: Pool, *, minutes: float, evening: Path | None = None
) -> tuple[list[Reread], Progress]:
    """Read the films from nothing."""
    shutil.rmtree(out, ignore_errors=True)
    progress = Progress()
    reading = Reading(read_piece, reader_of)
    found = Rereading(out, pool, reading, progress, minutes=minutes).run(
        recordings(urls, None, evening)
    )
    write_report(out, found, progress.cost())
    return found, progress


def messages(out: Path, found: list[Reread]) -> list[str]:
    """Return the digest of each film's messages; "" of one that was not read."""
    paths = [out / each.recording.name / "messages.jsonl" for each in found]
    return [hashlib.sha256(p.read_bytes()).hexdigest() if p.exists() else "" for p in paths]


def spoil(folder: Path) -> Path:
    """Write the packaged classifier with noise on its weights, and its card; return the model."""
    source, target = packaged("classifier"), folder / "spoilt.onnx"
    model, dice = onnx.load(str(source)), np.random.default_rng(1)
    for tensor in model.graph.initializer:
        weights = numpy_helper.to_array(tensor)
        if weights.ndim > 1 and weights.dtype == np.float32:
            noisy = weights + dice.normal(0, NOISE * weights.std(), weights.shape)
            tensor.CopyFrom(numpy_helper.from_array(noisy.astype(np.float32), tensor.name))
    onnx.save(model, str(target))
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    card = source.with_suffix(".toml").read_text("utf-8")
    text = re.sub(r'^sha256 = ".*"$', f'sha256 = "{digest}"', card, flags=re.MULTILINE)
    target.with_suffix(".toml").write_text(text, "utf-8")
    return target


def with_spoilt(urls: list[str], folder: Path) -> list[str]:
    """Return the same films with table files that name a spoilt classifier."""
    model, found = spoil(folder), []
    for url in urls:
        own = folder / "spoilt" / Path(url).parent.name
        own.mkdir(parents=True, exist_ok=True)
        text = (Path(url).parent / "table.toml").read_text("utf-8")
        (own / "table.toml").write_text(f'{text}\n[models]\nclassifier = "{model}"\n', "utf-8")
        film = own / "deal.mp4"
        film.unlink(missing_ok=True)
        film.symlink_to(Path(url).absolute())
        found.append(str(film))
    return found


def evenings(out: Path, found: list[Reread], folder: Path) -> Path:
    """Copy what was said of each film to where a re-reading looks for it; return the folder."""
    for each in found:
        own = folder / f"{each.recording.name}.jsonl"
        own.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(out / each.recording.name / "messages.jsonl", own)
    return folder


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--films", type=int, default=8)
    parser.add_argument("--coups", type=int, default=3)
    args = parser.parse_args()
    urls = deal(args.folder, args.films, args.coups)
    print("| read by | seconds | core-seconds | MB moved | pieces | films equal |")
    print("|---|---|---|---|---|---|")
    table = Table(urls, args.folder)
    table.row("this process, in pieces", Here())
    table.row("this process, uncut", Here(), minutes=0)
    for name, workers, kind in (
        ("one worker", 1, Cluster), ("two workers", 2, Cluster), ("two, one killed", 2, Killing)
    ):  # fmt: skip
        with ExitStack() as closing:
            table.row(name, kind(own_workers(workers, closing), patience_s=60, say=print))
    _second_opinion(urls, args.folder)


class Table:
    """Prints a row for each way of reading the films; the first one is what others must equal."""

    def __init__(self, urls: list[str], folder: Path) -> None:
        self._urls = urls
        self._folder = folder
        self._wanted: list[str] = []

    def row(self, name: str, pool: Pool, *, minutes: float = MINUTES) -> None:
        """Read the films from nothing, and print what it cost."""
        out = self._folder / re.sub(r"\W+", "-", name)
        began = time.monotonic()
        found, cost = read(self._urls, out, pool, minutes=minutes)
        took = time.monotonic() - began
        said = messages(out, found)
        self._wanted = self._wanted or said
        same = sum(a == b != "" for a, b in zip(said, self._wanted, strict=True))
        figures = f"{took:.0f} | {cost.core_s:.0f} | {cost.moved / 1e6:.0f} | {cost.total}"
        print(f"| {name} | {figures} | {same} of {len(said)} |", flush=True)


def _second_opinion(urls: list[str], folder: Path) -> None:
    before, _ = read(urls, folder / "before", Here(), minutes=0)
    said = evenings(folder / "before", before, folder / "evenings")
    after, _ = read(with_spoilt(urls, folder), folder / "after", Here(), minutes=0, evening=said)
    for each in after:
        print(summary(each))


if __name__ == "__main__":
    main()
