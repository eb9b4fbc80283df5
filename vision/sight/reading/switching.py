"""Whether a card that was read is another one now: by its odds, from all looks before and after.

A partly covered card is misread with full confidence, so another face by itself proves no switch.
Each clear sight of a card between two hidings is a stretch. The looks that show the face that was
read are pooled, and so are the stretches that show another: a hand that cuts one short takes
nothing from what was seen in it. The odds of a switch are against all that may explain both faces
without one: that either was misread, that a card lies on the first, that the table was not seen in
between or the card not hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.sight.detection.classifier import FACES, LEAST_READABLE, Look, LookFusion, Opinion

# For how long, in ms, a card is out of clear sight before it may be another one. Shorter checks
# cards that the detector missed once, which costs looks; longer overlooks a quick hand.
HIDDEN_MS = 200
# How likely (0 to 1) a hidden card is switched: as a departure from procedure within a second
# (`following.actions`). And a card drawn by then, and seen nowhere else, to lie on it. A higher
# first, or a lower second, accuses sooner.
SWITCHED, LAID_ON = 2e-3, 0.1
# How likely (0 to 1) a stretch shows a face that is not there, and how soon that ends, ms: a hand
# that leaves misleads, and a card that moves. Longer, and a switch is alleged later; shorter, and a
# slow hand makes a misread a crime.
MISREAD, MISREAD_MS = 0.01, 80.0
# Two looks further apart than this, ms, show a face for so long only.
APART_MS = 400
# For how long, ms, a card is looked at each time since it was hidden, and another face must show
# before the reading is called in doubt. Shorter, and a moment makes a doubt for people; longer
# costs looks.
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
    """Looks at one card, and for how long (ms) it was in clear sight meanwhile."""

    fusion: LookFusion = field(default_factory=LookFusion)
    ms: float = 0.0
    last_at: int | None = None

    def add(self, at: int, look: Look, *, changed: bool) -> None:
        """Take a look; without `last_at` it is the first since the card was hidden."""
        self.fusion.add(look, changed=changed)
        self.ms += 0 if self.last_at is None else min(APART_MS, at - self.last_at)
        self.last_at = at

    def extend(self, looks: Sequence[tuple[int, Look, bool]]) -> None:
        """Take the looks of a stretch: time, look, whether pose or light changed."""
        self.last_at = None
        for at, look, changed in looks:
            self.add(at, look, changed=changed)

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
    looks: list[tuple[int, Look, bool]] = field(default_factory=list)
    loose: set[int] = field(default_factory=set)

    def note(self, drawn: Sequence[Drawn]) -> None:
        """Take which cards left the shoe, in their order."""
        latest = self.since + LATE_MS
        out = (i for i, card in enumerate(drawn) if not card.lies and card.out_at <= latest)
        self.loose.update(out)


class SwitchCheck:
    """The looks at a card that was `read` so, and at what lies in its place since; times in ms."""

    def __init__(self, read: Card, same: Pool) -> None:
        """Begin with the looks from which it was read."""
        self.read, self._same = read, same
        self._others: list[Stretch] = []  # that ended, and showed another face
        self._stretch: Stretch | None = None
        self._hidden_since: int | None = None
        self._blind = False
        self._drawn: Sequence[Drawn] = ()

    @property
    def looks(self) -> int:
        """How many looks agree with what was read."""
        return self._same.fusion.looks

    @property
    def is_on(self) -> bool:
        """Whether it is open since it was hidden what lies there."""
        if self._stretch is None:
            return False
        looks = self._stretch.looks
        return not looks or looks[-1][0] - self._stretch.since < SETTLES_MS

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

    def take(self, at: int, look: Look, *, changed: bool) -> None:
        """Take a look at what lies there."""
        if look.readable < LEAST_READABLE:
            return
        agrees = look.best == self.read
        if self._stretch is None:
            if agrees and not self._others:
                self._same.add(at, look, changed=changed)
                return
            self._stretch = Stretch(at, excused=not self._others)
        self._stretch.looks.append((at, look, changed or not self._stretch.looks))
        if self._stretch.excused and agrees:
            self.confirm()

    def confirm(self) -> None:
        """Take that the card that was read lies there: what showed another face was misread."""
        if self._stretch is not None:
            self._same.extend(self._stretch.looks)
        self._stretch, self._others = None, []

    def now(self, left: NDArray[np.float64]) -> Opinion | None:
        """Return what lies there since it was hidden, `None` before the first look that counts.

        `left` are the copies of each face (52) that it may be.
        """
        own = Pool()
        if self._stretch is not None:
            own.extend(self._stretch.looks)
        here = own.fusion.opinion(left)
        if here is not None and here.best == self.read:
            return here
        return self.pool().fusion.opinion(left)

    def pool(self) -> Pool:
        """Return all looks at what may be another card."""
        pool = Pool()
        for stretch in self._stretches():
            pool.extend(stretch.looks)
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
        running = [self._stretch] if self._stretch is not None and self._stretch.looks else []
        return [*self._others, *running]

    def _end(self) -> None:
        """End a stretch: its looks go to those that show the same."""
        stretch, self._stretch, self._same.last_at = self._stretch, None, None
        if stretch is None or not stretch.looks:
            return
        pool = Pool()
        pool.extend(stretch.looks)
        fused = pool.fusion.opinion(ALL)
        if fused is not None and fused.best != self.read:
            self._others.append(stretch)
        elif not self._others:
            self._same.extend(stretch.looks)
