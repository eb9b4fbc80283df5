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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vision.game.events import Slot
from vision.sight.following.places import COVERED, SYMBOLS, SlotObservation
from vision.sight.following.unlike import MOST_WEIGHED, WEIGHTS, CutEvidence, softmax

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
# How the network's word for a hand weighs: factor and offset of its log odds, at their most 3.5 and
# more in each draw of 58 films, with nobody there -4 at the median.
HAND_LINE = (2.0, -4.0)
# A hand that was there so long ago, ms, or in the picture before, may have done what shows now: one
# that draws quickly is gone with the card in the first picture in which that is wholly out. For so
# long must it have been there to draw a card that the mouth does not see: one that carries a card
# off draws no other on its way.
HAND_MS = 150
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


@dataclass(frozen=True, slots=True, eq=False)
class SymbolTable:
    """Log-likelihoods of symbols in the states that show them, fitted on films.

    `slots` (3 x SYMBOLS): over an empty slot, a back and a face; `edges` (2 x EDGE_SYMBOLS): of a
    card that emerges and one that is further out. `cut` (4) are the weights of what is unlike the
    cards before, in the order of WEIGHTS.
    """

    slots: Values
    edges: Values
    cut: Values

    @classmethod
    def of(cls, fitted: Mapping[str, Mapping[str, Any]]) -> SymbolTable:
        """Return the table of a fitted file; ValueError where it has other symbols than these."""
        rows = []
        for part, (states, symbols) in PARTS.items():
            row = np.array([fitted[part][state] for state in states], np.float64)
            if row.shape != (len(states), symbols):
                raise ValueError(
                    f"{part} of {row.shape} were fitted, not of {len(states)} x {symbols} symbols"
                )
            rows.append(np.log(row))
        slots, edges = rows
        return cls(slots, edges, np.array([fitted["cut"][name] for name in WEIGHTS]))


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
        self._weights = table.cut
        self._at: int | None = None
        self._still_since = 0  # ms: since when a card shows at the lip, and its edge rests
        self._hands: deque[tuple[int, float]] = deque()
        # How likely (0 to 1) a hand was at the mouth just now, and that it was there all the while.
        self.hands = 1.0, 1.0
        self.begin_shoe()

    def begin_shoe(self) -> None:
        """Forget the cards before: those of another shoe may have other backs."""
        self.cut = CutEvidence(self._weights)

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
        shares = softmax(logits[:3])
        phases = np.log(shares * (1 - MOUTH_FLAT) + MOUTH_FLAT / len(shares))
        edge, seen = self._edge.look(logits, at), float(shares[1])
        if logits[:3].argmax() == 0 or not self._edge.rests(edge):
            self._still_since = at
        cut = self.cut.take(logits, at)
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
