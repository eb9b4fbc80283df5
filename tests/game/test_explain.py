"""Explain: each step says what was asked and why; a wrong card is named where it went wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.game.cards import DECK, Card, parse_cards
from vision.game.events import Slot, Winner
from vision.game.explain import (
    Explanation,
    LaidCard,
    banco_clause,
    dealt_in_order,
    dealt_to_hands,
    explain,
    punto_clause,
    stood_clause,
    tableau_rows,
)
from vision.game.rules import Rules
from vision.game.tableau import DEAL_ORDER, STANDARD, next_slot

RULES = Rules()
PPBB = Rules(deal_order=(Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2))


def said(text: str, rules: Rules = RULES) -> Explanation:
    """Explain cards in the order of dealing, or two hands with a stroke between."""
    hands = [parse_cards(hand) for hand in text.split("/")]
    if len(hands) == 1:
        return explain(dealt_in_order(hands[0]), rules)
    return explain(dealt_to_hands(hands[0], hands[1], rules.deal_order), rules)


def test_explain_a_whole_coup() -> None:
    """The example: every card has its place, every decision its clause, and the coup its end."""
    explained = said("9s 7d 4h Kc 2d")
    assert explained.lines == (
        " 1  9s  to Punto 1: Punto has 9",
        " 2  7d  to Banco 1: Banco has 7",
        " 3  4h  to Punto 2: Punto has 3",
        " 4  Kc  to Banco 2: Banco has 7",
        "    Punto has 3 and draws; clause: Punto having 0-1-2-3-4-5 draws, having 6-7 stands.",
        " 5  2d  to Punto 3: Punto has 5",
        (
            "    Banco has 7, giving 2, and stands; clause: Banco having 7 stands whatever Punto "
            "was given."
        ),
        "Complete: Banco wins, 7 to 5.",
    )
    assert explained.wrong == 0
    assert explained.outcome is not None
    assert explained.outcome.winner is Winner.BANCO


def test_explain_banco_drawing_to_its_row() -> None:
    """Banco's third card is explained by its row and Punto's third card."""
    explained = said("2s 3d 2h Kc 9d 2c")
    assert explained.lines[6] == (
        "    Banco has 3, giving 9, and draws; clause: Banco having 3 draws when giving "
        "0-1-2-3-4-5-6-7-9, stands when giving 8."
    )
    assert explained.lines[8].startswith("    No more cards; clause: the minimum number of cards")
    assert explained.lines[-1] == "Complete: Banco wins, 5 to 3."


def test_explain_punto_standing() -> None:
    """When Punto stands both decisions are told, each with its clause."""
    explained = said("6s 4d As Kc 8c")
    assert explained.lines[4:6] == (
        "    Punto has 7 and stands; clause: Punto having 0-1-2-3-4-5 draws, having 6-7 stands.",
        (
            "    Banco has 4 and draws; clause: Punto having stood, Banco draws on 0-1-2-3-4-5, "
            "stands on 6-7."
        ),
    )
    assert explained.lines[-1] == "Complete: Punto wins, 7 to 2."
    both = said("6s 7d Kh Kc")
    assert both.lines[5].startswith("    Banco has 7 and stands; clause: Punto having stood")
    assert both.lines[-1] == "Complete: Banco wins, 7 to 6."


@pytest.mark.parametrize(
    ("cards", "holder", "end"),
    [
        ("9s 2d Kh 4c", "Punto", "Complete: Punto wins, 9 to 6."),
        ("2s 4d Kh 4c", "Banco", "Complete: Banco wins, 8 to 2."),
        ("9s 4d 9h 4c", "both hands", "Complete: Egalite at 8."),
        ("9s 4d Kh 4c", "both hands", "Complete: Punto wins, 9 to 8."),
        ("2s 9d 4h Kc", "Banco", "Complete: Banco wins, 9 to 6."),
    ],
)
def test_explain_naturals(cards: str, holder: str, end: str) -> None:
    """A natural ends the coup, and is told where it lies."""
    explained = said(cards)
    assert explained.lines[4].startswith(
        f"    A natural in {holder}; clause: if either hand has an 8"
    )
    assert explained.lines[5:] == (end,)


@pytest.mark.parametrize(
    ("cards", "wrong", "words"),
    [
        ("9s 2d Kh 4c 3c", 5, " 5  3c  WRONG: no card is due."),
        ("9s 7d 4h Kc 2d 3c", 6, " 6  3c  WRONG: no card is due."),
        ("6s 7d Kh Kc 3c", 5, " 5  3c  WRONG: no card is due."),
        ("2s 3d 2h Kc 9d 2c 4d", 7, " 7  4d  WRONG: no card is due."),
        ("6s 4h / 7d Kc 3d", 5, "the card is due to Punto 3; this one lies at Banco 3."),
        ("6s Kh 4h / 4d Kc", 5, "the card is due to Banco 3; this one lies at Punto 3."),
        ("9s 4h 2d / 7d Kc 3d", 6, "no card is due; this one lies at Banco 3."),
        ("9s / 7d Kc", 3, "the card is due to Punto 2; this one lies at Banco 2."),
        ("/ 7d", 1, "the card is due to Punto 1; this one lies at Banco 1."),
    ],
)
def test_explain_says_where_it_went_wrong(cards: str, wrong: int, words: str) -> None:
    """An illegal card is named by number and by what was due, after the clause that forbids it."""
    explained = said(cards)
    assert explained.wrong == wrong
    assert explained.outcome is None
    assert explained.lines[-1].endswith(words)


def test_explain_stops_at_the_first_wrong_card() -> None:
    """Cards after a wrong one are not guessed at, and that is said."""
    explained = said("9s 2d Kh 4c 3c 5d")
    assert explained.wrong == 5
    assert explained.lines[-2:] == (
        " 5  3c  WRONG: no card is due.",
        "The cards after it are not looked at.",
    )


@pytest.mark.parametrize(
    ("cards", "due"),
    [
        ("", "Punto 1"),
        ("9s 7d 4h", "Banco 2"),
        ("9s 7d 4h Kc", "Punto 3"),
        ("6s 4d As Kc", "Banco 3"),
        ("9s 4h / 7d Kc", "Punto 3"),
    ],
)
def test_explain_an_unfinished_coup(cards: str, due: str) -> None:
    """A coup that needs another card says whose."""
    explained = said(cards)
    assert explained.lines[-1] == f"Not complete: the next card is due to {due}."
    assert (explained.wrong, explained.outcome) == (0, None)


def test_explain_in_another_order_of_dealing() -> None:
    """The profile's order decides where the first four cards go."""
    explained = said("9s 4h 7d Kc 2d", PPBB)
    assert explained.lines[1] == " 2  4h  to Punto 2: Punto has 3"
    assert explained.lines[-1] == "Complete: Banco wins, 7 to 5."
    assert said("9s 4h 2d / 7d Kc", PPBB).lines == explained.lines


def test_explain_another_tableau_in_its_own_words() -> None:
    """Clauses are made from the tableau that is played."""
    always = replace(STANDARD, banco=("D" * 11,) * 8, punto="SSSSSSSS")
    assert banco_clause(always, 3) == "Banco having 3 draws whatever Punto was given"
    assert punto_clause(always) == "Punto having nothing draws, having 0-1-2-3-4-5-6-7 stands"
    assert stood_clause(always).endswith("draws on 0-1-2-3-4-5-6-7, stands on nothing")
    assert said("9s 7d 4h Kc", Rules(tableau=always)).lines[-1].endswith("due to Banco 3.")


@given(st.lists(st.sampled_from(DECK), max_size=7))
def test_explain_agrees_with_the_state_machine(cards: list[Card]) -> None:
    """Complete, unfinished and wrong are what `next_slot` says, for any cards."""
    explained = explain(dealt_in_order(cards), RULES)
    points: dict[bool, tuple[int, ...]] = {True: (), False: ()}
    for number, card in enumerate(cards, start=1):
        slot = next_slot(points[True], points[False])
        if slot is None:
            assert explained.wrong == number
            return
        points[slot.is_punto] = (*points[slot.is_punto], card.points)
    assert explained.wrong == 0
    assert (explained.outcome is None) == (next_slot(points[True], points[False]) is not None)


def test_dealt_to_hands_keeps_the_order_of_dealing() -> None:
    """Two hands as they lie are put back into the order in which they were dealt."""
    dealt = dealt_to_hands(parse_cards("9s 4h 2d"), parse_cards("7d Kc 3c"), DEAL_ORDER)
    assert [str(one.card) for one in dealt] == ["9s", "7d", "4h", "Kc", "2d", "3c"]
    assert [one.slot for one in dealt] == list(Slot)
    assert LaidCard(DECK[0]).slot is None


def test_dealt_to_hands_refuses_a_fourth_card() -> None:
    """No place holds a fourth card of a hand."""
    with pytest.raises(ValueError, match="Banco has 4 cards; the minimum number of cards"):
        dealt_to_hands((), parse_cards("2c 3c 4c 5c"), DEAL_ORDER)


def test_tableau_rows_is_complete() -> None:
    """The printed tableau has every row, also those that sheets 0 to 2 leave out."""
    punto, banco = tableau_rows(STANDARD)
    assert punto[1:] == (
        ("0-1-2-3-4-5", "draws"),
        ("6-7", "stands"),
        ("8-9", "a natural"),
    )
    assert [row[0] for row in banco[1:]] == ["0", "1", "2", "3", "4", "5", "6", "7", "8-9"]
    assert banco[4] == ("3", "0-1-2-3-4-5-6-7-9", "8", "draws")
    assert banco[7] == ("6", "6-7", "0-1-2-3-4-5-8-9", "stands")
    assert banco[8] == ("7", "nothing", "0-1-2-3-4-5-6-7-8-9", "stands")


def test_slot_title_in_words() -> None:
    """Places are told in words."""
    assert [slot.title for slot in Slot][:2] == ["Punto 1", "Banco 1"]
