"""A beam of worlds: expand by what a dealer may do, weigh by what is seen, merge, prune.

The best lawful world, in which nobody departed from procedure, is always kept: an allegation is
the odds of the other worlds against it, and without it they would only say that it was pruned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vision.game.rules import Rules
from vision.sight.following.actions import ACTIONS, MISSED
from vision.sight.following.evidence import Values
from vision.sight.following.procedure import Procedure, swept
from vision.sight.following.world import (
    ASIDE,
    FACE,
    HAND,
    UNSEEN,
    Cards,
    State,
    World,
)

# A longer time than this between two pictures is gone through in steps, s: several things may
# happen in it. A shorter one than the second is added to the next.
LONGEST_S, SHORTEST_MS = 0.05, 24
# Worlds that are so much less likely than the best one are dropped: half of `MISSED` within the
# shortest step, or else what sight missed is dropped as it happens. What is less likely still by
# the second is not even looked at. No more worlds are kept than `BEAM`.
PRUNE = MISSED * SHORTEST_MS / 1000 / 2
IGNORED = PRUNE / 5
BEAM = 128
# How much rarer a draw that the mouth does not see is without a hand there than with one.
HANDLESS = ACTIONS["unseen"].undue / ACTIONS["unseen"].due
# The least weight of the lawful world against the best one; odds stop there.
LEAST_LAWFUL = 1e-12
# No more steps than these for one picture: of a longer gap nothing is known, and by the rates alone
# any coup would be over.
MOST_STEPS = 40

Weights = dict[World, float]
# The same while it is added up, by plain tuples, which are quicker made and equal to worlds.
Parts = dict[tuple[int, State | None, State], float]
Reads = Mapping[int, int]


class Decoder:
    """The worlds of one table, with their probabilities, `worlds`."""

    def __init__(self, rules: Rules, *, burn: float = 0.0, beam: int = BEAM) -> None:
        """Begin with an empty table; `burn` (0 to 1): how likely the first cards are burned."""
        self._beam = beam
        self.procedure = Procedure(rules)
        self.worlds: Weights = {}
        for burning, p in ((True, burn), (False, 1 - burn)):
            if p > 0:
                self.worlds[World(1, None, self.procedure.state((), burning=burning))] = p
        self._at: int | None = None
        self._waiting: Values | None = None
        # What was read last, and what each state becomes by it, with its price.
        self._reading: object = None
        self._read: dict[State, tuple[float, State]] = {}

    def resume(self, coup: int, cards: Cards, *, gone: float) -> None:
        """Go on with the cards of a coup; `gone` (0 to 1): how likely they were taken meanwhile."""
        state = self.procedure.state
        self.worlds = {World(coup, None, state(cards)): 1 - gone}
        taken = World(coup, None, state(swept(cards)))
        self.worlds[taken] = self.worlds.get(taken, 0.0) + gone

    def step(
        self,
        at: int,
        lip: Values,
        shown: TableLook | None = None,
        *,
        hand: float = 1.0,
        still: bool = False,
    ) -> bool:
        """Take what a picture at a time (ms) shows; return whether the worlds moved.

        `lip` (9) are log-likelihoods; `shown` is what the slots show, where they were looked at.
        Pictures that follow quickly are taken together. `hand` (0 to 1): how likely one is at the
        mouth. `still`: nothing moved since the one before, so that one thing at most happened.
        """
        lip = lip if self._waiting is None else lip + self._waiting
        elapsed = 1000 * LONGEST_S if self._at is None else at - self._at
        if elapsed < SHORTEST_MS and shown is None:
            self._waiting = lip
            return False
        self._at, self._waiting = at, None
        elapsed = min(elapsed, round(1000 * LONGEST_S) * MOST_STEPS)
        most = 1 if still else MOST_STEPS
        steps = min(most, max(1, math.ceil(elapsed / 1000 / LONGEST_S)))
        parts: Parts = dict(self.worlds.items())
        for _ in range(steps):
            parts = self._move(parts, elapsed / steps / 1000, max(hand, HANDLESS))
        self._keep(self._weigh(parts, lip, shown))
        if self.procedure.is_full:
            states = (state for world in self.worlds for state in (world.before, world.state))
            self.procedure.forget(state for state in states if state is not None)
            self._read = {}
        return True

    def _move(self, parts: Parts, elapsed: float, hand: float) -> Parts:
        """Return the worlds after so many seconds in which anything may have happened."""
        moved: Parts = {}
        get, procedure = moved.get, self.procedure
        least = IGNORED * max(parts.values())
        for world, weight in parts.items():
            coup, before, state = world
            lip = state.lip
            moves, rate, cost = state.moves or procedure.moves(state)
            moved[world] = get(world, 0.0) + weight * math.exp(-elapsed * cost)
            each = weight * (1 - math.exp(-elapsed * rate)) / rate if rate else 0.0
            for move in moves:
                share = each * move.rate
                if share < least:
                    break  # the others are less likely still
                if move.by_hand:
                    share *= hand
                following, ended = move.targets.get(lip) or procedure.target(move, lip)
                key = (coup, before, following) if ended is None else (coup + 1, ended, following)
                moved[key] = get(key, 0.0) + share
        return moved

    def _weigh(self, parts: Parts, lip: Values, shown: TableLook | None) -> Parts:
        lips = np.exp(lip - lip.max()).tolist()
        if shown is not None and shown.reading != self._reading:
            self._reading, self._read = shown.reading, {}
        seen: dict[State, tuple[float, State]] = {}
        weighed: Parts = {}
        for (coup, before, state), weight in parts.items():
            known = seen.get(state)
            if known is None:
                known = seen[state] = self._seen(state, lips, shown)
            p, read = known
            key = coup, before, read
            weighed[key] = weighed.get(key, 0.0) + weight * p
        return weighed

    def _seen(
        self, state: State, lips: list[float], shown: TableLook | None
    ) -> tuple[float, State]:
        """Return how likely what is seen is in a state, and the state with what was seen in it."""
        p = float(lips[state.lip])
        if shown is None:
            return p, state
        for side, slot in state.sights:
            p *= shown.ratios[side][slot] if slot != ASIDE else shown.aside[side]
        read = self._read.get(state)
        if read is None:
            read = self._read[state] = self._taken(state, shown)
        return p * read[0], read[1]

    def _taken(self, state: State, shown: TableLook) -> tuple[float, State]:
        """Return the state with what is read taken into it, and how much less likely it is then."""
        seen = shown.into(state.cards)
        if seen is state.cards:
            return 1.0, state
        ratio, codes = self.procedure.reprice(state.cards, seen, state.codes)
        return ratio, self.procedure.state(seen, state.lip, codes)

    def _keep(self, weighed: Parts) -> None:
        """Keep the likeliest worlds and the best lawful one, their sum 1."""
        best = max(weighed.values())
        if not best > 0:
            return  # nothing fits at all: what was believed before is believed still
        least = best * PRUNE
        kept = [pair for pair in weighed.items() if pair[1] > least]
        if len(kept) > self._beam:
            kept = sorted(kept, key=lambda pair: -pair[1])[: self._beam]
        worlds = {World(*key): p for key, p in kept}
        if not any(is_lawful(world) for world in worlds):
            lawful = [(p, key) for key, p in weighed.items() if is_lawful(World(*key))]
            if lawful:
                p, key = max(lawful, key=lambda pair: pair[0])
                worlds[World(*key)] = max(p, best * LEAST_LAWFUL)
        total = sum(worlds.values())
        self.worlds = {world: p / total for world, p in worlds.items()}

    def forget_before(self, first: int) -> None:
        """Forget what was before a coup, which is decided, and the worlds that are not so far."""
        merged: Weights = {}
        for (coup, before, state), p in self.worlds.items():
            if coup >= first:
                world = World(coup, before if coup > first else None, state)
                merged[world] = merged.get(world, 0.0) + p
        total = sum(merged.values())
        self.worlds = {world: p / total for world, p in merged.items()}


def is_lawful(world: World) -> bool:
    """Whether nobody departed from procedure in the running coup and in the one before."""
    return not world.state.codes and (world.before is None or not world.before.codes)


class TableLook(NamedTuple):
    """What a look at the slots shows: how likely a back and a face are against an empty slot.

    `ratios` is 2 x 6; `holds` says which slots were seen to hold a card; `reads` has the points of
    the cards read in them; `aside` is how much likelier what is seen is if a first and a further
    card lie elsewhere.
    """

    ratios: list[list[float]]
    holds: list[bool]
    reads: Reads
    aside: tuple[float, float]

    @classmethod
    def of(
        cls, slots: Values, holds: list[bool], reads: Reads, aside: tuple[float, float]
    ) -> TableLook:
        """Return what log-likelihoods (3 x 6) of empty, back and face show."""
        return cls(np.exp(slots[1:] - slots[0]).tolist(), holds, reads, aside)

    @property
    def reading(self) -> object:
        """What of it may change a state."""
        return self.holds, self.reads, [ratio > 1 for ratio in self.aside]

    def into(self, cards: Cards) -> Cards:
        """Return the cards as seen where they lie open, with their points where they were read."""
        aside = 0
        for index, (place, side, points) in enumerate(cards):
            if place == ASIDE:
                if side >= UNSEEN and self.aside[min(aside, 1)] > 1:
                    cards = (*cards[:index], (place, side - UNSEEN, points), *cards[index + 1 :])
                aside += 1
            if place >= HAND:
                continue
            now = side - UNSEEN if side >= UNSEEN and self.holds[place] else side
            read = self.reads.get(place, points) if side % UNSEEN == FACE else points
            if now != side or read != points:
                cards = (*cards[:index], (place, now, read), *cards[index + 1 :])
        return cards
