"""Reads films as a machine sees them that is too slow: `python -m tests.chaos.rare_looks`.

The films of `tests.chaos.tables` (dealt first, if they are not there) are read without waiting, but
only pictures that are as far apart as `--apart` says, by chance, as where many tables share two
cores. Prints how many coups came out as dealt, were held, or were wrong; exit status 1 if one was
wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.chaos.tables import FILMS, FPS, as_dealt, deal
from vision import cli
from vision.app import reader
from vision.app.pipeline import SightPipeline, SightSupervisor
from vision.camera import source
from vision.camera.decoding import Decoded, Lack, Pace, Shot
from vision.config.table import WatchSection
from vision.inference.load import SelfTest
from vision.sight.geometry.plane import Frame
from vision.storage.log_reader import message_lines

APART_S = ((0.2, 0.42), (0.5, 0.9), (0.8, 1.0), (0.9, 1.45))
EVERY_S = 25.0  # of the films: a coup begins so often
FOR_EVER_S = 1e6


def thinned(
    rng: Random, apart: tuple[float, float]
) -> Callable[[Iterator[Decoded], Path, Pace], Iterator[Shot]]:
    """Return what gives only pictures of a film that are so far apart, in seconds."""

    def paced(shown: Iterator[Decoded], _path: Path, pace: Pace) -> Iterator[Shot]:
        free_s, skipped = 0.0, 0
        for index, (pixels, _) in enumerate(shown):
            if index / FPS < free_s or isinstance(pixels, Lack):
                skipped += 1
                continue
            free_s = index / FPS + rng.uniform(*apart)
            yield Shot(Frame(pixels, pace.at(index / FPS), index), time.monotonic(), skipped)
            skipped = 0

    return paced


def as_live(
    pipeline: SightPipeline, self_test: SelfTest | None, watch: WatchSection, *, live: bool
) -> SightSupervisor:
    """Return what supervises a live camera, though it is a film and may take as long as it does."""
    assert not live
    patient = {"models_stall_s": FOR_EVER_S, "models_give_up_s": FOR_EVER_S}
    return SightSupervisor(pipeline, self_test, watch.model_copy(update=patient), live=True)


def read(film: Path, apart: tuple[float, float], seed: int) -> Counter[str]:
    """Read a film with pictures so far apart; return how its coups came out."""
    text = (film / "table.toml").read_text("utf-8")
    text = re.sub(r"(?m)^source = .*", f'source = "{(film / "deal.mp4").resolve()}"', text)
    with tempfile.TemporaryDirectory() as name:
        path, log = Path(name) / "table.toml", Path(name) / "run.sqlite"
        path.write_text(text, "utf-8")
        with (
            patch.object(source, "paced", thinned(Random(seed), apart)),
            patch.object(reader, "SightSupervisor", as_live),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            status = cli.main(["run", str(path), "--fast", "--no-broker", "--log", str(log)])
        assert status == 0
        lines = [json.loads(line) for line in message_lines(log)]
    results = [each["payload"] for each in lines if each["topic"].endswith("coup/result")]
    newest = {each["coup"]: each for each in results}
    truth = json.loads((film / "truth.json").read_text("utf-8"))["coups"]
    return judged(truth, [newest[number] for number in sorted(newest)])


def judged(truth: Sequence[dict[str, Any]], reported: Sequence[dict[str, Any]]) -> Counter[str]:
    """Return how coups were said to end; one is wrong if no coup since the last right one did.

    Where two coups were taken for one, those after them have other numbers.
    """
    counts, left = Counter(absent=max(0, len(truth) - len(reported))), list(truth)
    for each in reported:
        fits = [index for index, coup in enumerate(left) if as_dealt(coup, each) == "right"]
        if each["winner"] is None:
            counts["held"] += 1
        elif fits:
            counts["right"] += 1
            del left[: fits[0] + 1]
        else:
            counts["wrong"] += 1
    return counts


def main() -> int:
    """Read the films at each distance, and print a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--films", type=Path, default=Path("out/films"), metavar="DIR", help="kept (out/films)"
    )
    parser.add_argument(
        "--apart", type=float, nargs=2, action="append", metavar=("FROM", "TO"), help="seconds"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the chance (1)")
    arguments = parser.parse_args()
    films = [deal(arguments.films, number, EVERY_S) for number in range(FILMS)]
    wrong = 0
    print("looks apart s  right  held  wrong  absent", flush=True)
    for low, high in arguments.apart or APART_S:
        outcomes: Counter[str] = Counter()
        for film in films:
            outcomes += read(film, (low, high), arguments.seed)
        counts = [outcomes[word] for word in ("right", "held", "wrong", "absent")]
        print(f"{low:5.2f} to {high:4.2f}  {counts[0]:5}  {counts[1]:4}  {counts[2]:5}  ", end="")
        print(f"{counts[3]:6}", flush=True)
        wrong += outcomes["wrong"]
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
