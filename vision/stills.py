"""Cards in a single picture, without a table: what `shoe-reader read` says.

One look decides, so the reader abstains below a stated confidence instead of waiting for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from vision.eyes import Eyes
from vision.game.cards import Card
from vision.sight.classifier import Look
from vision.sight.detector import Detection, Kind
from vision.sight.frame import Image, Points

# The first passes find cards that fill a picture, the others small cards in large pictures.
PASSES = (224, 416, 832, 1248)
# A lone picture is worth more time than a frame: weaker detections are looked at too, since what is
# no card is not readable either, and outlines are bettered twice.
THRESHOLD, CORNER_PASSES = 0.2, 2
# A card is 1.4 times as long as wide; an outline of less than this may be one that lies across.
NEARLY_SQUARE = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class StillCard:
    """A card in a picture; `card` is `None` where the reader declines or the back is up."""

    quad: Points
    kind: Kind
    card: Card | None
    confidence: float

    def as_json(self) -> dict[str, object]:
        """Return the card as `read --json` prints it; the quad in pixels, clockwise."""
        return {
            "card": str(self.card) if self.card else None,
            "face": "up" if self.kind is Kind.FACE else "down",
            "confidence": round(self.confidence, 4),
            "quad": [[round(float(x), 1), round(float(y), 1)] for x, y in self.quad],
        }


def passes_for(image: Image) -> tuple[int, ...]:
    """Return the detector sizes worth running on a picture: never far beyond its own size."""
    longest = max(image.shape[:2])
    return tuple(size for size in PASSES if size <= max(PASSES[0], 1.3 * longest))


def read_still(eyes: Eyes, image: Image, *, bound: float) -> tuple[StillCard, ...]:
    """Find and read the cards of a picture (H x W x 3, BGR).

    A face is named only if the probability of error is at most `bound` (0 to 1).
    The cut card is no playing card and is left out.
    """
    seen = eyes.detector(image, passes_for(image), threshold=THRESHOLD, corner_passes=CORNER_PASSES)
    found = [d for d in seen if d.kind is not Kind.CUT]
    faces = [d for d in found if d.kind is Kind.FACE]
    looks = dict(zip(map(id, faces), _from_both_ends(eyes, image, faces), strict=True))
    cards = []
    for detection in found:
        look = looks.get(id(detection))
        if look is None:
            cards.append(StillCard(detection.quad, detection.kind, None, detection.score))
            continue
        best = int(np.argmax(look.log_p))
        confidence = _confidence(look)
        card = Card.of(best) if confidence >= 1 - bound else None
        cards.append(StillCard(detection.quad, detection.kind, card, confidence))
    return tuple(cards)


def _from_both_ends(eyes: Eyes, image: Image, faces: Sequence[Detection]) -> list[Look]:
    """Return one look for each face, the mean of two: a card reads the same from both ends.

    Where it may as well lie across, it is read that way too, and the surer look counts.
    """
    quads = [face.quad for face in faces]
    turned = [quad for quad in quads if _nearly_square(quad)]
    found = _both_ends(eyes, image, [*quads, *(np.roll(quad, 1, axis=0) for quad in turned)])
    looks, others = found[: len(quads)], iter(found[len(quads) :])
    return [
        max(look, next(others), key=_confidence) if _nearly_square(quad) else look
        for quad, look in zip(quads, looks, strict=True)
    ]


def _both_ends(eyes: Eyes, image: Image, quads: Sequence[Points]) -> list[Look]:
    looks = eyes.classifier(image, [*quads, *(np.roll(quad, 2, axis=0) for quad in quads)])
    pairs = zip(looks[: len(quads)], looks[len(quads) :], strict=True)
    return [_mean(one, other) for one, other in pairs]


def _nearly_square(quad: Points) -> bool:
    """Whether it cannot be told which side of a card is the short one: it leans, or is cut off."""
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    return bool(edges[1] + edges[3] < NEARLY_SQUARE * (edges[0] + edges[2]))


def _confidence(look: Look) -> float:
    """Return how sure a look is of its best face, 0 to 1."""
    return look.readable * float(np.exp(look.log_p.max()))


def _mean(one: Look, other: Look) -> Look:
    log_p = (one.log_p + other.log_p) / 2
    whole = np.asarray(log_p - np.log(np.exp(log_p).sum()), np.float32)
    return replace(one, log_p=whole, readable=(one.readable + other.readable) / 2)


def annotate(image: Image, cards: tuple[StillCard, ...]) -> Image:
    """Return a copy of the picture with every card outlined and named."""
    picture = image.copy()
    scale = max(image.shape[:2]) / 1400
    weight = max(1, round(2 * scale))
    for card in cards:
        down = card.kind is Kind.BACK
        colour = (200, 120, 0) if down else (0, 160, 0) if card.card else (0, 0, 230)
        cv2.polylines(picture, [card.quad.astype(np.int32)], True, colour, weight, cv2.LINE_AA)
        words = "back" if down else f"{card.card or '?'} {card.confidence:.2f}"
        x, y = card.quad.mean(axis=0)
        corner = (int(x - 30 * scale), int(y))
        for tint, width in (((255, 255, 255), 4 * weight), (colour, weight)):
            cv2.putText(picture, words, corner, cv2.FONT_HERSHEY_SIMPLEX, 0.7 * scale, tint, width)
    return picture
