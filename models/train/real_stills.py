"""Pieces of labelled photographs, with outlines, to be mixed with the drawn ones for the detector.

Photographs of cards that lie on one another are few: cards cut out of some are laid on others.

The labels have upright boxes only; the outlines are what `read` finds, and a photograph is taken
only where it reads each labelled card right, and nothing else. Only photographs whose licence
allows weights that ship may come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.faces.glyphs import rounded_mask
from datasets.faces.sprites import Levels
from datasets.render.paint import inks, lay, pyramid, shadow
from datasets.render.table_print import turned
from models.train.real_photographs import agreement, labels_of
from vision.inference.load import ModelSet
from vision.sight.geometry.plane import Image, Points, rectify
from vision.sight.stills.reader import StillCard, read_still

# The error bound of `shoe-reader read`.
BOUND = 0.02
# Labels are drawn by eye, some round the part in sight only.
LEAST_AGREEMENT = 0.4
COPIES = 12
CARD_PX = (24.0, 110.0)
# A card that is cut out, px, is larger than any piece shows it; so many are kept to be laid on
# others; a poker card, mm.
FACE_PX, KEPT, CARD_MM = (252, 352), 60, (63.0, 88.0)
# Its paper is as bright as this percentile of it, and is made as bright as that of the card below
# within these factors: beyond, colours clip.
PAPER, GAIN = 85, (0.4, 1.6)
# Longer side, px, of the mask in which is counted what of a card is in sight.
OWNED_PX = 800
# Share in sight from which a card has a label, as in drawn stills.
LEAST_VISIBLE = 0.12


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


class Overlay:
    """Lays cards cut out of photographs on the cards of others, as cards lie on one another."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._faces: list[tuple[Levels, NDArray[np.float64]]] = []

    def lay(self, image: Image, quads: Sequence[Points]) -> tuple[Image, list[Points]]:
        """Return the photograph with cards laid on its own, and the outlines of all in sight.

        Its own cards are kept, to be laid on those of photographs that come after it.
        """
        image, laid, edges = image.copy(), list(quads), image.shape[1::-1]
        own = [_cut_out(image, quad) for quad in quads]
        for quad, (_, white) in zip(quads, own, strict=True):
            for _ in range(int(self._rng.choice([0, 1, 1, 2])) if self._faces else 0):
                placed = self._place(quad)
                if (placed.min(axis=0) >= 0).all() and (placed.max(axis=0) <= edges).all():
                    self._lay(image, placed, white)
                    laid.append(placed)
        self._faces = [*own, *self._faces][:KEPT]
        return image, in_sight(image, laid)

    def _place(self, quad: Points) -> Points:
        """Return the outline of a card that lies anywhere on another, in its perspective."""
        rng = self._rng
        way, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.1, 1.0)
        angle = rng.choice(
            [rng.normal(0, 0.15), np.pi / 2 + rng.normal(0, 0.1), rng.uniform(-3, 3)]
        )
        middle = far * np.array([np.cos(way), np.sin(way)]) * CARD_MM
        below = turned(CARD_MM, np.zeros(2), 0.0).astype(np.float32)
        matrix = cv2.getPerspectiveTransform(below, quad.astype(np.float32))
        corners = turned(CARD_MM, middle, angle).astype(np.float32)
        return np.asarray(cv2.perspectiveTransform(corners[None], matrix)[0], np.float32)

    def _lay(self, image: Image, quad: Points, white: NDArray[np.float64]) -> None:
        """Lay one of the cards kept there, its paper as bright as `white`, with its shadow."""
        rng = self._rng
        levels, its_white = self._faces[int(rng.integers(len(self._faces)))]
        soft = float(rng.uniform(0.3, 2.5) * np.linalg.norm(quad[1] - quad[0])) / CARD_MM[0]
        shadow(image, quad, soft=soft, strength=0.45, offset=rng.uniform(-1, 1, 2) * soft)
        gain = np.diag(np.clip(white / its_white, *GAIN))
        lay(image, levels, quad, tint=inks(np.column_stack([gain, np.zeros(3)])))


def _cut_out(image: Image, quad: Points) -> tuple[Levels, NDArray[np.float64]]:
    """Return a card of a photograph, ready to be laid, and the colour of its paper."""
    face = rectify(image, quad, FACE_PX)
    white = np.percentile(face.reshape(-1, 3), PAPER, axis=0).clip(1.0)
    return pyramid(np.dstack([face, rounded_mask(FACE_PX[1], FACE_PX[0])])), white


def in_sight(image: Image, quads: Sequence[Points]) -> list[Points]:
    """Return the outlines, the lowest first, of which enough is not covered by later ones."""
    scale = OWNED_PX / max(image.shape[:2])
    height, width = (round(side * scale) for side in image.shape[:2])
    owner = np.zeros((height, width), np.uint8)
    for number, quad in enumerate(quads, start=1):
        cv2.fillConvexPoly(owner, np.round(quad * scale).astype(np.int32), number)
    seen = np.bincount(owner.ravel(), minlength=len(quads) + 1)[1:]
    areas = [float(cv2.contourArea(quad)) * scale**2 for quad in quads]
    return [
        quad
        for quad, area, own in zip(quads, areas, seen, strict=True)
        if own >= LEAST_VISIBLE * area
    ]


def _warped(image: Image, matrix: np.ndarray, side: int) -> Image:
    """Return the piece; smoothed before it is made smaller, as a camera would."""
    scale = float(np.hypot(*matrix[0, :2]))
    if scale < 1:
        image = np.asarray(cv2.GaussianBlur(image, (0, 0), 0.4 / scale), np.uint8)
    piece = cv2.warpAffine(image, matrix, (side, side), borderValue=(114, 114, 114))
    return np.asarray(piece, np.uint8)
