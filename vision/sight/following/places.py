"""What each of the six slots shows at one look, as one of a few symbols, and how much that counts.

A symbol joins four things: the card box found in the slot, whether a hand covers it, how unlike the
empty slot it looks, and whether something moves there. How likely each symbol is over an empty
slot, a back and a face is counted on films (`models.evaluate.fit_following`), not set here; here is
only where the bins of a symbol end. A look costs six patches of 18 x 24 pixels. Failures of sight
are bursts, not looks: a symbol that goes on is counted ever less the longer it has lasted. What
hides a slot says nothing of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.events import Slot
from vision.sight.detection.classifier import LEAST_SURE, Classify
from vision.sight.detection.detector import Detection, Detector, Kind, bounds
from vision.sight.detection.mouth import mouth_outline, shows
from vision.sight.geometry.plane import (
    Cutter,
    Frame,
    Image,
    Points,
    TableView,
    box_around,
    distance_inside,
    shared_area,
)

Patches = NDArray[np.float32]
Values = NDArray[np.float64]
# Width and height of a slot's patch in pixels, and the size of the patch in slots: enough to see
# that something lies there; more costs time only.
PATCH = (18, 24)
# A box belongs to the slot whose middle is nearest, if its own lies so near, mm: dealers lay cards
# half over a line, and slots are at least 70 mm apart.
NEAR_MM = 45.0
# A card lies outside the slots if its middle is so far from theirs, and at rest if it has moved by
# less than this since the look before, mm.
APART_MM, RESTS_MM = 55.0, 8.0
# The detector looks at the slots and the mouth, and so far about them, mm: a card beside a slot is
# whole. Less, and such cards are cut; at 200 mm a look costs half as much again.
ABOUT_MM = 100.0
# By so many pixels two boxes of one card that did not move may differ. Less, and at the edge of
# what changed both the old one and the new one are dropped; more looks where nothing is new.
JITTER_PX = 8.0
OUTWARD = np.array([[-1], [1]], np.float32)  # what `bounds` grow by
# What is taken for a card so surely (0 to 1), and rests for so long but no longer, ms, came to lie
# there; what has lain for longer is chips or print. A box not seen for the last time is forgotten.
SURE, LAIN_MS, FURNITURE_MS, FORGOTTEN_MS = 0.7, 400, 15_000, 60_000
# A card in the hand was exposed if its face showed for so long, ms: on films of simulator and of
# another renderer 150 cards that were not exposed showed one for at most 50.
FLASH_MS = 150
# And if the classifier was once so sure of one face in it (0 to 1): of 60 backs under fingers none
# came to more than 0.12, 28 of 31 faces in the hand to 0.13, five of another film to 0.99.
FLASHED = 0.3
# Edges of bins. Scores of boxes (0 to 1): below the first they are not asked for, below the second
# there is none, from the third on it is strong. Share of a slot under a hand. Mean difference of a
# patch (0 to 1) from the empty slot's, and from the patch of 100 ms before. From the trial of the
# method on two films; the table is counted for these, and moving them by half changed nothing.
LEAST_SCORE, WEAK, STRONG = 0.08, 0.15, 0.5
COVERED = 0.12
UNLIKE = (0.03, 0.08)
MOVES = 0.015
MOVED_SINCE_MS = 100
# An empty slot is learnt while nothing is in it: by this share a look, once known; and one that
# differs from that for so long, ms, with nothing found and nothing moving, is in another light.
LEARN_SHARE, RELEARN_MS = 0.05, 8000
# From this score on (0 to 1) a box is a hand. Lower than for cards: what a hand that was missed
# hides counts as gone, and of 80 looks at a film of another renderer with brown hands on tan felt
# 86 % have a hand from here on, 85 % from 0.4. Lower, and shadows delay what is reported of cards.
LEAST_HAND = 0.2
# For how long, in ms, a checked back is not checked again while it lies still: cards lie face down
# for seconds. Longer, and a card turned in its slot is recognised later; shorter costs time only.
AGAIN_MS = 400
# A card counts as lying still while its centre moves by no more than this, in pixels of the full
# picture: more than a detection jitters. Smaller checks in every frame, larger misses a new card.
STILL_PX = 4.0
BOXES, EDGES = 5, len(UNLIKE) + 1
SYMBOLS = BOXES * 2 * EDGES * 2
# A run of one symbol counts as ln(1 + its length / this) looks, ms.
PLACE_MS = 200.0
# A card was seen to lie in a slot once the looks since it came, with no hand over it, are so much
# likelier with one, ln: 20 times. Less, and what is carried by was seen to lie; more tells later.
SEEN = 3.0
# Beyond this length, ms, a run counts like any other picture: bursts are shorter, and in a slot
# that was bare for a minute a card that seems to be laid now is to be seen at once.
BURST_MS = 1000.0
# How much likelier a card at rest is seen outside the slots if one lies there, and how likely none
# is seen then: clutter looks like one in a few looks of a hundred, one of ten is overlooked.
ASIDE_SEEN, ASIDE_UNSEEN = 20.0, 0.1
# How much likelier than else no hand is seen while a card is in one: of 3,053 looks at cards on
# their way 5 had none, of 20,463 others 11 in 100. More than that, since a detector that does not
# know a hand misses it for long. And how much likelier all hands rest, within so many mm of where
# one was 100 ms before: in 5 of 100 looks at cards on their way, in 41 of 100 others. More than
# that, and for no longer than a burst, since dealers wait with a card.
HAND_UNSEEN, HAND_RESTS, REST_MM = 0.1, 0.2, 5.0


@dataclass(frozen=True, slots=True, eq=False)
class SlotObservation:
    """What one slot shows.

    `symbol` is 0 to SYMBOLS - 1; `box` the surest card box there, `None` without one; `covered` the
    share (0 to 1) of the slot under a hand.
    """

    symbol: int
    box: Detection | None
    covered: float
    moves: bool


class ElsewhereWatch:
    """Finds cards that came to lie outside the slots, the shoe's mouth and the discard."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._patch = mouth_outline(view)
        # Of each card its middle; when it was first seen, lies there since, and was last seen, ms.
        self._known: list[tuple[NDArray[np.float32], int, int, int]] = []
        self._begun: int | None = None  # when the first look was, ms
        self._at = 0  # and the last one
        self.before_mouth = False  # whether one lies open in the picture of the mouth

    def look(self, boxes: Sequence[Detection], at: int) -> tuple[Detection, ...]:
        """Return sure boxes of cards that came to rest there lately, not at first; `at` in ms."""
        self._begun = at if self._begun is None else self._begun
        new = at if at - self._begun > LAIN_MS else at - FURNITURE_MS
        held = [known for known in self._known if at - known[3] <= FORGOTTEN_MS]
        fresh, resting = [], []
        before = (box for box, _ in _outside(self._view, boxes, SURE, 0) if box.kind is Kind.FACE)
        self.before_mouth = any(shows(self._patch, face.quad) for face in before)
        for box, middle in _outside(self._view, boxes, SURE):
            same = [k for k in held if np.hypot(*(middle - k[0])) < RESTS_MM]
            first = min((k[1] for k in same), default=new)
            # What passed there before did not lie there.
            since = min((k[2] for k in same if self._at - k[3] <= LAIN_MS), default=at)
            fresh.append((middle, first, since, at))
            if at - since >= LAIN_MS and at - first < FURNITURE_MS:
                resting.append(box)
        gone = [k for k in held if all(np.hypot(*(k[0] - new[0])) >= RESTS_MM for new in fresh)]
        self._known, self._at = [*fresh, *gone], at
        return tuple(resting)


class FlashWatch:
    """Notices a card that shows its face in the hand that carries it."""

    def __init__(self, classify: Classify, view: TableView) -> None:
        self._classify, self._view = classify, view
        self._before: list[NDArray[np.float32]] = []  # middles of cards, before one was drawn
        self._carried: int | None = None
        self._at, self._shown_ms, self._is_read = 0, 0.0, False

    def look(self, image: Image, boxes: Sequence[Detection], at: int, carried: int | None) -> bool:
        """Whether a face showed outside the slots for long while one card (a number) was carried.

        What showed there before it was drawn is not its own. The surest card there is the one that
        is carried: chips and sleeves pass for others. Looks at its back speak against it: a back is
        taken for a face in single pictures, and under fingers in many: one of them must be read.
        """
        shown = _outside(self._view, boxes, STRONG)
        elapsed, self._at = min(FLASH_MS / 2, at - self._at), at
        if carried is None or carried != self._carried:
            self._carried, self._shown_ms, self._is_read = carried, 0.0, False
        if carried is None:
            self._before = [middle for _, middle in shown]
        elif new := [box for box, middle in shown if self._is_new(middle)]:
            surest = max(new, key=lambda box: box.score)
            is_face = surest.kind is Kind.FACE
            if is_face and not self._is_read:
                self._is_read = self._classify(image, [surest.quad])[0].confidence >= FLASHED
            self._shown_ms = max(self._shown_ms + (elapsed if is_face else -elapsed), -FLASH_MS)
        return self._is_read and self._shown_ms >= FLASH_MS

    def _is_new(self, middle: NDArray[np.float32]) -> bool:
        """Whether a place showed nothing before the card was drawn."""
        return all(np.hypot(*(middle - old)) >= NEAR_MM for old in self._before)


@lru_cache(maxsize=64)  # of a box that stays it is asked by several at each look
def middle_of(view: TableView, box: Detection) -> NDArray[np.float32]:
    """Return the middle of a box on the table, (2,) mm."""
    return np.asarray(view.homography.to_mm(box.quad).mean(axis=0), np.float32)


class SlotWatch:
    """Gives the symbols of the six slots from boxes and patches, look by look."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        quads = (view.homography.to_px(box_around(view.slots[slot])) for slot in Slot)
        self._cutters = [Cutter(quad, PATCH) for quad in quads]
        self._areas = [np.asarray(view.slots[slot], np.float32) for slot in Slot]
        self._middles = np.array([area.mean(axis=0) for area in self._areas])
        self._sizes = [abs(cv2.contourArea(area)) for area in self._areas]
        self._empty: Patches = np.zeros((len(Slot), PATCH[1], PATCH[0], 3), np.float32)
        self._known = np.zeros(len(Slot), bool)  # which empty slots are
        self._odd_since: list[int | None] = [None] * len(Slot)
        self._past: deque[tuple[int, Patches]] = deque()

    def look(
        self, boxes: Sequence[Detection], image: Image, at: int
    ) -> tuple[SlotObservation, ...]:
        """Return what the slots show at a time (ms); boxes of cards and hands in pixels."""
        now = np.divide([cut(image) for cut in self._cutters], 255, dtype=np.float32)
        # The newest patches that are old enough to show a movement.
        while len(self._past) > 1 and at - self._past[1][0] >= MOVED_SINCE_MS:
            self._past.popleft()
        motion = np.abs(now - (self._past[0][1] if self._past else now)).mean(axis=(1, 2, 3))
        self._past.append((at, now))
        found, covered = self._boxes_of(boxes), self._covered(boxes)
        bare = [
            box is None and share < COVERED and moved <= MOVES
            for box, share, moved in zip(found, covered, motion, strict=True)
        ]
        # A cloud or a camera that adapts changes all bare slots, what came to lie in one only that.
        changes = (now - self._empty).mean(axis=(1, 2))[self._known & bare]
        least = min(changes, key=lambda change: float(np.abs(change).sum()), default=np.float32(0))
        differences = np.abs(now - least - self._empty).mean(axis=(1, 2, 3)).tolist()
        observations = []
        for place in range(len(Slot)):
            box, moves = found[place], bool(motion[place] > MOVES)
            # By the box while the empty slot is unknown.
            unlike = differences[place] if self._known[place] else float(box is not None)
            if bare[place]:
                self._learn(place, now[place], unlike, at)
            elif box is not None:
                self._odd_since[place] = None
            kind = 0 if box is None else 1 + 2 * (box.kind is Kind.FACE) + (box.score >= STRONG)
            bins = sum(unlike >= edge for edge in UNLIKE)
            symbol = ((kind * 2 + (covered[place] > COVERED)) * EDGES + bins) * 2 + moves
            observations.append(SlotObservation(symbol, box, covered[place], moves))
        return tuple(observations)

    def _boxes_of(self, boxes: Sequence[Detection]) -> list[Detection | None]:
        found: list[Detection | None] = [None] * len(Slot)
        for box in boxes:
            if box.kind in {Kind.HAND, Kind.CUT} or box.score < WEAK:
                continue
            middle = middle_of(self._view, box)
            away = np.hypot(*(self._middles - middle).T)
            place = int(np.argmin(away))
            inside = distance_inside((float(middle[0]), float(middle[1])), self._areas[place]) >= 0
            held = found[place]
            if (inside or away[place] < NEAR_MM) and (held is None or box.score > held.score):
                found[place] = box
        return found

    def _covered(self, boxes: Sequence[Detection]) -> list[float]:
        covered = [0.0] * len(Slot)
        for box in _hands(boxes):
            quad = self._view.homography.to_mm(box.quad)
            for place, area in enumerate(self._areas):
                if _meets(quad, bounds(area)):
                    share = abs(shared_area(quad, area)) / self._sizes[place]
                    covered[place] = max(covered[place], share)
        return covered

    def _learn(self, place: int, now: Patches, unlike: float, at: int) -> None:
        """Learn an empty slot: at once, then slowly, and at once where the light has changed."""
        since, odd = self._odd_since[place], unlike > UNLIKE[0]
        self._odd_since[place] = (at if since is None else since) if odd else None
        if not self._known[place] or (odd and since is not None and at - since >= RELEARN_MS):
            self._empty[place], self._known[place], self._odd_since[place] = now, True, None
        elif not odd:
            self._empty[place] += np.float32(LEARN_SHARE) * (now - self._empty[place])


def has_hand_at(area: Points, view: TableView, boxes: Sequence[Detection]) -> bool:
    """Whether a hand meets the bounds of an area of the table (n x 2 mm)."""
    return any(_meets(view.homography.to_mm(hand.quad), bounds(area)) for hand in _hands(boxes))


def _hands(boxes: Sequence[Detection]) -> list[Detection]:
    return [box for box in boxes if box.kind is Kind.HAND and box.score >= LEAST_HAND]


@lru_cache(maxsize=8)
def _slot_middles(view: TableView) -> Points:
    return np.array([area.mean(axis=0) for area in view.slots.values()], np.float32)


def _outside(
    view: TableView, boxes: Sequence[Detection], least: float, margin: float = NEAR_MM / 2
) -> list[tuple[Detection, NDArray[np.float32]]]:
    """Return the cards of that score and more that `is_outside`, each with its middle (2, mm)."""
    cards = (box for box in boxes if box.kind in {Kind.FACE, Kind.BACK} and box.score >= least)
    found = ((box, middle_of(view, box)) for box in cards)
    return [(box, middle) for box, middle in found if is_outside(view, middle, margin)]


def is_outside(view: TableView, middle: NDArray[np.float32], margin: float = NEAR_MM / 2) -> bool:
    """Whether the middle of a card (2, mm) is off the slots, and by that, mm, mouth and discard."""
    point = (float(middle[0]), float(middle[1]))
    near = float(np.hypot(*(_slot_middles(view) - middle).T).min())
    other = [view.mouth, *([] if view.discard is None else [view.discard])]
    return near >= APART_MM and all(distance_inside(point, area) < -margin for area in other)


def watched(view: TableView) -> Points:
    """Return points of the picture (n x 2 px) round the slots and the mouth."""
    areas = np.concatenate([*view.slots.values(), view.mouth]).astype(np.float32)
    ways = ABOUT_MM * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.float32)
    return view.homography.to_px((areas[:, None] + ways).reshape(-1, 2))


def slot_corners(view: TableView) -> Points:
    """Return the corners of all slots in the picture (n x 2 px)."""
    return view.homography.to_px(np.concatenate([*view.slots.values()]).astype(np.float32))


def card_length(view: TableView) -> float:
    """Return the longest that a card in any slot is in the picture, px."""
    length = max(view.card_mm)
    middles = _slot_middles(view)
    ends = middles + np.array([[[length, 0]], [[0, length]]], np.float32)
    there = view.homography.to_px(middles)
    return max(float(np.hypot(*(view.homography.to_px(way) - there).T).max()) for way in ends)


# --- where cards and hands are -------------------------------------------------------------------


class TableBoxes:
    """The boxes of cards and hands round slots and mouth, looked for where the picture changed.

    `found` are the last ones.
    """

    def __init__(self, detector: Detector, view: TableView, size: tuple[int, int]) -> None:
        """Look at pictures of that size (width, height, px)."""
        self._detector, self._size = detector, size
        self._window = detector.window(watched(view), *size)
        self._reach = card_length(view)
        self.found: tuple[Detection, ...] = ()

    def look(self, image: Image) -> None:
        """Look at all of it."""
        self.found = self._detector.cards_and_hands(image, LEAST_SCORE, self._window)

    def renew(self, image: Image, change: Points) -> None:
        """Look again where boxes may be others after a change.

        `change` is two opposite corners (2 x 2 px) of what holds all that changed since the last
        look. What meets it lies whole within a card's length of it; a hand is looked for all along
        where one was.
        """
        near = change + JITTER_PX * OUTWARD
        hands = [b.quad for b in self.found if b.kind is Kind.HAND and _meets(b.quad, near)]
        area = bounds(np.concatenate([change, *hands]))
        seen = area + JITTER_PX * OUTWARD
        part = self._detector.window(seen + self._reach * OUTWARD, *self._size, self._window)
        now = self._detector.cards_and_hands(image, LEAST_SCORE, part)
        others = (box for box in self.found if not _meets(box.quad, area))
        self.found = self._detector.once([*(box for box in now if _meets(box.quad, seen)), *others])


class FaceCheck:
    """Corrects to a face what the detector took for a back, where it lies in a slot.

    The detector sees a card small, where a court in the frame of its pips can look like a back, and
    a face taken for a back would never be read.
    """

    def __init__(self, classify: Classify, view: TableView) -> None:
        self._classify = classify
        self._view = view
        # Middles (2 pixels) of backs that were looked at, when, and whether each was a face.
        self._checked: list[tuple[Points, int, bool]] = []

    def __call__(self, frame: Frame, found: Sequence[Detection]) -> tuple[Detection, ...]:
        """Return the detections with the kinds that hold at full size."""
        self._checked = [back for back in self._checked if 0 <= frame.at - back[1] < AGAIN_MS]
        backs = [
            card
            for card in found
            if card.kind is Kind.BACK
            and self._view.slot_of(self._view.locate(card.quad)[0]) is not None
        ]
        new = [back.quad for back in backs if self._is_face(back.quad) is None]
        for quad, seen in zip(new, self._classify(frame.image, new) if new else (), strict=True):
            self._checked.append((quad.mean(axis=0), frame.at, seen.confidence >= LEAST_SURE))
        faces = {id(back) for back in backs if self._is_face(back.quad)}
        return tuple(replace(card, kind=Kind.FACE) if id(card) in faces else card for card in found)

    def _is_face(self, quad: Points) -> bool | None:
        """Return what was found of a back that lies there, `None` if nothing lately."""
        centre = quad.mean(axis=0)
        for middle, _, is_face in self._checked:
            if float(np.abs(middle - centre).max()) <= STILL_PX:
                return is_face
        return None


def _meets(quad: Points, area: Points) -> bool:
    """Whether the upright box round a quad shares anything with an area (2 x 2 px)."""
    return bool((quad.min(axis=0) < area[1]).all() and (quad.max(axis=0) > area[0]).all())


# --- as evidence ----------------------------------------------------------------------------------


class _Runs:
    """How much looks at places count: ever less, the longer one symbol has lasted there."""

    def __init__(self, symbols: Sequence[float]) -> None:
        """Begin with what the places showed all the time before."""
        self._runs = [(symbol, 0) for symbol in symbols]  # each since when, ms
        self._at: int | None = None

    def weights(self, symbols: Sequence[float], at: int) -> list[float]:
        """Return the weights (0 to 1) of the symbols of a look at a time, ms."""
        elapsed = min(PLACE_MS, at - self._at) if self._at is not None else PLACE_MS
        self._at = at
        self._runs = [
            run if run[0] == symbol else (symbol, at)
            for run, symbol in zip(self._runs, symbols, strict=True)
        ]
        return [
            min(1.0, elapsed / (PLACE_MS + min(BURST_MS, at - since))) for _, since in self._runs
        ]


class Elsewhere(NamedTuple):
    """How much likelier what is seen outside the slots is if a first and a further card lie there.

    And how much if a card is in the hand.
    """

    cards: tuple[float, float]
    hand: float


class ElsewhereEvidence:
    """Turns what is seen outside the slots into how likely it is with cards there, or in a hand."""

    def __init__(self, view: TableView) -> None:
        self._view = view
        self._runs = _Runs((False, False, 1.0))
        self._past: deque[tuple[int, list[NDArray[np.float32]]]] = deque()  # when, hands
        self._moved_at = 0  # ms: when not all hands rested

    def take(self, cards: int, boxes: Sequence[Detection], at: int) -> Elsewhere:
        """Return what a look at a time, ms, says, in which so many cards are seen there.

        `boxes` are all of it, hands among them. A run counts as in the slots.
        """
        hand = self._hand(boxes, at)
        first, more, runs = self._runs.weights((cards > 0, cards > 1, hand), at)
        one, two = (ASIDE_SEEN if cards > number else ASIDE_UNSEEN for number in range(2))
        return Elsewhere((one**first, two**more), hand**runs)

    def _hand(self, boxes: Sequence[Detection], at: int) -> float:
        """Return how much likelier what hands do is while one has a card."""
        hands = [middle_of(self._view, hand) for hand in _hands(boxes)]
        while len(self._past) > 1 and at - self._past[1][0] >= MOVED_SINCE_MS:
            self._past.popleft()
        before = self._past[0][1] if self._past else []
        self._past.append((at, hands))
        if not all(any(np.hypot(*(hand - old)) <= REST_MM for old in before) for hand in hands):
            self._moved_at = at
        if not hands:
            return HAND_UNSEEN
        return HAND_RESTS if 0 < at - self._moved_at <= BURST_MS else 1.0


class SlotEvidence:
    """Turns the looks at the six slots into likelihoods of empty, back and face."""

    def __init__(self, table: Values) -> None:
        """`table` (3 x SYMBOLS): log-likelihoods over an empty slot, a back and a face."""
        self._table = table
        self._runs = _Runs([-1] * len(Slot))
        self._held: Values = np.zeros(len(Slot))  # ln, since the slot last looked empty

    @property
    def holds(self) -> list[bool]:
        """Whether each slot was seen to hold a card."""
        return [bool(held > SEEN) for held in self._held]

    def take(self, observations: Sequence[SlotObservation], at: int) -> Values:
        """Return the log-likelihoods, 3 x 6, of a look at a time, ms."""
        symbols = [one.symbol for one in observations]
        found: Values = self._table[:, symbols] * np.array(self._runs.weights(symbols, at))
        most = [np.inf if one.covered <= COVERED else 0.0 for one in observations]
        shown = np.minimum(most, found[1:].max(axis=0) - found[0])
        self._held = np.maximum(0, self._held + shown)
        return found
