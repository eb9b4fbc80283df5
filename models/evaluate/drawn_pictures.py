"""Make the pictures of `deploy/following.md` that show how cards are followed.

`python -m models.evaluate.drawn_pictures` deals a film with the simulator, reads it as `shoe-reader
run --draw` does, and keeps of all drawn pictures the one in which most cards are doing something,
and the one in which it is most open, beside other cards, what a run of sightings is.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2

from vision.app.reader import TableReader
from vision.app.run_log import Destinations
from vision.config.table import load
from vision.game.outputs import Output
from vision.sight.drawing import Drawing, SightView, output_words
from vision.sight.geometry.plane import Frame, Image, TableView
from vision.wire.session import Step

FOLDER = Path(__file__).parents[2] / "deploy" / "img"
# JPEG quality, 0 to 100: letters stay sharp, and a picture takes about 120 kB.
QUALITY = 82


class Silent:
    """Follows a run and says nothing."""

    def take(self, step: Step) -> None:
        """Take a step."""


class Chooser:
    """Draws every picture, and keeps the best one for each question; `best` is by file name."""

    def __init__(self, view: TableView) -> None:
        self._drawing = Drawing(view)
        self._said: list[Output] = []
        self._score: dict[str, float] = {}
        self.best: dict[str, Image] = {}

    def take(self, step: Step) -> None:
        """Take what a step came to."""
        self._said += step.outputs

    def show(self, frame: Frame, seen: SightView | None) -> None:
        """Draw a picture, and keep it where it is the best so far."""
        reported, self._said = self._said, []
        lines = [line for output in reported for line in output_words(output)]
        picture = self._drawing(frame, seen, lines)
        if seen is None or seen.at != frame.at:
            return
        scores = {
            "following-cards.jpg": len(seen.cards) + 0.5 * min(2, len(seen.hands)),
            "following-odds.jpg": openness(seen) * (1 + len(seen.cards)),
        }
        for name, score in scores.items():
            if score > self._score.get(name, 0.0):
                self._score[name], self.best[name] = score, picture


def openness(seen: SightView) -> float:
    """Return how open it is how the coup lies: the entropy of its layouts in bits."""
    return -sum(p * math.log2(p) for _, p in seen.layouts if p > 0)


def main() -> None:
    """Deal, read, choose and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--pace", type=float, default=1.8, help="speed of the dealer: a quick one")
    parser.add_argument("--coups", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "vision.cli", "simulate", str(folder), "--quiet",
             "--seed", str(arguments.seed), "--coups", str(arguments.coups),
             "--dealing", "face-down", "--fault-every", "1", "--pace", str(arguments.pace),
             "--size", "960x540", "--fps", "12"],
            check=True,
        )  # fmt: skip
        config = load(folder / "table.toml")
        chooser = Chooser(config.view.table_view())
        logged = Destinations(folder / "log.sqlite", publish=False)
        reader = TableReader(config, logged, Silent(), speed=0.0)
        reader.show_to(chooser)
        reader.run()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for file, picture in chooser.best.items():
        encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1]
        (arguments.out / file).write_bytes(encoded.tobytes())
        print(arguments.out / file)


if __name__ == "__main__":
    main()
