"""What the reader said against what was dealt: every outcome of cards, coups and incidents."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from vision.acceptance.answers import read_answer
from vision.acceptance.coups import ReadCoup
from vision.acceptance.tasks import judge
from vision.game.cards import Card
from vision.game.events import Winner
from vision.game.outputs import CoupResult, Hand, ResultState

HOUR_MS = 3_600_000


def said(text: str, winner: Winner | None) -> CoupResult:
    """Give a result of the reader; `?` is a card that it declined."""
    hands = [
        tuple(None if word == "?" else Card.parse(word) for word in side.split())
        for side in text.split("/")
    ]
    punto, banco = (Hand(cards, None, natural=False, pair=False) for cards in hands)
    state = ResultState.HELD if winner is None else ResultState.FINAL
    more: dict[str, Any] = {
        "three_giving_eight": False,
        "faults": (),
        "free": False,
        "by": "",
        "reason": "",
    }
    return CoupResult(0, "s1", 1, 0, state, "", winner, punto, banco, None, **more)


def read(result: CoupResult | None, codes: set[str] | None = None, **more: bool) -> ReadCoup:
    """Give a coup as it was read."""
    coup = ReadCoup("s1", "1", 0, HOUR_MS // 2, 0, {}, result, codes or set())
    coup.helped = more.get("helped", False)
    return coup


B = Winner.BANCO
SAID = said("Kc 2s / 5h 4h", B)
COUPS = {
    "right": (SAID, "Kc 2s / 5h 4h", "right", {"right": 4}),
    "wrong card": (SAID, "Kc 3s / 5h 4h", "wrong", {"right": 3, "wrong": 1}),
    "wrong winner": (said("Kc 2s / 5h 4h", Winner.PUNTO), "Kc 2s / 5h 4h", "wrong", {"right": 4}),
    "card missed": (SAID, "Kc 2s / 5h 4h 2d", "wrong", {"right": 4, "missed": 1}),
    "card too many": (said("Kc 2s 3d / 5h 4h", B), "Kc 2s / 5h 4h", "wrong",
                      {"right": 4, "false": 1}),
    "declined": (said("Kc ? / 5h 4h", None), "Kc 2s / 5h 4h", "held", {"right": 3, "held": 1}),
    "not seen": (SAID, "Kc ? / 5h 4h", "unseen", {"right": 3, "unseen": 1}),
    "not seen, wrong": (SAID, "Kc ? / 5h 5h", "wrong",
                        {"right": 2, "unseen": 1, "wrong": 1}),
    "no coup": (SAID, "/", "false", {"false": 4}),
    "not said": (None, "Kc 2s / 5h 4h", "missed", {"missed": 4}),
    "nothing": (None, "/", "", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", COUPS)
def test_coup_and_its_cards_are_counted(name: str) -> None:
    """Each way in which reader and people can differ has its outcome."""
    result, text, outcome, cards = COUPS[name]
    counts = judge(read(result), read_answer(text))
    assert counts.coups == Counter({outcome: 1} if outcome else {})
    assert counts.cards == Counter(cards)
    assert counts.hours == 0.5


def test_coup_before_it_that_the_reader_has_not_is_missed() -> None:
    """The coup that was asked for is judged as if nothing had been before it."""
    counts = judge(read(SAID), read_answer("2c 3c / 4c 5c ; Kc 2s / 5h 4h"))
    assert counts.coups == Counter(missed=1, right=1)
    assert counts.cards == Counter(missed=4, right=4)


def test_coup_that_a_person_helped_with_before_it_had_a_result_is_held() -> None:
    """The reader declined, and somebody keyed the card in."""
    counts = judge(read(None, helped=True), read_answer("Kc 2s / 5h 4h"))
    assert counts.coups == Counter(held=1)


@pytest.mark.parametrize(
    ("keyed", "codes", "held", "incidents", "accused"),
    [
        ("", set(), False, {}, 0),
        ("SWITCH", {"SWITCH"}, False, {"right": 1}, 0),
        ("SWITCH", {"OVER_B3"}, False, {"wrong": 1}, 0),
        ("SWITCH", {"OVER_B3", "UNDER_P3"}, False, {"wrong": 1, "false": 1}, 0),
        ("SWITCH", set(), False, {"missed": 1}, 0),
        ("SWITCH", {"REVIEW"}, True, {"held": 1}, 0),
        ("", {"OVER_B3"}, False, {"false": 1}, 1),
        ("", {"UNREAD", "REVIEW", "LIGHT", "CUT_CARD"}, True, {}, 0),
        ("UNREAD", {"UNREAD"}, True, {"right": 1}, 0),
        ("UNREAD", {"SWITCH"}, False, {"missed": 1, "false": 1}, 1),
        ("CUT_CARD", {"CUT_CARD"}, False, {"right": 1}, 0),
        ("CUT_FIRST", {"CUT_CARD"}, False, {"right": 1}, 0),
        ("CUT_CARD", {"CUT_FIRST"}, False, {"missed": 1}, 0),
    ],
)
def test_incidents_are_counted(
    keyed: str, codes: set[str], held: bool, incidents: dict[str, int], accused: int
) -> None:
    """Only what accuses a dealer can be false; a code for another is wrong, and not false too."""
    result = said("Kc 2s / 5h 4h", None if held else B)
    text = "Kc 2s / 5h 4h" + (f" ! {keyed}" if keyed else "")
    counts = judge(read(result, codes), read_answer(text))
    assert counts.incidents == Counter(incidents)
    assert counts.accused == accused


def test_switched_card_whose_two_faces_were_reported_is_read_right() -> None:
    """Where people say that it was switched too; the result with the other face is wrong."""
    coup = read(SAID, {"SWITCH"})
    two, three = Card.parse("2s"), Card.parse("3s")
    coup.switched = {two: three, three: two}
    switched = judge(coup, read_answer("Kc 3s / 5h 4h ! SWITCH"))
    assert switched.cards == Counter(right=4)
    assert switched.coups == Counter(wrong=1)
    assert judge(coup, read_answer("Kc 3s / 5h 4h")).cards == Counter(right=3, wrong=1)
    assert judge(coup, read_answer("Kc 4s / 5h 4h ! SWITCH")).cards == Counter(right=3, wrong=1)
