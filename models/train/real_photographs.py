"""Crops out of labelled photographs, to be mixed with the drawn ones when the classifier trains.

A label is a class number and the upright box of the whole card; the outline is found by the shipped
detector and corner finder, and a card is taken only where the two agree. Only photographs whose
licence allows weights that ship may come here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from datasets.training.crops import Truth
from datasets.training.signs import Sight
from vision.game.cards import RANK_LETTERS, SUIT_LETTERS, Card
from vision.inference.load import ModelSet
from vision.sight.detection.classifier import CROP_SIZE
from vision.sight.detection.detector import Kind
from vision.sight.geometry.plane import Image, Points, rectify
from vision.sight.stills.proposals import passes_for

# An outline is taken where it overlaps the label by this share (of both together).
LEAST_AGREEMENT = 0.7
# Crops made of each card, each with other corners.
COPIES = 8
# How far the corners of a crop are off, in card widths (standard deviation).
LOOSE = 0.015
# A card may be covered where another label's box takes more than this share of its own.
APART = 0.02
# Threshold of the detector: low, since the label confirms what it finds.
THRESHOLD = 0.1

Box = tuple[float, float, float, float]


def crops_of(folder: Path, models: ModelSet) -> Iterator[tuple[Image, Truth]]:
    """Yield several crops (136 x 96 x 3, BGR) of every card that is found, and what they show.

    Of a card that others may cover, it is not known whether its signs can be seen. `folder` holds
    `images/` and `labels/` (YOLO text: class, centre, size as shares).
    """
    rng = np.random.default_rng(1)
    for path in sorted((folder / "images").iterdir()):
        image = cv2.imread(str(path))
        if image is None:
            continue
        picture = np.asarray(image, np.uint8)
        quads = [
            found.quad
            for size in passes_for(picture)
            for found in models.detector.outlined(
                picture, models.detector.boxes(picture, size, THRESHOLD)
            )
            if found.kind is Kind.FACE
        ]
        labels = labels_of(folder / "labels" / f"{path.stem}.txt", picture)
        for card, box in labels:
            agreeing = [(agreement(q, box), number) for number, q in enumerate(quads)]
            best, number = max(agreeing, default=(0.0, -1))
            if best < LEAST_AGREEMENT:
                continue
            alone = all(covered_share(box, other) <= APART for _, other in labels if other != box)
            sight = Sight.CLEAR if alone else Sight.DOUBT
            for _ in range(COPIES):
                crop = rectify(picture, loosened(rng, quads[number]), CROP_SIZE)
                yield crop, Truth(card, sight, sight)


def labels_of(path: Path, picture: Image) -> list[tuple[int, Box]]:
    """Return class numbers and boxes (left, top, right, bottom in pixels) of a label file."""
    height, width = picture.shape[:2]
    found = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        if line.strip():
            number, x, y, w, h = (float(part) for part in line.split()[:5])
            rank, suit = divmod(int(number), 4)
            card = Card.parse(RANK_LETTERS[rank] + SUIT_LETTERS[suit]).index
            box = (
                (x - w / 2) * width,
                (y - h / 2) * height,
                (x + w / 2) * width,
                (y + h / 2) * height,
            )
            found.append((card, box))
    return found


def covered_share(box: Box, other: Box) -> float:
    """Return the share of a box that another one takes."""
    across = min(box[2], other[2]) - max(box[0], other[0])
    down = min(box[3], other[3]) - max(box[1], other[1])
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1.0)
    return max(across, 0.0) * max(down, 0.0) / area


def agreement(quad: Points, box: Box) -> float:
    """Return the intersection over union of a box and the upright box round a quad."""
    left, top = quad.min(axis=0)
    right, bottom = quad.max(axis=0)
    across = min(right, box[2]) - max(left, box[0])
    down = min(bottom, box[3]) - max(top, box[1])
    if across <= 0 or down <= 0:
        return 0.0
    both = (right - left) * (bottom - top) + (box[2] - box[0]) * (box[3] - box[1])
    return float(across * down / (both - across * down))


def loosened(rng: np.random.Generator, quad: Points) -> Points:
    """Return the quad moved a little, either end up."""
    wide = float(np.linalg.norm(quad[1] - quad[0]))
    moved = quad + rng.normal(0, LOOSE, (4, 2)) * wide + rng.normal(0, LOOSE, 2) * wide
    return np.roll(moved, 2 * int(rng.integers(2)), axis=0).astype(np.float32)
