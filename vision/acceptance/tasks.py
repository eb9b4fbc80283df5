"""Hold the reader against what people say was dealt, and say which coup a person is asked next.

A card, a coup or an incident is right, held (the reader declined), wrong, missed, or false (there
was none). What people could not see is counted apart, and is for or against nobody.

Nobody is shown what the reader published or what others answered, nor can infer it from what is
asked. A second person is asked for a share that the records of the first answers draw, wherever the
first ever answered otherwise than the reader, and for as many coups as that again at least; a third
where two disagree.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from typing import Any

from vision.acceptance.answers import (
    CUT_CARD,
    CUT_FIRST,
    INCIDENTS,
    MOST_PEOPLE,
    NO_MISTAKES,
    Answer,
    Dealt,
    Hand,
    Keyed,
    Settled,
    answer_text,
    latest,
    read_answer,
    settle,
)
from vision.acceptance.coups import LogBook, ReadCoup, Terms, keyed_of
from vision.acceptance.pictures import Pictures, Side
from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.game.coup.fault_table import OPENLY_UNSURE
from vision.game.outputs import CoupResult

RIGHT, HELD, WRONG, MISSED, FALSE, UNSEEN = "right", "held", "wrong", "missed", "false", "unseen"
DIFFERENT = frozenset((WRONG, MISSED, FALSE))
SWITCH = "SWITCH"
NOT_ALLEGED = OPENLY_UNSURE | NO_MISTAKES | {"LAST_COUP"}  # codes that accuse no dealer
COUNTED = ("coups", "cards", "incidents")  # what has an outcome, as `Counts` names it
# Seconds for which a coup that somebody looks at is given to nobody else: several times what an
# answer takes. Shorter has two people answer what one would do for.
LOOKED_AT_S = 60.0
MINE = 50  # answers of a person that the page can go back to, one after another


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

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def of(self, name: str) -> Counter[str]:
        """Return the outcomes of one of COUNTED."""
        found: Counter[str] = getattr(self, name)
        return found

    @property
    def differs(self) -> bool:
        """Whether the reader published anything else than people answered."""
        return any(self.of(kind)[name] for kind in COUNTED for name in DIFFERENT)


def judge(read: ReadCoup, answer: Answer) -> Counts:
    """Return what comes of one answer: its coup, and those before it that the reader has not."""
    counts = Counts(hours=(read.until - read.since) / 3_600_000)
    for dealt in answer[:-1]:
        counts += _judged(dealt, None, set())
    return counts + _judged(answer[-1], read.result, read.codes, read)


def _judged(
    dealt: Dealt, result: CoupResult | None, codes: set[str], read: ReadCoup | None = None
) -> Counts:
    outcome = _coup(dealt, result, helped=read is not None and read.helped)
    # Of a card that was switched the reader reported both faces, if it reported that.
    faces = read.switched if read and SWITCH in dealt.incidents else {}
    punto, banco = ((), ()) if result is None else (result.punto.cards, result.banco.cards)
    clean = dealt.is_clean and not dealt.is_none
    return Counts(
        Counter([outcome] if outcome else []),
        Counter([*_cards(dealt.punto, punto, faces), *_cards(dealt.banco, banco, faces)]),
        Counter(_incidents(dealt, codes, is_held=outcome == HELD)),
        clean=int(clean),
        accused=int(clean and bool(codes - NOT_ALLEGED)),
    )


def _coup(dealt: Dealt, result: CoupResult | None, *, helped: bool) -> str:
    if dealt.is_none or result is None:
        nothing = "" if result is None or result.winner is None else FALSE
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


def _cards(dealt: Hand, read: Hand, faces: Mapping[Card, Card]) -> Iterator[str]:
    there: Any = object()  # no card
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
            yield RIGHT if ours == theirs or faces.get(theirs) == ours else WRONG


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


def due(terms: Terms, asked: Sequence[ReadCoup], given: Mapping[str, Sequence[Keyed]]) -> set[str]:
    """Return the coups that wait for one more person; `given` are all answers to each.

    Of the coups that the first never answered otherwise than the reader, those with the lowest
    draws go to a second: the share, and as many as differ. So nobody can learn by trying cards, or
    by being asked, what the reader read.
    """
    settled = {read.key: settle(latest(given.get(read.key, ())))[0] for read in asked}
    agreeing, doubled = [], set()
    for read in asked:
        answers = given.get(read.key, ())
        if any(judge(read, k.answer).differs for k in answers if k.by == answers[0].by):
            doubled.add(read.key)
        elif answers:
            agreeing.append((answers[0].draw, read.key))
    more, whole = len(doubled), terms.share == 1
    for number, (draw, key) in enumerate(sorted(agreeing)):
        doubled |= {key} if number < more or draw < terms.share or whole else set()
    waits = {Settled.NOBODY: settled.keys(), Settled.OPEN: settled.keys(), Settled.ONE: doubled}
    return {key for key, of in settled.items() if key in waits.get(of, ())}


@dataclass(frozen=True, slots=True)
class Judged:
    """A coup, what people answered of it, which answer counts, and what comes of it.

    The `answers` of the first MOST_PEOPLE decide.
    """

    read: ReadCoup
    answers: tuple[Keyed, ...]
    settled: Settled
    answer: Answer | None
    is_due: bool
    counts: Counts

    @property
    def counted(self) -> bool:
        """Whether it counts: enough people answered, and two of them alike where two did."""
        return self.answer is not None and not self.is_due

    @property
    def may_be_wrong(self) -> bool:
        """Whether it does not count, though by somebody's answer the result is wrong."""
        each = (judge(self.read, keyed.answer).coups for keyed in self.answers[:MOST_PEOPLE])
        return not self.counted and any(coups[WRONG] or coups[FALSE] for coups in each)

    @property
    def differences(self) -> list[str]:
        """What was counted of it otherwise than right, in words."""
        return [
            f"{kind} {name} {count}"
            for kind in COUNTED
            for name, count in self.counts.of(kind).items()
            if count and name != RIGHT
        ]


def judged(book: LogBook, terms: Terms, *, first: bool = False) -> list[Judged]:
    """Return every coup that is asked for, with what people answered of it and what comes of it.

    With `first`, of everybody's first answers.
    """
    given, found, asked = book.answers(), [], book.asked(terms)
    waiting = due(terms, asked, given)
    for read in asked:
        all_ = given.get(read.key, ())
        answers = tuple(latest(replace(k, revision=0) for k in all_) if first else latest(all_))
        settled, answer = settle(answers)
        is_due = read.key in waiting
        counts = Counts() if answer is None or is_due else judge(read, answer)
        found.append(Judged(read, answers, settled, answer, is_due, counts))
    return found


class Keying:
    """The acceptance of one log, as the pages ask it; safe to use from several threads.

    `waiting` gives the answers that a desk keeps and its table does not have yet.
    """

    def __init__(self, book: LogBook, pictures: Pictures, terms: Terms) -> None:
        self._book = book
        self._pictures = pictures
        self._terms = terms
        self._mutex = threading.Lock()
        self._looked: dict[str, tuple[str, float]] = {}
        self._offered: set[tuple[str, str]] = set()  # to whom, which coup
        self.waiting: Callable[[], Iterable[Mapping[str, str]]] = tuple

    def task(self, person: str, again: str = "") -> dict[str, Any]:
        """Return what a person is asked next, or a coup of theirs `again`, for the page."""
        with self._mutex:
            answers, asked = self._answers(), self._book.asked(self._terms)
            mine = [c.key for c in asked if person in (k.by for k in answers.get(c.key, ()))]
            waiting = due(self._terms, asked, answers)
            next_ = [c for c in asked if c.key in waiting and self._is_for(person, c, mine)]
            read = next((c for c in asked if c.key == again and again in mine), None)
            read = read or next(iter(next_), None)
            # Only of what this person did: what others answered would tell what the reader read.
            facts: dict[str, Any] = {
                "mine": mine[-MINE:],
                "done": len(mine),
                "all": len(asked),
                "open": len(asked) - len(mine),
                "incidents": list(INCIDENTS),
                "ahead": next((c.key for c in next_ if c is not read), ""),
            }
            if read is None:
                return {**facts, "coup": "", "complete": not waiting}
            self._looked[read.key] = person, time.monotonic()
            self._offered.add((person, read.key))
            own = [k for k in latest(answers.get(read.key, ())) if k.by == person]
            return {
                **facts,
                "coup": read.key,
                "end": read.is_end,
                "yours": answer_text(own[0].answer) if own else "",
                "pictures": self._pictures.count(read),
            }

    def detail(self, person: str, coup: str, text: str) -> str:
        """Return the answer as it is to stand in the log; ConfigurationError where it is none."""
        with self._mutex:
            answers, asked = self._answers(), self._book.asked(self._terms)
            given = [each for each in answers.get(coup, ()) if each.by == person]
            is_asked = given or (person, coup) in self._offered
            if not is_asked and coup not in due(self._terms, asked, answers):
                raise ConfigurationError(
                    "this coup is not asked of you; go on with the one that the page shows"
                )
            self._looked.pop(coup, None)
            revision = max((each.revision for each in given), default=0) + 1
            return f"#{revision} {answer_text(read_answer(text))}"

    def picture(self, coup: str, number: int, side: Side) -> bytes:
        """Return a picture of a coup, or of one hand of it, as JPEG; OutsideError, KeyError."""
        return self._pictures.picture(self._coup(coup), number, side)

    def clip(self, coup: str) -> bytes:
        """Return the clip of a coup as AVI, empty where there is none; KeyError."""
        return self._pictures.clip(self._coup(coup))

    def _coup(self, key: str) -> ReadCoup:
        return self._book.coups.get(key) or self._book.ends[key]

    def _answers(self) -> dict[str, list[Keyed]]:
        """Return the answers by coup: those in the log, and those that wait for its reader.

        One moves from what waits to the log while both are read: it is then found in both, and by
        its revision counts once.
        """
        waiting = list(self.waiting())
        self._book.renew()
        answers = self._book.answers()
        for sent in waiting:
            one = keyed_of(*(sent.get(n, "") for n in ("subject", "by", "role", "detail")))
            if one is not None:
                answers.setdefault(one.coup, []).append(one)
        return answers

    def _is_for(self, person: str, read: ReadCoup, mine: Sequence[str]) -> bool:
        """Whether a coup that is due may be given to a person: it is not theirs, or another's."""
        who, when = self._looked.get(read.key, (person, 0.0))
        is_others = who != person and time.monotonic() - when < LOOKED_AT_S
        return not is_others and read.key not in mine
