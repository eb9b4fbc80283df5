"""A face that the detector takes for a back is corrected, a back is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vision.game.cards import Card
from vision.game.events import Slot
from vision.sight.detection.classifier import Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.places import AGAIN_MS, STILL_PX, FaceCheck
from vision.sight.geometry.plane import Frame, Homography, Image, Points, TableView, polygon

IMAGE = np.zeros((100, 100, 3), np.uint8)
# A pixel is a millimetre; the only slot ends at x = 350.
VIEW = TableView(
    Homography(np.eye(3)),
    {Slot.PUNTO_1: polygon([[-50, -50], [350, -50], [350, 150], [-50, 150]])},
    polygon([[600, 0], [700, 0], [700, 90], [600, 90]]),
)


def at(x: int, kind: Kind) -> Detection:
    """Return a card with its left edge at x."""
    quad = np.array([[x, 0], [x + 60, 0], [x + 60, 90], [x, 90]], np.float32)
    return Detection(quad, kind, 0.8)


def look(sure: float, readable: float) -> Observation:
    """Return a look that gives one card a share of the probability."""
    log_p = np.full(52, np.log((1 - sure) / 51), np.float32)
    log_p[Card.parse("Jd").index] = np.log(sure)
    return Observation(log_p, readable)


def test_back_that_reads_as_a_card_is_a_face() -> None:
    """Only a back that reads as one card at full size is; only backs in a slot are looked at."""
    looks_at = {0: look(0.999, 0.999), 100: look(0.999, 0.3), 200: look(0.6, 0.999)}
    asked: list[float] = []

    def classify(_: Image, quads: Sequence[Points]) -> list[Observation]:
        lefts = [float(quad[0, 0]) for quad in quads]
        asked.extend(lefts)
        return [looks_at[round(left)] for left in lefts]

    backs = [at(x, Kind.BACK) for x in looks_at]
    others = [at(300, Kind.FACE), at(400, Kind.BACK), at(500, Kind.CUT)]

    found = FaceCheck(classify, VIEW)(Frame(IMAGE, 0, 0), [*backs, *others])
    kinds = [card.kind for card in found]
    assert kinds == [Kind.FACE, Kind.BACK, Kind.BACK, Kind.FACE, Kind.BACK, Kind.CUT]
    assert asked == [0, 100, 200]
    assert [card.quad[0, 0] for card in found] == [0, 100, 200, 300, 400, 500]


def test_back_that_lies_is_looked_at_again_now_and_then() -> None:
    """What was found of a back holds until it is old or the card has moved."""
    asked: list[float] = []

    def classify(_: Image, quads: Sequence[Points]) -> list[Observation]:
        asked.extend(float(quad[0, 0]) for quad in quads)
        return [look(0.999, 0.999)] * len(quads)

    check = FaceCheck(classify, VIEW)
    looks = ((0, 0), (100, 2), (200, 30), (AGAIN_MS - 1, 4), (AGAIN_MS, 1), (AGAIN_MS, 6), (50, 1))
    assert STILL_PX == 4
    for number, (at_ms, x) in enumerate(looks):
        (card,) = check(Frame(IMAGE, at_ms, number), [at(x, Kind.BACK)])
        assert card.kind is Kind.FACE
    assert asked == [0, 30, 1, 6, 1]  # the clock went back at last: nothing is known of then
