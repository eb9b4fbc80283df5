"""Measure what `shoe-reader read` names in drawn stills: `python -m models.evaluate.stills`.

The stills come from decks, backs, tables and seeds that training never saw. A card is named right
where an outline with its name lies on it; a name that lies on no card called so is false.
`--grid N` joins N x N stills into one picture: small cards in a large one. `--passes P` takes the
first P passes of the detector only, `--fast` the files in 8 bits, as `read --fast` does.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import cv2
import numpy as np

from datasets.dealing.simulate import picture_size
from datasets.training.scene import Label, Still, stills
from vision.inference.load import for_pictures
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import overlap
from vision.sight.stills.reader import PASSES, StillCard, read_still

# Seed of the held-out stills: another one than any training's.
SEED = 80_001
# The error bound of `shoe-reader read`.
BOUND = 0.02
# A name belongs to the card that its outline overlaps by this share (of both together).
LEAST_OVERLAP = 0.3
# Cards with less in sight or narrower than this, px, are not counted.
LEAST_VISIBLE, LEAST_PX = 0.15, 20
# Classes of the card's width and of the share in sight, from each of these up.
WIDTHS_PX = (20, 35, 60, 120)
SHARES = (0.15, 0.5, 0.98)


def lies_on(card: StillCard, label: Label) -> bool:
    """Whether a named card is one that is there."""
    return str(card.card) == label.card and overlap(card.quad, label.quad) >= LEAST_OVERLAP


def joined(shown: Iterator[Still], grid: int) -> Still:
    """Return grid x grid stills as one."""
    parts = list(itertools.islice(shown, grid * grid))
    height, width = parts[0].image.shape[:2]
    rows = [
        np.hstack([part.image for part in parts[i : i + grid]]) for i in range(0, len(parts), grid)
    ]
    labels = [
        replace(
            label,
            quad=label.quad + np.array((width * (i % grid), height * (i // grid)), np.float32),
        )
        for i, part in enumerate(parts)
        for label in part.labels
    ]
    return Still(np.vstack(rows), tuple(labels))


def count(labels: list[Label], read: tuple[StillCard, ...], tally: Counter[str]) -> None:
    """Add the cards of a still, the right names and the false ones."""
    named = [card for card in read if card.card]
    tally["false names"] += sum(not any(lies_on(card, label) for label in labels) for card in named)
    for label in labels:
        width = float(np.linalg.norm(label.quad[1] - label.quad[0]))
        if label.kind != Kind.FACE or label.visible < LEAST_VISIBLE or width < LEAST_PX:
            continue
        wide = max(w for w in WIDTHS_PX if w <= width)
        share = max(s for s in SHARES if s <= label.visible)
        for band in (f"from {wide} px", f"from {share:.0%} in sight", "all"):
            tally[band] += 1
            tally[f"{band} right"] += any(lies_on(card, label) for card in named)


def main() -> None:
    """Read the stills and print what was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stills", type=int, default=40)
    parser.add_argument("--grid", type=int, default=1)
    parser.add_argument("--size", type=picture_size, default=(1280, 960), metavar="WxH")
    parser.add_argument("--passes", type=int, default=len(PASSES))
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.stills, arguments.grid, arguments.passes) < 1:
        parser.error("--stills, --grid and --passes: at least one")
    cv2.setNumThreads(1)
    models, tally, seconds = for_pictures(fast=arguments.fast, threads=1), Counter[str](), 0.0
    shown = stills(SEED, split="test", size=arguments.size)
    for _ in range(arguments.stills):
        still = joined(shown, arguments.grid)
        begun = time.process_time()
        read = read_still(models, still.image, bound=BOUND, passes=PASSES[: arguments.passes])
        seconds += time.process_time() - begun
        count(list(still.labels), read, tally)
    bands = [f"from {w} px" for w in WIDTHS_PX] + [f"from {s:.0%} in sight" for s in SHARES]
    for band in [*bands, "all"]:
        right, cards = tally[f"{band} right"], tally[band]
        print(f"{band:20}{cards:6} cards{right:6} named right  {right / max(cards, 1):.1%}")
    per_still = seconds / arguments.stills
    print(f"{tally['false names']} names that are not there; {per_still:.2f} s a picture")


if __name__ == "__main__":
    main()
