"""Read the cards in a single picture, without a table: what `shoe-reader read` prints.

A lone picture gives each card one look, so there is nothing to wait for: the reader tries many
outlines of each card, keeps the one that reads best, and names it only below a stated risk of
error. Outlines of the same card that read as something else add to that risk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import cv2
import numpy as np

from vision.game.cards import Card
from vision.sight.detection.classifier import LEAST_SURE, Look
from vision.sight.detection.detector import PADDING, Detection, Kind
from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import shared_area
from vision.sight.models import CardModels
from vision.sight.stills.proposals import boxes, outlines, turned, wholes

# The values below were set by trying on drawn stills and on photographs of the training part; what
# is named with them is in `deploy/reading.md`. Shares are of an area, 0 to 1.

# Sizes of the detector's passes, pixels of the longer side. The small ones find cards that fill the
# picture, the large ones small cards in large pictures (in tiles). Fewer miss cards of the sizes
# between; more cost time.
PASSES = (128, 160, 224, 416, 832, 1248, 2496, 4992)
# No pass but the smallest enlarges the picture by more than this factor: blown up further it shows
# nothing new. Lower misses small cards in small pictures.
LARGEST_ENLARGEMENT = 1.3
# How many crops are classified at once. More need more memory, fewer time.
AT_ONCE = 128
# Two outlines are of one card if they share more than this (intersection over union). Lower, and
# neighbours are taken for one card; higher, and one card is given twice.
ONE_CARD = 0.6
# An outline is a part of a card that reads the same if more than the first share of the smaller
# lies in it; a face that is not read is a part of a card that is, by the second. Lower loses one of
# two overlapping cards; higher gives parts of cards as cards.
PART_OF_SAME, PART_OF_READ = 0.5, 0.5
# Two different readings, both surer than FAN_SURE (confidence, 0 to 1), whose outlines share less
# than FAN_SHARED of the smaller, are neighbours in a fan, not rivals. Lower FAN_SURE or higher
# FAN_SHARED names two cards where one is; the reverse loses cards of a tight fan.
FAN_SURE, FAN_SHARED = 0.99, 0.85
# An outline of which more than COVERED lies in cards already named may show the rank of one and the
# suit of another: its risk must stay below this share of the bound. Higher names such mixtures.
COVERED, COVERED_BOUND = 0.9, 0.3
# Side in pixels of the mask in which that share is counted. Smaller misjudges narrow strips, larger
# costs time.
COUNTED_PX = 64
# An outline that lies by more than this share in a card and reads as that card may owe its reading
# to it: it then raises no doubt about other cards. Higher, and doubts spread to neighbours.
PART_OF_BESIDE = 0.25
# A second card of a name is looked at again, with the surer one painted over, if more than this
# share of it lies in that one; it remains if what is left reads the same with this confidence (0 to
# 1). Higher, and an index that both outlines share is given as two cards; lower, and of two equal
# cards that touch one is lost.
LEAST_ECHO, LEAST_LEFT = 0.02, 0.5
# An unread face is given only if the detector's score (0 to 1) is at least LEAST_UNREAD, and its
# area at least LEAST_AREA of the smallest card named: cards are of one size, and no table is so
# deep. Lower gives clutter as unread cards; higher is silent about real ones.
LEAST_UNREAD, LEAST_AREA = 0.5, 0.1
# The least probability (0 to 1), as the classifier sees it, with which a back is given. Lower gives
# chips and painted slots as backs; higher is silent about backs that are half covered.
LEAST_BACK = 0.5
# An unread face is given only if the classifier's confidence, or else its probability that a rank
# or a suit can be seen (0 to 1), is at least this: three quarters of what the detector takes for a
# card in drawn pictures without any lies below both. Lower gives chips and papers as unread cards;
# higher is silent about cards that are hard to read.
LEAST_FACE, LEAST_SIGN = 0.25, 0.95
# An outline is followed up only if one look at it from one end gives a card or a back at least this
# probability (0 to 1). Of the outlines in drawn pictures without cards 96 % have less; of each card
# named in photographs of the training part one had 0.98 or more. Higher loses cards whose first
# outline is poor; lower spends the time of the picture on clutter.
LEAST_PROMISE = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class StillCard:
    """A card in a picture; `card` is `None` where it is not named or its back is up."""

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
class _OutlineReading:
    """An outline, and the card that it reads as; `best` is `None` for a back.

    `seen` (0 to 1) is the probability that rank and suit can be seen, `sign` that one of them can.
    `score` is the detector's best score for any outline of the same card. `support` is the sum of
    the confidences of other outlines of that card that read the same; `doubts` holds, for each
    other card that such outlines read as, the greatest confidence.
    """

    detection: Detection
    best: Card | None
    confidence: float
    score: float
    seen: float = 0.0
    sign: float = 0.0
    support: float = 0.0
    doubts: dict[Card, float] = field(default_factory=dict)
    area: float = field(init=False)
    bounds: list[float] = field(init=False)

    def __post_init__(self) -> None:
        """Measure the outline once: it is compared with many."""
        quad = self.detection.quad
        self.area = float(cv2.contourArea(quad))
        self.bounds = [*quad.min(axis=0).tolist(), *quad.max(axis=0).tolist()]

    def lies_in(self, other: _OutlineReading, share: float) -> bool:
        """Whether the two have more than a share of the smaller in common."""
        return self._shared(other) > share * min(self.area, other.area)

    def covers(self, found: Detection) -> bool:
        """Whether a box is of this card, or of a part of it."""
        least = min(self.area, cv2.contourArea(found.quad))
        return shared_area(self.detection.quad, found.quad) > PART_OF_READ * least

    def is_rival_of(self, other: _OutlineReading) -> bool:
        """Whether the two are outlines of one card."""
        smaller = min(self.area, other.area)
        if smaller <= ONE_CARD * max(self.area, other.area):
            return False
        shared = self._shared(other)
        if shared <= ONE_CARD * (self.area + other.area - shared):
            return False
        sure = self.best != other.best and min(self.confidence, other.confidence) > FAN_SURE
        return not (sure and shared < FAN_SHARED * smaller)

    def is_part_of(self, other: _OutlineReading) -> bool:
        """Whether this lies in the other and is much smaller: a part of a card, not a card.

        However sure it reads: half a ten looks like a nine.
        """
        return self.area <= ONE_CARD * other.area and self.lies_in(other, COVERED)

    def repeats(self, other: _OutlineReading, share: float) -> bool:
        """Whether this reads as the other, surer one does, and lies in it or around it."""
        return self.best is not None and self.best == other.best and self.lies_in(other, share)

    def share_within(self, others: Sequence[_OutlineReading]) -> float:
        """Return the share of this outline that lies in any of the others."""
        left, top, right, bottom = self.bounds
        scale = COUNTED_PX / max(right - left, bottom - top)
        own, theirs = np.zeros((2, COUNTED_PX, COUNTED_PX), np.uint8)
        for mask, readings in ((own, [self]), (theirs, others)):
            for reading in readings:
                placed = (reading.detection.quad - (left, top)) * scale
                cv2.fillConvexPoly(mask, placed.astype(np.int32), 1)
        return float(np.count_nonzero(own & theirs) / np.count_nonzero(own))

    def _shared(self, other: _OutlineReading) -> float:
        (left, top, right, bottom), (x0, y0, x1, y1) = self.bounds, other.bounds
        if right <= x0 or x1 <= left or bottom <= y0 or y1 <= top:
            return 0.0
        return shared_area(self.detection.quad, other.detection.quad)

    def shows_card(self) -> bool:
        """Whether the classifier, too, sees a card here, though it may not read it."""
        if self.best is None:
            return self.confidence >= LEAST_BACK
        return self.confidence >= LEAST_FACE or self.sign >= LEAST_SIGN

    def risk(self) -> float:
        """Return how likely the card is another one; a bad guess may exceed 1, a back is infinite.

        The surest of many outlines is less sure than its confidence says. So every other card that
        outlines of the same card read as adds its greatest confidence to the risk. Outlines that
        agree divide it, but only by the root of their number: they are hardly independent. None of
        them sees what is hidden or blurred, so that the doubt whether it is stays whole.
        """
        if self.best is None:
            return math.inf
        doubt = 1 + sum(self.doubts.values())
        return max((1 - self.confidence) * doubt / math.sqrt(1 + self.support), 1 - self.seen)

    def result(self, *, named: bool) -> StillCard:
        """Return the card as it is given to the caller."""
        sure = self.confidence if self.best is None else max(0.0, 1 - self.risk())
        card = self.best if named else None
        return StillCard(self.detection.quad, self.detection.kind, card, sure)


def passes_for(image: Image, passes: Sequence[int] = PASSES) -> tuple[int, ...]:
    """Return the passes worth running on a picture: those not far beyond its size."""
    longest = LARGEST_ENLARGEMENT * max(image.shape[:2])
    return tuple(size for size in passes if size <= max(PASSES[0], longest))


def read_still(
    models: CardModels, image: Image, *, bound: float, passes: Sequence[int] = PASSES
) -> tuple[StillCard, ...]:
    """Find and read the cards of a picture (H x W x 3, BGR).

    A face is named only if its risk of error is at most `bound` (0 to 1). Of `passes` those are run
    that suit the picture's size. The cut card is not a playing card and is left out.
    """
    found = [
        card
        for card in boxes(models.detector, image, passes_for(image, passes))
        if card.kind is not Kind.CUT
    ]
    readings = _readings(models, image, found)
    named = _named(_surest(readings), bound)
    # Only a box in which nothing is named yet may show a part of a card.
    parts = [card for card in found if not any(reading.covers(card) for reading in named)]
    surest = _surest([*readings, *_readings(models, image, wholes(parts))])
    surest = _without_echoes(models, image, surest, _named(surest, bound))
    named = _named(surest, bound)
    given = [*named, *_unread(surest, named)]
    return tuple(reading.result(named=reading in named) for reading in surest if reading in given)


def _readings(
    models: CardModels, image: Image, found: Sequence[Detection]
) -> list[_OutlineReading]:
    """Return what each outline that boxes may stand for reads as."""
    tried = outlines(models.detector, image, found, partial(_promising, models, image))
    looks = _from_both_ends(models, image, [card.quad for card in tried])
    return [_judged(card, look) for card, look in zip(tried, looks, strict=True)]


def _promising(models: CardModels, image: Image, found: Sequence[Detection]) -> list[Detection]:
    """Return the outlines that show a card at a first look, or that the detector is sure of."""
    ways = [[card.quad, *turned(card.quad)] for card in found]
    looks = iter(_looks(models, image, [quad for quads in ways for quad in quads]))
    best = [
        max(max(look.confidence, look.back) for look in islice(looks, len(quads))) for quads in ways
    ]
    return [
        card
        for card, promise in zip(found, best, strict=True)
        if promise >= LEAST_PROMISE or card.score >= LEAST_UNREAD
    ]


def _judged(found: Detection, look: Look) -> _OutlineReading:
    """Return what an outline shows: the classifier sees it larger than the detector did."""
    is_back = look.back > max(look.readable, LEAST_BACK)
    if is_back or (found.kind is Kind.BACK and look.confidence < LEAST_SURE):
        return _OutlineReading(replace(found, kind=Kind.BACK), None, look.back, found.score)
    best = Card.of(int(np.argmax(look.log_p)))
    return _OutlineReading(
        replace(found, kind=Kind.FACE),
        best,
        look.confidence,
        found.score,
        seen=look.readable,
        sign=max(look.rank_seen, look.readable / max(look.rank_seen, 1e-6)),
    )


def _from_both_ends(models: CardModels, image: Image, quads: Sequence[Points]) -> list[Look]:
    """Return one look for each quad, the mean of two: a card reads the same from both ends."""
    looks = _looks(models, image, quads)
    others = _looks(models, image, [np.roll(quad, 2, axis=0) for quad in quads])
    return [_mean(upright, other) for upright, other in zip(looks, others, strict=True)]


def _looks(models: CardModels, image: Image, quads: Sequence[Points]) -> list[Look]:
    """Return one look for each quad."""
    parts = (quads[start : start + AT_ONCE] for start in range(0, len(quads), AT_ONCE))
    return [look for some in parts for look in models.classifier(image, some)]


def _mean(first: Look, second: Look) -> Look:
    log_p = (first.log_p + second.log_p) / 2
    normed = np.asarray(log_p - np.log(np.exp(log_p).sum()), np.float32)
    return replace(
        first,
        log_p=normed,
        readable=(first.readable + second.readable) / 2,
        rank_seen=(first.rank_seen + second.rank_seen) / 2,
        back=(first.back + second.back) / 2,
    )


def _surest(readings: Sequence[_OutlineReading]) -> list[_OutlineReading]:
    """Return the surest reading of each card, with the doubts that its other outlines raise."""
    kept: list[_OutlineReading] = []
    for reading in sorted(readings, key=lambda reading: -reading.confidence):
        reading.support, reading.doubts = 0.0, {}
        rivals = [other for other in kept if reading.is_rival_of(other)]
        # A box that reads as the card beside it, and lies partly on it, says nothing of this card.
        beside = any(reading.repeats(other, PART_OF_BESIDE) for other in kept)
        for other in rivals:
            other.score = max(other.score, reading.score)
            if reading.best == other.best:
                other.support += reading.confidence
            elif reading.best is not None and not beside:
                # The first is the surest: readings come in the order of their confidence.
                other.doubts.setdefault(reading.best, reading.confidence)
        if not rivals and not any(reading.repeats(other, PART_OF_SAME) for other in kept):
            kept.append(reading)
    return kept


def _without_echoes(
    models: CardModels,
    image: Image,
    surest: Sequence[_OutlineReading],
    named: Sequence[_OutlineReading],
) -> list[_OutlineReading]:
    """Return the readings without those that owe their name to a surer card.

    An outline beside a card with an index in every corner may begin with one of these, and then
    reads as that card. With the card painted over it does not.
    """
    echoes = []
    for number, reading in enumerate(named):
        same = [other for other in named[:number] if reading.repeats(other, LEAST_ECHO)]
        if not same:
            continue
        without = image.copy()
        for other in same:
            cv2.fillConvexPoly(without, other.detection.quad.astype(np.int32), (PADDING,) * 3)
        (look,) = _from_both_ends(models, without, [reading.detection.quad])
        if Card.of(int(np.argmax(look.log_p))) != reading.best or look.confidence < LEAST_LEFT:
            echoes.append(reading)
    return [reading for reading in surest if reading not in echoes]


def _named(surest: Sequence[_OutlineReading], bound: float) -> list[_OutlineReading]:
    """Return the readings whose risk is within the bound; `surest` has the surest first."""
    named: list[_OutlineReading] = []
    for reading in surest:
        if any(reading.is_part_of(card) for card in named):
            continue
        mixed = reading.risk() <= bound and reading.share_within(named) > COVERED
        if reading.risk() <= (COVERED_BOUND * bound if mixed else bound):
            named.append(reading)
    return named


def _unread(
    surest: Sequence[_OutlineReading], named: Sequence[_OutlineReading]
) -> list[_OutlineReading]:
    """Return the cards that are not named: neither parts of others nor the detector's guesses."""
    taken, unread = list(named), []
    least = LEAST_AREA * min((card.area for card in named), default=0.0)
    for reading in sorted(surest, key=lambda reading: -reading.score):
        strong = reading.score >= LEAST_UNREAD and reading.area >= least
        strong &= reading.shows_card()
        if strong and not any(
            reading is card or reading.lies_in(card, PART_OF_READ) for card in taken
        ):
            unread.append(reading)
            taken.append(reading)
    return unread


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
