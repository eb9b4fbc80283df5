"""The tableau: every cell against the words of the sheets, and every way to write one wrongly."""

from __future__ import annotations

from itertools import product

import pytest

from vision.game.events import Slot
from vision.game.tableau import STANDARD, Tableau, expected, next_slot, row_of

# "BANK HAVING / DRAWS WHEN GIVING / STANDS WHEN GIVING" (sheets 0 to 2); rows 0 to 2: "If the
# bank's total is 2 or less then bank draws a card, regardless of what the players third card is"
# (sheets 3 and 4).
SHEET = {
    0: ("0123456789", ""),
    1: ("0123456789", ""),
    2: ("0123456789", ""),
    3: ("012345679", "8"),
    4: ("234567", "0189"),
    5: ("4567", "012389"),
    6: ("67", "01234589"),
    7: ("", "0123456789"),
}
CELLS = [
    (banco, third, str(third) in draws)
    for banco, (draws, stands) in SHEET.items()
    for third in range(10)
]
# "If the player does not draw a third card, then the banker's hand stands on 6 or more and takes a
# third card on a total of 5 or less." (sheet 3)
STOOD = [(banco, banco <= 5) for banco in range(8)]


def test_sheet_names_each_cell_once() -> None:
    """The expectations quoted here are themselves whole: 80 cells, and 8 for Punto having stood."""
    assert all(sorted(draws + stands) == list("0123456789") for draws, stands in SHEET.values())
    assert len(CELLS) + len(STOOD) == 88


@pytest.mark.parametrize(("banco", "third", "draws"), CELLS)
def test_banco_cell_after_a_third_card(banco: int, third: int, draws: bool) -> None:
    """Banco draws or stands as its row says of the card given to Punto."""
    for punto in range(6):
        wanted = Slot.BANCO_3 if draws else None
        assert next_slot((punto, 0, third), (banco, 0)) is wanted
        assert next_slot((punto, 0, third), (banco, 0, 5)) is None


@pytest.mark.parametrize(("banco", "draws"), STOOD)
def test_banco_cell_when_punto_stands(banco: int, draws: bool) -> None:
    """Banco draws on 5 or less when Punto stands."""
    for punto in (6, 7):
        assert next_slot((punto, 0), (banco, 0)) is (Slot.BANCO_3 if draws else None)


@pytest.mark.parametrize("punto", range(6))
def test_punto_draws_on_five_or_less(punto: int) -> None:
    """Sheets 0 to 2: "PLAYER HAVING Baccarat (0)-1-2-3-4-5 Draws"."""
    assert all(next_slot((punto, 0), (banco, 0)) is Slot.PUNTO_3 for banco in range(8))


@pytest.mark.parametrize(
    ("punto", "banco"), [(p, b) for p, b in product(range(10), repeat=2) if max(p, b) >= 8]
)
def test_natural_ends_the_coup(punto: int, banco: int) -> None:
    """Sheet 0: "If either hand has an 8 or 9 a Natural is declared and no more cards are drawn"."""
    assert next_slot((punto, 0), (banco, 0)) is None
    assert expected((punto, 0), (banco, 0)) == {None}


def test_first_four_cards_go_by_the_deal_order() -> None:
    """The first four cards are due in the order of the house, whatever they are."""
    assert next_slot((), ()) is Slot.PUNTO_1
    assert next_slot((1,), ()) is Slot.BANCO_1
    assert next_slot((1,), (2,)) is Slot.PUNTO_2
    assert next_slot((1, 2), (3,)) is Slot.BANCO_2
    # "the first two being the players hands cards ... the second two cards for the banks hand"
    order = (Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2)
    assert next_slot((1,), (), order=order) is Slot.PUNTO_2
    assert next_slot((1, 2), (), order=order) is Slot.BANCO_1
    assert expected((None,), (None,), order=order) == {Slot.PUNTO_2}


def _by_trial(punto: list[int | None], banco: list[int | None]) -> set[Slot | None]:
    """Fill in what is unread in every way, keep the legal ways, and ask what is next."""
    legal: set[Slot | None] = set()
    for values in product(range(10), repeat=(punto + banco).count(None)):
        left = iter(values)
        p = tuple(next(left) if card is None else card for card in punto)
        b = tuple(next(left) if card is None else card for card in banco)
        punto_due = len(p) < 3 or next_slot(p[:2], b[:2]) is Slot.PUNTO_3
        banco_due = len(b) < 3 or next_slot(p, b[:2]) is Slot.BANCO_3
        if punto_due and banco_due:
            legal.add(next_slot(p, b))
    return legal


@pytest.mark.parametrize(
    ("punto", "banco"),
    [
        ([None, 2], [3, 3]),
        ([2, 3], [None, 3]),
        ([2, 3, None], [4, 0]),
        ([None, 3, 4], [4, 0]),
        ([6, 0], [None, 0, None]),
        ([None, None], [4, 0, 1]),
        ([1, None, 7], [5, 0, None]),
    ],
)
def test_expected_is_the_union_over_unread_cards(
    punto: list[int | None], banco: list[int | None]
) -> None:
    """With unread cards, what is expected is what any legal filling would make due."""
    assert expected(tuple(punto), tuple(banco)) == _by_trial(punto, banco)


def test_expected_without_a_legal_filling_is_what_any_filling_asks() -> None:
    """After a card that could not have been due, something is still said to be next."""
    assert expected((7, 0, 2), (4, 0)) == {Slot.BANCO_3}


@pytest.mark.parametrize(
    ("draws", "stands", "words"),
    [
        ((0, 1, 2, 4, 5, 6, 7, 8, 9), (8,), ("8 as both draw and stand", "3 in neither")),
        ((0, 1, 2, 3), (4, 5, 6, 7, 8), ("9 in neither",)),
        (range(10), (3, 4), ("3, 4 as both",)),
        (range(11), (), ("names 10", "take them out")),
    ],
)
def test_row_that_is_no_partition_is_refused(
    draws: tuple[int, ...], stands: tuple[int, ...], words: tuple[str, ...]
) -> None:
    """A misprinted row is refused by name, with the cards and the cure."""
    with pytest.raises(ValueError, match="Banco's row 3") as error:
        row_of("Banco's row 3", draws, stands)
    reported = str(error.value)
    assert all(word in reported for word in words)
    assert (" and 3 in neither" in reported) == (len(words) == 2 and words[1] == "3 in neither")
    assert ("as both" in reported) == any("as both" in word for word in words)
    assert ("in neither" in reported) == any("in neither" in word for word in words)


def test_row_that_is_a_partition_is_ten_letters() -> None:
    """A whole row is read as the sheet has it."""
    assert row_of("Banco's row 3", (0, 1, 2, 3, 4, 5, 6, 7, 9), (8,)) + "D" == STANDARD.banco[3]


@pytest.mark.parametrize(
    ("punto", "banco", "name"),
    [
        ("DDDDDDS", STANDARD.banco, "a row for Banco"),
        (STANDARD.punto, STANDARD.banco[:7], "a row for Banco"),
        ("DDDDDDSX", STANDARD.banco, "^Punto's row of the tableau is 'DDDDDDSX'"),
        (STANDARD.punto, (*STANDARD.banco[:7], "SSSS"), "^Banco's row 7 of the tableau is 'SSSS'"),
        (STANDARD.punto, ("SSSS", *STANDARD.banco[1:]), "^Banco's row 0"),
    ],
)
def test_tableau_with_a_hole_is_refused(punto: str, banco: tuple[str, ...], name: str) -> None:
    """A tableau lacking a cell is refused by the name of the row."""
    with pytest.raises(ValueError, match=name):
        Tableau(punto, banco)


def test_naturals_have_no_cell() -> None:
    """Nobody draws on 8 or 9."""
    assert not any(STANDARD.punto_draws(total) for total in (8, 9))
    assert not any(STANDARD.banco_draws(total, third) for total in (8, 9) for third in (None, 6))


def test_next_slot_asks_the_first_two_cards_only() -> None:
    """Third cards out of turn make no natural; two cards that count ten make nothing."""
    assert next_slot((2, 1), (3, 4, 1)) is Slot.PUNTO_3
    assert next_slot((2, 1), (5, 5)) is Slot.PUNTO_3
    assert next_slot((3, 4), (5, 5)) is Slot.BANCO_3


def test_expected_keeps_the_order_of_dealing() -> None:
    """In a house that deals P P B B the second card is Punto's."""
    order = (Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2)
    assert expected((None,), (), STANDARD, order) == {Slot.PUNTO_2}
    assert expected((None,), ()) == {Slot.BANCO_1}


def test_expected_totals_are_last_digits() -> None:
    """Two cards of five are nothing: Banco draws, whatever Punto was given."""
    assert expected((None, 2, 9), (5, 5)) == {Slot.BANCO_3}


def test_punto_having_seven_is_asked_of_the_tableau() -> None:
    """A house whose Punto draws on 7 is played as it says."""
    assert Tableau("DDDDDDDD", STANDARD.banco).punto_draws(7)
