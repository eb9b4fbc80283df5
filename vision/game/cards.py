"""The 52 cards and what they count; a face that is not read is `None` in place of a `Card`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

RANK_LETTERS = "A23456789TJQK"
SUIT_LETTERS = "cdhs"


# The symbols of the suits, black and white, and the marks that choose their colour on a screen.
SYMBOLS = str.maketrans("♣♦♥♠♧♢♡♤", SUIT_LETTERS * 2, "\ufe0e\ufe0f")


class Rank(IntEnum):
    """The thirteen ranks, ace low."""

    ACE = 1
    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    JACK = 11
    QUEEN = 12
    KING = 13

    @property
    def points(self) -> int:
        """What the rank counts, 0 to 9.

        "Tens, court cards and/or any combination of cards with a joint count of ten, count as
        nothing (Baccarat). An Ace is counted as one; all other cards have their face value."
        """
        return int(self) if self < Rank.TEN else 0


class Suit(IntEnum):
    """The four suits, in the order of the class numbering (`cdhs`)."""

    CLUBS = 0
    DIAMONDS = 1
    HEARTS = 2
    SPADES = 3


@dataclass(frozen=True, slots=True, order=True)
class Card:
    """One of the 52 faces; its text is rank and suit, as in `As`, `Td`, `9h`.

    `points` is what it counts, 0 to 9; `index` is its class number, 0 to 51: rank index times four
    plus suit index.
    """

    rank: Rank
    suit: Suit
    points: int = field(init=False, repr=False, compare=False)
    index: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", self.rank.points)
        object.__setattr__(self, "index", (self.rank - 1) * 4 + self.suit)

    @classmethod
    def of(cls, index: int) -> Card:
        """Return the card with that class number (0 to 51); ValueError outside it."""
        if not 0 <= index < 52:
            raise ValueError(f"no card has class number {index}; they run from 0 to 51")
        return cls(Rank(index // 4 + 1), Suit(index % 4))

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read a card from rank `A23456789TJQK` (or `10`) and suit `cdhs` (or its symbol).

        Capitals and small letters are alike; ValueError where it is no card.
        """
        plain = text.translate(SYMBOLS)
        rank, suit = plain[:-1].upper().replace("10", "T"), plain[-1:].lower()
        if len(rank) != 1 or rank not in RANK_LETTERS or not suit or suit not in SUIT_LETTERS:
            raise ValueError(
                f"'{text}' is not a card: write a rank of {RANK_LETTERS} and a suit of "
                f"{SUIT_LETTERS}, as in As or Td"
            )
        return cls(Rank(RANK_LETTERS.index(rank) + 1), Suit(SUIT_LETTERS.index(suit)))

    def __str__(self) -> str:
        return RANK_LETTERS[self.rank - 1] + SUIT_LETTERS[self.suit]


DECK: tuple[Card, ...] = tuple(Card.of(i) for i in range(52))


def parse_cards(text: str) -> tuple[Card, ...]:
    """Read cards separated by spaces or commas; ValueError names the first that is not a card."""
    return tuple(Card.parse(word) for word in text.replace(",", " ").split())


def points_of(hand: tuple[Card, ...]) -> int:
    """Return the points of a hand, 0 to 9: the last digit of the sum."""
    return sum(card.points for card in hand) % 10
