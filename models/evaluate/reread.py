"""What re-reading on a cluster costs and whether it stays exact: one process, workers, a kill.

`python -m models.evaluate.reread FOLDER [--films 8] [--coups 3]` deals the films into FOLDER, where
they are kept, and reads them in this process, then with two workers of which one is killed after
the first film, with two, and with one. It prints for each the seconds by the clock and of the
cores, and how many films gave the same messages byte for byte as in this process. Then they
are read once more with a classifier whose weights were spoilt until it misreads at least half
of clear cards, and compared with the reading before. On a machine with other work the seconds by
the clock mean little.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
from onnx import numpy_helper

from datasets.dealing.simulate import main as simulate
from datasets.training.crops import NO_CARD, crops
from datasets.training.signs import Sight
from models.evaluate.hard_crops import opened
from vision.floor.reread.cluster import Cluster, Pool, Results, here, own_workers
from vision.floor.reread.film import read_film
from vision.floor.reread.job import Progress, Reread, Rereading, recordings, summary, write_report
from vision.inference.load import packaged
from vision.sight.geometry.plane import Image

# Standard deviations of the noise that spoils a weight, as shares of the weights' own: the least is
# taken with which MISREAD of so many clear crops are read otherwise. Less, and nothing differs;
# more, and nothing is read at all.
NOISES = (0.5, 0.6, 0.7, 0.8, 1.0)
MISREAD, CROPS = 0.5, 300
# Seed of these crops: another one than any training's or other evaluation's.
SEED = 95_001

T = TypeVar("T")
R = TypeVar("R")


class Killing(Cluster):
    """A cluster of our own of which a worker is killed when the first film has come back."""

    killed = False

    def __call__(self, work: Callable[[T], R], tasks: Mapping[str, T]) -> Results[R]:
        """Do the work, and kill a worker after the first film."""
        for name, result in super().__call__(work, tasks):
            if work is read_film and not self.killed:
                self.killed = True
                with self._client() as client:
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


def read(urls: list[str], out: Path, pool: Pool) -> tuple[list[Reread], Progress]:
    """Read the films from nothing."""
    shutil.rmtree(out, ignore_errors=True)
    progress = Progress()
    found = Rereading(out, pool, progress).run(recordings(urls, None, None))
    write_report(out, found, progress.core_s)
    return found, progress


def messages(out: Path, found: list[Reread]) -> list[str]:
    """Return the digest of each film's messages; "" of one that was not read."""
    paths = [out / each.recording.name / "messages.jsonl" for each in found]
    return [hashlib.sha256(p.read_bytes()).hexdigest() if p.exists() else "" for p in paths]


def spoil(folder: Path) -> Path:
    """Write the packaged classifier, spoilt enough, and its card; print how much; return it."""
    target = folder / "spoilt.onnx"
    seen = [one for one in islice(crops(SEED, split="test"), 3 * CROPS) if is_clear(*one[1])]
    for noise in NOISES:
        write_spoilt(target, noise)
        misread = misread_by(target, seen[:CROPS])
        if misread >= MISREAD * CROPS:
            break
    print(f"noise of {noise:g} on the weights: {misread} of {CROPS} clear cards read otherwise")
    return target


def is_clear(card: int, rank: int, suit: int, *_: int) -> bool:
    """Whether a crop shows a card that anybody could read."""
    return card < NO_CARD and min(rank, suit) == Sight.CLEAR


def misread_by(model: Path, seen: Sequence[tuple[Image, tuple[int, ...]]]) -> int:
    """Return how many of the crops a classifier reads otherwise than they are."""
    looks = opened(model).of_crops([crop for crop, _ in seen])
    return sum(
        look.log_p.argmax() != truth[0] for look, (_, truth) in zip(looks, seen, strict=True)
    )


def write_spoilt(target: Path, noise: float) -> None:
    """Write the packaged classifier with noise on its weights, and its card."""
    source = packaged("classifier")
    model, dice = onnx.load(str(source)), np.random.default_rng(1)
    for tensor in model.graph.initializer:
        weights = numpy_helper.to_array(tensor)
        if weights.ndim > 1 and weights.dtype == np.float32:
            noisy = weights + dice.normal(0, noise * weights.std(), weights.shape)
            tensor.CopyFrom(numpy_helper.from_array(noisy.astype(np.float32), tensor.name))
    onnx.save(model, str(target))
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    card = source.with_suffix(".toml").read_text("utf-8")
    text = re.sub(r'^sha256 = ".*"$', f'sha256 = "{digest}"', card, flags=re.MULTILINE)
    target.with_suffix(".toml").write_text(text, "utf-8")


def with_spoilt(urls: list[str], folder: Path, said: list[Path]) -> list[str]:
    """Return the same films beside table files that name a spoilt classifier, and what was said."""
    model, found = spoil(folder), []
    for url, messages_file in zip(urls, said, strict=True):
        own = folder / "spoilt" / Path(url).parent.name
        own.mkdir(parents=True, exist_ok=True)
        text = (Path(url).parent / "table.toml").read_text("utf-8")
        (own / "table.toml").write_text(f'{text}\n[models]\nclassifier = "{model}"\n', "utf-8")
        film = own / "deal.mp4"
        film.unlink(missing_ok=True)
        film.symlink_to(Path(url).absolute())
        shutil.copy(messages_file, film.with_suffix(".jsonl"))
        found.append(str(film))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--films", type=int, default=8)
    parser.add_argument("--coups", type=int, default=3)
    args = parser.parse_args()
    urls = deal(args.folder, args.films, args.coups)
    print("| read by | seconds | core-seconds | films equal |")
    print("|---|---|---|---|")
    table = Table(urls, args.folder)
    before = table.row("this process", here)
    for name, workers, kind in (
        ("two, one killed", 2, Killing), ("two workers", 2, Cluster), ("one worker", 1, Cluster)
    ):  # fmt: skip
        with ExitStack() as closing:
            table.row(name, kind(own_workers(workers, closing)))
    said = [
        args.folder / "this-process" / each.recording.name / "messages.jsonl" for each in before
    ]
    found, _ = read(with_spoilt(urls, args.folder, said), args.folder / "after", here)
    for each in found:
        print(summary(each))


class Table:
    """Prints a row for each way of reading the films; the first one is what others must equal."""

    def __init__(self, urls: list[str], folder: Path) -> None:
        self._urls = urls
        self._folder = folder
        self._wanted: list[str] = []

    def row(self, name: str, pool: Pool) -> list[Reread]:
        """Read the films from nothing, print what it cost, and return what was read."""
        out = self._folder / re.sub(r"\W+", "-", name)
        began = time.monotonic()
        found, cost = read(self._urls, out, pool)
        took = time.monotonic() - began
        said = messages(out, found)
        self._wanted = self._wanted or said
        same = sum(a == b != "" for a, b in zip(said, self._wanted, strict=True))
        print(f"| {name} | {took:.0f} | {cost.core_s:.0f} | {same} of {len(said)} |", flush=True)
        return found


if __name__ == "__main__":
    main()
