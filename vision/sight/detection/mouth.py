"""What one picture of the shoe's mouth shows: is a card out, how far, which side up, under a hand.

The part of the picture round the mouth is seen from above and turned to the exit. The network sees
three of these small patches, the mouth at rest, some frames ago and now, and is given as an `infer`
callable. It was trained on mouths drawn at random (`datasets/mouth`).

What leaves is compared with the cards before it by a second network: the cut card is unlike them.
"""

from __future__ import annotations

import math
from collections import deque

import cv2
import numpy as np

from vision.game.events import Slot
from vision.sight.detection.detector import Infer, Tensor
from vision.sight.geometry.plane import Homography, Image, Overhead, Points, TableView, shared_area

# --- the patch ------------------------------------------------------------------------------------

# Width (along the exit) and height of a patch in cells, and the side of a cell in mm: 200 x 140 mm,
# a card wholly out with a hand on it. Other sizes need another network.
WIDTH, HEIGHT = 80, 56
CELL_MM = 2.5
# The patch begins this far behind the middle of the mouth, mm: the rest lies where cards come out.
BACK_MM = 60.0
# What lies in a slot, and so far round it, mm, is not at the mouth: cards lie askew.
SLOT_MARGIN_MM = 10.0
# A slot of which so large a share (0 to 1) lies in the patch is seen there: its cells are hidden
# from the network, not the hand that holds its card. At 0.3 and 0.46 such a hand was one card more,
# at 0.08, on eight films, it was not.
BESIDE = 0.2
# The picture is sampled this much finer than a cell and averaged; at 1, the white rim of a card
# falls between two samples of a large picture.
_FINER = 2


class MouthPatch:
    """The same patch of every picture of one camera; computed once where it lies.

    `slots` (HEIGHT x WIDTH) says which cells belong to a slot of the layout; cells from column
    `lip` on lie before the shoe.
    """

    def __init__(self, view: TableView) -> None:
        self.way = exit_way(view)
        across = np.array([-self.way[1], self.way[0]])
        middle = view.mouth.mean(axis=0)
        turned = np.eye(3)
        turned[:2, :2] = self.way, across
        turned[:2, 2] = -turned[:2, :2] @ middle
        plane = Homography(turned @ view.homography.matrix, view.homography.lens)
        origin = np.array([-BACK_MM, -HEIGHT * CELL_MM / 2], np.float32)
        fine = (WIDTH * _FINER, HEIGHT * _FINER)
        self._overhead = Overhead(plane, origin, CELL_MM / _FINER, fine)
        front = float(((view.mouth - middle) @ self.way).max())
        self.lip = min(round((front - float(origin[0])) / CELL_MM), WIDTH)
        drawn = np.zeros((HEIGHT, WIDTH), np.uint8)
        margin = 2 * round(SLOT_MARGIN_MM / CELL_MM) + 1
        for area in view.slots.values():
            cells = ((area - middle) @ turned[:2, :2].T - origin) / CELL_MM
            cv2.fillPoly(drawn, [np.round(cells).astype(np.int32)], 1)
        self.slots = cv2.dilate(drawn, np.ones((margin, margin), np.uint8)) > 0

    def __call__(self, image: Image) -> Image:
        """Return the patch (HEIGHT x WIDTH x 3, BGR); cards leave to the right."""
        fine = self._overhead(image)
        return np.asarray(cv2.resize(fine, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA), np.uint8)


def mouth_outline(view: TableView) -> Points:
    """Return the corners (4 x 2 pixels of the picture) of what a patch shows."""
    way = exit_way(view)
    across = np.array([-way[1], way[0]])
    behind, ahead = -BACK_MM, WIDTH * CELL_MM - BACK_MM
    aside = HEIGHT * CELL_MM / 2
    ends = ((behind, -aside), (ahead, -aside), (ahead, aside), (behind, aside))
    middle = view.mouth.mean(axis=0)
    return view.homography.to_px([middle + x * way + y * across for x, y in ends])


def shows(patch: Points, quad: Points) -> bool:
    """Whether a share of BESIDE or more of a quad (4 x 2 px) lies in a patch's outline (4 x 2)."""
    return abs(shared_area(quad, patch)) >= BESIDE * abs(cv2.contourArea(quad))


def slots_beside(view: TableView) -> list[Slot]:
    """Return the slots that a patch shows."""
    patch = mouth_outline(view)
    return [slot for slot, area in view.slots.items() if shows(patch, view.homography.to_px(area))]


def exit_way(view: TableView) -> Points:
    """Return the unit vector (2,) in mm along which cards leave the shoe.

    Where the view does not say, it is that of the mouth's four sides that faces the slots most.
    """
    mouth = view.mouth.mean(axis=0)
    if view.exit is not None:
        ahead = np.asarray(view.exit - mouth, np.float64)
        return np.asarray(ahead / np.hypot(*ahead), np.float64)
    slots = [area.mean(axis=0) for area in view.slots.values()]
    target = np.mean(slots, axis=0) - mouth if slots else np.array([1.0, 0.0])
    corners = cv2.boxPoints(cv2.minAreaRect(np.asarray(view.mouth, np.float32)))
    side = np.asarray(corners[1] - corners[0], np.float64)
    side /= np.hypot(*side)
    ways = [side, -side, np.array([-side[1], side[0]]), np.array([side[1], -side[0]])]
    return np.asarray(max(ways, key=lambda way: float(way @ target)), np.float64)


# --- the cards before -----------------------------------------------------------------------------

# So many of the last cards are what one that leaves is compared with, one a picture in turn: an arm
# that passed for a card is one of them. Before so many have left nothing is unlike them. More take
# the longer to forget the shoe before.
CARDS_BEFORE = 3


class CardsBefore:
    """What the mouth showed of the last cards that left, each as far out as it was seen."""

    def __init__(self) -> None:
        self._cards: deque[Tensor] = deque(maxlen=CARDS_BEFORE)
        self._shown: tuple[float, Tensor] | None = None  # of what is leaving
        self._turn = 0

    def next(self) -> Tensor | None:
        """Return the patches (9 x HEIGHT x WIDTH) of one of them, None before enough have left."""
        if len(self._cards) < CARDS_BEFORE:
            return None
        self._turn = (self._turn + 1) % CARDS_BEFORE
        return self._cards[self._turn]

    def shows(self, patches: Tensor, wholly: float) -> None:
        """Take what shows while something is out; `wholly` (0 to 1): how likely a whole card is."""
        if self._shown is None or wholly >= self._shown[0]:
            self._shown = wholly, patches

    def left(self) -> None:
        """Take that what was shown since the last time has left."""
        if self._shown is not None:
            self._cards.append(self._shown[1])
            self._shown = None


# --- what the network says of it ------------------------------------------------------------------

# What the network's values are called, in their order.
LABELS = (
    "rest", "partly", "wholly", "shift", "back", "face", "cut", "none", "hand", "together",
)  # fmt: skip
# The patch of before is the last one that is at least so old, ms: the network was trained on 40 to
# 110. Shorter shows no movement; longer is not what it knows.
BEFORE_MS = 45
# A patch is compared with one at least so old, ms, to know whether anything moves: slower than a
# hand that rests, faster than a dealer waits.
STILL_MS = 400
# Mean difference of two patches, 0 to 1, below which nothing moved. A patch averages ten pixels and
# more a cell: noise and compression leave 0.002 to 0.006 on the films at hand, a finger in the
# corner 0.01. Higher learns a creeping hand as rest; lower never learns in a dim room.
STILL_DIFFERENCE = 0.008
# For so long, ms, must a mouth be still that does not look at rest to be learnt as rest: a card
# laid before the shoe, a hand that lies there. Shorter, and a hand that waits is rest; longer, and
# the watcher is blind the longer after a thing is laid down.
LEARN_CHANGED_MS = 4_000
# The same if a card seems to be partly out and a hand was there: dealers wait with one half out.
# What came out without a hand is the next card as it waits in that shoe: it is rest like any other.
LEARN_PARTLY_MS = 30_000
# How fast the rest is learnt, share a frame's 100 ms: follows the light in a second.
LEARN_SHARE = 0.2
LEARN_EVERY_MS = 100


# A mouth at rest for so long, ms, has let a card go.
LEFT_MS = 150
# A picture that changed as a whole is under another light if it is so much brighter or darker, as a
# share; less is an arm across it.
RELIT = 0.15


class MouthSight:
    """Gives the values of the mouth's networks, picture by picture.

    It learns meanwhile what the mouth looks like at rest.
    """

    def __init__(self, view: TableView, infer: Infer, compare: Infer) -> None:
        """`compare` says how much likelier than a card the cut card is, of two times 9 patches."""
        self._patch = MouthPatch(view)
        self._infer, self._compare = infer, compare
        self._rest: Tensor | None = None
        self._past: deque[tuple[int, Tensor]] = deque()
        self._still_since: int | None = None
        self._learnt = 0
        self._handled = False  # a hand was there since a card is partly out
        self._before = CardsBefore()
        self._rest_since: int | None = None

    def values(self, image: Image, at: int) -> Tensor:
        """Return 11 values of a picture at a time (ms): the network's, and how unlike cards it is.

        That, ln of the odds of the cut card, is NaN while no cards before are known or none is out.
        """
        planes = self._patch(image)[:, :, ::-1].transpose(2, 0, 1)
        now: Tensor = np.ascontiguousarray(planes, np.float32) / np.float32(255)
        rest = now if self._rest is None else self._rest
        # A card in a slot near the shoe looks like one that is just out.
        np.copyto(now, rest, where=self._patch.slots)
        before = self._earlier(at, BEFORE_MS, now)
        patches = np.concatenate([rest, before, now])
        values = self._infer(patches[None])[0]
        powers = np.exp(values[:3] - values[:3].max())
        at_rest, partly, wholly = (powers / powers.sum()).tolist()
        unlike = self._unlike(patches, wholly) if at_rest < 0.5 else self._none_out(at)
        is_rest = self._is_rest(now, at, self._patience(at_rest, partly, values[4:9]))
        self._rest = rest + np.float32(LEARN_SHARE) * (now - rest) if is_rest else rest
        self._past.append((at, now))
        return np.append(values, np.float32(unlike))

    def relight(self, times: float) -> None:
        """Take that the whole picture is so many times as bright."""
        if abs(times - 1) <= RELIT:
            return
        if self._rest is not None:
            self._rest = np.minimum(self._rest * np.float32(times), 1)
        self._past = deque(
            (at, np.minimum(patch * np.float32(times), 1)) for at, patch in self._past
        )

    def _earlier(self, at: int, age: int, otherwise: Tensor) -> Tensor:
        """Return the last patch that is at least so old, or the oldest that there is."""
        for then, patch in reversed(self._past):
            if at - then >= age:
                return patch
        return self._past[0][1] if self._past else otherwise

    def _patience(self, at_rest: float, partly: float, shown: Tensor) -> int:
        """Return how long, ms, what shows must be still to be learnt as rest.

        `shown` (5) are what the network says of kinds and of a hand. A face in the mouth is to be
        noticed before it is how the mouth looks.
        """
        hand, face = bool(shown[4] > 0), int(shown[:4].argmax()) == 1
        self._handled = partly > 0.5 and (hand or self._handled)
        if self._handled:
            return LEARN_PARTLY_MS
        return LEARN_CHANGED_MS if hand or face or max(at_rest, partly) <= 0.5 else STILL_MS

    def _is_rest(self, now: Tensor, at: int, patience: int) -> bool:
        """Whether to learn from this patch: the mouth has been still for so long, ms."""
        moved = float(np.abs(now - self._earlier(at, STILL_MS, now)).mean())
        while self._past and at - self._past[0][0] > 2 * STILL_MS:
            self._past.popleft()
        if moved > STILL_DIFFERENCE or not self._past:
            self._still_since = None
            return False
        if self._still_since is None:
            self._still_since = at
        if at - self._still_since < patience or at - self._learnt < LEARN_EVERY_MS:
            return False
        self._learnt = at
        return True

    def _unlike(self, patches: Tensor, wholly: float) -> float:
        """Return how much likelier than a card the cut card is, ln; NaN if none is known."""
        self._rest_since = None
        self._before.shows(patches, wholly)
        card = self._before.next()
        if card is None:
            return math.nan
        return float(self._compare(np.concatenate([patches, card])[None])[0, 0])

    def _none_out(self, at: int) -> float:
        """Take that a card has left, once the mouth is at rest for a while."""
        if self._rest_since is None:
            self._rest_since = at
        elif at - self._rest_since >= LEFT_MS:
            self._before.left()
        return math.nan
