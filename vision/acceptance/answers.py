"""What a person says was dealt, as text of the log and back, and what several people come to.

An answer to a coup is `Kc 2s / 5h ? ! OVER_B3`: the hand of Punto, that of Banco, and incidents;
`?` is a card that cannot be seen, `/` alone says that nothing was dealt. Coups that were dealt
before it and that the reader does not have stand before it, each with a `;` behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.game.coup.fault_table import KINDS
from vision.game.events import Winner
from vision.game.outcome import winner_of
from vision.wire.commands import TEXT_LIMIT

Hand = tuple[Card | None, ...]  # None: there is a card that cannot be seen
CUT_CARD, CUT_FIRST, COVERED = "CUT_CARD", "CUT_FIRST", "UNREAD"
# Incidents that somebody can see in pictures; the last three are no fault of the dealer. When the
# last coup is depends on whether the cut card came before the first card of a coup.
INCIDENTS = (
    "OVER_P3_STAND", "OVER_NATURAL", "OVER_B3", "OVER_4TH", "UNDER_P3", "UNDER_B3", "WRONG_HAND",
    "WRONG_ORDER_INIT", "OUT_OF_TURN_B3", "TWO_CARDS_OUT", "EXPOSED_IN_SHOE", "EXPOSED_EARLY",
    "EARLY_DEAL", "SWITCH", "PREMATURE_CLEAR", "WRONG_REMOVED", "RETURNED_TO_SHOE", "FOREIGN_CARD",
    "CARD_UNACCOUNTED", "CUT_IGNORED", COVERED, CUT_CARD, CUT_FIRST,
)  # fmt: skip
CUT = {CUT_CARD: "Cut card after the first card", CUT_FIRST: "Cut card before the first card"}
NO_MISTAKES = frozenset((COVERED, CUT_CARD, CUT_FIRST))
MOST_PEOPLE = 3  # whose answers to one coup count, the first ones: the third decides
MOST_CARDS = 4  # of a hand, with the card too many of `OVER_4TH`
REVISION = re.compile(r"#(\d+) (.*)")


@dataclass(frozen=True, slots=True)
class Dealt:
    """One coup as somebody saw it; without cards nothing was dealt."""

    punto: Hand = ()
    banco: Hand = ()
    incidents: tuple[str, ...] = ()

    def __str__(self) -> str:
        hands = " / ".join(map(hand_text, (self.punto, self.banco)))
        return f"{hands.strip()}{' ! ' * bool(self.incidents)}{' '.join(self.incidents)}"

    @property
    def is_none(self) -> bool:
        """Whether nothing was dealt."""
        return not self.punto and not self.banco

    @property
    def is_clean(self) -> bool:
        """Whether the dealer departed from procedure in nothing."""
        return not set(self.incidents) - NO_MISTAKES

    @property
    def winner(self) -> Winner | None:
        """Who wins by the points that lie there, None where not every card was seen."""
        seen = [tuple(card for card in hand if card) for hand in (self.punto, self.banco)]
        if self.is_none or seen != [self.punto, self.banco]:
            return None
        return winner_of(*seen)


# The coup that was asked for is the last; before it, coups that the reader does not have.
Answer = tuple[Dealt, ...]


def hand_text(hand: Hand) -> str:
    """Return the cards of a hand, `?` for one that cannot be seen."""
    return " ".join("?" if card is None else str(card) for card in hand)


def answer_text(answer: Answer) -> str:
    """Return an answer as it stands in the log."""
    return " ; ".join(map(str, answer))


def answer_words(answer: Answer) -> str:
    """Return an answer as people read it: incidents by their titles."""
    return "; ".join(
        ", ".join((str(Dealt(one.punto, one.banco)), *map(title_of, one.incidents)))
        for one in answer
    )


def title_of(code: str) -> str:
    """Return what people call an incident or an alert."""
    return KINDS[code].title if code in KINDS else CUT.get(code, code)


def read_answer(text: str) -> Answer:
    """Read an answer; ConfigurationError in words for whoever typed it."""
    answer = tuple(_read_dealt(part) for part in text.split(";"))
    if any(dealt.is_none for dealt in answer[:-1]):
        raise ConfigurationError("the coup before this one has no cards; type them")
    if len(answer_text(answer)) > TEXT_LIMIT - len("#99 "):
        raise ConfigurationError("too much for one answer; leave incidents out")
    return answer


def _read_dealt(text: str) -> Dealt:
    hands, _, codes = text.partition("!")
    sides = hands.split("/")
    if len(sides) != 2:
        raise ConfigurationError(
            "the cards of a hand are missing; type Punto's cards, then Banco's"
        )
    punto, banco = (tuple(map(_read_card, side.split())) for side in sides)
    dealt = Dealt(punto, banco, tuple(sorted(set(codes.split()))))
    if not set(dealt.incidents) <= set(INCIDENTS):
        raise ConfigurationError("there is no such incident; choose from the list")
    if dealt.is_none and dealt.incidents:
        raise ConfigurationError(
            "nothing was dealt, so there is no incident; leave the incidents out"
        )
    if not dealt.is_none and not all(1 <= len(hand) <= MOST_CARDS for hand in (punto, banco)):
        raise ConfigurationError("a hand has one to four cards; `?` is one that cannot be seen")
    return dealt


def _read_card(text: str) -> Card | None:
    try:
        return None if text == "?" else Card.parse(text)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Keyed:
    """An answer of a person as it stands in the log; `record` is 0 while it waits for its table.

    A later revision of the same person replaces it. `at` is Unix time in ms; `draw` (0 to 1) comes
    of the record's hash, 1 while it waits; `seen`: they had seen it or its result at a desk.
    """

    coup: str
    by: str
    role: str
    revision: int
    answer: Answer
    at: int = 0
    record: int = 0
    draw: float = 1.0
    seen: bool = False


class Settled(StrEnum):
    """What the answers to a coup come to."""

    NOBODY = "nobody"  # has answered
    ONE = "one person"
    AGREED = "two agree"
    OPEN = "two disagree"  # and a third has not answered
    THIRD = "a third decided"
    UNDECIDED = "three disagree"


def latest(keyed: Iterable[Keyed]) -> list[Keyed]:
    """Return the last answer of each person to one coup, in the order of their first ones.

    Of two under one revision the first counts.
    """
    found: dict[str, Keyed] = {}
    for each in keyed:
        if each.by not in found or each.revision > found[each.by].revision:
            found[each.by] = each
    return list(found.values())


def settle(answers: Sequence[Keyed]) -> tuple[Settled, Answer | None]:
    """Return what the last answers of people come to, and the answer that counts, if one does.

    Whoever comes after MOST_PEOPLE decides nothing.
    """
    answers = answers[:MOST_PEOPLE]
    if not answers:
        return Settled.NOBODY, None
    given = Counter(each.answer for each in answers)
    best, times = given.most_common(1)[0]
    if len(answers) == 1:
        return Settled.ONE, best
    if len(given) == 1:
        return Settled.AGREED, best
    if len(answers) < MOST_PEOPLE:
        return Settled.OPEN, None
    return (Settled.THIRD, best) if times > 1 else (Settled.UNDECIDED, None)
