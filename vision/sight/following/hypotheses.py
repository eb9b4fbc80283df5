"""A hypothesis: one way in which a coup may have gone up to now; and the beam of those believed.

Hypotheses that agree in everything are one. The `Decoder` expands them by what a dealer may do,
weighs them by what is seen, merges and prunes. The best lawful one, in which nobody departed from
procedure, is always kept: an allegation is the odds of the others against it, and without it they
would only say that it was pruned.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from vision.sight.following.actions import ACTIONS, MISSED
from vision.sight.following.cards import (
    ASIDE,
    CARDS,
    CARRIED,
    HAND,
    SEEN,
    SHOE,
    TAKEN,
    THIRD,
    Cards,
    CoupCard,
    Lip,
)
from vision.sight.following.evidence import AtMouth
from vision.sight.following.places import Elsewhere, Values

Codes = tuple[str, ...]
Layout = tuple[int | None, ...]  # slots, in the order of leaving


@dataclass(slots=True, eq=False)
class State:
    """A coup as it stands: its cards, the lip, and the departures from procedure that it needs.

    There is one object for each value (`StateSpace.state`): hypotheses are compared by identity.
    `plain` is the one that shows the same, but in which nobody departed from procedure. `moves`,
    `sights` and `layout` are kept once they were asked for; `successors` are where the first of
    the moves lead.
    """

    cards: Cards
    lip: Lip
    codes: Codes
    burning: bool
    plain: State = field(init=False, repr=False)
    moves: Moves | None = field(default=None, repr=False)
    successors: list[Successor] = field(default_factory=list, repr=False)
    _sights: Sights | None = field(default=None, repr=False)
    _layout: Layout | None = field(default=None, repr=False)

    @property
    def sights(self) -> Sights:
        """Where cards are to be seen.

        What lies in a slot or is held over it is seen there once, however many cards that are. A
        burned card, and one that a hand has, may rest outside the slots.
        """
        if self._sights is None:
            shown: dict[int, bool] = {}
            for card in self.cards:
                if card.place.over is not None:
                    shown[card.place.over] = card.side.is_face
            for card in self.cards:
                if card.place.lies is not None:
                    shown[card.place.lies] = card.side.is_face
            places = [card.place for card in self.cards]
            perhaps = sum([self.burning or place in CARRIED for place in places])
            slots = [(face, slot) for slot, face in shown.items()]
            self._sights = Sights(tuple(slots), places.count(ASIDE), perhaps, HAND in places)
        return self._sights

    @property
    def layout(self) -> Layout:
        """The slots of its cards in the order of leaving, without those that went back."""
        if self._layout is None:
            self._layout = tuple(c.place.slot for c in self.cards if c.place is not SHOE)
        return self._layout


class Sights(NamedTuple):
    """The slots in which cards are to be seen, each with whether a face; how many lie aside.

    `perhaps` so many more do: a burned card may be in the discard already, a player's under their
    hand, and what was drawn may be held still. `in_hand`: one is on its way.
    """

    slots: tuple[tuple[bool, int], ...]
    aside: int
    perhaps: int
    in_hand: bool


class By(IntEnum):
    """By whom or what a move is made: it is so much rarer as that is not seen at the mouth."""

    NOTHING = 0  # that is looked for
    HAND = 1  # a hand that is there, or was just now
    STAYING_HAND = 2  # one that has been there for a while
    CUT_CARD = 3  # a hand, with what may be the cut card
    HOLDING_HAND = 4  # one at the mouth or beside it


@dataclass(slots=True, eq=False)
class Move:
    """An action from a state: its rate, what its not coming costs, both a second; where it leads.

    `lip` is `None` where it leaves the lip as it is. `begins`: the coup ends, with the cards
    `left` and the codes `before`, and another begins with `cards`.
    """

    rate: float
    cost: float
    cards: Cards
    codes: Codes
    lip: Lip | None = None
    begins: bool = False
    left: Cards = ()
    before: Codes = ()
    burning: bool = False
    by: By = By.NOTHING


class Successor(NamedTuple):
    """The state that a move leads to, which begins a coup where one `ended`."""

    rate: float
    by: By
    state: State
    ended: State | None


class Moves(NamedTuple):
    """All moves from a state, the likeliest first, with the sums of their rates and costs."""

    moves: tuple[Move, ...]
    rate: float
    cost: float


class Hypothesis(NamedTuple):
    """The running coup (0: the burn), the coup before as it ended until it is decided."""

    coup: int
    before: State | None
    state: State


def swept(cards: Cards) -> Cards:
    """Return the cards of a coup as they are once all of them were taken away."""
    return tuple(CARDS[TAKEN[card.place], card.side, card.points] for card in cards)


# --- the states of a coup -------------------------------------------------------------------------

# States of cards that were read, kept from one picture to the next; a coup has some thousands. With
# their moves 4,000 take 20 MB. More only take memory; of a film of 7,600 pictures a tenth more
# states are worked out with 3,000 than if none is forgotten.
MOST_STATES = 4_000


class StateSpace(ABC):
    """The states of a coup, one object each, and the moves between them."""

    # Of cards before and after a look, and the codes before: how much less likely, the codes then.
    reprice: Callable[[Cards, Cards, Codes], tuple[float, Codes]]

    def __init__(self) -> None:
        self.states: dict[tuple[Cards, Lip, Codes, bool], State] = {}
        self._room = MOST_STATES

    def state(
        self, cards: Cards, lip: Lip = Lip.REST, codes: Codes = (), *, burning: bool = False
    ) -> State:
        """Return the one state of that value."""
        key = cards, lip, codes, burning
        found = self.states.get(key)
        if found is None:
            found = self.states[key] = State(*key)
            shown = tuple(card for card in cards if card.place is not SHOE)
            is_plain = not codes and len(shown) == len(cards)
            found.plain = found if is_plain else self.state(shown, lip, burning=burning)
        return found

    @property
    def is_full(self) -> bool:
        """Whether there are so many states that it is time to forget some."""
        return len(self.states) > self._room

    def forget(self, needed: Iterable[State]) -> None:
        """Forget what was worked out of cards that were read, but for the states that are kept.

        The states of cards that are not read yet come again in every coup: they stay.
        """
        stay = [s for s in self.states.values() if not _is_read(s)]
        for state in needed:
            if _is_read(state):
                state.moves, state.successors = None, []
                stay += state, state.plain
        self.states = {(s.cards, s.lip, s.codes, s.burning): s for s in stay}
        self._room = len(self.states) + MOST_STATES

    @abstractmethod
    def moves(self, state: State) -> Moves:
        """Return what may happen next in a state."""

    def successor(self, state: State, move: Move) -> Successor:
        """Return where a move from a state leads."""
        to = state.lip if move.lip is None else move.lip
        ended = self.state(move.left, Lip.REST, move.before) if move.begins else None
        after = self.state(move.cards, to, move.codes, burning=move.burning)
        return Successor(move.rate, move.by, after, ended)


def _is_read(state: State) -> bool:
    return any(card.points is not None for card in state.cards)


# --- the beam -------------------------------------------------------------------------------------

# A longer time than this between two pictures is gone through in steps, s: several things may
# happen in it. With 0.07, one step a picture at 15 a second, 7 more of 126 were held, and `out`
# was in time for 82 of 100 cards, not 92; with 0.05, two steps, for 88 of 100 of other films, with
# 0.025 for 90. A shorter one than the second is added to the next.
LONGEST_S, SHORTEST_MS = 0.025, 24
# Hypotheses that are so much less likely than the best one are dropped: half of `MISSED` within the
# shortest step, or else what sight missed is dropped as it happens. What is less likely still by
# the second is not even looked at. No more hypotheses are kept than `BEAM`.
PRUNE = MISSED * SHORTEST_MS / 1000 / 2
IGNORED = PRUNE / 5
BEAM = 128
# How much rarer a draw that the mouth does not see is without a hand there than with one.
HANDLESS = ACTIONS["unseen"].undue / ACTIONS["unseen"].due
# The least weight of the lawful hypothesis against the best one; odds stop there.
LEAST_LAWFUL = 1e-12
# Hypotheses carried from one step to the next within a gap. Without a limit a gap of 2 s came
# to 12,000 and cost 3.5 s: a reader that was held up once was late at the next picture too, and so
# for ever. Fewer lose what is rare in a long gap.
MOST_CARRIED = 2 * BEAM
# No more steps than these for one picture: by the rates alone any coup would be over in the end.
MOST_STEPS = 80

Weights = dict[Hypothesis, float]
# The same while it is added up, which is quicker so: by the coup and the one before, then by state.
Coups = tuple[int, State | None]
Parts = dict[Coups, dict[State, float]]
Reads = Mapping[int, int]


def _heaviest(parts: Parts, most: int, least: float = 0.0) -> Parts:
    """Return the parts with the most weight, above `least`, `most` of them; and a lawful one.

    Those that show the same stay or go together, by their sum: or else, of two explanations, the
    likelier one would go on in more variants than the other, and win by that.
    """
    if not least and sum(map(len, parts.values())) <= most and next(_lawful(parts), None):
        return parts
    alike: dict[object, dict[State, float]] = {}
    ranked: list[tuple[dict[State, float], Coups, State, float]] = []
    for coups, states in parts.items():
        sums = alike.setdefault((coups[0], coups[1] and coups[1].plain), {})
        for state, weight in states.items():
            if weight > least:
                sums[state.plain] = sums.get(state.plain, 0.0) + weight
                ranked.append((sums, coups, state, weight))
    if len(ranked) > most:
        ranked.sort(key=lambda part: part[0][part[2].plain], reverse=True)
    kept: Parts = {}
    for _, coups, state, weight in ranked[:most]:
        kept.setdefault(coups, {})[state] = weight
    if next(_lawful(kept), None) is None:
        for weight, coups, state in sorted(_lawful(parts), key=itemgetter(0))[-1:]:
            kept.setdefault(coups, {})[state] = weight
    return kept


def _lawful(parts: Parts) -> Iterator[tuple[float, Coups, State]]:
    for coups, states in parts.items():
        yield from ((p, coups, state) for state, p in states.items() if is_lawful((*coups, state)))


def _shares(mouth: AtMouth) -> tuple[float, ...]:
    """Return by how much moves are rarer, or more frequent, as what makes them is seen; of `By`."""
    hand, stays = max(mouth.hand, HANDLESS), max(mouth.stays, HANDLESS)
    return 1.0, hand, stays, hand * math.exp(mouth.cut), max(mouth.holds, hand)


class Decoder:
    """The hypotheses of one table, with their probabilities, `hypotheses`."""

    def __init__(self, procedure: StateSpace, *, burn: float, beam: int = BEAM) -> None:
        """Begin with an empty table; `burn` (0 to 1): how likely the first cards are burned."""
        self._beam = beam
        self.procedure = procedure
        self.hypotheses: Weights = {}
        for burning, p in ((True, burn), (False, 1 - burn)):
            if p > 0:
                self.hypotheses[Hypothesis(1, None, self.procedure.state((), burning=burning))] = p
        self._at: int | None = None
        self._waiting: tuple[Values, float] | None = None
        # What was read last, and what each state becomes by it, with its price.
        self._reading: object = None
        self._read: dict[State, tuple[float, State]] = {}

    def resume(self, coup: int, cards: Cards, *, gone: float) -> None:
        """Go on with the cards of a coup; `gone` (0 to 1): how likely they were taken meanwhile."""
        state = self.procedure.state
        self.hypotheses = {Hypothesis(coup, None, state(cards)): 1 - gone}
        taken = Hypothesis(coup, None, state(swept(cards)))
        self.hypotheses[taken] = self.hypotheses.get(taken, 0.0) + gone

    def step(
        self,
        at: int,
        lip: Values,
        shown: TableObservation | None = None,
        *,
        mouth: AtMouth,
        still_at: int = 0,
    ) -> bool:
        """Take what a picture at a time (ms) shows; return whether the hypotheses moved.

        `lip` (12) are log-likelihoods; `shown` is what the slots show, where they were looked at.
        Pictures that follow quickly are taken together. Until `still_at` (ms) nothing moved on the
        table: nothing happened meanwhile, however long that was.
        """
        cut = mouth.cut
        if self._waiting is not None:
            lip, cut = lip + self._waiting[0], self._waiting[1]
        elapsed = 1000 * LONGEST_S if self._at is None else at - self._at
        if elapsed < SHORTEST_MS and shown is None:
            self._waiting = lip, cut
            return False
        moving = min(elapsed, at - still_at, round(1000 * LONGEST_S) * MOST_STEPS)
        self._at, self._waiting = at, None
        parts: Parts = {}
        for (coup, before, state), p in self.hypotheses.items():
            parts.setdefault((coup, before), {})[state] = p
        steps = math.ceil(moving / 1000 / LONGEST_S)
        shares = _shares(mouth._replace(cut=cut))
        for _ in range(steps):
            parts = _heaviest(self._move(parts, moving / steps / 1000, shares), MOST_CARRIED)
        self._keep(self._weigh(parts, lip, shown))
        if self.procedure.is_full:
            states = (state for one in self.hypotheses for state in (one.before, one.state))
            self.procedure.forget(state for state in states if state is not None)
            self._read = {}
        return True

    def _move(self, parts: Parts, elapsed: float, shares: tuple[float, ...]) -> Parts:
        """Return the hypotheses after so many seconds in which anything may have happened."""
        moved: Parts = {}
        least = IGNORED * max(max(states.values()) for states in parts.values())
        for (coup, before), states in parts.items():
            goes_on = moved.setdefault((coup, before), {})
            get = goes_on.get
            for state, weight in states.items():
                moves, rate, cost = state.moves or self.procedure.moves(state)
                goes_on[state] = get(state, 0.0) + weight * math.exp(-elapsed * cost)
                each = weight * (1 - math.exp(-elapsed * rate)) / rate if rate else 0.0
                after = state.successors
                while len(after) < len(moves) and each * moves[len(after)].rate >= least:
                    after.append(self.procedure.successor(state, moves[len(after)]))
                for often, by, following, ended in after:
                    share = each * often
                    if share < least:
                        break  # the others are less likely still
                    into = goes_on if ended is None else moved.setdefault((coup + 1, ended), {})
                    into[following] = into.get(following, 0.0) + share * shares[by]
        return moved

    def _weigh(self, parts: Parts, lip: Values, shown: TableObservation | None) -> Parts:
        lips = np.exp(lip - lip.max()).tolist()
        if shown is not None and shown.reading != self._reading:
            self._reading, self._read = shown.reading, {}
        seen: dict[State, tuple[float, State]] = {}
        weighed: Parts = {}
        for coups, states in parts.items():
            into = weighed.setdefault(coups, {})
            for state, weight in states.items():
                if (known := seen.get(state)) is None:
                    known = seen[state] = self._seen(state, lips, shown)
                p, read = known
                into[read] = into.get(read, 0.0) + weight * p
        return weighed

    def _seen(
        self, state: State, lips: list[float], shown: TableObservation | None
    ) -> tuple[float, State]:
        """Return how likely what is seen is in a state, and the state with what was seen in it."""
        p = float(lips[state.lip])
        if shown is None:
            return p, state
        sights = state.sights
        for is_face, slot in sights.slots:
            p *= shown.ratios[is_face][slot]
        if state.burning:  # a pile that lies before the shoe may be over a third slot
            p *= max(1.0, *(shown.ratios[0][slot] for slot in THIRD))
        # Two or more look alike: what is seen says nothing of how many more there are.
        for number, ratio in enumerate(shown.elsewhere.cards[: sights.aside + sights.perhaps]):
            p *= ratio if number < sights.aside else max(1.0, ratio)
        if sights.in_hand:
            p *= shown.elsewhere.hand
        read = self._read.get(state)
        if read is None:
            read = self._read[state] = self._taken(state, shown)
        return p * read[0], read[1]

    def _taken(self, state: State, shown: TableObservation) -> tuple[float, State]:
        """Return the state with what is read taken into it, and how much less likely it is then."""
        seen = shown.into(state.cards)
        if seen == state.cards:
            return 1.0, state
        ratio, codes = self.procedure.reprice(state.cards, seen, state.codes)
        return ratio, self.procedure.state(seen, state.lip, codes)

    def _keep(self, weighed: Parts) -> None:
        """Keep the likeliest hypotheses and the best lawful one, their sum 1."""
        best = max(max(states.values()) for states in weighed.values())
        if not best > 0:
            return  # nothing fits at all: what was believed before is believed still
        likeliest = _heaviest(weighed, self._beam, best * PRUNE)
        self.hypotheses = {
            Hypothesis(*coups, state): max(p, best * LEAST_LAWFUL)
            for coups, states in likeliest.items()
            for state, p in states.items()
        }
        total = sum(self.hypotheses.values())
        self.hypotheses = {hypothesis: p / total for hypothesis, p in self.hypotheses.items()}

    def forget_before(self, first: int) -> None:
        """Forget what was before a coup, which is decided, and what hypotheses are not so far."""
        merged: Weights = {}
        for (coup, before, state), p in self.hypotheses.items():
            if coup >= first:
                hypothesis = Hypothesis(coup, before if coup > first else None, state)
                merged[hypothesis] = merged.get(hypothesis, 0.0) + p
        total = sum(merged.values())
        self.hypotheses = {hypothesis: p / total for hypothesis, p in merged.items()}


def is_lawful(hypothesis: tuple[int, State | None, State]) -> bool:
    """Whether nobody departed from procedure in the running coup and in the one before."""
    _, before, state = hypothesis
    return not state.codes and (before is None or not before.codes)


class TableObservation(NamedTuple):
    """What a look at the slots shows: how likely a back and a face are against an empty slot.

    `ratios` is 2 x 6; `holds` says which slots were seen to hold a card; `reads` has the points of
    the cards read in them.
    """

    ratios: list[list[float]]
    holds: list[bool]
    reads: Reads
    elsewhere: Elsewhere

    @classmethod
    def of(
        cls, slots: Values, holds: list[bool], reads: Reads, elsewhere: Elsewhere
    ) -> TableObservation:
        """Return what log-likelihoods (3 x 6) of empty, back and face show."""
        return cls(np.exp(slots[1:] - slots[0]).tolist(), holds, reads, elsewhere)

    @property
    def reading(self) -> object:
        """What of it may change a state."""
        return self.holds, self.reads, [ratio > 1 for ratio in self.elsewhere.cards]

    def into(self, cards: Cards) -> Cards:
        """Return the cards as seen where they lie open, with their points where they were read."""
        aside, after = 0, list[CoupCard]()
        for card in cards:
            place, side, points, shows = card.place, card.side, card.points, False
            if place.lies is not None:
                shows = self.holds[place.lies]
                points = self.reads.get(place.lies, points) if side.is_face else points
            elif place is ASIDE:
                shows = self.elsewhere.cards[min(aside, 1)] > 1
                aside += 1
            after.append(CARDS[place, SEEN[side] if shows else side, points])
        return tuple(after)
