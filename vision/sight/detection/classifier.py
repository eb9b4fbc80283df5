"""Read the face of a card: calibrated log-probabilities, and whether it can be read at all.

`Fusion` makes one opinion of many observations of one card; `SwitchCheck` weighs by its
observations whether a card that was read is another one now.

The network sees the card rectified from the full picture, and is given as an `infer` callable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import DECK, RANK_LETTERS, SUIT_LETTERS, Card
from vision.sight.detection.detector import Detector, Infer, Tensor, batch
from vision.sight.geometry.plane import Image, Points, rectify

# The classifier's input, width and height in pixels: 63 x 88 mm at about 1.5 px a mm. It was
# trained so: change it only with a new training.
CROP_SIZE = (96, 136)
RANKS, SUITS = len(RANK_LETTERS), len(SUIT_LETTERS)
FACES = len(DECK)
# An observation counts as one at a face if `Observation.readable` is at least this (0 to 1): the
# even chance, as the probability is calibrated. Lower, and hands and backs are read; higher, and
# poor observations of covered cards are lost.
LEAST_READABLE = 0.5
# The least confidence (0 to 1) with which a back must read as one card to be taken for a face.
# Set after a simulated film in which a jack was taken for a back. Lower, and
# backs become faces; higher, and faces that the detector misses stay unread.
LEAST_SURE = 0.98


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One observation of one card.

    `log_p` holds 52 calibrated log-probabilities by `Card.index`; `readable` (0 to 1) is the
    probability that both rank and suit of a face can be seen here, `rank_seen` that the rank can,
    `back` that the back of a card can; `strange` is how far it is from the enrolled deck's own
    cards, in spreads of their own observations: 0 where no deck is enrolled.
    """

    log_p: NDArray[np.float32]
    readable: float
    strange: float = 0.0
    rank_seen: float = 0.0
    back: float = 0.0

    @property
    def best(self) -> Card:
        """The most probable face of this observation alone."""
        return DECK[int(self.log_p.argmax())]

    @property
    def confidence(self) -> float:
        """How sure the observation is of its best face, 0 to 1."""
        return self.readable * float(np.exp(self.log_p.max()))


Classify = Callable[[Image, Sequence[Points]], Sequence[Observation]]


class Classifier:
    """Reads cards given by their quads from the full picture.

    `infer` maps N x 3 x H x W (RGB, 0 to 1) to N x 20 logits: 13 ranks, 4 suits, rank seen, suit
    seen, back seen. The temperatures divide the logits; `seen_shift` is added to those of what is
    seen of a face, since what may be hidden is often right: so that the stated probabilities are
    the measured ones.
    """

    def __init__(
        self,
        infer: Infer,
        *,
        temperature: float = 1.0,
        seen_temperature: float = 1.0,
        seen_shift: float = 0.0,
    ) -> None:
        self._infer = infer
        self.temperature = temperature
        self.seen_temperature = seen_temperature
        self.seen_shift = seen_shift

    def __call__(self, image: Image, quads: Sequence[Points]) -> tuple[Observation, ...]:
        """Return one observation for each quad (4 x 2 pixels, clockwise, edge 0-1 a short side)."""
        if not quads:
            return ()
        return self.of_crops([rectify(image, quad, CROP_SIZE) for quad in quads])

    def of_crops(self, crops: Sequence[Image]) -> tuple[Observation, ...]:
        """Return one observation for each rectified card (136 x 96 x 3, BGR)."""
        return self.observations(self._infer(batch(crops)))

    def observations(self, logits: Tensor) -> tuple[Observation, ...]:
        """Turn N x 20 logits into observations."""
        ranks = _log_softmax(logits[:, :RANKS] / self.temperature)
        suits = _log_softmax(logits[:, RANKS : RANKS + SUITS] / self.temperature)
        joint = (ranks[:, :, None] + suits[:, None, :]).reshape(len(logits), RANKS * SUITS)
        shifted = (logits[:, RANKS + SUITS : -1] + self.seen_shift) / self.seen_temperature
        seen = 1 / (1 + np.exp(-np.column_stack([shifted, logits[:, -1]])))
        return tuple(
            Observation(
                row.astype(np.float32), float(rank * suit), rank_seen=float(rank), back=float(back)
            )
            for row, (rank, suit, back) in zip(joint, seen, strict=True)
        )


def _log_softmax(logits: Tensor) -> Tensor:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class CardModels:
    """The networks that find and read cards: detector with corner finder, and classifier."""

    detector: Detector
    classifier: Classifier


# --- observations fused ---------------------------------------------------------------------------

# Observations of a card that lies still are nearly copies of each other: their errors agree. They
# are averaged, and the average counts as at most three independent observations, however many there
# were; a new count is begun only by a new pose or new light. Observations of a card whose signs can
# hardly be seen share what covers or blurs them: ten of those are one. The values below were set by
# judgement with the first reader and confirmed on simulated films.

# The least probability of error that a single observation is believed to have, however sure it is,
# so that one observation alone never meets the default bound of 1e-5. Lower, and one freak
# observation names a card; higher, and clear cards need many observations.
OBSERVATION_ERROR = 2e-4
# As how many independent observations those in one pose and light count at most. Higher, and an
# error that all of them share is taken for certainty; lower, and cards that lie still stay unread.
STILL_OBSERVATIONS = 3.0
# After how many observations in one pose (weighted by readability) they count half of that. Lower
# reads sooner, from fewer pictures.
HALFWAY = 2.0
# Up to the first mean readability (0 to 1) all observations count as one, from the second on in
# full, between in proportion. Lower, and what one finger or one blur hides is believed after ten
# observations; higher, and cards that are partly covered stay unread.
HARDLY_SEEN, CLEARLY_SEEN = 0.8, 0.95
# As how many independent observations all poses together count at most, for the same reason.
MOST_OBSERVATIONS = 6.0
# What a face with no copy left in the shoe weighs against one copy of another (no unit). At 0 an
# earlier misread would make a true card unreadable; higher, and the count of copies decides little.
NO_COPY = 1e-6


@dataclass(frozen=True, slots=True)
class Opinion:
    """The most probable face, the probability that it is another, and the second best face."""

    best: Card
    error: float
    second: Card

    @property
    def confidence(self) -> float:
        """The probability (0 to 1) that `best` is right."""
        return 1.0 - self.error


@dataclass(slots=True, eq=False)
class _Still:
    """Observations in one pose and light: their weighted sum, the sum of weights, their number."""

    total: NDArray[np.float64] = field(default_factory=lambda: np.zeros(FACES))
    weight: float = 0.0
    count: int = 0

    def clearness(self) -> float:
        """Return how far (0 to 1) these may confirm each other: not if they share a cover."""
        beyond = self.weight / self.count - HARDLY_SEEN
        return min(1.0, max(0.0, beyond / (CLEARLY_SEEN - HARDLY_SEEN)))

    def worth(self) -> float:
        """Return as how many independent observations these count."""
        most = 1 + (STILL_OBSERVATIONS - 1) * self.clearness()
        return min(most, STILL_OBSERVATIONS * self.weight / (self.weight + HALFWAY))


class Fusion:
    """The observations of the face of one card, fused; `count` is how many were readable."""

    def __init__(self) -> None:
        self._stills: list[_Still] = []
        self.count = 0

    def add(self, observation: Observation, *, changed: bool) -> None:
        """Take one observation; `changed`: pose or light differ from those of the one before.

        An observation below LEAST_READABLE does not count.
        """
        if observation.readable < LEAST_READABLE:
            return
        if changed or not self._stills:
            self._stills.append(_Still())
        doubting = np.logaddexp(
            np.asarray(observation.log_p, np.float64) + np.log1p(-OBSERVATION_ERROR),
            np.log(OBSERVATION_ERROR / FACES),
        )
        still = self._stills[-1]
        still.total += observation.readable * doubting
        still.weight += observation.readable
        still.count += 1
        self.count += 1

    def opinion(self, copies_left: NDArray[np.floating]) -> Opinion | None:
        """Return what they come to, given the copies of each face (52) left in the shoe.

        `None` before the first observation that counts.
        """
        if not self._stills:
            return None
        belief = self._belief(copies_left)
        best, second = (int(i) for i in np.argsort(-belief)[:2])
        odds = np.exp(belief - belief[best])
        # Summed without the best, so that an error of 1e-12 does not drown in rounding.
        rest = float(np.delete(odds, best).sum())
        return Opinion(DECK[best], rest / (1.0 + rest), DECK[second])

    def shares(self, copies_left: NDArray[np.floating]) -> NDArray[np.float64] | None:
        """Return the probability of each face (52); `None` before the first that counts."""
        if not self._stills:
            return None
        belief = self._belief(copies_left)
        odds = np.exp(belief - belief.max())
        return np.asarray(odds / odds.sum(), np.float64)

    def _belief(self, copies_left: NDArray[np.floating]) -> NDArray[np.float64]:
        worth = [still.worth() for still in self._stills]
        most = 1 + (MOST_OBSERVATIONS - 1) * max(still.clearness() for still in self._stills)
        scale = min(1.0, most / sum(worth))
        belief = np.log(np.maximum(np.asarray(copies_left, np.float64), NO_COPY))
        for still, independent in zip(self._stills, worth, strict=True):
            belief = belief + scale * independent * still.total / still.weight
        return np.asarray(belief, np.float64)


# --- whether a card that was read is another one now ----------------------------------------------

# A partly covered card is misread with full confidence, so another face by itself proves no switch.
# Each clear sight of a card between two hidings is a stretch. The observations that show the face
# that was read are pooled, and so are the stretches that show another: a hand that cuts one short
# takes nothing from what was seen in it. The odds of a switch are against all that may explain both
# faces without one: that either was misread, that a card lies on the first, that the table was not
# seen in between or the card not hidden.

# For how long, in ms, a card is out of clear sight before it may be another one. Shorter checks
# cards that the detector missed once, which costs observations; longer overlooks a quick hand.
HIDDEN_MS = 200
# How likely (0 to 1) a hidden card is switched: as a departure from procedure within a second
# (`following.actions`). And a card drawn by then, and seen nowhere else, to lie on it. A higher
# first, or a lower second, accuses sooner.
SWITCHED, LAID_ON = 2e-3, 0.1
# How likely (0 to 1) a stretch shows a face that is not there, and how soon that ends, ms: a hand
# that leaves misleads. Longer delays what is alleged; shorter, and a misread becomes a crime.
MISREAD, MISREAD_MS = 0.01, 80.0
# Two observations further apart than this, ms, show a face for so long only.
APART_MS = 400
# For how long, ms, a card is looked at each time since it was hidden, and another face must show
# before the reading is called in doubt. Shorter, and a moment makes a doubt for people.
SETTLES_MS = 1000
# A card that is known to be out so much later, ms, may have been out before.
LATE_MS = 1000
ALL = np.ones(FACES)


class Drawn(NamedTuple):
    """A card of the coup: when it left the shoe (ms), and whether it lies or lay in a slot."""

    out_at: int
    lies: bool


@dataclass(slots=True, eq=False)
class Pool:
    """Observations of one card, and for how long (ms) it was in clear sight meanwhile."""

    fusion: Fusion = field(default_factory=Fusion)
    ms: float = 0.0
    last_at: int | None = None

    def add(self, at: int, observation: Observation, *, changed: bool) -> None:
        """Take an observation; without `last_at` it is the first since the card was hidden."""
        self.fusion.add(observation, changed=changed)
        self.ms += 0 if self.last_at is None else min(APART_MS, at - self.last_at)
        self.last_at = at

    def extend(self, observations: Sequence[tuple[int, Observation, bool]]) -> None:
        """Take the observations of a stretch: time, observation, whether pose or light changed."""
        self.last_at = None
        for at, observation, changed in observations:
            self.add(at, observation, changed=changed)

    @property
    def misread(self) -> float:
        """How likely (0 to 1) it showed another face than is there all the time."""
        return MISREAD * math.exp(-self.ms / MISREAD_MS)


@dataclass(slots=True, eq=False)
class Stretch:
    """A clear sight of a card since it was hidden, at `since` (ms).

    `excused`: it was not hidden, or nothing was seen in between. `loose` are the cards, by number,
    that may lie on it: out by then and in no slot.
    """

    since: int
    excused: bool = False
    observations: list[tuple[int, Observation, bool]] = field(default_factory=list)
    loose: set[int] = field(default_factory=set)

    def note(self, drawn: Sequence[Drawn]) -> None:
        """Take which cards left the shoe, in their order."""
        latest = self.since + LATE_MS
        out = (i for i, card in enumerate(drawn) if not card.lies and card.out_at <= latest)
        self.loose.update(out)


class SwitchCheck:
    """The observations of a card that was `read`, and of what lies there since; times in ms."""

    def __init__(self, read: Card, same: Pool) -> None:
        """Begin with the observations from which it was read."""
        self.read, self._same = read, same
        self._others: list[Stretch] = []  # that ended, and showed another face
        self._stretch: Stretch | None = None
        self._hidden_since: int | None = None
        self._blind = False
        self._drawn: Sequence[Drawn] = ()

    @property
    def agreeing(self) -> int:
        """How many observations agree with what was read."""
        return self._same.fusion.count

    @property
    def is_on(self) -> bool:
        """Whether it is open since it was hidden what lies there."""
        if self._stretch is None:
            return False
        observations = self._stretch.observations
        return not observations or observations[-1][0] - self._stretch.since < SETTLES_MS

    @property
    def was_cut_short(self) -> bool:
        """Whether another face was seen there before the card was hidden again."""
        return bool(self._others) and self._stretch is None

    def note(self, at: int, drawn: Sequence[Drawn], *, clear: bool) -> None:
        """Take whether the card lies in clear sight, and which cards left the shoe."""
        self._drawn = drawn
        hidden = self._hidden_since is not None and at - self._hidden_since >= HIDDEN_MS
        if clear:
            if hidden:
                self._end()
                self._stretch, self._blind = Stretch(at, excused=self._blind), False
            self._hidden_since = None
        elif self._hidden_since is None:
            self._hidden_since = at
        elif hidden:
            self._end()
        if self._stretch is not None:
            self._stretch.note(drawn)

    def lose_sight(self, at: int) -> None:
        """Take that nothing has been seen since `at`: another face there then accuses nobody."""
        self._end()
        self._hidden_since, self._blind = at, True

    def take(self, at: int, observation: Observation, *, changed: bool) -> None:
        """Take an observation of what lies there."""
        if observation.readable < LEAST_READABLE:
            return
        agrees = observation.best == self.read
        if self._stretch is None:
            if agrees and not self._others:
                self._same.add(at, observation, changed=changed)
                return
            self._stretch = Stretch(at, excused=not self._others)
        self._stretch.observations.append(
            (at, observation, changed or not self._stretch.observations)
        )
        if self._stretch.excused and agrees:
            self.confirm()

    def confirm(self) -> None:
        """Take that the card that was read lies there: what showed another face was misread."""
        if self._stretch is not None:
            self._same.extend(self._stretch.observations)
        self._stretch, self._others = None, []

    def now(self, left: NDArray[np.float64]) -> Opinion | None:
        """Return what lies there since it was hidden, `None` before the first that counts.

        `left` are the copies of each face (52) that it may be.
        """
        own = Pool()
        if self._stretch is not None:
            own.extend(self._stretch.observations)
        here = own.fusion.opinion(left)
        if here is not None and here.best == self.read:
            return here
        return self.pool().fusion.opinion(left)

    def pool(self) -> Pool:
        """Return all observations of what may be another card."""
        pool = Pool()
        for stretch in self._stretches():
            pool.extend(stretch.observations)
        return pool

    @property
    def accuses_nobody(self) -> bool:
        """Whether another face says that one reading is wrong, not that the card was switched."""
        return any(stretch.excused for stretch in self._stretches()[:1])

    def odds(self) -> tuple[float, float]:
        """Return how many times likelier another card lies there than not; for how long seen, ms.

        0 where no other face was seen.
        """
        stretches, pool = self._stretches(), self.pool()
        before, after = self._same.fusion.shares(ALL), pool.fusion.shares(ALL)
        if before is None or after is None:
            return 0.0, pool.ms
        lie = {number for number, card in enumerate(self._drawn) if card.lies}
        without = FACES * float(before @ after) + self._same.misread + pool.misread
        without += 1.0 if self.accuses_nobody else LAID_ON if stretches[0].loose - lie else 0.0
        return SWITCHED / without, pool.ms

    def _stretches(self) -> list[Stretch]:
        running = (
            [self._stretch] if self._stretch is not None and self._stretch.observations else []
        )
        return [*self._others, *running]

    def _end(self) -> None:
        """End a stretch: its observations go to those that show the same."""
        stretch, self._stretch, self._same.last_at = self._stretch, None, None
        if stretch is None or not stretch.observations:
            return
        pool = Pool()
        pool.extend(stretch.observations)
        fused = pool.fusion.opinion(ALL)
        if fused is not None and fused.best != self.read:
            self._others.append(stretch)
        elif not self._others:
            self._same.extend(stretch.observations)
