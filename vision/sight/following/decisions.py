"""What is reported of each coup: its cards as far as hypotheses agree, how sure, and the odds.

A thing is reported once it is probable enough, and stands until something else is: so what is
published does not flicker with the beam.

Faults of the layout are found by the rules. What a layout does not show is alleged here: a card
that went back into the shoe, two that left as one, a switched, foreign or early exposed card, a
card drawn over lying hands, and cards that moved while the reader was off.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from vision.game.cards import Card
from vision.game.coup.fault_table import words_of
from vision.game.events import Allegation, CoupSeen, Slot
from vision.sight.following.cards import (
    BACK,
    CARDS,
    FACE,
    GONE_ASIDE,
    HAND,
    LAY,
    SHOE,
    TAKEN,
    Cards,
    CoupCard,
    Place,
)
from vision.sight.following.hypotheses import LEAST_LAWFUL, Decoder, Layout, State
from vision.sight.following.places import Values
from vision.sight.following.procedure import ELSEWHERE, FIRST_CARDS, OVER, RETURNED, TWO_OUT
from vision.sight.reading.faces import Face

# From these probabilities on a card is reported to be out, and how a coup lies: 50 to 1, the odds
# from which a departure is alleged, or else the layout of a card that went back would be open when
# its return is alleged. A card that was reported as out is withdrawn below the third: at 1 - OUT,
# one that was none stayed, since that it went back into the shoe was as likely as 1 to 14.
OUT, PLACED, WITHDRAWN = 0.97, 0.98, 0.1
# A coup is decided so long, ms, after the first card of the next one left: what was still open of
# it when it was cleared is known by then.
DECIDED_MS = 2000
# That two cards left as one, one went back, or lies elsewhere while one is in a hand, is believed
# once it was so likely for so long, ms: a card squeezed over a third slot was a second for 0.7 s.
SETTLED_MS = 2000
# The odds that are stated of what is read off a face or a side of which sight is sure (`PLACED`).
SURE_ODDS = 50.0
# Hypotheses shown to people.
MOST_SHOWN = 6

DRAWN = CARDS[HAND, BACK, None]  # as a card is published first

Weighed = Mapping[State, float]


@dataclass(slots=True)
class Account:
    """A coup as it is believed, and what was published of it.

    `first` is the order of its first card. `cards` are as they are published: a card that was
    lifted from its slot counts as lying there. `left_at` is when each left (ms); the numbers
    `found` are of cards that lay there when they were first known to be out. `p` is the probability
    of the likeliest `layout`. `odds` has for each departure how much likelier the hypotheses with
    it are than those without, where each card was seen to lie; some are `high`, as those that are
    alleged, since so many ms, or `rising`, for too short a time. `unseen` is how many times
    likelier than all others those are in which one was not. `blind`: a part of the coup was not
    seen; `seen`: each card of the likeliest state that was laid was seen to lie. `under_way`: in
    what else is likely a card is in a hand still, and will show where it lies. `alleged` is what
    sight alone alleges, `doubt` in words what it doubts; it is open how the coup lies since
    `open_since`.
    """

    coup: int
    first: int
    alleged: Allegations
    cards: list[CoupCard] = field(default_factory=list)
    left_at: list[int] = field(default_factory=list)
    found: set[int] = field(default_factory=set)
    layout: Layout = ()
    p: float = 1.0
    odds: dict[str, float] = field(default_factory=dict)
    high: dict[str, int] = field(default_factory=dict)
    rising: bool = False
    unseen: float = 0.0
    blind: bool = False
    likeliest: tuple[tuple[State, float], ...] = ()
    seen: bool = True
    under_way: bool = False
    burning: bool = False
    perhaps_burned: bool = False  # its cards were likelier burned than not
    mixed: bool = False  # and are none of a burn: some of them may be
    uncounted: bool = False  # of a burn: a card hid for a time what left after it
    published: CoupSeen | None = None
    open_since: int | None = None
    doubt: str = ""

    def is_open(self, least: float) -> bool:
        """Whether it is open how it lies, or whether somebody departed from procedure.

        A departure is alleged from the odds `least` on, and of what was seen only.
        """
        undecided = any(1 < odds < least for odds in self.odds.values())
        return not self.is_laid or undecided or self.unseen > 1

    def has_over(self, least: float) -> bool:
        """Whether a card was drawn that was not due, at these odds or more, however it lies."""
        return not self.blind and self.unseen <= 1 and self.odds.get(OVER, 0.0) >= least

    @property
    def is_laid(self) -> bool:
        """Whether no other layout is likely, and this one was reported and all seen to lie."""
        if not self.seen:
            return False
        reported = tuple(card.place.slot for card in self.cards if card.place is not SHOE)
        return self.p > PLACED and reported == self.layout

    @property
    def layouts(self) -> tuple[tuple[str, float], ...]:
        """The likeliest layouts in words, `P1 B1 P2 B2`, each with its probability (0 to 1)."""
        shares: dict[str, float] = defaultdict(float)
        for state, p in self.likeliest:
            slots = (None if slot is None else Slot(slot) for slot in state.layout)
            names = (f"{s.name[0]}{s // 2 + 1}" if s is not None else "–" for s in slots)
            shares[" ".join(names)] += p
        total = sum(shares.values()) or 1.0
        return tuple((n, p / total) for n, p in sorted(shares.items(), key=lambda pair: -pair[1]))

    def doubted(self, least: float) -> str:
        """Words for what is open: a departure that is not decided, or the two likeliest layouts."""
        if self.is_laid and self.unseen > 1:
            return "Not every card of it was seen to lie."
        undecided = [code for code, odds in self.odds.items() if 1 < odds < least]
        if self.is_laid and undecided:
            named = [words_of(code) for code in undecided if code in {RETURNED, TWO_OUT}]
            return f"Not decided: {' '.join(named) or 'whether it was dealt by the rules.'}"
        words = [f"{name} ({p:.0%})" for name, p in self.layouts[:2]]
        return f"It may be {' or '.join(words)}."

    def repeated(self, faces: Sequence[Face]) -> Card | None:
        """Return the face of a card that nobody saw leave, and of another that was seen to leave.

        A card that a player laid down in the next slot and the dealer put back is likelier, unless
        both lay open at once: of eight decks, one card in twelve is like one of five others.
        """
        left = [face for n, face in enumerate(faces) if n not in self.found]
        found = (faces[n] for n in sorted(self.found) if n < len(faces))
        pairs = ((one.read, one.apart and other.apart) for one in found for other in left
                 if one.read == other.read)  # fmt: skip
        return next((read for read, apart in pairs if read is not None and not apart), None)

    def counts(self, states: Weighed) -> int:
        """Return how many cards are to be reported as out."""
        most = max((len(state.cards) for state in states), default=0)
        number = min(len(self.cards), most)
        at_least = [0.0] * (most + 2)
        for state, p in states.items():
            for less in range(1, len(state.cards) + 1):
                at_least[less] += p
        while number < most and at_least[number + 1] > OUT:
            number += 1
        while number and at_least[number] < WITHDRAWN:
            number -= 1
        return number

    def take(self, at: int, states: Weighed) -> None:
        """Take how likely each state of the coup is, at a time, ms."""
        known, number = len(self.cards), self.counts(states)
        del self.cards[number:], self.left_at[number:]
        self.found.difference_update(range(number, known))
        self.cards += [DRAWN] * (number - known)
        self.left_at += [at] * (number - known)
        likeliest = self._place(states)
        self.found.update(n for n in range(known, number) if likeliest[n] is not HAND)
        layouts: dict[Layout, float] = defaultdict(float)
        for state, p in states.items():
            layouts[state.layout] += p
        self.layout = max(layouts, key=lambda key: layouts[key])
        total = sum(layouts.values())
        self.p = layouts[self.layout] / total
        others = ((s, p) for s, p in states.items() if s.layout != self.layout)
        lies = sum(p for s, p in others if all(card.place is not HAND for card in s.cards))
        self.under_way = self.p <= PLACED and lies <= (1 - PLACED) * total
        burning = sum(p for state, p in states.items() if state.burning) / total
        self.perhaps_burned |= number > 1 and burning > 1 / 2
        if not 1 - PLACED <= burning <= PLACED:
            self.burning = burning > PLACED
            self.mixed |= self.perhaps_burned and not self.burning
        self._weigh(states)
        self._settle(at)
        self.likeliest = tuple(sorted(states.items(), key=lambda pair: -pair[1])[:MOST_SHOWN])
        best = self.likeliest[0][0].cards
        self.seen = were_seen(tuple(card for card in best if card.place is not HAND))

    def _place(self, states: Weighed) -> list[Place]:
        """Publish where each card is: the slot once it is known, and gone once that is known too.

        Whether a card went back into the shoe has odds of its own; cards after it have other
        numbers then: while it is likelier that all are out, places are of those states alone.
        Return the likeliest place of each, known or not.
        """
        out = {s: p for s, p in states.items() if all(c.place is not SHOE for c in s.cards)}
        whole = sum(p for state, p in out.items() if len(state.cards) >= len(self.cards))
        if whole > sum(states.values()) / 2:
            states = out
        believed: list[dict[Place, float]] = [defaultdict(float) for _ in self.cards]
        up = [0.0] * len(self.cards)
        for state, p in states.items():
            for number, card in enumerate(state.cards[: len(self.cards)]):
                believed[number][card.place] += p
                if card.side.is_face:
                    up[number] += p
        likeliest = []
        for number, (card, seen) in enumerate(zip(self.cards, believed, strict=True)):
            where: dict[Place, float] = defaultdict(float)
            gone, there = 0.0, sum(seen.values())  # as sure as it is, where there is such a card
            for place, p in seen.items():
                where[LAY[place]] += p / there
                if place.gone:
                    gone += p / there
            lay = max(where, key=lambda place: where[place], default=HAND)
            likeliest.append(lay)
            place, side, faces = card.place, card.side, up[number] / there
            if where.get(lay, 0.0) > PLACED:
                was_gone = place.gone and LAY[place] is lay
                is_taken = gone > (1 - PLACED if was_gone else PLACED)
                place = TAKEN[lay] if is_taken else lay
            if not 1 - PLACED <= faces <= PLACED:
                side = FACE if faces > PLACED else BACK
            self.cards[number] = CARDS[place, side, None]
        return likeliest

    def _weigh(self, states: Weighed) -> None:
        codes: dict[str, float] = defaultdict(float)
        unseen = 0.0
        for state, p in states.items():
            if not state.codes:
                continue
            seen = were_seen(state.cards)
            # One card more, on its way, takes nothing back of what was likely before it.
            before = seen or were_seen(state.cards[:-1])
            likely = {c for c, odds in self.odds.items() if before and odds > 1}
            counted = set(state.codes) if seen else set(state.codes) & {RETURNED, *likely}
            unseen += 0.0 if counted == set(state.codes) else p
            for code in counted:
                codes[code] += p
        total = sum(states.values())
        self.odds = {code: p / max(total - p, LEAST_LAWFUL) for code, p in codes.items()}
        self.unseen = unseen / max(total - unseen, LEAST_LAWFUL)

    def _settle(self, at: int) -> None:
        """Leave undecided what has not been as likely as what is alleged for long enough."""
        least = self.alleged.least
        # Of two in the hands one may be held over a slot.
        holds = any(card.place is HAND for card in self.cards)
        begins = {RETURNED: at, TWO_OUT: at, ELSEWHERE: at if holds else at - SETTLED_MS}
        high = (code for code in begins if self.odds.get(code, 0.0) >= least)
        self.high = {code: self.high.get(code, begins[code]) for code in high}
        fresh = [code for code, since in self.high.items() if at - since < SETTLED_MS]
        self.odds |= dict.fromkeys(fresh, math.nextafter(least, 0))
        self.rising = bool(fresh)


def were_seen(cards: Cards) -> bool:
    """Whether every card was seen to lie, but for those that went back into the shoe.

    Nobody is accused of what was not seen: a card that never lay anywhere is doubt.
    """
    return all(card.side.seen for card in cards if card.place is not SHOE)


class Accounts:
    """The coup that runs and the one before it until it is decided, from a decoder's hypotheses.

    `withdrawn` are those that proved to be none at the last step, without cards; `next` is the
    order of the first card of the next coup.
    """

    def __init__(self, decoder: Decoder, *, odds: float = SURE_ODDS, order: int = 1) -> None:
        """Begin with cards of that order; a departure is alleged from these odds on."""
        self.decoder = decoder
        self.odds, self.next = odds, order
        self.open: list[Account] = []
        self.withdrawn: list[Account] = []

    def account(self, coup: int) -> Account:
        """Return the account of a coup, a new one where there is none."""
        found = (account for account in self.open if account.coup == coup)
        return next(found, None) or Account(coup, self.next, Allegations(self.odds))

    def take(self, at: int, *, looked: bool) -> list[Account]:
        """Take the hypotheses as they are at a time, ms; return the coups that are decided now.

        Places are weighed where the slots were `looked` at or the number of cards changes.
        """
        coups: dict[int, dict[State, float]] = defaultdict(lambda: defaultdict(float))
        for hypothesis, p in self.decoder.hypotheses.items():
            coups[hypothesis.coup][hypothesis.state] += p
            if hypothesis.before is not None:
                coups[hypothesis.coup - 1][hypothesis.before] += p
        newest = max((account.coup for account in self.open), default=0)
        for coup in sorted(coup for coup in coups if coup > newest):
            account = self.account(coup)
            account.take(at, coups[coup])
            if account.cards:
                self.open.append(account)
        for account in self.open:
            is_first = account.coup == self.open[-1].coup == 1
            states = self._perhaps_burned() if is_first else coups.get(account.coup, {})
            if states and (looked or account.counts(states) != len(account.cards)):
                account.take(at, states)
        self.withdrawn = []
        while len(self.open) > 1 and not self.open[-1].cards:
            self.withdrawn.append(self.open.pop())
        decided = []
        while len(self.open) > 2 or (
            len(self.open) > 1 and at - self.open[1].left_at[0] > DECIDED_MS
        ):
            decided.append(self.open.pop(0))
            self.decoder.forget_before(self.open[0].coup)
        return decided

    def _perhaps_burned(self) -> Weighed:
        """Return the states of the first coup, or of a burn with the cards of a coup behind it.

        That those left is known at once; that they are no burned cards, where they come to lie.
        """
        states: dict[State, float] = defaultdict(float)
        for (_, burn, state), p in self.decoder.hypotheses.items():
            if burn is not None and all(card.place is GONE_ASIDE for card in burn.cards):
                cards = (*burn.cards, *[DRAWN] * len(state.cards))
                burn = self.decoder.procedure.state(cards, burn.lip, burn.codes, burning=True)
            states[burn or state] += p
        return states

    @property
    def is_settled(self) -> bool:
        """Whether nothing is open: each card lies or is gone, and no other layout is likely."""
        return all(
            account.is_laid
            and all(card.place is not HAND for card in account.cards)
            and not account.rising
            for account in self.open
        )


# --- what sight alone can allege -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Restart:
    """What lay on the table when the log ended: the slots that were taken.

    It is compared with what lies there at `until` (ms); `over`: it may have been cleared meanwhile.
    """

    until: int
    lay: frozenset[int]
    over: bool


@dataclass(slots=True)
class Allegations:
    """The allegations of one coup, by code and by the card's number in the coup, from 0.

    Each has the odds at which it was first alleged. `least` are the odds from which on a departure
    from procedure is alleged.
    """

    least: float
    restart: Restart | None = None
    _found: dict[tuple[str, int | None], float] = field(default_factory=dict)
    _early: dict[int, float] = field(default_factory=dict)  # ln, by slot of the coup before

    def reported(self, first: int) -> tuple[Allegation, ...]:
        """Return them as they are reported, of a coup whose first card has that order."""
        return tuple(
            Allegation(code, None if number is None else first + number, odds)
            for (code, number), odds in self._found.items()
        )

    def take_cards(self, account: Account) -> None:
        """Take which cards went back, and whether two left as one."""
        for number, card in enumerate(account.cards):
            odds = account.odds.get(RETURNED, 0.0) if card.place is SHOE else 0.0
            self._set(RETURNED, number, odds, holds=odds >= self.least)
        odds = account.odds.get(TWO_OUT, 0.0)
        self._set(TWO_OUT, None, odds, holds=odds >= self.least)

    def take_face(self, number: int, face: Face) -> None:
        """Take what is read of a card."""
        self._set("SWITCH", number, face.odds, holds=face.switched is not None)
        self._set("READ_CONFLICT", number, face.odds, holds=face.doubted is not None)
        self._set("FOREIGN_CARD", number, SURE_ODDS, holds=bool(face.foreign))

    def take_exposed(self, account: Account) -> None:
        """Take which cards lie open before all four do, where they are dealt face down."""
        laid = sum(slot is not None for slot in account.layout)
        if not account.is_laid or laid >= FIRST_CARDS:
            return
        for number, card in enumerate(account.cards):
            if card.side.is_face and card.place.lies is not None:
                self._found.setdefault(("EXPOSED_EARLY", number), SURE_ODDS)

    def take_flashed(self, number: int) -> None:
        """Take that a card showed its face in the hand."""
        self._found.setdefault(("EXPOSED_EARLY", number), SURE_ODDS)

    def take_before(self, before: Account, values: Values, taken: Container[int | None]) -> None:
        """Add up whether cards of the coup before still lie, but in slots that this one has.

        A slot that once looked rather empty stays so: what shows there later passes over it.
        `values` are the log-likelihoods (3 x 6) of empty, back and face.
        """
        for card in before.cards:
            slot = card.place.slot
            if slot is None or slot in taken or not card.place.gone:
                continue
            known = self._early.get(slot, 0.0)
            if known >= 0:
                self._early[slot] = known + float(values[2, slot] - values[0, slot])
        odds = math.exp(min(20.0, max(self._early.values(), default=-math.inf)))
        if odds >= self.least:
            self._found.setdefault(("EARLY_DEAL", 0), rounded(odds))

    def check_restart(self, at: int, account: Account) -> None:
        """Ask for a confirmation where other cards lie than before the reader was off."""
        restart = self.restart
        if restart is None or at < restart.until:
            return
        self.restart = None
        # Cards that were seen to leave the shoe meanwhile are no other cards.
        lie = ((n, card.place.lies) for n, card in enumerate(account.cards))
        known = (slot for n, slot in lie if n in account.found or slot in restart.lay)
        lying = frozenset(slot for slot in known if slot is not None)
        if lying != restart.lay and not (restart.over and not lying - restart.lay):
            self._found["RESTART_CONFIRM", None] = SURE_ODDS

    def _set(self, code: str, number: int | None, odds: float, *, holds: bool) -> None:
        if holds:
            self._found.setdefault((code, number), rounded(odds))
        else:
            self._found.pop((code, number), None)


def rounded(odds: float) -> float:
    """Return odds with one digit: more are not known."""
    return float(f"{odds:.0e}")
