"""What is unlike the cards before it: a face that waits in the mouth, and the cut card.

What the mouth's network says of a back differs from deck to deck, hand to hand and shoe to shoe,
and is the same for all cards of one shoe. So a card is compared with those before it, and of the
first ones nothing is said.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.mouth import LEAST_CARDS

Values = NDArray[np.float64]

# Over how many of the last cards the usual look is taken. On a deck of the simulator all backs
# looked like faces, by odds of 19; true exposures on films of another renderer are 4,000 times as
# much like a face as the deck's backs.
USUAL_CARDS = 15
# For so long, ms, does a face show in the mouth before it counts as exposed, and so surely (0 to
# 1) must no card be out: the corner of one that is drawn and turned passes in less. And so likely
# must it be a face: likelier than all else. What decides is how unlike the cards before it is.
EXPOSED_MS, EXPOSED, FACED = 300, 0.8, 0.5
# The most that counts of the network's word for the cut card in one picture, ln of odds; of a new
# colour; of what waits; and the most that one picture says of the cut card.
MOST_ODDS, MOST_COLOUR, MOST_WAITING, MOST_WEIGHED = 6.0, 0.3, 8.0, 4.0
# What is unlike by no more than this, ln of odds, speaks against the cut card: an arm over the
# mouth comes to 2, and goes on for many pictures.
DOUBT = 3.0
# How many of the last pictures of a mouth at rest say what waits there.
WAITING_PICTURES = 12
# A mouth at rest for so long, ms, has let a card go.
LEFT_MS = 150
# What waits is the cut card if it is so much more like one than the cards before, ln of odds: in
# 34 films cut cards that wait in sight came to 7.6 to 22, other cards that rest to 1.4, with a hand
# over them to 5.2. It is so for so long, ms, before its going means that it is out; it is gone if,
# once a hand was there, what waits is no more like one than so much.
LIES, LIES_MS, GONE = 6.0, 300, 2.0
# From this probability on the lip shows the cut card, or a card that is out.
CUT = 0.5
# What the network's word for the cut card is taken to be of a card before those of this shoe are
# known, ln of odds: in 46 films it was -6 to -3. Lower, and an arm among the first is a cut card.
FIRST_WORD = -3.0
# The weights of a fitted file: of the network's word on average against its usual one for cards
# that leave; of the newest colour seen, and of having seen colours at all; of what waited before;
# and what is always added.
WEIGHTS = ("leaving", "colour", "seen", "waiting", "always")


class Usual:
    """A value of the last cards, and how far another is above it."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=USUAL_CARDS)

    def add(self, value: float) -> None:
        """Take the value of one card more."""
        self._values.append(value)

    def above(self, value: float) -> float | None:
        """Return by how much a value is above the usual one, None before that is known."""
        return value - self.usual if self.is_known else None

    @property
    def usual(self) -> float:
        """The median of the last cards; there must be some."""
        return float(np.median(self._values))

    @property
    def is_known(self) -> bool:
        """Whether enough cards were seen."""
        return len(self._values) >= LEAST_CARDS


class ExposureWatch:
    """Notices a card that shows its face in the mouth: one unlike the cards that left before it."""

    def __init__(self, least: float) -> None:
        """`least`: how many times likelier a face is than with the cards before."""
        self._least = math.log(least)
        self._usual = Usual()  # of each card, ln of odds
        self._waiting: list[float] = []  # the same of each picture of the card that waits
        self._at, self._shown_ms = 0, 0.0

    def look(self, values: NDArray[np.floating], at: int, *, waits: float) -> bool:
        """Whether a face has just shown for long; `waits` (0 to 1): how likely no card is out.

        `values` (11) are those of the mouth's network at a time, ms.
        """
        elapsed, self._at = min(EXPOSED_MS / 2, at - self._at), at
        shows = False
        # No hand, nor an arm, which looks like a card before the shoe.
        if waits > EXPOSED and values[8] <= 0 and values[:3].argmax() < 2:
            odds = float(values[5] - values[4])
            self._waiting.append(odds)
            face = softmax(np.asarray(values[4:8], np.float64))[1] > FACED
            unlike = self._usual.above(odds)
            shows = bool(face) and unlike is not None and unlike > self._least
        if waits <= EXPOSED and self._waiting:
            self._usual.add(float(np.median(self._waiting)))
            self._waiting.clear()
        before, self._shown_ms = self._shown_ms, self._shown_ms + elapsed if shows else 0.0
        return before < EXPOSED_MS <= self._shown_ms


class CutEvidence:
    """Says how much likelier what a mouth shows is if the cut card is out, picture by picture.

    All pictures of a card fail together: what is compared is the card, as far as it was seen.
    `waits` is how much more like the cut card than the cards before is what waits there, ln of
    odds; None while nothing rests there in sight, or the cards before are not known.
    """

    def __init__(self, weights: Values) -> None:
        """`weights` (5) are in the order of WEIGHTS."""
        self._weights = weights
        self._leaving, self._waiting = Usual(), Usual()
        self._words: list[float] = []  # of the card that leaves, the network's
        self._colours: list[float] = []  # of its pictures that show any
        self._resting: deque[float] = deque(maxlen=WAITING_PICTURES)
        self._waited = 0.0  # what `waits` was as this card began to leave
        self._rests_since: int | None = None
        self.waits: float | None = None

    def take(self, logits: Values, at: int) -> float:
        """Return the logarithm of odds of a picture at a time, ms; `logits` (11) of the mouth."""
        unlike = self.unlike(logits, at)
        odds = 0.0 if unlike is None else float(self._weights @ unlike) - DOUBT
        return min(max(odds, -MOST_WEIGHED), MOST_WEIGHED)

    def unlike(self, logits: Values, at: int) -> Values | None:
        """Return what of the card that leaves is unlike those before, in the order of WEIGHTS.

        None at rest. Of the first cards only the network's word counts, if it is sure.
        """
        others = float(np.logaddexp.reduce(logits[[4, 5, 7]]))
        word = float(np.clip(logits[6] - others, -MOST_ODDS, MOST_ODDS))
        if softmax(logits[:3])[0] > 0.5:
            self._rest(word, at, hand=bool(logits[8] >= 0))
            return None
        if not self._words:
            self._waited = min(max(self._compared() or 0.0, 0.0), MOST_WAITING)
        self._rests_since = self.waits = None
        self._words.append(word)
        if not np.isnan(logits[10]):
            self._colours.append(float(logits[10]))
        usual = self._leaving.usual if self.is_known else FIRST_WORD
        colour = min(max(self._colours, default=0.0), MOST_COLOUR)
        leaving = float(np.mean(self._words)) - usual
        return np.array([leaving, max(colour, 0.0), bool(self._colours), self._waited, 1.0])

    @property
    def is_known(self) -> bool:
        """Whether the cards before are known."""
        return self._leaving.is_known

    def _rest(self, word: float, at: int, *, hand: bool) -> None:
        """Take a picture in which nothing is out: what has left, and what waits there."""
        if self._rests_since is None:
            self._rests_since = at
        if self._words and at - self._rests_since >= LEFT_MS:
            self._leaving.add(float(np.mean(self._words)))
            self._words, self._colours = [], []
            if self._resting:
                self._waiting.add(float(np.median(self._resting)))
                self._resting.clear()
        if not hand and not self._words:
            self._resting.append(word)
        self.waits = None if hand else self._compared()

    def _compared(self) -> float | None:
        return self._waiting.above(float(np.median(self._resting))) if self._resting else None


class CutWatch:
    """Reports once a shoe that the cut card is out.

    As the card before it leaves, the cut card comes in sight behind it and is taken for it: if one
    lies in the mouth afterwards where none lay before, it is not out yet. So it is waited for the
    mouth at rest without a hand, or for the next card. One that lay in sight and is gone is out,
    whatever was seen of its way.
    """

    def __init__(self) -> None:
        self._lay = self._hidden = self._passed = self._reported = False
        self._lies_since = 0  # ms

    def look(self, at: int, waits: float | None, *, passes: float, next_out: float) -> bool:
        """Whether it is known now; `passes`, `next_out`: how likely it, or a card, is out (0 to 1).

        `waits` is what `CutEvidence` says of the mouth at a time, ms: None where it is not at rest.
        """
        self._passed = self._passed or passes > CUT
        if waits is None:
            self._hidden = True
        else:
            self._rest(at, waits)
        known = self._passed and (self._lay or waits is not None or next_out > CUT)
        is_new, self._reported = known and not self._reported, known or self._reported
        return is_new

    def _rest(self, at: int, waits: float) -> None:
        """Take what waits in a mouth at rest: the cut card comes in sight, or is gone."""
        if waits > LIES and not self._lay:
            self._lay, self._passed, self._lies_since = True, False, at
        elif waits < GONE and self._lay and self._hidden:
            self._lay = False
            self._passed = self._passed or at - self._lies_since > LIES_MS
        self._hidden = False


def softmax(logits: NDArray[np.floating]) -> Values:
    """Return the probabilities of some logits."""
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), np.float64)
