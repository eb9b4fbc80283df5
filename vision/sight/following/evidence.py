"""How likely what the mouth's network sees is in each hypothesis.

Failures of sight are bursts: pictures within some time say the same. What the network says of a
back differs from deck to deck, not within a shoe: so a face that waits in the mouth, and the cut
card, are what is unlike the cards before. `models.evaluate.fit_following` fits the figures.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vision.sight.detection.mouth import CARDS_BEFORE, LEFT_MS
from vision.sight.following.cards import Lip
from vision.sight.following.places import SYMBOLS, SlotObservation, Values

Logits = Sequence[float] | NDArray[np.floating]
# Pictures of the mouth within this time, ms, count as one. Shorter trusts bursts, longer is late.
MOUTH_MS = 60.0
# The share of pictures (0 to 1) of which the mouth's network says nothing, and the shares that it
# learnt of mouths at rest, cards partly and wholly out (`models.evaluate.mouth`): what was rare
# there says more.
MOUTH_FLAT, LEARNT = 0.006, (0.478, 0.163, 0.360)
# The edge of a card goes out or in if it moves by so much, in depths of a card, within so many ms,
# and is near the mouth, between, or far out of it by where these end; a symbol joins both.
MOVED, MOVED_MS, REACHES = 0.08, 100, (0.35, 0.65)
EDGE_SYMBOLS = 3 * (len(REACHES) + 1)
# Factor and offset of the network's log odds of a hand, at their most 3.5 and more in each draw of
# 58 films, with nobody there -4 at the median.
HAND_LINE = (2.0, -4.0)
# A hand that was there so long ago, ms, or in the picture before, may have done what shows now; one
# that draws a card unseen was there for so long: it does not carry another off.
HAND_MS = 150
# A card that is held or turned before the shoe looks now so and now so, each for some 0.2 s: what
# it shows is half as likely as of one that leaves.
LINGERS = math.log(1 / 2) * MOUTH_MS / 200
# How much less likely, ln, such a card seems to be partly out than wholly: in 1,861 pictures of ten
# films it did twice; more than that, since cards are turned there. At 1, the second of two in the
# hand is taken for the first.
TURNED_PARTLY = math.log(1 / 50)
# What lies still before the lip for longer, ms, may be the card of a slot there, or a white sleeve.
STILL_MS = 200
# A card waits half out where those before it did, give or take so many depths of a card: they slide
# to the same stop. At 0, what waits behind the last card of a coup is taken for that going back.
WAITS = 0.2
# How much less likely, ln, a card that lies before the shoe is in a picture in which an edge moves,
# and one that goes back in one in which its edge rests and is not near. At 0, a card that is
# squeezed near the shoe is a second one, and one that a hand brings back over the lip goes back.
STIRS = math.log(1 / 20)
# How much likelier, ln, the edge of a card wholly out moves in if it goes back: 8 in 10, by
# judgement, to 22 in 100 pictures of others, counted. At 0, five of eleven returns are not told.
GOES_IN = math.log(0.8 / 0.22)
# Over how many of the last cards the usual look is taken: backs of one deck looked like faces by
# odds of 19, true exposures are 4,000 times as much like a face as the deck's backs.
USUAL_CARDS = 15
# A face counts as exposed once it showed for so long, ms (one by 1 in 4 four times as long), and so
# surely (0 to 1) must no card be out: the corner of one that is drawn passes in less.
EXPOSED_MS, EXPOSED = 300, 0.8
# And so likely (0 to 1) must it be a face, of all that shows, and of what is no back: 30 true ones
# came to 0.65 and more, all but one to 0.99 and more; what stays at the mouth to 0.15 of all, white
# cut cards half out to 0.84 and 0.97 of what is no back. At half of the first it may be a face.
# And so unlikely (0 to 1) a card out of the lip: six true ones came to 0.02, a chip beside to 0.15.
SHOWN, FACED, HARDLY_OUT = 0.2, 0.98, 0.1
# The most that counts of the word for the cut card in one picture, and of what waits, ln of odds;
# those of a thing that stays where it is, or is there at once: of 12 arms that were like it at odds
# of 50 and more none showed an edge first, of 230 cards seven in eight did.
MOST_ODDS, MOST_WAITING, RESTS = 6.0, 8.0, -4.0
# A picture of a card that leaves weighs as it is likely to be wholly out, and at least so much.
HARDLY = 0.01
# How many of the last pictures say what waits in a mouth at rest, and what leaves it: in fewer.
WAITING_PICTURES, LEAVING_PICTURES = 12, 75
# The mouth is hidden if the network's share (0 to 1) of no card there is so much above the usual,
# at the median of its last pictures at rest: before 5 arms it was 0.43 and more, before 7 cut
# cards at most 0.22.
HIDDEN, HIDDEN_PICTURES = 1 / 3, 4
# What waits is the cut card if it is so much more like one than the cards before, ln of odds: in
# 34 films cut cards that wait in sight came to 7.6 to 22, other cards that rest to 1.4, with a hand
# over them to 5.2. It is so for so long, ms, before its going means that it is out; it is gone if,
# once a hand was there, what waits is no more like one than so much.
LIES, LIES_MS, GONE = 6.0, 300, 2.0
# From these probabilities on the lip shows the cut card (true ones came to 0.86 and more, one to
# 0.61, arms over the mouth to 0.59 and 0.76), and a card that is out.
CUT, NEXT_OUT = 0.8, 0.5
# The cut card is out for sure if so long, ms, after it was known no card lies that left as it did.
SURE_MS = 2000
# The network's word for the cut card, of one before those of this shoe are known, ln of odds: in 46
# films -6 to -3. Lower, and an arm among the first is a cut card.
FIRST_WORD = -3.0
# The weights of a fitted file: of the network's word on average against its usual one, of how
# unlike the cards before it was in any picture, of what waited before, and what is always added.
WEIGHTS = ("leaving", "unlike", "waiting", "always")


@dataclass(frozen=True, slots=True, eq=False)
class SymbolTable:
    """Log-likelihoods of symbols in the states that show them, fitted on films.

    `slots` (3 x SYMBOLS): over an empty slot, a back and a face; `edges` (2 x EDGE_SYMBOLS): of a
    card that emerges and one that is further out. `cut` (4) are weights in the order of WEIGHTS.
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


class AtMouth(NamedTuple):
    """How likely (0 to 1) a hand is at the mouth or was just now, and that it has stayed there.

    `holds`: that one is there, or beside it, which may hold what lies there. `cut`: how much
    likelier (ln) what has shown of a card so far is of the cut card.
    """

    hand: float
    stays: float
    cut: float = 0.0
    holds: float = 0.0


class EdgeWatch:
    """Tells where the edge of a card at the lip is and which way it goes, as one symbol."""

    def __init__(self, *, comes: bool = False) -> None:
        """`comes`: of the next card, of which that of a card wholly out before it says nothing."""
        self._ends = {0, 2} if comes else {0}
        self._past: list[tuple[int, float]] = []

    def look(self, logits: Values, at: int) -> int:
        """Return the symbol (0 to EDGE_SYMBOLS - 1) of the mouth's values (11) at a time, ms.

        At rest there is no edge, and where one seems to be says nothing of the way of the next.
        """
        shift = float(logits[3])
        while len(self._past) > 1 and at - self._past[1][0] >= MOVED_MS:
            del self._past[0]
        moved = shift - self._past[0][1] if self._past else 0.0
        if logits[:3].argmax() in self._ends:
            self._past.clear()
        else:
            self._past.append((at, shift))
        way = 1 + (moved > MOVED) - (moved < -MOVED)
        return way * (len(REACHES) + 1) + sum(shift >= end for end in REACHES)

    @staticmethod
    def rests(symbol: int) -> bool:
        """Whether the edge of that symbol moves neither way."""
        return symbol // (len(REACHES) + 1) == 1


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
        return median(self._values)

    @property
    def is_known(self) -> bool:
        """Whether enough cards were seen."""
        return len(self._values) >= CARDS_BEFORE


class CutEvidence:
    """Says how much likelier what a mouth shows is if the cut card is out.

    All pictures of a card fail together: each adds what it changes of what is seen of it.
    `waits` is how much more like the cut card than the cards before is what waits there, ln of
    odds; None while nothing rests there in sight, or a face may, or no card before is known.
    """

    def __init__(self, weights: Values) -> None:
        """`weights` (4) are in the order of WEIGHTS."""
        self._weights = weights
        self.leaving, self._waiting, self._no_card = Usual(), Usual(), Usual()
        # Of each picture of the card that leaves: its weight, and the network's word.
        self._pictures: deque[tuple[float, float]] = deque(maxlen=LEAVING_PICTURES)
        self._unlike = -MOST_ODDS  # how unlike the cards before it was in any, since a rest
        self._resting: deque[float] = deque(maxlen=WAITING_PICTURES)
        self._bare: deque[float] = deque(maxlen=HIDDEN_PICTURES)  # how likely (0 to 1) no card was
        # What `waits` was as this card began to leave, and whether its edge was seen since a rest.
        self._waited, self._came = 0.0, False
        self._odds = 0.0  # ln, of what has been seen of it
        self._rests_since: int | None = None
        self.waits: float | None = None

    def take(self, logits: Values, at: int, *, rests: bool = False) -> tuple[float, float]:
        """Return ln of the odds of the cut card before a picture at a time, ms, and what it adds.

        At rest it adds nothing. `logits` (11) are of the mouth; `rests`: the edge of a card stays.
        """
        before, unlike = self._odds if self._pictures else 0.0, self.unlike(logits, at)
        if unlike is None:
            return before, 0.0
        is_none = rests or self.is_hidden or not self._came
        self._odds = RESTS if is_none else float(self._weights @ unlike)
        return before, self._odds - before

    def unlike(self, logits: Values, at: int) -> Values | None:
        """Return what of the card that leaves is unlike those before, in the order of WEIGHTS.

        None at rest. Of the first cards only the network's word counts, if it is sure.
        """
        others = float(np.logaddexp.reduce(logits[[4, 5, 7]]))
        word = min(max(float(logits[6]) - others, -MOST_ODDS), MOST_ODDS)
        at_rest, partly, wholly = _softmax(logits[:3]).tolist()
        if at_rest > 0.5:
            _, face, _, none = _softmax(logits[4:8]).tolist()
            self._bare.append(none)
            hand, may_be_face = bool(logits[8] >= 0) or self.is_hidden, face > SHOWN / 2
            self._rest(word, at, hand=hand)
            # What was there before a card left is not what waits behind it.
            is_seen = not (hand or may_be_face or self._pictures)
            self.waits = self._compared() if is_seen else None
            return None
        if not self._pictures:
            self._waited = min(max(self._compared() or 0.0, 0.0), MOST_WAITING)
        self._rests_since = self.waits = None
        self._came = self._came or partly > 0.5
        self._pictures.append((max(wholly, HARDLY), word))
        beside = float(logits[10])
        beside = beside if self.leaving.is_known and not math.isnan(beside) else 0.0
        self._unlike = min(max(self._unlike, beside), MOST_ODDS)
        usual = self.leaving.usual if self.leaving.is_known else FIRST_WORD
        return np.array([self._word() - usual, self._unlike, self._waited, 1.0])

    @property
    def is_hidden(self) -> bool:
        """Whether something hid the mouth when it was last at rest."""
        return bool(self._bare) and (self._no_card.above(median(self._bare)) or 0.0) > HIDDEN

    def _rest(self, word: float, at: int, *, hand: bool) -> None:
        """Take a picture in which nothing is out: what has left, and what waits there."""
        if self._rests_since is None:
            self._rests_since = at
        self._unlike, self._came = -MOST_ODDS, False
        if self._pictures and at - self._rests_since >= LEFT_MS:
            self.leaving.add(self._word())
            self._no_card.add(median(self._bare))
            self._pictures.clear()
            if self._resting:
                self._waiting.add(median(self._resting))
                self._resting.clear()
        if not hand and not self._pictures:
            self._resting.append(word)

    def _word(self) -> float:
        """Return the network's word of the card that leaves, on average of its pictures."""
        weights, words = np.array(self._pictures).T
        return float((words * weights).sum() / weights.sum())

    def _compared(self) -> float | None:
        return self._waiting.above(median(self._resting)) if self._resting else None


class LipEvidence:
    """Turns the values of the mouth's network into likelihoods of the states of the lip."""

    def __init__(self, table: SymbolTable) -> None:
        # A card that goes back shows what one that comes shows, the other way round.
        back = table.edges.reshape(2, 3, -1)[:, ::-1].reshape(2, -1)
        either = np.logaddexp.reduce(np.concatenate([table.edges, back])) - np.log(4)
        self._out = table.edges - either
        self._returns = np.logaddexp.reduce(back) - np.log(2) - either
        self._returns[len(REACHES) + 2 : 2 * len(REACHES) + 2] += STIRS
        self._edge, self._next = EdgeWatch(), EdgeWatch(comes=True)
        self._weights = table.cut
        self._at: int | None = None
        self._still_since = 0  # ms: since when a card shows at the lip, and its edge rests
        self._hands: deque[tuple[int, float]] = deque()
        self.covered = False  # whether a hand is over a slot that reaches into the picture
        self.mouth = AtMouth(1.0, 1.0)
        self.begin_shoe()

    def begin_shoe(self) -> None:
        """Forget the cards before: those of another shoe may have other backs, or another stop."""
        self.cut = CutEvidence(self._weights)
        self._half_out, self._waited = Usual(), math.nan  # where cards wait half out, in depths
        # How likely (0 to 1) a card was out at the least while one lay in a slot there.
        self._beside, self._least = Usual(), math.inf

    def take(
        self, values: Logits, at: int, near: Sequence[SlotObservation] = (), *, hand: bool = False
    ) -> Values:
        """Return the log-likelihood of each `Lip` (12) of a picture taken at a time, ms.

        `near` is what the slots show that reach into the mouth's picture; `hand`: one is beside it.
        """
        logits = np.asarray(values, np.float64)
        factor, offset = HAND_LINE
        while len(self._hands) > 1 and at - self._hands[0][0] > HAND_MS:
            self._hands.popleft()
        self._hands.append((at, float(1 / (1 + np.exp(-factor * logits[8] - offset)))))
        stays = min(hand for then, hand in self._hands if at - then <= HAND_MS)
        come = max(hand for _, hand in self._hands)
        elapsed = min(MOUTH_MS, at - self._at) if self._at is not None else MOUTH_MS
        self._at = at
        shares = _softmax(logits[:3])
        phases = np.log(shares * (1 - MOUTH_FLAT) + MOUTH_FLAT / len(shares)) - np.log(LEARNT)
        edge, seen = self._edge.look(logits, at), float(shares[1])
        comes = self._out[:, self._next.look(logits, at)] * seen
        if logits[:3].argmax() == 0 or not self._edge.rests(edge):
            self._still_since = at
        self.covered = any(look.covered for look in near)
        rest, partly, wholly = phases.tolist()
        still = at - self._still_since > STILL_MS
        lies = self.covered or any(look.box for look in near)
        rest = max(rest, wholly) if self._looks_out(float(shares[2]), lies=lies) and still else rest
        rest = max(rest, partly) if self._waits(logits, still=still) else rest
        before, more = self.cut.take(logits, at, rests=still)
        self.mouth = AtMouth(come, stays, before, max(come, float(hand)))
        # An edge that moves in has the first symbols.
        goes_in = float(shares[2]) * (GOES_IN if edge <= len(REACHES) else STIRS)
        found = np.array([
            rest,
            *(partly + comes),
            wholly,
            wholly,
            max(partly + seen * self._returns[edge], wholly + goes_in),
            rest,
            wholly,
            max(partly + TURNED_PARTLY, wholly) + LINGERS,
            wholly + (0.0 if self._edge.rests(edge) else STIRS),
            max(partly, wholly) + LINGERS + math.log(max(hand - self._hands[-1][1], MOUTH_FLAT)),
            max(partly, wholly) + LINGERS,
        ])  # fmt: skip
        found *= elapsed / MOUTH_MS
        found[Lip.CUT] += more
        return found

    def _looks_out(self, wholly: float, *, lies: bool) -> bool:
        """Whether a card in a slot there may seem to be out: those before did all the time."""
        if lies:
            self._least = min(self._least, wholly)
            return not self._beside.is_known or self._beside.usual > 1 / 2
        if self._least <= 1:
            self._beside.add(self._least)
        self._least = math.inf
        return False

    def _waits(self, logits: Values, *, still: bool) -> bool:
        """Whether a card waits half out where each of the last ones did: the shoe is at rest so."""
        phase, shift, hand = int(logits[:3].argmax()), float(logits[3]), logits[8] >= 0
        if phase == 0 and not hand:
            self._half_out, self._waited = Usual(), math.nan
        elif phase == 1 and still and not hand:
            self._waited = shift
        elif phase > 1 and not math.isnan(self._waited):
            self._half_out.add(self._waited)
            self._waited = math.nan
        away = self._half_out.above(shift)
        return phase == 1 and away is not None and abs(away) < WAITS


class ExposureWatch:
    """Notices a card that shows its face in the mouth: one unlike the cards that left before it."""

    def __init__(self, least: float) -> None:
        """`least`: how many times likelier a face is than with the cards before."""
        self._least, self._usual = math.log(least), Usual()  # ln of odds, of each card
        self._waiting: list[float] = []  # the same of each picture of the card that waits
        self._at, self._shown_ms = 0, 0.0

    def look(
        self, values: NDArray[np.floating], at: int, *, waits: float, covered: bool = False
    ) -> bool:
        """Whether a face has just shown for long; `waits` (0 to 1): how likely no card is out.

        `values` (11) are those of the mouth's network at a time, ms; `covered`: a hand is over a
        slot that reaches into its picture.
        """
        elapsed, shows, self._at = min(EXPOSED_MS / 2, at - self._at), 0.0, at
        # No hand, nor an arm or a finger at the edge, which look like a card before the shoe.
        out = _softmax(np.asarray(values[:3], np.float64))[2]
        if waits > EXPOSED and not (covered or values[8] > 0) and out < HARDLY_OUT:
            odds = float(values[5] - values[4])
            self._waiting.append(odds)
            _, face, cut, none = _softmax(np.asarray(values[4:8], np.float64)).tolist()
            unlike = self._usual.above(odds)
            is_face = face > SHOWN and face > FACED * (face + cut + none)
            shows = face if is_face and unlike is not None and unlike > self._least else 0.0
        if waits <= EXPOSED and self._waiting:
            self._usual.add(median(self._waiting))
            self._waiting.clear()
        before = self._shown_ms
        self._shown_ms = before + elapsed * shows if shows else 0.0
        return before < EXPOSED_MS <= self._shown_ms


class CutReport:
    """Reports once a shoe that the cut card is out.

    As the card before it leaves, the cut card comes in sight behind it and is taken for it: if one
    lies in the mouth afterwards where none lay before, it is not out yet. So it is waited for the
    mouth at rest without a hand, or for the next card. What is a card after all before anything
    has left was an arm. A cut card that lay in sight and is gone is out, whatever was seen of its
    way. It is sure once no card came to lie for a while that was taken for it.
    """

    def __init__(self) -> None:
        self._free_at = self._began_at = self._passed_at = 0  # ms: of the mouth, of what passes
        self._forget()

    def _forget(self) -> None:
        self._lay = self._passed = self._left = self._reported = False
        self._lies_since = 0  # ms
        self._hidden_at: int | None = None  # when a hand came before it, ms
        self.since: int | None = None  # when it was known to be out, ms, until that is reported

    def look(
        self,
        at: int,
        waits: float | None,
        *,
        passes: float,
        next_out: float,
        laid: Iterable[tuple[int, bool]] = (),
    ) -> bool:
        """Whether it is out for sure; `passes`, `next_out`: how likely it, or a card, is (0 to 1).

        `waits` is what `CutEvidence` says of the mouth at a time, ms: None where it is not at rest.
        `laid` has of each card that lies when it left, ms, and whether its leaving was not seen.
        """
        if passes + next_out < 1 / 2:
            self._free_at = at
        elif passes > CUT:
            self._began_at, self._passed_at = self._free_at, at
        if self._is_out(at, waits, passes=passes, next_out=next_out) and not self._reported:
            self._reported, self.since = True, at
            if at - self._passed_at > SURE_MS:
                self._began_at = at  # nothing was seen of its way
        if self.since is None:
            return False
        if any(self._began_at < left < (at if found else self.since) for left, found in laid):
            self._forget()  # what passed was that card
            return False
        is_sure = at - self.since >= SURE_MS
        self.since = None if is_sure else self.since
        return is_sure

    def _is_out(self, at: int, waits: float | None, *, passes: float, next_out: float) -> bool:
        if passes > CUT:
            self._passed, self._left = True, False
        elif self._passed and not self._left:
            self._left = 1 - passes - next_out > NEXT_OUT
            self._passed = next_out <= NEXT_OUT
        if waits is None:
            self._hidden_at = self._hidden_at or at
            return self._passed and (self._lay or (self._left and next_out > NEXT_OUT))
        if waits > LIES and not self._lay:  # it comes in sight
            self._lay, self._passed, self._lies_since = True, False, at
        elif waits < GONE and self._lay and self._hidden_at:  # it is gone
            lay_ms, self._lay = self._hidden_at - self._lies_since, False
            self._passed = self._left = self._passed or lay_ms > LIES_MS
        self._hidden_at = None
        return self._passed


def _softmax(logits: NDArray[np.floating]) -> Values:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), np.float64)
