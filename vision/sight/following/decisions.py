"""What is said of the worlds: cards out and placed, a coup's layout, allegations by their odds."""

from __future__ import annotations

from dataclasses import dataclass, field

from vision.sight.following.decoder import LEAST_LAWFUL, Decoder
from vision.sight.following.procedure import RETURNED
from vision.sight.following.world import HAND, SHOE, UNSEEN, Cards, State, layout

# From these probabilities on it is said that a card is out, that it lies in a slot, and that a
# coup's layout is known.
OUT, PLACED, LAID = 0.97, 0.99, 0.99
# A coup is decided so long, ms, after the first card of the next one left: what was still open of
# it when it was cleared is known by then.
DECIDED_MS = 2000


@dataclass(frozen=True, slots=True)
class CoupVerdict:
    """What is believed of a coup that is over: its likeliest cards, how sure their layout is (p).

    `odds` has for each departure how many times likelier the worlds with it are than the best
    lawful one. `sure`: nothing else is likely.
    """

    coup: int
    at: int
    cards: Cards
    p: float
    sure: bool
    odds: dict[str, float]
    likeliest: tuple[tuple[State, float], ...] = ()

    @property
    def layout(self) -> tuple[int | None, ...]:
        """The slots in the order of leaving."""
        return layout(self.cards)


@dataclass(slots=True)
class Verdicts:
    """Reads decisions off a decoder's worlds, frame by frame."""

    decoder: Decoder
    odds: float
    decided: list[CoupVerdict] = field(default_factory=list)
    outs: list[int] = field(default_factory=list)
    placed: list[tuple[int, int]] = field(default_factory=list)
    _coup: int = 1
    _begun: int | None = None
    _said: set[tuple[int, int]] = field(default_factory=set)
    _laid: set[tuple[int, int]] = field(default_factory=set)

    def take(self, at: int, *, looked: bool) -> None:
        """Take the worlds as they are at a time, ms."""
        worlds = self.decoder.worlds
        counts: dict[tuple[int, int], float] = {}
        for world, p in worlds.items():
            key = (world.coup, sum(1 for c in world.state.cards if c[0] != SHOE))
            counts[key] = counts.get(key, 0.0) + p
        for key in sorted(counts):
            is_new = key[1] > 0 and key not in self._said
            if is_new and sum(p for other, p in counts.items() if other >= key) > OUT:
                self._said.add(key)
                self.outs.append(at)
        if looked:
            self._take_placed(at)
        now = max(counts, key=lambda key: counts[key])[0]
        if now > self._coup:
            self._begun = at if self._begun is None else self._begun
            if at - self._begun > DECIDED_MS:
                self._decide(at, now)

    def _take_placed(self, at: int) -> None:
        lies: dict[tuple[int, int], float] = {}
        for world, p in self.decoder.worlds.items():
            for place, _, _ in world.state.cards:
                if place < HAND:
                    key = (world.coup, place)
                    lies[key] = lies.get(key, 0.0) + p
        for key, p in lies.items():
            if p > PLACED and key not in self._laid:
                self._laid.add(key)
                self.placed.append((at, key[1]))

    def _decide(self, at: int, now: int) -> None:
        worlds: dict[State, float] = {}
        for w, p in self.decoder.worlds.items():
            if w.coup == now and w.before is not None:
                worlds[w.before] = worlds.get(w.before, 0.0) + p
        if worlds:
            self.decided.append(verdict(now - 1, at, worlds))
        self._coup, self._begun = now, None
        self.decoder.forget_before()

    def end(self, at: int) -> None:
        """Decide the last coup as it is."""
        worlds: dict[State, float] = {}
        for w, p in self.decoder.worlds.items():
            if w.coup == self._coup:
                worlds[w.state] = worlds.get(w.state, 0.0) + p
        if worlds:
            self.decided.append(verdict(self._coup, at, worlds))


def were_seen(cards: Cards) -> bool:
    """Whether every card was seen to lie, but for those that went back into the shoe.

    Nobody is accused of what was not seen: a card that never lay anywhere is doubt.
    """
    return all(side < UNSEEN for place, side, _ in cards if place != SHOE)


def verdict(coup: int, at: int, worlds: dict[State, float]) -> CoupVerdict:
    """Return what is believed of a coup from the weights of its states."""
    total = sum(worlds.values())
    layouts: dict[tuple[int | None, ...], float] = {}
    codes: dict[str, float] = {}
    lawful = 0.0
    for state, p in worlds.items():
        key = layout(state.cards)
        layouts[key] = layouts.get(key, 0.0) + p
        for code in state.codes if were_seen(state.cards) else {RETURNED} & set(state.codes):
            codes[code] = codes.get(code, 0.0) + p
        if not state.codes:
            lawful = max(lawful, p)
    best = max(layouts, key=lambda key: layouts[key])
    likely = (state for state in worlds if layout(state.cards) == best)
    cards = max(likely, key=lambda state: worlds[state]).cards
    least = max(lawful, LEAST_LAWFUL * total)
    sure = layouts[best] / total
    return CoupVerdict(
        coup,
        at,
        cards,
        sure,
        sure > LAID,
        {code: p / least for code, p in codes.items()},
        tuple(sorted(worlds.items(), key=lambda pair: -pair[1])[:6]),
    )
