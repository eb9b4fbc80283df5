"""How likely what is seen is in each hypothesis: the lip by the mouth's network, slots by symbols.

Failures of sight are bursts, not looks: a symbol that goes on is counted ever less the longer it
has lasted, and the mouth's pictures by a time within which they say the same. What hides a slot
says nothing of it. The figures are fitted by `models.evaluate.fit_following` and read from a file.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vision.game.events import Slot
from vision.sight.detection.mouth import LEAST_CARDS
from vision.sight.following.places import COVERED, SYMBOLS, SlotObservation

Values = NDArray[np.float64]

# Pictures of the mouth within this time, ms, count as one: longer makes cards late, shorter trusts
# bursts (`deploy/following.md`: 0.3 s loses an eighth of the coups).
MOUTH_MS = 60.0
# A run of one symbol counts as ln(1 + its length / this) looks, ms.
PLACE_MS = 200.0
# A card was seen to lie in a slot once the looks since it came, with no hand over it, are so much
# likelier with one, ln: 20 times. Less, and what is carried by was seen to lie; more tells later.
SEEN = 3.0
# Beyond this length, ms, a run counts like any other picture: bursts are shorter, and in a slot
# that was bare for a minute a card that seems to be laid now is to be seen at once.
BURST_MS = 1000.0
# The share of pictures (0 to 1) of which the mouth's network says nothing.
MOUTH_FLAT = 0.006
# The edge of a card goes out or in if it moves by so much, in depths of a card, within so many ms,
# and is near the mouth, between, or far out of it by where these end; a symbol joins both.
MOVED, MOVED_MS, REACHES = 0.08, 100, (0.35, 0.65)
EDGE_SYMBOLS = 3 * (len(REACHES) + 1)
# How the network's word for the cut card weighs: factor and offset of its log odds; cut cards have
# 0.6 to 0.75 on average, others 0.02 to 0.13. And the most that it may say.
CUT_LINE, MOST_WEIGHED = (1.5, 1.0), 4.0
# How the network's word for a hand weighs: factor and offset of its log odds, at their most 3.5 and
# more in each draw of 58 films, with nobody there -4 at the median.
HAND_LINE = (2.0, -4.0)
# A hand that was there so long ago, ms, or in the picture before, may have done what shows now: one
# that draws quickly is gone with the card in the first picture in which that is wholly out. For so
# long must it have been there to draw a card that the mouth does not see: one that carries a card
# off draws no other on its way.
HAND_MS = 150
# What a share of new colours says of the cut card: factor, even point, least and most; ordinary
# cards have 0.03 at most, the cut card 0.1 to 0.3 unless it is white or of the deck's colours: such
# a one is known only where the network is sure of it. More than NOVEL_CARD is of something larger:
# an arm that nobody had put there before, resting on the shoe, had 0.35 to 0.44 for two seconds.
NOVEL_WEIGHT, NOVEL_EVEN, NOVEL_LEAST, NOVEL_MOST = 60.0, 0.05, -2.0, 3.0
NOVEL_CARD = 0.33
# How much likelier a card at rest is seen outside the slots if one lies there, and how likely it is
# that none is seen then: clutter looks like a card in a few looks of a hundred, a card is
# overlooked in one of ten.
ASIDE_SEEN, ASIDE_UNSEEN = 20.0, 0.1
# A card that is held or turned before the shoe looks partly or wholly out by turns, with 1 in 2
# each for some 0.2 s. If it changed never, a second draw would be taken for it; if it did in each
# picture, it would seem to be pushed back and drawn again.
LINGERS = math.log(1 / 2) * MOUTH_MS / 200
# What lies still before the lip for longer, ms, may be the card of a slot there, or a white sleeve
# and no cut card. At 0, `out` was in time for 86 of 100 cards at 15 pictures a second, not for 90.
STILL_MS = 200
# How much less likely, ln, a card that lies before the shoe is in a picture in which an edge moves:
# what a hand holds there moves. At 0, a card that is squeezed near the shoe is a second one.
STIRS = math.log(1 / 20)
# From this probability on the lip shows the cut card, or a card that is out: four cut cards on film
# came to 0.82 to 0.999, nothing else on seven films to 0.2.
CUT = 0.7
# For so long, ms, does a face show in the mouth before it counts as exposed, and so surely (0 to
# 1) must no card be out: the corner of one that is drawn and turned passes in less. And so likely
# must it be a face: likelier than all else. What decides is how unlike the cards before it is.
EXPOSED_MS, EXPOSED, FACED = 300, 0.8, 0.5
# Over how many of the last cards the usual look is taken. On a deck of the simulator all backs
# looked like faces, by odds of 19; true exposures on films of another renderer are 4,000 times as
# much like a face as the deck's backs.
USUAL_CARDS = 15


@dataclass(frozen=True, slots=True, eq=False)
class SymbolTable:
    """Log-likelihoods of symbols in the states that show them, fitted on films.

    `slots` (3 x SYMBOLS): over an empty slot, a back and a face; `edges` (2 x EDGE_SYMBOLS): of a
    card that emerges and one that is further out.
    """

    slots: Values
    edges: Values

    @classmethod
    def of(cls, fitted: Mapping[str, Mapping[str, Sequence[float]]]) -> SymbolTable:
        """Return the table of a fitted file; ValueError where it has other symbols than these."""
        rows = []
        for part, (states, symbols) in PARTS.items():
            row = np.array([fitted[part][state] for state in states], np.float64)
            if row.shape != (len(states), symbols):
                raise ValueError(
                    f"{part} of {row.shape} were fitted, not of {len(states)} x {symbols} symbols"
                )
            rows.append(np.log(row))
        return cls(*rows)


# The parts of a fitted file, with the states of each and how many symbols it has.
PARTS = {
    "slots": (("empty", "back", "face"), SYMBOLS),
    "edges": (("emerging", "partly"), EDGE_SYMBOLS),
}


class EdgeWatch:
    """Tells where the edge of a card at the lip is and which way it goes, as one symbol."""

    def __init__(self) -> None:
        self._past: list[tuple[int, float]] = []

    def look(self, logits: Values, at: int) -> int:
        """Return the symbol (0 to EDGE_SYMBOLS - 1) of the mouth's values (11) at a time, ms.

        At rest there is no edge, and where one seems to be says nothing of the way of the next.
        """
        shift = float(logits[3])
        while len(self._past) > 1 and at - self._past[1][0] >= MOVED_MS:
            del self._past[0]
        moved = shift - self._past[0][1] if self._past else 0.0
        if logits[:3].argmax() == 0:
            self._past.clear()
        else:
            self._past.append((at, shift))
        way = 1 + (moved > MOVED) - (moved < -MOVED)
        return way * (len(REACHES) + 1) + sum(shift >= end for end in REACHES)

    @staticmethod
    def rests(symbol: int) -> bool:
        """Whether the edge of that symbol moves neither way."""
        return symbol // (len(REACHES) + 1) == 1


class LipEvidence:
    """Turns the values of the mouth's network into likelihoods of the states of the lip."""

    def __init__(self, table: SymbolTable) -> None:
        # A card that goes back shows what one that comes shows, the other way round.
        back = table.edges.reshape(2, 3, -1)[:, ::-1].reshape(2, -1)
        either = np.logaddexp.reduce(np.concatenate([table.edges, back])) - np.log(4)
        self._out = table.edges - either
        self._returns = np.logaddexp.reduce(back) - np.log(2) - either
        self._edge = EdgeWatch()
        self._at: int | None = None
        self._still_since = 0  # ms: since when a card shows at the lip, and its edge rests
        self._hands: deque[tuple[int, float]] = deque()
        # How likely (0 to 1) a hand was at the mouth just now, and that it was there all the while.
        self.hands = 1.0, 1.0

    def take(
        self, values: Sequence[float] | NDArray[np.floating], at: int, *, beside: bool = False
    ) -> Values:
        """Return the log-likelihood of each `Lip` (10) of a picture taken at a time, ms.

        `beside`: a slot that reaches into the mouth's picture may hold a card.
        """
        logits = np.asarray(values, np.float64)
        factor, offset = HAND_LINE
        while len(self._hands) > 1 and at - self._hands[0][0] > HAND_MS:
            self._hands.popleft()
        self._hands.append((at, float(1 / (1 + np.exp(-factor * logits[8] - offset)))))
        stays = min(hand for then, hand in self._hands if at - then <= HAND_MS)
        self.hands = max(hand for _, hand in self._hands), stays
        elapsed = min(MOUTH_MS, at - self._at) if self._at is not None else MOUTH_MS
        self._at = at
        shares = _softmax(logits[:3])
        phases = np.log(shares * (1 - MOUTH_FLAT) + MOUTH_FLAT / len(shares))
        edge, seen = self._edge.look(logits, at), float(shares[1])
        if logits[:3].argmax() == 0 or not self._edge.rests(edge):
            self._still_since = at
        cut = _cut(float(_softmax(logits[4:8])[2]), float(logits[10]))
        rest, partly, wholly = phases.tolist()
        if at - self._still_since > STILL_MS:
            cut = -MOST_WEIGHED
            rest = max(rest, wholly) if beside else rest
        found = np.array([
            rest,
            partly + seen * self._out[0, edge],
            partly + seen * self._out[1, edge],
            wholly,
            wholly,
            partly + seen * self._returns[edge],
            rest,
            max(partly, wholly) + cut,
            max(partly, wholly) + LINGERS,
            wholly + (0.0 if self._edge.rests(edge) else STIRS),
        ])  # fmt: skip
        return found * (elapsed / MOUTH_MS)


class _Runs:
    """How much looks at places count: ever less, the longer one symbol has lasted there."""

    def __init__(self, symbols: Sequence[int]) -> None:
        """Begin with what the places showed all the time before."""
        self._runs = [(symbol, 0) for symbol in symbols]  # each since when, ms
        self._at: int | None = None

    def weights(self, symbols: Sequence[int], at: int) -> list[float]:
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


class AsideEvidence:
    """Turns what is seen outside the slots into how much likelier it is if cards lie there."""

    def __init__(self) -> None:
        self._runs = _Runs((False, False))

    def take(self, seen: int, at: int) -> tuple[float, float]:
        """Return the ratios of a first and of a further card for a look at a time, ms.

        So many cards are seen there; a run counts as in the slots.
        """
        first, more = self._runs.weights((seen > 0, seen > 1), at)
        return (
            (ASIDE_SEEN if seen > 0 else ASIDE_UNSEEN) ** first,
            (ASIDE_SEEN if seen > 1 else ASIDE_UNSEEN) ** more,
        )


class SlotEvidence:
    """Turns the looks at the six slots into likelihoods of empty, back and face."""

    def __init__(self, table: SymbolTable) -> None:
        self._table = table.slots
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


class ExposureWatch:
    """Notices a card that shows its face in the mouth: one unlike the cards that left before it.

    How much like a face the back of a deck looks there differs from deck to deck, and is the same
    for all cards of a shoe: so the first ones say nothing.
    """

    def __init__(self, least: float) -> None:
        """`least`: how many times likelier a face is than with the cards before."""
        self._least = math.log(least)
        self._usual: deque[float] = deque(maxlen=USUAL_CARDS)  # of each card, ln of odds
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
            face = _softmax(np.asarray(values[4:8], np.float64))[1] > FACED
            known = len(self._usual) >= LEAST_CARDS
            shows = bool(known and face and odds - np.median(self._usual) > self._least)
        if waits <= EXPOSED and self._waiting:
            self._usual.append(float(np.median(self._waiting)))
            self._waiting.clear()
        before, self._shown_ms = self._shown_ms, self._shown_ms + elapsed if shows else 0.0
        return before < EXPOSED_MS <= self._shown_ms


class CutWatch:
    """Tells once a shoe that the cut card is out.

    As the card before it leaves, the cut card comes in sight behind it and is taken for it: if one
    lies in the mouth afterwards where none lay before, it is not out yet. So it is waited for the
    mouth at rest without a hand, or for the next card.
    """

    def __init__(self) -> None:
        self._lay = self._passed = self._reported = False

    def look(self, values: NDArray[np.floating], *, passes: float, next_out: float) -> bool:
        """Whether it is known now; `passes`, `next_out`: how likely it, or a card, is out (0 to 1).

        `values` (11) are those of the mouth's network.
        """
        self._passed = self._passed or passes > CUT
        rests = float(_softmax(np.asarray(values[:3], np.float64))[0]) > 0.5 and values[8] < 0
        lies = float(_softmax(np.asarray(values[4:8], np.float64))[2]) > 0.5
        if self._passed and rests and lies and not self._lay:
            self._passed = False
        if rests:
            self._lay = lies
        known = self._passed and (self._lay or rests or next_out > CUT)
        is_new, self._reported = known and not self._reported, known or self._reported
        return is_new


def _cut(shown: float, novelty: float) -> float:
    """Return how likely it is the cut card, in logarithms of odds."""
    weighed = CUT_LINE[0] * (np.log(max(shown, 0.005) / max(1 - shown, 0.005)) + CUT_LINE[1])
    if novelty > NOVEL_CARD:
        weighed += NOVEL_LEAST
    elif not np.isnan(novelty):
        weighed += np.clip(NOVEL_WEIGHT * (novelty - NOVEL_EVEN), NOVEL_LEAST, NOVEL_MOST)
    return float(np.clip(weighed, -MOST_WEIGHED, MOST_WEIGHED))


def _softmax(logits: Values) -> Values:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), np.float64)
