"""What two finished hands amount to: winner, points, naturals, pairs, three giving eight.

Takes the hands as they lie, in slot order; it must not know whether they were dealt by the
tableau, what anybody staked, or how a result is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vision.game.cards import Card, Rank, points_of


class Winner(StrEnum):
    """What a coup can end as."""

    PUNTO = "punto"
    BANCO = "banco"
    EGALITE = "egalite"


def is_natural(hand: tuple[Card, ...]) -> bool:
    """Whether the hand is a natural: 8 or 9 on two cards and no third."""
    return len(hand) == 2 and points_of(hand) >= 8


def is_pair(hand: tuple[Card, ...]) -> bool:
    """Whether the first two cards are of one rank ("for example 10, 10 or K,K"; sheet 2)."""
    return len(hand) >= 2 and hand[0].rank == hand[1].rank


@dataclass(frozen=True, slots=True)
class Outcome:
    """Two finished hands of two or three cards, each in the order of its slots."""

    punto: tuple[Card, ...]
    banco: tuple[Card, ...]

    @property
    def winner(self) -> Winner:
        """The hand nearest to 9, or Egalite where both have the same total."""
        ours, theirs = points_of(self.punto), points_of(self.banco)
        if ours == theirs:
            return Winner.EGALITE
        return Winner.PUNTO if ours > theirs else Winner.BANCO

    @property
    def egalite_points(self) -> int | None:
        """The total that both hands share, 0 to 9; None where they differ."""
        return points_of(self.punto) if self.winner is Winner.EGALITE else None

    @property
    def natural(self) -> bool:
        """Whether either hand is a natural."""
        return is_natural(self.punto) or is_natural(self.banco)

    @property
    def three_giving_eight(self) -> bool:
        """Whether Banco had 3 on two cards and Punto, entitled to a third card, was given an 8.

        "If the Banker's hand has 3 points with only two cards and the player's hand is entitled to
        receive another card that card being the third card to the player's hand will win if it is
        an 8" (sheets 0 and 1). A third card that was not due entitles nobody.
        """
        return (
            points_of(self.banco[:2]) == 3
            and points_of(self.punto[:2]) <= 5
            and len(self.punto) >= 3
            and self.punto[2].rank is Rank.EIGHT
        )
