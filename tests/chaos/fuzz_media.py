"""Random and mutated pictures, video files and models: no crash, no hang, no accepted nonsense.

    python -m tests.chaos.fuzz_media --images 90000 --videos 8000 --models 2000

Each kind is tried by a process of its own, which says the number of a case before it tries it: one
that dies or does not go on is named, with the seed that makes it again.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from tests.chaos.outcome import Done, LimitBrokenError
from vision.camera import decoding
from vision.errors import ShoeReaderError
from vision.inference.load import load_model, packaged
from vision.pictures import open_picture
from vision.sight.geometry.plane import Frame

HANG_S = 60.0
SIZE = (96, 64)
SUFFIXES = (".png", ".jpg", ".webp", ".bmp", ".tiff")
VIDEOS = ((".mp4", "mp4v"), (".avi", "MJPG"), (".mkv", "mp4v"))


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return noise, or the data with bytes changed, cut off, put in, doubled or taken out."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(2 * len(data) if len(data) < 4000 else 4000))
    out = bytearray(data)
    place = rng.randrange(len(out))
    if kind == 1:
        return bytes(out[:place])
    length = rng.randrange(1, 64)
    if kind == 2:
        out[place:place] = rng.randbytes(length)
    elif kind == 3:
        del out[place : place + length]
    elif kind == 4:
        out[place:place] = out[rng.randrange(len(out)) :][:4096]
    else:
        # Half of them near the beginning, where sizes and offsets stand.
        for _ in range(rng.randrange(1, 12)):
            reach = len(out) if rng.random() < 0.5 else min(len(out), 256)
            out[rng.randrange(reach)] = rng.randrange(256)
    return bytes(out)


def picture(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return a small picture with edges and noise."""
    image = np.random.default_rng(seed).integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)
    cv2.rectangle(image, (20, 10), (50, 50), (240, 240, 240), -1)
    return image


def pictures() -> list[tuple[str, bytes]]:
    """Return one good picture of each format."""
    return [(s, bytes(cv2.imencode(s, picture(1))[1].tobytes())) for s in SUFFIXES]


def videos(folder: Path) -> list[tuple[str, bytes]]:
    """Return one good video of each format."""
    found = []
    for suffix, code in VIDEOS:
        path = folder / f"good{suffix}"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*code), 25, SIZE)
        for number in range(8):
            writer.write(picture(number))
        writer.release()
        found.append((suffix, path.read_bytes()))
    return found


def try_picture(path: Path) -> str:
    """Read a picture as `read` and as a folder does; return what came of it."""
    image = open_picture(path)
    try:
        (seen,) = decoding.pictures([path])
    except ShoeReaderError:
        return "refused"
    assert image is not None
    assert image.dtype == np.uint8
    assert isinstance(seen.pixels, np.ndarray)
    assert seen.pixels.shape == image.shape
    assert image.ndim == 3
    return "accepted"


def try_video(path: Path) -> str:
    """Read a video to its end, or to the words that say why not; return what came of it."""
    shots = 0
    try:
        for pixels, _ in decoding.video(path, decoding.open_video(path)):
            if isinstance(pixels, decoding.Lack):
                continue
            assert Frame(pixels, 0, shots).image.ndim == 3
            shots += 1
            if shots > 100_000:
                raise AssertionError("a video without end")
    except ShoeReaderError:
        return "refused" if not shots else "read in part, and said so"
    return "accepted"


def try_model(path: Path) -> str:
    """Load a model whose card is another's, and then with a card that vouches for it."""
    card = path.with_suffix(".toml")
    true = packaged("classifier")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    genuine = digest == hashlib.sha256(true.read_bytes()).hexdigest()
    card.write_bytes(true.with_suffix(".toml").read_bytes())
    try:
        load_model(path, threads=1)
        assert genuine, "a model that is not the measured one was accepted"
    except ShoeReaderError:
        pass
    card.write_text(f'sha256 = "{digest}"\nlabels = []\n', "utf-8")
    try:
        load_model(path, threads=1)
    except ShoeReaderError:
        return "refused"
    return "accepted with a forged card only"


def kinds(folder: Path) -> dict[str, tuple[list[tuple[str, bytes]], Callable[[Path], str]]]:
    """Return what can be tried: the good files, and how one is tried."""
    return {
        "images": (pictures(), try_picture),
        "videos": (videos(folder), try_video),
        "models": ([(".onnx", packaged("classifier").read_bytes())], try_model),
    }


def work(kind: str, start: int, count: int) -> None:
    """Try cases and say each: its number before, what came of it after."""
    # Libraries under test print where they like: what is said here goes by a way of its own.
    reported = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        good, attempt = kinds(folder)[kind]
        for number in range(start, start + count):
            print(number, end=" ", file=reported, flush=True)
            rng = random.Random(f"{kind} {number}")
            suffix, data = good[number % len(good)]
            path = folder / f"case{suffix}"
            path.write_bytes(mutated(data, rng))
            print(attempt(path), file=reported, flush=True)


@dataclass(slots=True)
class Outcome:
    """What came of the cases of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def fuzz(kind: str, count: int, start: int = 0, seconds: float = math.inf) -> Outcome:
    """Try so many cases, or until the time is over; one that kills or stops it is a fault."""
    outcome, at = Outcome(), start
    ends_s = time.monotonic() + seconds
    while at < start + count and time.monotonic() < ends_s:
        command = [sys.executable, "-m", "tests.chaos.fuzz_media", "--worker", kind]
        command += ["--start", str(at), "--count", str(start + count - at)]
        last = at
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            for line in _lines(process):
                number, _, words = line.partition(" ")
                last = int(number)
                if words.strip():
                    outcome.counts[words.strip()] += 1
                    at = last + 1
                if time.monotonic() > ends_s:
                    break
            process.kill()
            process.communicate()
            errors.seek(0)
            error = errors.read().decode(errors="replace").strip().splitlines()[-1:]
        if at < start + count and time.monotonic() < ends_s:
            outcome.faults.append(f"{kind} {last}: exit {process.returncode} {error}")
            at = last + 1
    return outcome


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield what a worker says, half a line at the end too, until it ends or is silent too long."""
    assert process.stdout is not None
    rest = ""
    while select.select([process.stdout], [], [], HANG_S)[0]:
        printed = os.read(process.stdout.fileno(), 1 << 16).decode()
        if not printed:
            break
        *lines, rest = (rest + printed).split("\n")
        yield from lines
    if rest:
        yield rest


def main() -> None:
    """Fuzz and print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, count in (("images", 90_000), ("videos", 8_000), ("models", 2_000)):
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help="the first case")
    parser.add_argument("--count", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.start, args.count)
        return
    counts = {kind: getattr(args, kind) for kind in ("images", "videos", "models")}
    print(run(counts, args.start))


def run_one(kind: str, count: int, seconds: float) -> Done:
    """Fuzz so many of one kind, or until the time is over; LimitBrokenError for a fault."""
    outcome = fuzz(kind, count, seconds=seconds)
    reported = ", ".join(f"{number} {words}" for words, number in outcome.counts.most_common())
    if outcome.faults:
        raise LimitBrokenError("\n".join(outcome.faults[:20]), wrong=len(outcome.faults))
    return Done(outcome.counts.total(), reported)


def run(counts: dict[str, int], start: int = 0) -> str:
    """Fuzz so many of each kind; return a line for each; AssertionError if there was a fault."""
    lines, faults = [], []
    for kind, count in counts.items():
        began = time.monotonic()
        outcome = fuzz(kind, count, start)
        seconds = time.monotonic() - began
        reported = ", ".join(f"{number} {words}" for words, number in outcome.counts.most_common())
        lines.append(f"{kind}: {reported}; {len(outcome.faults)} faults; {seconds:.0f} s")
        faults += outcome.faults
    assert not faults, "\n".join([*lines, *itertools.islice(faults, 20)])
    return "\n".join(lines)


if __name__ == "__main__":
    main()
