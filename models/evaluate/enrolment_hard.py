"""Whether enrolling a deck makes its hard looks worse: `python -m models.evaluate.enrolment_hard`.

Held-out decks are enrolled on a simulated table. Then hard crops of the same deck (covered, small,
blurred, dark, cut) are read without and with the deck file: how many are named at the bound of
`read`, how many of those wrongly, how many count as a look at a table, and how far what is said is
from what is found.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from itertools import islice
from pathlib import Path

import cv2
import numpy as np

from datasets.faces.registry import deck_names
from datasets.training.crops import NO_CARD, Truth, crops
from models.evaluate.classifier import Outcome, calibration_error
from models.evaluate.enrolment import house_of
from vision.inference.load import open_models
from vision.sight.detection.classifier import LEAST_READABLE, Classifier
from vision.sight.geometry.plane import Image

# Held-out decks, in the order in which they are taken.
DECKS = (
    "tideway", "gnome-plastic", "kde-standard", "meridian", "beacon", "gnome-tigullio",
)  # fmt: skip
# Seed of the hard crops: another one than any training's or other evaluation's.
SEED = 90_004
# Share of the cards whose signs are covered on purpose.
HIDDEN = 0.3
# Error up to which a look names a card: the bound of `shoe-reader read`.
BOUND = 0.02
# How many crops are read at a time.
AT_ONCE = 100


def hard_crops(deck: str, count: int) -> list[tuple[Image, Truth]]:
    """Return hard crops of a deck that show a face, and what can be seen of each."""
    made = crops(SEED, split="test", decks=(deck,), hidden=HIDDEN)
    return list(islice((pair for pair in made if pair[1].card < NO_CARD), count))


def outcome(classifier: Classifier, shown: list[tuple[Image, Truth]]) -> tuple[Outcome, int]:
    """Return what a classifier reads in crops, and how many count as looks."""
    observations = [
        look
        for start in range(0, len(shown), AT_ONCE)
        for look in classifier.of_crops([crop for crop, _ in shown[start : start + AT_ONCE]])
    ]
    read = Outcome(
        np.array([look.confidence for look in observations]),
        np.array([int(look.log_p.argmax()) for look in observations]),
        np.array([truth.card for _, truth in shown]),
    )
    return read, sum(look.readable >= LEAST_READABLE for look in observations)


def row(words: str, read: Outcome, counted: int) -> str:
    """Return a row of the table."""
    named = read.confidence >= 1 - BOUND
    wrong = int((named & ~read.right).sum())
    return (
        f"| {words} | {len(read.read)} | {int(named.sum())} | {wrong} | {counted} "
        f"| {calibration_error(read):.2%} |"
    )


def main() -> None:
    """Enrol, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decks", nargs="+", default=DECKS, choices=deck_names("test"))
    parser.add_argument("--crops", type=int, default=1_000)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    models = open_models(threads=1)
    print("| deck | hard crops | named | wrong | looks that count | calibration error |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.decks:
            with contextlib.redirect_stdout(sys.stderr):
                house = house_of(name, models, Path(folder))
            shown = hard_crops(name, arguments.crops)
            for words, classifier in (("before", models.classifier), ("after", house.classifier)):
                print(row(f"{name}, {words}", *outcome(classifier, shown)), flush=True)


if __name__ == "__main__":
    main()
