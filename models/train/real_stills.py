"""Pieces of labelled photographs, with outlines, to be mixed with the drawn ones for the detector.

The labels have upright boxes only; the outlines are what `read` finds, and a photograph is taken
only where it reads each labelled card right, and nothing else. Only photographs whose licence
allows weights that ship may come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from models.train.real_photographs import agreement, labels_of
from vision.inference.load import ModelSet
from vision.sight.geometry.frame import Image, Points
from vision.sight.stills.reader import StillCard, read_still

# The error bound of `shoe-reader read`.
BOUND = 0.02
# Labels are drawn by eye, some round the part in sight only.
LEAST_AGREEMENT = 0.4
COPIES = 12
CARD_PX = (24.0, 110.0)


def outlined(
    folder: Path, models: ModelSet, part: slice = slice(None)
) -> Iterator[tuple[Image, list[Points]]]:
    """Yield photographs (H x W x 3, BGR) with the outlines (4 x 2 pixels) of all their cards.

    `folder` holds `images/` and `labels/`; `part` selects its pictures, in order.
    """
    for path in sorted((folder / "images").iterdir())[part]:
        image = cv2.imread(str(path))
        if image is None:
            continue
        picture = np.asarray(image, np.uint8)
        labels = labels_of(folder / "labels" / f"{path.stem}.txt", picture)
        named = [card for card in read_still(models, picture, bound=BOUND) if card.card]
        if len(named) == len(labels) and all(_read(label, named) for label in labels):
            yield picture, [card.quad for card in named]


def _read(label: tuple[int, tuple[float, float, float, float]], named: Sequence[StillCard]) -> bool:
    index, box = label
    return any(
        card.card is not None
        and card.card.index == index
        and agreement(card.quad, box) >= LEAST_AGREEMENT
        for card in named
    )


def views(
    rng: np.random.Generator, image: Image, quads: Sequence[Points], side: int
) -> Iterator[tuple[Image, list[Points]]]:
    """Yield square pieces of a photograph, turned and scaled at random, with their outlines.

    What lies outside the photograph is grey, as the letterbox is.
    """
    wide = float(np.median([np.linalg.norm(quad[1] - quad[0]) for quad in quads]))
    for _ in range(COPIES):
        scale = float(np.exp(rng.uniform(*np.log(CARD_PX)))) / wide
        centre = rng.permutation(np.asarray(quads))[0].mean(axis=0)
        centre = centre + rng.normal(0, side / 5 / scale, 2)
        matrix = cv2.getRotationMatrix2D(
            (float(centre[0]), float(centre[1])), float(rng.uniform(0, 360)), scale
        )
        matrix[:, 2] += side / 2 - centre
        turned = [cv2.transform(quad[None], matrix)[0].astype(np.float32) for quad in quads]
        yield _warped(image, matrix, side), turned


def _warped(image: Image, matrix: np.ndarray, side: int) -> Image:
    """Return the piece; smoothed before it is made smaller, as a camera would."""
    scale = float(np.hypot(*matrix[0, :2]))
    if scale < 1:
        image = np.asarray(cv2.GaussianBlur(image, (0, 0), 0.4 / scale), np.uint8)
    piece = cv2.warpAffine(image, matrix, (side, side), borderValue=(114, 114, 114))
    return np.asarray(piece, np.uint8)
