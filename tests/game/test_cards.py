"""Cards: their points, their names and numbers."""

from __future__ import annotations

import pytest

from vision.game.cards import DECK, Card, Rank, Suit, parse_cards, points_of


@pytest.mark.parametrize(
    ("letters", "points"),
    [("A", 1), ("2", 2), ("9", 9), ("T", 0), ("J", 0), ("Q", 0), ("K", 0), ("10", 0)],
)
def test_points_are_as_the_sheets_have_them(letters: str, points: int) -> None:
    """Sheet 0: tens and court cards count as nothing, an ace one, others their face value."""
    card = Card.parse(f"{letters}s")
    assert (card.points, card.rank.points) == (points, points)


def test_number_and_name_tell_the_same_card() -> None:
    """Each of the 52 cards is found again by its number and by its name."""
    assert len(set(DECK)) == 52
    for index, card in enumerate(DECK):
        assert card.index == index
        assert Card.of(index) is not None
        assert Card.of(index) == card == Card.parse(str(card))
    assert str(Card(Rank.TEN, Suit.HEARTS)) == "Th"


@pytest.mark.parametrize("index", [-1, 52])
def test_number_beyond_the_deck_is_refused(index: int) -> None:
    """There are 52 cards."""
    with pytest.raises(ValueError, match="0 to 51"):
        Card.of(index)


@pytest.mark.parametrize("text", ["", "A", "1s", "As!", "sA", "Ax", "101s"])
def test_text_that_is_no_card_is_refused(text: str) -> None:
    """What is no card is refused with the letters to use."""
    with pytest.raises(ValueError, match="is not a card"):
        Card.parse(text)


def test_cards_are_read_from_a_line() -> None:
    """Spaces and commas part cards; a hand counts the last digit of the sum."""
    assert points_of(parse_cards("9s 7d, 8h")) == 4


@pytest.mark.parametrize(
    "text",
    ["9♠ 7♦ 10♥ K♣", "9♤,7♢,T♡,k♧", "9S 7D TH KC", "9s 7d 10h kc", "9♠️ 7♦️ 10♥︎ K♣️"],
)
def test_cards_are_read_as_people_write_them(text: str) -> None:
    """Symbols of the suits, 10 for T, capitals and small letters."""
    assert parse_cards(text) == parse_cards("9s 7d Th Kc")
