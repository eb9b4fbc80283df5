"""Cards in a single picture, without a table: what `shoe-reader read` says.

One look decides, so the reader abstains below a stated confidence instead of waiting for more. It
looks at many outlines of each card instead, and believes the one that reads best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from vision.game.cards import Card
from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import shared_area
from vision.sight.models import CardModels
from vision.sight.stills.proposals import boxes, outlines, wholes

# The first passes find cards that fill a picture, the others small cards in large pictures; those
# beyond a tile of the detector's go over it in tiles.
PASSES = (128, 160, 224, 416, 832, 1248, 2496, 4992)
# Crops that are classified at once: enough to be quick, few enough for a small memory.
AT_ONCE = 64
# Outlines that share more than this (intersection over union) are of one card.
ONE_PLACE = 0.6
# A reading that lies by more than this share in the same card's, or an unread face in a card that
# is read, is a part of it.
PART_OF_SAME, PART_OF_READ = 0.5, 0.5
# Two readings this sure whose outlines share less than this of the smaller: neighbours in a fan.
FAN_SURE, FAN_SHARED = 0.99, 0.85
# What lies by this share in cards that read more surely may be made of two of them, the rank of one
# and the suit of the other: it is named only within this share of the bound.
COVERED, COVERED_BOUND = 0.9, 0.3
# The side of the picture in which that share is counted, in pixels.
COUNTED_PX = 64
# An outline that lies by this share in a card and reads like it may owe its reading to it.
PART_OF_BESIDE = 0.25
# A box weaker than this is worth a word only if a card can be read in it; so is one smaller than
# this share of every card that is read: cards are of one size, and no table is so deep.
LEAST_UNREAD, LEAST_AREA = 0.3, 0.1
# A detector's score for a back, against a classifier's confidence in a face.
BACK_WORTH = 0.9


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


@dataclass(slots=True, eq=False)
class _Reading:
    """What an outline reads as.

    `seen` is the detector's best score for the place; `support` is how much others of the same
    place read as the same, `doubts` how surely as each other card.
    """

    detection: Detection
    best: Card | None
    confidence: float
    seen: float
    support: float = 0.0
    doubts: dict[Card, float] = field(default_factory=dict)
    area: float = field(init=False)
    bounds: list[float] = field(init=False)

    def __post_init__(self) -> None:
        """Measure the outline once: it is compared with many."""
        quad = self.detection.quad
        self.area = float(cv2.contourArea(quad))
        self.bounds = [*quad.min(axis=0).tolist(), *quad.max(axis=0).tolist()]

    def lies_in(self, other: _Reading, share: float) -> bool:
        """Whether more than a share of the smaller of the two is in the other."""
        return self._shared(other) > share * min(self.area, other.area)

    def covers(self, found: Detection) -> bool:
        """Whether a box is of this card, or of a part of it."""
        least = min(self.area, cv2.contourArea(found.quad))
        return shared_area(self.detection.quad, found.quad) > PART_OF_READ * least

    def rivals(self, other: _Reading) -> bool:
        """Whether the two are outlines of one card."""
        smaller = min(self.area, other.area)
        if smaller <= ONE_PLACE * max(self.area, other.area):
            return False
        shared = self._shared(other)
        if shared <= ONE_PLACE * (self.area + other.area - shared):
            return False
        sure = self.best != other.best and min(self.confidence, other.confidence) > FAN_SURE
        return not (sure and shared < FAN_SHARED * smaller)

    def piece_of(self, other: _Reading) -> bool:
        """Whether this can only be a part of the other: cards are of one size.

        Half a ten looks like a nine, however sure it reads.
        """
        return self.area <= ONE_PLACE * other.area and self.lies_in(other, COVERED)

    def within(self, others: Sequence[_Reading]) -> float:
        """Return the share of this outline that lies in any of the others."""
        left, top, right, bottom = self.bounds
        scale = COUNTED_PX / max(right - left, bottom - top)
        own, theirs = np.zeros((2, COUNTED_PX, COUNTED_PX), np.uint8)
        for mask, readings in ((own, [self]), (theirs, others)):
            for one in readings:
                placed = (one.detection.quad - (left, top)) * scale
                cv2.fillConvexPoly(mask, placed.astype(np.int32), 1)
        return float(np.count_nonzero(own & theirs) / np.count_nonzero(own))

    def _shared(self, other: _Reading) -> float:
        (left, top, right, bottom), (x0, y0, x1, y1) = self.bounds, other.bounds
        if right <= x0 or x1 <= left or bottom <= y0 or y1 <= top:
            return 0.0
        return shared_area(self.detection.quad, other.detection.quad)

    def risk(self) -> float:
        """Return how likely the card is another one; a bad guess has above 1, none read infinity.

        The surest of many tries is not as sure as it says: every other card that outlines of the
        same place read as adds the most that it got to the risk. Those that agree lessen it, by
        their root only: outlines of one place are hardly independent.
        """
        if self.best is None:
            return math.inf
        doubt = 1 + sum(self.doubts.values())
        return (1 - self.confidence) * doubt / math.sqrt(1 + self.support)

    def said(self, *, named: bool) -> StillCard:
        """Return the card as it is told."""
        sure = self.seen if self.best is None else max(0.0, 1 - self.risk())
        card = self.best if named else None
        return StillCard(self.detection.quad, self.detection.kind, card, sure)


def passes_for(image: Image, passes: Sequence[int] = PASSES) -> tuple[int, ...]:
    """Return those of the detector's passes worth running: never far beyond a picture's size."""
    longest = max(image.shape[:2])
    return tuple(size for size in passes if size <= max(PASSES[0], 1.3 * longest))


def read_still(
    models: CardModels, image: Image, *, bound: float, passes: Sequence[int] = PASSES
) -> tuple[StillCard, ...]:
    """Find and read the cards of a picture (H x W x 3, BGR).

    A face is named only if the probability of error is at most `bound` (0 to 1). Of the detector's
    `passes` those are run that are worth it.
    The cut card is no playing card and is left out.
    """
    seen = [
        d
        for d in boxes(models.detector, image, passes_for(image, passes))
        if d.kind is not Kind.CUT
    ]
    readings = _readings(models, image, seen)
    named = _named(_chosen(readings), bound)
    # Only where nothing is read yet may a box be a part of a card.
    parts = [d for d in seen if not any(one.covers(d) for one in named)]
    chosen = _chosen([*readings, *_readings(models, image, wholes(parts))])
    named = _named(chosen, bound)
    told = [*named, *_unread(chosen, named)]
    return tuple(one.said(named=one in named) for one in chosen if one in told)


def _unread(chosen: Sequence[_Reading], named: Sequence[_Reading]) -> list[_Reading]:
    """Return what is a card though it is not named: no part of one, and no bad guess."""
    taken, own = list(named), []
    least = LEAST_AREA * min((card.area for card in named), default=0.0)
    for one in sorted(chosen, key=lambda reading: -reading.seen):
        strong = one.seen >= LEAST_UNREAD and one.area >= least
        if strong and not any(one is card or one.lies_in(card, PART_OF_READ) for card in taken):
            own.append(one)
            taken.append(one)
    return own


def _named(chosen: Sequence[_Reading], bound: float) -> list[_Reading]:
    """Return the readings that are within the bound; `chosen` has the surest first."""
    named: list[_Reading] = []
    for one in chosen:
        if any(one.piece_of(card) for card in named):
            continue
        made_of_others = one.risk() <= bound and one.within(named) > COVERED
        if one.risk() <= (COVERED_BOUND * bound if made_of_others else bound):
            named.append(one)
    return named


def _readings(models: CardModels, image: Image, found: Sequence[Detection]) -> list[_Reading]:
    """Return what the outlines that boxes may stand for read as."""
    tried = outlines(models.detector, image, found)
    faces = [found for found in tried if found.kind is Kind.FACE]
    looks = iter(_from_both_ends(models, image, [face.quad for face in faces]))
    return [
        _read(found, next(looks))
        if found.kind is Kind.FACE
        else _Reading(found, None, BACK_WORTH * found.score, found.score)
        for found in tried
    ]


def _read(found: Detection, look: Look) -> _Reading:
    return _Reading(found, Card.of(int(np.argmax(look.log_p))), look.confidence, found.score)


def _chosen(readings: Sequence[_Reading]) -> list[_Reading]:
    """Return the surest reading of each place, with the doubt that the others there leave."""
    kept: list[_Reading] = []
    for one in sorted(readings, key=lambda reading: -reading.confidence):
        one.support, one.doubts = 0.0, {}
        rivals = [other for other in kept if one.rivals(other)]
        # A box that reads as the card beside it, and is partly on it, says nothing of this one.
        beside = any(_again(one, other, PART_OF_BESIDE) for other in kept)
        for other in rivals:
            other.seen = max(other.seen, one.seen)
            if one.best == other.best:
                other.support += one.confidence
            elif one.best is not None and not beside:
                # The surest comes first.
                other.doubts.setdefault(one.best, one.confidence)
        if not rivals and not any(_again(one, other, PART_OF_SAME) for other in kept):
            kept.append(one)
    return kept


def _again(one: _Reading, other: _Reading, share: float) -> bool:
    """Whether a reading is the same card as a surer one: a part of it, or it and more."""
    return one.best is not None and one.best == other.best and one.lies_in(other, share)


def _from_both_ends(models: CardModels, image: Image, quads: Sequence[Points]) -> list[Look]:
    """Return one look for each quad, the mean of two: a card reads the same from both ends."""
    found: list[Look] = []
    for start in range(0, len(quads), AT_ONCE):
        some = quads[start : start + AT_ONCE]
        looks = models.classifier(image, [*some, *(np.roll(quad, 2, axis=0) for quad in some)])
        pairs = zip(looks[: len(some)], looks[len(some) :], strict=True)
        found += [_mean(one, other) for one, other in pairs]
    return found


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
