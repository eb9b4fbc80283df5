"""Read the cards in a single picture, without a table: what `shoe-reader read` prints.

A lone picture gives each card one observation, so there is nothing to wait for. Every outline that
a card may have is read, from both ends, and one rule merges the readings, the surest first: **a
sign that is printed belongs to one card**. An outline that reads the same as a card it lies on
supports that card. One that reads as another card is a card of its own where its name remains with
the cards that it lies on painted over (it lies under them), or where their names remain with it
painted over, and it is as large as they are (it lies on them); otherwise it is a part of a card, or
a mixture of two, and where it lies as that card does it adds to the risk that the card is misread.
One between others keeps its name without those above it, and each one below without it; where it
has none left, those above it are the ones that it would hide. A card is named only below a stated
risk of error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from vision.game.cards import Card
from vision.sight.detection.classifier import LEAST_SURE, CardModels, Observation
from vision.sight.detection.detector import PADDING, Detection, Kind
from vision.sight.geometry.plane import Image, Points, shared_area
from vision.sight.stills.proposals import (
    LIKELY,
    SUPPOSED,
    boxes,
    outlines,
    surest_of_each,
    ways,
    wholes,
)

# The values below were set by trying on drawn stills and on photographs of the training part; what
# is named with them is in `deploy/reading.md`. Shares are of an area, 0 to 1.

# How many crops are classified at once. More need more memory, fewer time.
AT_ONCE = 128
# Two outlines lie as one card does if they share more than this (intersection over union). Lower,
# and neighbours are taken for one card; higher, and one card is given twice.
ONE_CARD = 0.6
# An outline that reads as a card, and has more than this share of the smaller in common with it, is
# of that card. Lower loses one of two equal cards; higher gives parts of cards as cards.
SAME_CARD = 0.5
# Cards touch if they have more than this share of the smaller in common. An outline that touches a
# card of its name, lies as a card does, or of which more than COVERED lies in cards, must show
# signs of its own. Higher, and an index that two outlines share is given as two cards, or the rank
# of one card and the suit of another as a third; lower loses cards of which little is in sight.
TOUCHING, COVERED = 0.02, 0.8
# Side in pixels of the mask in which that share is counted: smaller misjudges narrow strips.
COUNTED_PX = 64
# The confidence (0 to 1) with which a name remains with other cards painted over. Higher loses
# cards of which little is in sight; lower names parts of cards.
LEAST_LEFT = 0.5
# A card that lies on another has at least the share ALIKE of its area, or it of the card's: cards
# are of one size, and half a card has a card's proportions. Its risk is at most the share
# ON_ANOTHER of the bound. Stricter loses cards that lie on others; looser names parts of cards.
ALIKE, ON_ANOTHER = 0.6, 0.5
# Of a card of which little is in sight the detector is seldom sure: then at least BACKED outlines
# of it, one of them detected, read the same with the confidence ALSO (0 to 1) or more. Chosen, with
# the two above, on 48 drawn stills: 228 of 273 cards named, 218 before, none more wrongly.
BACKED, ALSO = 3, 0.9
# An unread face is given only if the detector's score (0 to 1) is at least LEAST_UNREAD, its area
# at least LEAST_AREA of the smallest card named (no table is so deep), and no more than IN_NAMED of
# the smaller lies in a card that is named. Otherwise clutter is given as unread cards.
LEAST_UNREAD, LEAST_AREA, IN_NAMED = 0.5, 0.1, 0.5
# The least probability (0 to 1), as the classifier sees it, with which a back is given. Lower gives
# chips and painted slots as backs; higher is silent about backs that are half covered.
LEAST_BACK = 0.5
# An unread face is given only if the classifier's confidence, or else its probability that a rank
# or a suit can be seen (0 to 1), is at least this: three quarters of what the detector takes for a
# card in drawn pictures without any lies below both. Lower gives chips and papers as unread cards;
# higher is silent about cards that are hard to read.
LEAST_FACE, LEAST_SIGN = 0.25, 0.95
# An outline is followed up only if one observation of it from one end gives a card or a back at
# least this probability (0 to 1). Of the outlines in drawn pictures without cards 96 % have less;
# of each card named in photographs of the training part one had 0.98 or more. Higher loses cards
# whose first outline is poor; lower spends the time of the picture on clutter.
LEAST_PROMISE = 0.3
# Of readings that are as sure (their risk in powers of two, no lower than LEAST_RISK) the
# detector's score decides which outline is the card's: an outline over two cards reads as surely as
# one of them. Lower, and such outlines hide the card on top.
LEAST_RISK = 1e-3


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
class Reading:
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

    def shared(self, other: Reading) -> float:
        """Return the area that two outlines have in common."""
        (left, top, right, bottom), (x0, y0, x1, y1) = self.bounds, other.bounds
        if right <= x0 or x1 <= left or bottom <= y0 or y1 <= top:
            return 0.0
        return shared_area(self.detection.quad, other.detection.quad)

    def lies_in(self, other: Reading, share: float) -> bool:
        """Whether the two have more than a share of the smaller in common."""
        return self.shared(other) > share * min(self.area, other.area)

    def lies_as(self, other: Reading) -> bool:
        """Whether the two are outlines of one card."""
        shared = self.shared(other)
        return shared > ONE_CARD * (self.area + other.area - shared)

    def share_within(self, others: Sequence[Reading]) -> float:
        """Return the share of this outline that lies in any of the others."""
        if not others:
            return 0.0
        left, top, right, bottom = self.bounds
        scale = COUNTED_PX / max(right - left, bottom - top)
        own, theirs = np.zeros((2, COUNTED_PX, COUNTED_PX), np.uint8)
        for mask, readings in ((own, [self]), (theirs, others)):
            for reading in readings:
                placed = (reading.detection.quad - (left, top)) * scale
                cv2.fillConvexPoly(mask, placed.astype(np.int32), 1)
        return float(np.count_nonzero(own & theirs) / np.count_nonzero(own))

    def agrees(self, other: Reading) -> None:
        """Take in a reading of the same card that says the same."""
        self.support += min(self.confidence, other.confidence)
        if other.confidence > self.confidence:
            self.confidence, self.seen = other.confidence, other.seen

    def covers(self, box: Detection) -> bool:
        """Whether a box is of this card, or of a part of it."""
        shared, area = shared_area(self.detection.quad, box.quad), cv2.contourArea(box.quad)
        return shared > min(ONE_CARD * (self.area + area - shared), COVERED * area)

    def repeats(self, other: Reading) -> bool:
        """Whether this reads as the other does, and lies in it or around it."""
        return self.best is not None and self.best == other.best and self.lies_in(other, SAME_CARD)

    def order(self, bound: float) -> tuple[int, float]:
        """Return by what readings are sorted, the surest first: risk, then the detector's score."""
        risk = max(1 - self.confidence, LEAST_RISK)
        return math.ceil(math.log2(risk / max(bound, LEAST_RISK))), -self.score

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


def read_still(models: CardModels, image: Image, *, bound: float) -> tuple[StillCard, ...]:
    """Find and read the cards of a picture (H x W x 3, BGR).

    A face is named only if its risk of error is at most `bound` (0 to 1). The cut card is not a
    playing card and is left out.
    """
    picture = _Picture(models, image, bound)
    passes: dict[int, list[Detection]] = {}
    found = boxes(models.detector, image, passes=passes)
    picture.read(surest_of_each(found))
    cards = picture.cards()
    # More effort only where boxes are left of which no card is named.
    rest = picture.left(found, cards)
    if any(card.score >= LIKELY for card in rest):
        rest = picture.left(boxes(models.detector, image, thorough=True, passes=passes), cards)
    if rest:
        picture.read([*rest, *wholes(rest)])
        cards = picture.cards()
    named = [card for card in cards if card.risk() <= bound]
    given = [*named, *_unread(cards, named)]
    return tuple(card.result(named=card in named) for card in cards if card in given)


def _judged(found: Detection, observation: Observation) -> Reading:
    """Return what an outline shows: the classifier sees it larger than the detector did."""
    is_back = observation.back > max(observation.readable, LEAST_BACK)
    if is_back or (found.kind is Kind.BACK and observation.confidence < LEAST_SURE):
        return Reading(replace(found, kind=Kind.BACK), None, observation.back, found.score)
    sign = max(observation.rank_seen, observation.readable / max(observation.rank_seen, 1e-6))
    return Reading(
        replace(found, kind=Kind.FACE), observation.best, observation.confidence, found.score,
        seen=observation.readable, sign=sign,
    )  # fmt: skip


def _mean(first: Observation, second: Observation) -> Observation:
    """Return the mean of observations from both ends: a card reads the same from either."""
    log_p = (first.log_p + second.log_p) / 2
    normed = np.asarray(log_p - np.log(np.exp(log_p).sum()), np.float32)
    return replace(
        first,
        log_p=normed,
        readable=(first.readable + second.readable) / 2,
        rank_seen=(first.rank_seen + second.rank_seen) / 2,
        back=(first.back + second.back) / 2,
    )


# --- which of them are cards ---------------------------------------------------------------------


class _Picture:
    """A picture, the outlines tried in it and what they read as."""

    def __init__(self, models: CardModels, image: Image, bound: float) -> None:
        self._models, self._image, self._bound = models, image, bound
        self._tried: list[Detection] = []
        self._readings: list[Reading] = []

    def read(self, found: Sequence[Detection]) -> None:
        """Read each new outline that boxes may stand for, if it promises a card."""
        new = outlines(self._models.detector, self._image, found, self._tried)
        self._tried += new
        tried = [replace(card, quad=quad) for card in new for quad in ways(card.quad)]
        observations = zip(tried, self._observations([card.quad for card in tried]), strict=True)
        promising = [
            (card, observation)
            for card, observation in observations
            if max(observation.confidence, observation.back) >= LEAST_PROMISE
            or card.score >= LEAST_UNREAD
        ]
        others = self._observations([np.roll(card.quad, 2, axis=0) for card, _ in promising])
        self._readings += [
            _judged(card, _mean(observation, other))
            for (card, observation), other in zip(promising, others, strict=True)
        ]

    def left(self, found: Sequence[Detection], cards: Sequence[Reading]) -> list[Detection]:
        """Return the boxes that are neither of a card that is named nor of a part of it."""
        named = self._named(cards)
        return [box for box in found if not any(card.covers(box) for card in named)]

    def cards(self) -> list[Reading]:
        """Return the surest reading of each card, with what its other outlines say for or against.

        Those that may be named, and others that lie where none of these is.
        """
        cards: list[Reading] = []
        for reading in sorted(self._readings, key=lambda reading: reading.order(self._bound)):
            reading.support, reading.doubts = 0.0, {}
            if self._is_card(reading, cards):
                cards.append(reading)
                continue
            # An outline that reads as the card beside it says nothing of the one that it lies as.
            beside = any(reading.best == card.best for card in cards if reading.shared(card))
            for card in cards:
                if not reading.lies_as(card):
                    continue
                card.score = max(card.score, reading.score)
                if reading.best == card.best:
                    card.agrees(reading)
                elif reading.best is not None and not beside:
                    # The first is the surest: readings come in the order of their confidence.
                    card.doubts.setdefault(reading.best, reading.confidence)
        return cards

    def _named(self, cards: Sequence[Reading]) -> list[Reading]:
        return [card for card in cards if card.risk() <= self._bound]

    def _is_card(self, reading: Reading, cards: Sequence[Reading]) -> bool:
        """Whether a reading is of a card of its own, not of one of those that are surer."""
        if any(reading.repeats(card) for card in cards):
            return False
        sure = [card for card in self._named(cards) if reading.lies_in(card, TOUCHING)]
        covered = reading.share_within(sure) > COVERED
        if reading.risk() > self._bound:
            return not covered and not any(reading.lies_as(card) for card in cards)
        owes = any(card.best == reading.best or reading.lies_as(card) for card in sure)
        if not owes and not covered:
            return True
        return self._remains(reading, sure) or self._lies_among(reading, sure)

    def _lies_among(self, reading: Reading, cards: Sequence[Reading]) -> bool:
        """Whether an outline is of a card that lies on some of those it touches, under the others.

        It keeps its name without those above it, and each card below without it. Across cards that
        do not touch one another lies a mixture of their signs.
        """
        above = [card for card in cards if self._remains(reading, [card])]
        if len(above) > 1 and not self._remains(reading, above):
            # Each leaves it a sign, together they do not: above it lie those that it would hide.
            above = [card for card in above if not self._remains(card, [reading])]
            if above and not self._remains(reading, above):
                return False
        below = [card for card in cards if card not in above]
        return (
            all(self._lies_on(reading, card) for card in below)
            and all(card.lies_in(other, TOUCHING) for card in below for other in cards)
            and all(self._remains(card, [reading]) for card in below)
        )

    def _lies_on(self, reading: Reading, card: Reading) -> bool:
        """Whether an outline may be of a card on another: as large, surer than it needs to be."""
        small, large = sorted((reading.area, card.area))
        certain = reading.risk() <= ON_ANOTHER * self._bound and self._is_backed(reading)
        return reading.best != card.best and certain and small > ALIKE * large

    def _is_backed(self, reading: Reading) -> bool:
        """Whether the detector is sure of a card, or several of its outlines read the same."""
        if reading.score >= LEAST_UNREAD:
            return True
        same = [
            other
            for other in self._readings
            if other.best == reading.best and other.confidence >= ALSO and other.lies_as(reading)
        ]
        return len(same) >= BACKED and any(other.score > SUPPOSED for other in same)

    def _remains(self, reading: Reading, others: Sequence[Reading]) -> bool:
        """Whether an outline reads the same with other cards painted over."""
        without = self._image.copy()
        for other in others:
            cv2.fillConvexPoly(without, other.detection.quad.astype(np.int32), (PADDING,) * 3)
        quad = reading.detection.quad
        observation = _mean(*self._observations([quad, np.roll(quad, 2, axis=0)], without))
        return observation.best == reading.best and observation.confidence >= LEAST_LEFT

    def _observations(
        self, quads: Sequence[Points], image: Image | None = None
    ) -> list[Observation]:
        shown = self._image if image is None else image
        parts = (quads[start : start + AT_ONCE] for start in range(0, len(quads), AT_ONCE))
        return [
            observation for some in parts for observation in self._models.classifier(shown, some)
        ]


def _unread(cards: Sequence[Reading], named: Sequence[Reading]) -> list[Reading]:
    """Return the cards that are not named: neither parts of others nor the detector's guesses."""
    taken, unread = list(named), []
    least = LEAST_AREA * min((card.area for card in named), default=0.0)
    for reading in sorted(cards, key=lambda reading: -reading.score):
        strong = reading.score >= LEAST_UNREAD and reading.area >= least
        strong &= reading.shows_card()
        if strong and not any(reading is card or reading.lies_in(card, IN_NAMED) for card in taken):
            unread.append(reading)
            taken.append(reading)
    return unread


def annotate(image: Image, cards: tuple[StillCard, ...]) -> Image:
    """Return a copy of the picture with every card outlined and named."""
    picture = image.copy()
    scale = max(max(image.shape[:2]) / 1400, 0.65)  # smaller letters cannot be read
    weight = max(1, round(2 * scale))
    for card in cards:
        down = card.kind is Kind.BACK
        colour = (200, 120, 0) if down else (0, 160, 0) if card.card else (0, 0, 230)
        cv2.polylines(picture, [card.quad.astype(np.int32)], True, colour, weight, cv2.LINE_AA)
        words = "back" if down else f"{card.card or '?'} {card.confidence:.2f}"
        (width, height), _ = cv2.getTextSize(words, cv2.FONT_HERSHEY_SIMPLEX, 0.7 * scale, weight)
        plate = np.array([width, height]) + 4 * weight
        start = np.minimum(_clear_of(card, cards) - plate / 2, image.shape[1::-1] - plate)
        x, y = np.maximum(start, 0).astype(int).tolist()
        cv2.rectangle(picture, (x, y, *plate.tolist()), colour, cv2.FILLED)
        corner, white = (x + 2 * weight, y + 2 * weight + height), (255, 255, 255)
        cv2.putText(
            picture,
            words,
            corner,
            cv2.FONT_HERSHEY_SIMPLEX,
            0.7 * scale,
            white,
            weight,
            cv2.LINE_AA,
        )
    return picture


def _clear_of(card: StillCard, cards: Sequence[StillCard]) -> Points:
    """Return the point (2,) of a card, px, at which its name stands.

    Its middle, or where another card lies there the point farthest from the middles of the others.
    """
    middle = card.quad.mean(axis=0)
    others = [other.quad for other in cards if other is not card]
    where = float(middle[0]), float(middle[1])
    if all(cv2.pointPolygonTest(quad, where, measureDist=False) < 0 for quad in others):
        return np.asarray(middle)
    points = 0.7 * card.quad + 0.3 * middle
    near = [min(np.hypot(*(point - quad.mean(axis=0))) for quad in others) for point in points]
    return np.asarray(points[int(np.argmax(near))])
