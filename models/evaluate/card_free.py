"""Cards seen where there is none: `python -m models.evaluate.card_free --pictures 2000`.

Pictures of held-out tables, things and hands without any card: chips, coasters, papers, phones,
painted slots and words; or, with `--photographs`, what lies beside the cards of labelled
photographs. Counted is what `shoe-reader read` gives, and what the detector of tables finds.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from datasets.render.paint import Image
from datasets.training.scene import SEED_FAMILY, bare
from models.evaluate.photographs import pictures as pictures_in
from models.train.real_photographs import labels_of
from vision.inference.load import ModelSet, for_pictures, open_models
from vision.pictures import open_picture
from vision.sight.detection.detector import Kind
from vision.sight.stills.reader import StillCard, read_still

# Seed of these pictures: another one than any training's.
SEED = 90_002
# Width and height of the pictures, px: a larger one with clutter takes seconds to read.
SIZE = (416, 312)
# The bound that `shoe-reader read` has by default.
BOUND = 0.02
# A part of a photograph is taken from this shorter side on, px; and this share of a card's box is
# left out around it, since labels are drawn by eye.
LEAST_SIDE, RIM = 120, 0.1


def pictures() -> Iterator[Image]:
    """Yield pictures without cards, for ever the same ones."""
    rng = np.random.default_rng([SEED_FAMILY["test"], 2, SEED])
    while True:
        yield bare(rng, size=SIZE, split="test").image


def beside_cards(folder: Path) -> Iterator[Image]:
    """Yield the largest part without a card of each photograph in a folder, if it is large enough.

    It lies left of all labelled cards, right of them, above or below.
    """
    for path in pictures_in(folder):
        image = open_picture(path)
        labels = [] if image is None else labels_of(folder / "labels" / f"{path.stem}.txt", image)
        if image is None or not labels:
            continue
        boxes = np.array([box for _, box in labels])
        rim = RIM * (boxes[:, 2:] - boxes[:, :2]).max(axis=0)
        (left, top), (right, bottom) = (
            np.maximum(boxes[:, :2].min(axis=0) - rim, 0).astype(int),
            np.ceil(boxes[:, 2:].max(axis=0) + rim).astype(int),
        )
        parts = (image[:, :left], image[:, right:], image[:top], image[bottom:])
        part = max(parts, key=lambda part: part.size)
        if min(part.shape[:2]) >= LEAST_SIDE:
            yield np.ascontiguousarray(part)


def kind_of(card: StillCard) -> str:
    """Return how a card is given: as which kind, and whether with a name."""
    if card.kind is Kind.BACK:
        return "backs"
    return "named faces" if card.card else "unread faces"


def count(shown: Iterator[Image], reading: ModelSet, table: ModelSet) -> dict[str, Counter[str]]:
    """Return how many cards of each kind are given, and in how many pictures any."""
    found = {"read": Counter[str](), "table": Counter[str]()}
    for image in shown:
        given = [kind_of(card) for card in read_still(reading, image, bound=BOUND)]
        seen = [f"{box.kind}s" for box in table.detector(image) if box.kind is not Kind.HAND]
        for name, kinds in (("read", given), ("table", seen)):
            found[name].update(kinds)
            found[name]["pictures without cards"] += 1
            found[name]["of these with any"] += bool(kinds)
    return found


def main() -> None:
    """Look at the pictures, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=200)
    parser.add_argument("--photographs", type=Path, help="a folder with images/ and labels/")
    parser.add_argument("--detector", type=Path, help="another detector, for both")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    reading = for_pictures({"detector": arguments.detector}, threads=1)
    table = open_models({"detector": arguments.detector}, threads=1)
    source = beside_cards(arguments.photographs) if arguments.photographs else pictures()
    found = count(itertools.islice(source, arguments.pictures), reading, table)
    for name, counts in found.items():
        words = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
        print(f"{name}: {words}")


if __name__ == "__main__":
    main()
