"""What the bare table looks like, and whether a card's place shows card, felt or neither.

Keeps a small picture of the table plane, seen from straight above, and learns each spot of it
while no card lies there. Knows places, not cards: what a card is called is the tracker's matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.sight.geometry.frame import Image, Points
from vision.sight.geometry.plane import Overhead, TableView

# The values below were chosen on simulated films; where another film changed one, it says so.
CELL_MM = (
    5.0  # side of a cell: a card has about 200. Smaller costs time, larger mixes felt and card
)
PADDING_MM = 60.0  # learned beyond the slots, about a card's width: cards laid over an edge
SAME_COLOUR = 26  # levels (0 to 255) a channel may differ: noise and shadow stay below, print above
# A hand's shadow leaves this share of the light at least: 0.7 on a film of another renderer. Lower,
# and dark sleeves and backs are taken for shadow; higher, and a shadow hides that a card has gone.
DARKEST_SHADOW = 0.6
FIRST_MS = (
    500  # a cell is bare table when it has looked the same for this long and no card is there
)
SETTLED_MS = 1500  # the same for a small change, such as the light
# A large change has to last this long. At 5 s a hand that rested on a card for ten was learned as
# the table, and the card under it was never gone (a film of another renderer).
REPLACED_MS = 30_000
SHRINK = (
    0.85  # of a card's sides: what is compared is inside it, for its place is known to a few mm
)
LEARN_MS = 100  # between two lessons: ten a second follow the light, and cost little

Patch = NDArray[np.floating]


class Sight(Enum):
    """What is seen where a card was last known to lie."""

    CARD = "card"
    FELT = "felt"
    COVERED = "covered"


class Ground(Protocol):
    """What the tracker asks of whoever knows how the bare table looks; places are 4 x 2 mm."""

    def observe(self, image: Image, at: int) -> bool:
        """Take a picture; return whether it is time to learn from it."""

    def learn(self, at: int, occupied: Sequence[Points]) -> None:
        """Learn the bare table, but for the places where cards may lie."""

    def remember(self, rectangle: Points) -> Patch:
        """Return how the place of a card looks now, to be compared later."""

    def sight(self, rectangle: Points, card: Patch | None) -> Sight:
        """Compare a card's place now with the card as remembered and with the bare table."""

    def altered(self, rectangle: Points) -> bool:
        """Whether something lies at a place that was known to be bare."""

    def steady_ms(self, rectangle: Points, at: int) -> int:
        """Return for how long a place has looked the same."""


class BackgroundModel:
    """The bare table, learned while it is watched.

    A spot's look is the ground's once it has stayed the same for half a second with no card on
    it; what lies there later must stay for 30 s to take its place: a hand rests for ten.
    """

    def __init__(self, view: TableView) -> None:
        places = [*view.slots.values(), view.mouth]
        corners = np.concatenate(places + ([view.discard] if view.discard is not None else []))
        self._origin = corners.min(axis=0) - PADDING_MM
        width, height = np.ceil((corners.max(axis=0) + PADDING_MM - self._origin) / CELL_MM)
        self._size = (int(width), int(height))
        self._above = Overhead(view.homography, self._origin, CELL_MM, self._size)
        shape = (self._size[1], self._size[0])
        self._now = np.zeros((*shape, 3), np.uint8)
        self._steady = self._now
        self._ground = np.zeros((*shape, 3), np.float32)
        self._since = np.zeros(shape, np.int64)
        self._occupied = np.zeros(shape, np.int64)
        self._known = np.zeros(shape, np.bool_)
        self._learned_at: int | None = None

    def observe(self, image: Image, at: int) -> bool:
        """Take a picture; return whether it is time to learn from it."""
        self._now = self._above(image)
        if self._learned_at is None:
            self._steady, self._ground = self._now.copy(), self._now.astype(np.float32)
            self._since[:] = self._occupied[:] = at
        elif 0 <= at - self._learned_at < LEARN_MS:
            return False
        self._learned_at = at
        return True

    def learn(self, at: int, occupied: Sequence[Points]) -> None:
        """Learn the bare table, but for the rectangles (4 x 2 mm) where cards may lie."""
        now = self._now
        changed = cv2.inRange(cv2.absdiff(now, self._steady), (0, 0, 0), (SAME_COLOUR,) * 3) == 0
        self._steady[changed] = now[changed]
        self._since[changed] = at
        cards = np.zeros(self._since.shape, np.uint8)
        for rectangle in occupied:
            cv2.fillConvexPoly(cards, self._cells(rectangle), 1)
        self._occupied[cv2.dilate(cards, np.ones((3, 3), np.uint8)) == 1] = at
        near = cv2.inRange(
            cv2.absdiff(now, self._ground.astype(np.uint8)), (0, 0, 0), (SAME_COLOUR,) * 3
        )
        # What is known gives way only to something that stays for long: a hand may rest.
        patience = np.where(near > 0, SETTLED_MS, REPLACED_MS)
        patience[~self._known] = FIRST_MS
        learn = at - np.maximum(self._since, self._occupied) >= patience
        fresh = learn & ~self._known
        self._ground[fresh] = now[fresh]
        self._known |= learn
        mask = learn.astype(np.uint8)
        cv2.accumulateWeighted(now, self._ground, 0.15, mask)
        self._steady = np.where(learn[:, :, None] & ~changed[:, :, None], now, self._steady)

    def remember(self, rectangle: Points) -> Patch:
        """Return how the place of a card (4 x 2 mm) looks now, to be compared later."""
        return self._now[self._mask(rectangle)].astype(np.float32)

    def sight(self, rectangle: Points, card: Patch | None) -> Sight:
        """Compare a card's place now with the card (as remembered there) and with the ground."""
        mask = self._mask(rectangle)
        now = self._now[mask].astype(np.float32)
        if not len(now):
            return Sight.COVERED
        felt = _likeness_to_ground(now, self._ground[mask]) if self._known[mask].mean() > 0.5 else 0
        same = _likeness(now, card) if card is not None and card.shape == now.shape else 0.0
        if felt >= 0.8 and felt >= same - 0.05:
            return Sight.FELT
        return Sight.CARD if same >= 0.6 else Sight.COVERED

    def altered(self, rectangle: Points) -> bool:
        """Whether something lies at a place (4 x 2 mm) that was known to be bare."""
        mask = self._mask(rectangle)
        if not mask.any() or self._known[mask].mean() < 0.9:
            return False
        return _likeness_to_ground(self._now[mask].astype(np.float32), self._ground[mask]) < 0.5

    def steady_ms(self, rectangle: Points, at: int) -> int:
        """Return for how long most of a place (4 x 2 mm) has looked the same."""
        return at - int(np.percentile(self._since[self._mask(rectangle)], 80))

    def _cells(self, rectangle: Points) -> NDArray[np.int32]:
        return np.asarray(np.round((rectangle - self._origin) / CELL_MM - 0.5), np.int32)

    def _mask(self, rectangle: Points) -> NDArray[np.bool_]:
        inner = (rectangle - rectangle.mean(axis=0)) * SHRINK + rectangle.mean(axis=0)
        mask = np.zeros(self._since.shape, np.uint8)
        cv2.fillConvexPoly(mask, self._cells(inner), 1)
        return np.asarray(mask == 1)


def _likeness_to_ground(now: Patch, ground: Patch) -> float:
    """Return the share of cells (0 to 1) that show the ground, in light or in a hand's shadow.

    A shadow darkens all channels by one factor (Horprasert et al. 1999, brightness distortion);
    what may differ shrinks with it, or a black sleeve would be a shadow.
    """
    light = (now * ground).sum(axis=1) / np.maximum((ground * ground).sum(axis=1), 1.0)
    light = np.clip(light, DARKEST_SHADOW, 1.0)[:, None]
    return float((np.abs(now - light * ground) <= SAME_COLOUR * light).all(axis=1).mean())


def _likeness(one: Patch, other: Patch) -> float:
    return float((np.abs(one - other).max(axis=1) <= SAME_COLOUR).mean())
