"""Hold the reader against what people say was dealt, and say which coup a person is asked next.

A card, a coup or an incident is right, held (the reader declined), wrong, missed, or false (there
was none). What people could not see is counted apart, and is for or against nobody.

Nobody is shown what the reader said or what others answered. A second person is asked for the share
that was set, and wherever the first differs from the reader, without being told which it is; a
third where two disagree.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice, zip_longest
from typing import Any

from vision.acceptance.answers import (
    CUT_CARD,
    CUT_FIRST,
    INCIDENTS,
    NO_MISTAKES,
    OPENLY_UNSURE,
    Answer,
    Dealt,
    Hand,
    Keyed,
    Settled,
    answer_text,
    is_shared,
    latest,
    read_answer,
    settle,
)
from vision.acceptance.coups import LogBook, ReadCoup, Terms, keyed_of
from vision.acceptance.pictures import Pictures, Side
from vision.errors import ConfigurationError
from vision.game.outputs import CoupResult

RIGHT, HELD, WRONG, MISSED, FALSE, UNSEEN = OUTCOMES = (
    "right", "held", "wrong", "missed", "false", "unseen",
)  # fmt: skip
DIFFERENT = frozenset((WRONG, MISSED, FALSE))
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
        """Whether the reader said anything else than people."""
        return any(self.of(kind)[name] for kind in COUNTED for name in DIFFERENT)


def judge(read: ReadCoup, answer: Answer) -> Counts:
    """Return what comes of one answer: its coup, and those before it that the reader has not."""
    counts = Counts(hours=(read.until - read.since) / 3_600_000)
    for dealt in answer[:-1]:
        counts += _judged(dealt, None, set(), helped=False)
    return counts + _judged(answer[-1], read.result, read.codes, helped=read.helped)


def _judged(dealt: Dealt, result: CoupResult | None, codes: set[str], *, helped: bool) -> Counts:
    outcome = _coup(dealt, result, helped=helped)
    punto, banco = ((), ()) if result is None else (result.punto.cards, result.banco.cards)
    clean = dealt.is_clean and not dealt.is_none
    return Counts(
        Counter([outcome] if outcome else []),
        Counter([*_cards(dealt.punto, punto), *_cards(dealt.banco, banco)]),
        Counter(_incidents(dealt, codes, is_held=outcome == HELD)),
        clean=int(clean),
        accused=int(clean and bool(codes - NOT_ALLEGED)),
    )


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


# --- tasks ----------------------------------------------------------------------------------------


def is_due(book: LogBook, terms: Terms, read: ReadCoup, answers: Sequence[Keyed]) -> bool:
    """Whether a coup waits for one more person; `answers` are the last ones of each."""
    settled, answer = settle(answers)
    if settled is not Settled.ONE or answer is None:
        return settled in (Settled.NOBODY, Settled.OPEN)
    return is_shared(book.log_id, read.key, terms.share) or judge(read, answer).differs


@dataclass(frozen=True, slots=True)
class Judged:
    """A coup, what people said of it, which answer counts, and what comes of it."""

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
    def differences(self) -> list[str]:
        """What was counted of it otherwise than right, in words."""
        return [
            f"{kind} {name} {count}"
            for kind in COUNTED
            for name, count in self.counts.of(kind).items()
            if count and name != RIGHT
        ]


def judged(book: LogBook) -> list[Judged]:
    """Return every coup that is asked for, with what people said of it and what comes of it."""
    given, found = book.answers(), []
    for read in book.asked(book.set):
        answers = tuple(latest(given.get(read.key, ())))
        settled, answer = settle(answers)
        due = is_due(book, book.set, read, answers)
        counts = Counts() if answer is None or due else judge(read, answer)
        found.append(Judged(read, answers, settled, answer, due, counts))
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
        self.waiting: Callable[[], Iterable[Mapping[str, str]]] = tuple

    def task(self, person: str, again: str = "") -> dict[str, Any]:
        """Return what a person is asked next, or a coup of theirs `again`, for the page."""
        with self._mutex:
            answers, asked = self._answers(), self._book.asked(self._terms)
            mine = [c.key for c in asked if person in (k.by for k in answers.get(c.key, ()))]
            due = list(islice(self._due(person, asked, answers), 2))  # to show, and to fetch
            read = next((c for c in asked if c.key == again and again in mine), None)
            read = read or next(iter(due), None)
            facts: dict[str, Any] = {
                "mine": mine[-MINE:],
                "done": len(mine),
                "all": len(asked),
                "open": sum(self._is_due(coup, answers) for coup in asked),
                "incidents": list(INCIDENTS),
                "ahead": next((c.key for c in due if c is not read), ""),
            }
            if read is None:
                return {**facts, "coup": ""}
            self._looked[read.key] = person, time.monotonic()
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
            if coup not in {read.key for read in self._book.asked(self._terms)}:
                raise ConfigurationError(
                    "this coup is not asked for; go on with the one that the page shows"
                )
            self._looked.pop(coup, None)
            given = [each for each in self._answers().get(coup, ()) if each.by == person]
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
        """Return the answers by coup: those in the log, and those that wait for its reader."""
        self._book.renew()
        answers = self._book.answers()
        for sent in self.waiting():
            one = keyed_of(*(sent.get(n, "") for n in ("subject", "by", "role", "detail")))
            if one is not None:
                answers.setdefault(one.coup, []).append(one)
        return answers

    def _is_due(self, read: ReadCoup, answers: Mapping[str, Sequence[Keyed]]) -> bool:
        return is_due(self._book, self._terms, read, latest(answers.get(read.key, ())))

    def _due(
        self, person: str, asked: Sequence[ReadCoup], answers: Mapping[str, Sequence[Keyed]]
    ) -> Iterator[ReadCoup]:
        """Yield what a person may be asked, in order."""
        for read in asked:
            who, when = self._looked.get(read.key, (person, 0.0))
            is_theirs = who != person and time.monotonic() - when < LOOKED_AT_S
            has_answered = any(each.by == person for each in answers.get(read.key, ()))
            if not is_theirs and not has_answered and self._is_due(read, answers):
                yield read
