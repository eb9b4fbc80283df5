"""Hold what the reader said against what people say was dealt, and count.

A card, a coup or an incident is right, held (the reader declined), wrong, missed, or false (there
was none). What people could not see is counted apart, and is for or against nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from vision.acceptance.answers import (
    CUT_CARD,
    CUT_FIRST,
    NO_MISTAKES,
    OPENLY_UNSURE,
    Answer,
    Dealt,
    Hand,
)
from vision.acceptance.coups import ReadCoup
from vision.game.outputs import CoupResult

RIGHT, HELD, WRONG, MISSED, FALSE, UNSEEN = OUTCOMES = (
    "right", "held", "wrong", "missed", "false", "unseen",
)  # fmt: skip
DIFFERENT = frozenset((WRONG, MISSED, FALSE))
NOT_ALLEGED = OPENLY_UNSURE | NO_MISTAKES | {"LAST_COUP"}  # codes that accuse no dealer


@dataclass(slots=True)
class Counts:
    """Outcomes of coups, cards and incidents; `clean` coups, and those of them with an accusation.

    `hours` is the time that these coups took, each from the end of the one before.
    """

    coups: Counter[str] = field(default_factory=Counter)
    cards: Counter[str] = field(default_factory=Counter)
    incidents: Counter[str] = field(default_factory=Counter)
    clean: int = 0
    accused: int = 0
    hours: float = 0.0

    def add(self, other: Counts) -> None:
        """Add what was counted elsewhere."""
        self.coups += other.coups
        self.cards += other.cards
        self.incidents += other.incidents
        self.clean += other.clean
        self.accused += other.accused
        self.hours += other.hours

    @property
    def differs(self) -> bool:
        """Whether the reader said anything else than people."""
        every = (self.coups, self.cards, self.incidents)
        return any(counts[name] for counts in every for name in DIFFERENT)


def judge(read: ReadCoup, answer: Answer) -> Counts:
    """Return what comes of one answer: its coup, and those before it that the reader has not."""
    counts = Counts(hours=(read.until - read.since) / 3_600_000)
    for dealt in answer[:-1]:
        counts.add(_judged(dealt, None, set(), helped=False))
    counts.add(_judged(answer[-1], read.result, read.codes, helped=read.helped))
    return counts


def _judged(dealt: Dealt, result: CoupResult | None, codes: set[str], *, helped: bool) -> Counts:
    counts = Counts()
    outcome = _coup(dealt, result, helped=helped)
    if outcome:
        counts.coups[outcome] += 1
    hands = ((), ()) if result is None else (result.punto.cards, result.banco.cards)
    counts.cards.update(_cards(dealt.punto, hands[0]))
    counts.cards.update(_cards(dealt.banco, hands[1]))
    counts.incidents.update(_incidents(dealt, codes, is_held=outcome == HELD))
    if dealt.is_clean and not dealt.is_none:
        counts.clean += 1
        counts.accused += bool(codes - NOT_ALLEGED)
    return counts


def _coup(dealt: Dealt, result: CoupResult | None, *, helped: bool) -> str:
    if dealt.is_none or result is None:
        nothing = "" if result is None else FALSE
        return nothing if dealt.is_none else HELD if helped else MISSED
    if result.winner is None:
        return HELD
    hands = ((dealt.punto, result.punto.cards), (dealt.banco, result.banco.cards))
    if any(len(ours) != len(theirs) for ours, theirs in hands):
        return WRONG
    pairs = [pair for ours, theirs in hands for pair in zip(ours, theirs, strict=True)]
    if any(ours not in (None, theirs) for ours, theirs in pairs):
        return WRONG
    if any(ours is None for ours, _ in pairs):
        return UNSEEN
    return RIGHT if result.winner is dealt.winner else WRONG


def _cards(dealt: Hand, read: Hand) -> Iterator[str]:
    there = object()  # no card
    for ours, theirs in zip_longest(dealt, read, fillvalue=there):
        if ours is there:
            yield FALSE
        elif theirs is there:
            yield MISSED
        elif ours is None:
            yield UNSEEN
        elif theirs is None:
            yield HELD
        else:
            yield RIGHT if ours == theirs else WRONG


def _incidents(dealt: Dealt, codes: set[str], *, is_held: bool) -> Iterator[str]:
    """Yield an outcome for each incident, and FALSE for each code alleged of nothing.

    WRONG is an incident that was alleged under another code; that code is then not false.
    """
    keyed = set(dealt.incidents)
    if CUT_CARD in codes:  # in the coup: that it came first people see better
        codes = codes | {CUT_FIRST}
    others = len(codes - NOT_ALLEGED - keyed)
    for _ in keyed & codes:
        yield RIGHT
    for code in sorted(keyed - codes):
        if others and code not in NO_MISTAKES:
            others -= 1
            yield WRONG
        else:
            yield HELD if is_held else MISSED
    for _ in range(others):
        yield FALSE
