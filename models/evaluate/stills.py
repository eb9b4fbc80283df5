"""Measure what `shoe-reader read` names in drawn stills: `python -m models.evaluate.stills`.

The stills come from decks, backs, tables and seeds that training never saw. A card is found where
an outline lies on it, and named right where that has its name; a name that lies on no card called
so is wrong. `--overlaps` draws pairs, stairs, fans and heaps of cards, as many of each, and counts
them apart. `--grid N` joins N x N stills into one picture: small cards in a large one.
`--split train` draws stills to tune on.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from datasets.dealing.simulate import picture_size
from datasets.training.arrange import OVERLAPS
from datasets.training.scene import Label, Still, overlaps, stills
from vision.inference.load import for_pictures
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import overlap
from vision.sight.stills.reader import StillCard, read_still

# Seed of the held-out stills: another one than any training's.
SEED = 80_001
# The error bound of `shoe-reader read`.
BOUND = 0.02
# A name belongs to the card that its outline overlaps by this share (of both together); a card is
# found where an outline, read or not, overlaps it by the greater one.
LEAST_OVERLAP, LEAST_FOUND = 0.3, 0.6
# Cards with less in sight or narrower than this, px, are not counted.
LEAST_VISIBLE, LEAST_PX = 0.15, 20
# Classes of the card's width and of the share in sight, from each of these up.
WIDTHS_PX = (20, 35, 60, 120)
SHARES = (0.15, 0.3, 0.5, 0.7, 0.98)


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


def bands_of(label: Label, style: str) -> tuple[str, ...]:
    """Return the rows of the table in which a card counts."""
    width = float(np.linalg.norm(label.quad[1] - label.quad[0]))
    if label.kind != Kind.FACE or label.visible < LEAST_VISIBLE or width < LEAST_PX:
        return ()
    wide = max(w for w in WIDTHS_PX if w <= width)
    share = f"from {max(s for s in SHARES if s <= label.visible):.0%} in sight"
    return (f"from {wide} px", share, *([style, f"{style}, {share}"] if style else []), "all")


def count(
    labels: list[Label], read: tuple[StillCard, ...], tally: Counter[str], style: str = ""
) -> None:
    """Add the cards of a still: how many are found, named right and named wrong."""
    named = [card for card in read if card.card]
    for label in labels:
        found = max((overlap(card.quad, label.quad) for card in read), default=0.0) >= LEAST_FOUND
        right = any(lies_on(card, label) for card in named)
        for band in bands_of(label, style):
            tally[band] += 1
            tally[f"{band} found"] += found
            tally[f"{band} right"] += right
    for card in named:
        if any(lies_on(card, label) for label in labels):
            continue
        tally["wrong names"] += 1
        on = max(labels, key=lambda label: overlap(card.quad, label.quad), default=None)
        if on is not None and overlap(card.quad, on.quad) >= LEAST_OVERLAP:
            for band in bands_of(on, style):
                tally[f"{band} wrong"] += 1


def table(tally: Counter[str], styles: list[str]) -> str:
    """Return the table in Markdown."""
    shares = [f"from {share:.0%} in sight" for share in SHARES]
    bands = [*(f"from {wide} px" for wide in WIDTHS_PX), *shares]
    for style in filter(None, styles):
        bands += [*(f"{style}, {share}" for share in shares), style]
    rows = ["| cards | | found | named right | named wrong |", "|---|---|---|---|---|"]
    for band in [*bands, "all"]:
        of = tally[band]
        found, right, wrong = (tally[f"{band} {what}"] for what in ("found", "right", "wrong"))
        rows.append(
            f"| {band} | {of} | {found} ({found / max(of, 1):.1%}) "
            f"| {right} ({right / max(of, 1):.1%}) | {wrong} |"
        )
    return "\n".join(rows)


def shown_of(style: str, seed: int, split: str, size: tuple[int, int]) -> Iterator[Still]:
    """Yield the stills of a style of overlap, or of cards anywhere."""
    if style:
        return overlaps(seed, split=split, size=size, style=style)
    return stills(seed, split=split, size=size)


def main() -> None:
    """Read the stills and print what was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stills", type=int, default=40, help="of each style, with --overlaps")
    parser.add_argument("--grid", type=int, default=1)
    parser.add_argument("--size", type=picture_size, default=(1280, 960), metavar="WxH")
    parser.add_argument("--overlaps", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED, help="another one to choose by")
    parser.add_argument("--split", choices=("train", "test"), default="test")
    parser.add_argument("--detector", type=Path, metavar="ONNX")
    parser.add_argument("--classifier", type=Path, metavar="ONNX")
    arguments = parser.parse_args()
    if min(arguments.stills, arguments.grid) < 1:
        parser.error("--stills and --grid: at least one")
    cv2.setNumThreads(1)
    paths = {"detector": arguments.detector, "classifier": arguments.classifier}
    models = for_pictures(paths, threads=1)
    tally, seconds = Counter[str](), 0.0
    styles = list(OVERLAPS) if arguments.overlaps else [""]
    for style in styles:
        shown = shown_of(style, arguments.seed, arguments.split, arguments.size)
        for _ in range(arguments.stills):
            still = joined(shown, arguments.grid)
            begun = time.process_time()
            read = read_still(models, still.image, bound=BOUND)
            seconds += time.process_time() - begun
            count(list(still.labels), read, tally, style)
    print(table(tally, styles))
    per_still = seconds / (arguments.stills * len(styles))
    print(f"\n{tally['wrong names']} wrong names in all; {per_still:.2f} s a picture")


if __name__ == "__main__":
    main()
