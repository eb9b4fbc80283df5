"""Read the faces that lie open in the slots: observations fused until the error is below a bound.

A face is known by its coup and the slot in which it lies, so that no reading depends on which card
of the coup it is. What would make sense in the game is never asked, only how many copies of a face
the shoe still holds. With an enrolled deck, a card whose observations are on the whole unlike the
deck's is foreign, and is not read. One that shows another face later is weighed by `SwitchCheck`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.sight.detection.classifier import (
    ALL,
    FACES,
    SETTLES_MS,
    CardModels,
    Drawn,
    Observation,
    Opinion,
    Pool,
    SwitchCheck,
)
from vision.sight.detection.detector import Detection, Kind
from vision.sight.geometry.plane import Image, Points, Pose, TableView, rectify
from vision.sight.reading.deck import DeckClassifier

# The values below were set by judgement with the first reader and confirmed on simulated films.

# From one observation of a card that is read to the next, in ms: at first and while it is checked
# after it was hidden, then once enough observations agree. Shorter costs time only; longer, and a
# wrong first reading, or a switch, is found later.
AGAIN_MS, SETTLED_MS = 400, 1000
# For how long, in ms, a face lies open before it is given as unread, and after how many
# observations at least. Shorter or fewer, and a card under the dealer's hand is unread; longer, and
# the desk learns of an unreadable card after the coup has gone on.
UNREAD_MS, LEAST_TRIES = 3000, 5
# Observations differ, and count apart, if the card moved by so many mm, turned by so many degrees,
# or its reduced picture changed by so many grey levels (0 to 255) on average. Lower, and noise
# makes copies of one picture count as independent; higher, and real changes are not used.
SHIFT_MM, TURN_DEGREES, CHANGED_LEVELS = 3.0, 3.0, 10.0
# A card is looked at where it was found on average, the last time by this share; found further off
# than so many mm it has moved. A larger share jitters, a smaller one is late.
REST_SHARE, RESTS_MM = 0.15, 8.0
# Width and height in pixels of that reduced picture. Larger compares noise, smaller misses fingers.
PATCH = (16, 22)
# A card whose median strangeness (`Observation.strange`) is at least this is foreign; lowered from
# 4 after a first run of `models.evaluate.enrolment` (`deploy/enrolment.md`). Lower, and the deck's
# own worn or half-covered cards are noticed; higher, and similar decks pass.
STRANGE_FOR_LONG = 3.0
# How many observations that median needs at least, and over how many of the last it is taken. Fewer
# let single poor observations decide; more notice a foreign card later.
LEAST_OBSERVATIONS, RECENT_OBSERVATIONS = 5, 15


# How many observations that agree settle a face, so that it is looked at rarely: more cost time.
SETTLED_OBSERVATIONS = 4


# --- faces ----------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """The most probability of error (0 to 1) of a reading; from which odds a switch is alleged."""

    error_bound: float
    allege_odds: float


NONE = Limits(0.0, np.inf)  # nothing is read, nobody accused


class Where(NamedTuple):
    """A coup, counted as sight counts them, and a slot of it; `None`: outside the slots."""

    coup: int
    slot: int | None


@dataclass(slots=True, eq=False)
class Face:
    """What is known of one face; times in ms.

    `read` and its `confidence` (0 to 1) and next best face are those of the last reading that met
    the bound; `declined`: it lies open and cannot be read. `switched` is another face that lies
    there now, by the `odds`; `doubted` one that showed too briefly to know; `foreign`: "face" or
    "back" where that is none of the enrolled deck; `apart`: it was seen while another card that is
    read alike lay open too.
    """

    limits: Limits = NONE
    read: Card | None = None
    confidence: float = 0.0
    second: Card | None = None
    declined: bool = False
    switched: Card | None = None
    odds: float = 0.0
    doubted: Card | None = None
    foreign: str = ""
    apart: bool = False
    _pool: Pool = field(default_factory=Pool)
    _check: SwitchCheck | None = None
    _strange: dict[str, list[float]] = field(default_factory=dict)
    _tries: int = 0  # observations since the face was turned up
    _open_since: int | None = None
    _observed_at: int | None = None
    _rest: Pose | None = None  # the mean of where it was found since it lies there
    _pose: Pose | None = None  # of the last observation that differed from the one before it
    _patch: NDArray[np.float32] | None = None  # reduced picture of the same one, grey levels

    @property
    def now(self) -> Card | None:
        """The face that lies there now, as far as it is read."""
        return self.switched or self.read

    @property
    def waits(self) -> bool:
        """Whether it is to be looked at even while nothing moves."""
        is_open = self._open_since is not None
        checked = self._check is not None and self._check.is_on
        return checked or (is_open and self.now is None and not self.declined)

    def is_due(self, at: int) -> bool:
        """Whether to look at it, where it lies open at `at`."""
        last, check = self._observed_at, self._check
        if check is None or check.is_on or last is None:
            return True
        every_ms = SETTLED_MS if check.agreeing >= SETTLED_OBSERVATIONS else AGAIN_MS
        return at - last >= every_ms

    def note(self, at: int, kind: Kind | None, drawn: Sequence[Drawn]) -> None:
        """Take what lies in clear sight there: a face, a back, or nothing (`None`).

        `drawn` are the cards that left the shoe in its coup.
        """
        if self._check is not None:
            self._check.note(at, drawn, clear=kind is Kind.FACE)
            if self._check.was_cut_short:
                self._compare(self._check, ALL)
        if kind is Kind.BACK:
            self._open_since, self._tries = None, 0
        elif kind is Kind.FACE and self._open_since is None:
            self._open_since = at

    def lose_sight(self, at: int) -> None:
        """Take that nothing has been seen since `at`: another face there then accuses nobody."""
        if self._check is not None:
            self._check.lose_sight(at)

    def take(
        self, at: int, observation: Observation, left: NDArray[np.float64], *, changed: bool
    ) -> None:
        """Take an observation; `left` are the copies of each face (52) that it may be."""
        self._observed_at, self._tries = at, self._tries + 1
        if self._check is None:
            self._pool.add(at, observation, changed=changed)
        else:
            self._check.take(at, observation, changed=changed)
        if self.is_strange("face", observation.strange):
            self.read, self.second, self.declined = None, self.read, True
            self._check, self.switched, self.doubted = None, None, None
        elif self._suspected:
            return
        elif self._check is None:
            self._conclude(at, left)
        else:
            self._compare(self._check, left)

    def is_strange(self, side: str, strange: float) -> bool:
        """Take how strange one observation of a side is; return whether the card is foreign."""
        found = self._strange.setdefault(side, [])
        found.append(strange)
        del found[:-RECENT_OBSERVATIONS]
        if (
            not self.foreign
            and len(found) >= LEAST_OBSERVATIONS
            and median(found) >= STRANGE_FOR_LONG
        ):
            self.foreign = side
        return bool(self.foreign)

    @property
    def _suspected(self) -> bool:
        """Whether it looks foreign until enough observations decide."""
        found = self._strange.get("face", [0.0])
        return len(found) < LEAST_OBSERVATIONS and median(found) >= STRANGE_FOR_LONG

    def rests_at(self, found: Pose) -> Pose:
        """Return the mean of where it was found lately; from the start once it lies elsewhere."""
        if self._rest is None or self._rest.distance(found) > RESTS_MM:
            self._rest = found
        self._rest = self._rest.towards(found, REST_SHARE)
        return self._rest

    def differs(self, pose: Pose, image: Image, quad: Points) -> bool:
        """Whether pose or light changed since the last observation that differed."""
        small = cv2.cvtColor(rectify(image, quad, PATCH), cv2.COLOR_BGR2GRAY)
        patch = small.astype(np.float32)
        changed = (
            self._patch is None
            or self._pose is None
            or self._pose.distance(pose) > SHIFT_MM
            or self._pose.turn(pose) > TURN_DEGREES
            or float(np.abs(patch - self._patch).mean()) > CHANGED_LEVELS
        )
        if changed:
            self._patch, self._pose = patch, pose
        return changed

    def end(self, quad: Points) -> Points:
        """Return the quad, begun at either end in turn.

        A card looks the same from both; a shadow or a finger that misleads from one end may not
        from the other.
        """
        return np.asarray(np.roll(quad, 2 * (self._tries % 2), axis=0))

    def _compare(self, check: SwitchCheck, left: NDArray[np.float64]) -> None:
        """Weigh whether the card that was read is another one since it was hidden."""
        opinion, bound = check.now(left), self.limits.error_bound
        if opinion is None:
            return
        if opinion.best == check.read:
            if opinion.error <= bound:
                check.confirm()
                self.read, self.switched, self.doubted, self.odds = check.read, None, None, 0.0
            return
        odds, ms = check.odds()
        if opinion.error <= bound and odds >= self.limits.allege_odds:
            self.read, self.switched, self.doubted = check.read, opinion.best, None
            self.odds = max(self.odds, odds)
        elif self.switched is not None:
            return  # less is seen of it now, and no more of the first
        elif opinion.error <= bound and ms >= SETTLES_MS:
            self._read(opinion)
            if check.accuses_nobody:
                self._check = SwitchCheck(opinion.best, check.pool())
        elif check.was_cut_short and odds >= 1 and self.read == check.read:
            self.doubted, self.odds = opinion.best, odds

    def _conclude(self, at: int, left: NDArray[np.float64]) -> None:
        """Read the face if its observations leave no more error than the bound."""
        opinion = self._pool.fusion.opinion(left)
        if opinion is not None and opinion.error <= self.limits.error_bound:
            self._read(opinion)
            self._check = SwitchCheck(opinion.best, self._pool)
            return
        late = self._open_since is not None and at - self._open_since >= UNREAD_MS
        if late and self._tries >= LEAST_TRIES:
            self.declined = True
            if opinion is not None:
                self.confidence, self.second = opinion.confidence, opinion.best

    def _read(self, opinion: Opinion) -> None:
        self.read, self.confidence = opinion.best, opinion.confidence
        self.second, self.declined = opinion.second, False


UNKNOWN = Face()  # a card of which nothing is known


class FaceReader:
    """The faces of the coups that are open, by where they lie.

    `decks` sets the copies of a face in the shoe. Where a deck is enrolled, backs are compared with
    its.
    """

    def __init__(self, view: TableView, models: CardModels, limits: Limits, *, decks: int) -> None:
        self._view = view
        self._detector, self.classify = models.detector, models.classifier
        self._limits = limits
        self._decks = decks
        self.faces: dict[Where, Face] = {}
        self._clear: set[Where] = set()  # what lay in clear sight at the last observation
        self.begin_shoe(())

    def begin_shoe(self, read: Iterable[Card]) -> None:
        """Begin with a full shoe but for the cards read so far."""
        self._left = np.full(FACES, float(self._decks))
        for card in read:
            self._left[card.index] -= 1

    def restore(self, where: Where, card: Card, confidence: float) -> None:
        """Take a face that was read before a restart; it is among the cards read so far."""
        check = SwitchCheck(card, Pool())
        self.faces[where] = Face(self._limits, card, confidence, _check=check)

    @property
    def waiting(self) -> bool:
        """Whether a face is to be looked at even while nothing moves."""
        return any(face.waits for where, face in self.faces.items() if where in self._clear)

    def look(
        self, image: Image, at: int, seen: Mapping[Where, Detection], drawn: Sequence[Drawn] = ()
    ) -> None:
        """Look at the cards in clear sight, at a time in ms.

        `drawn` are the cards that left the shoe in the running coup.
        """
        edge = image.shape[1] - 1, image.shape[0] - 1
        seen = {  # a card that the picture cuts is not in clear sight
            where: box
            for where, box in seen.items()
            if (box.quad >= 0).all() and (box.quad <= edge).all()
        }
        self._clear = set(seen)
        for where in seen:
            self.faces.setdefault(where, Face(self._limits))
        for where, face in self.faces.items():
            face.note(at, seen[where].kind if where in seen else None, drawn)
        up = {where: box for where, box in seen.items() if box.kind is Kind.FACE}
        self._observe_backs(image, {where: box for where, box in seen.items() if where not in up})
        self._observe(image, at, {w: box for w, box in up.items() if self.faces[w].is_due(at)})
        self._tell_apart(image, up)

    def _observe(self, image: Image, at: int, wanted: Mapping[Where, Detection]) -> None:
        if not wanted:
            return
        poses, faces = self._poses(image, wanted), [self.faces[where] for where in wanted]
        quads = [self._view.quad_px(pose) for pose in poses]
        ends = [face.end(quad) for face, quad in zip(faces, quads, strict=True)]
        observations = self.classify(image, ends)
        for face, observation, pose, quad in zip(faces, observations, poses, quads, strict=True):
            if face.now is not None:
                self._left[face.now.index] += 1  # the one that it is read as may be this one
            changed = face.differs(pose, image, quad)
            face.take(at, observation, self._left, changed=changed)
            if face.now is not None:
                self._left[face.now.index] -= 1

    def _tell_apart(self, image: Image, up: Mapping[Where, Detection]) -> None:
        """Look at cards that are read alike and lie open at once until each was seen so."""
        reads = Counter(self.faces[where].read for where in up)
        alike = {where: box for where, box in up.items() if reads[self.faces[where].read] > 1}
        alike = {w: b for w, b in alike.items() if self.faces[w].read and not self.faces[w].apart}
        quads = [self._view.quad_px(pose) for pose in self._poses(image, alike)]
        for where, seen in zip(alike, self.classify(image, quads) if quads else (), strict=True):
            self.faces[where].apart = seen.best == self.faces[where].read

    def lose_sight(self, at: int) -> None:
        """Take that nothing has been seen since `at`, ms."""
        for face in self.faces.values():
            face.lose_sight(at)

    def _poses(self, image: Image, cards: Mapping[Where, Detection]) -> list[Pose]:
        """Return where the cards lie, by their corners."""
        boxes = self._detector.outlined(image, list(cards.values()))
        return [
            self.faces[where].rests_at(self._view.locate(box.quad)[0])
            for where, box in zip(cards, boxes, strict=True)
        ]

    def forget(self, coup: int) -> None:
        """Forget the faces of the coups up to that one: they have left the table."""
        self.faces = {where: face for where, face in self.faces.items() if where.coup > coup}

    def forget_bare(self, coup: int, held: Container[int | None]) -> None:
        """Forget the faces of a coup in slots that no card of it holds: they were other cards."""
        for where in [w for w in self.faces if w.coup == coup and w.slot is not None]:
            if where.slot not in held:
                face = self.faces.pop(where)
                if face.now is not None:
                    self._left[face.now.index] += 1

    def _observe_backs(self, image: Image, backs: Mapping[Where, Detection]) -> None:
        """Look at cards that lie on their faces, where a deck is enrolled."""
        if not isinstance(self.classify, DeckClassifier) or not backs:
            return
        quads = [self._view.quad_px(pose) for pose in self._poses(image, backs)]
        found = self.classify.strange_backs(image, quads)
        for where, strange in zip(backs, found, strict=True):
            self.faces[where].is_strange("back", strange)
