"""What a finished coup amounts to: winner, natural, pairs, Egalite total, three giving eight.

Computed from two hands in slot order, or taken from a published result.
"""

from __future__ import annotations

from dataclasses import dataclass

from vision.game.cards import Card, Rank, points_of
from vision.game.events import Winner
from vision.game.outputs import CoupResult

Cards = tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that a bet can win on and a road can show.

    `egalite_points` is the total that both hands share, None where they differ; `natural`: either
    hand is one.
    """

    winner: Winner
    egalite_points: int | None = None
    natural: bool = False
    punto_pair: bool = False
    banco_pair: bool = False
    three_giving_eight: bool = False


def is_natural(hand: Cards) -> bool:
    """Whether the hand is a natural: 8 or 9 on two cards and no third."""
    return len(hand) == 2 and points_of(hand) >= 8


def is_pair(hand: Cards) -> bool:
    """Whether the first two cards are of one rank ("for example 10, 10 or K,K"; sheet 2)."""
    return len(hand) >= 2 and hand[0].rank is hand[1].rank


def is_three_giving_eight(punto: Cards, banco: Cards) -> bool:
    """Whether Banco had 3 on two cards and Punto, entitled to a third card, was given an 8.

    "If the Banker's hand has 3 points with only two cards and the player's hand is entitled to
    receive another card that card being the third card to the player's hand will win if it is an
    8" (sheets 0 and 1). A third card that was not due entitles nobody.
    """
    return (
        points_of(banco[:2]) == 3
        and points_of(punto[:2]) <= 5
        and len(punto) >= 3
        and punto[2].rank is Rank.EIGHT
    )


def winner_of(punto: Cards, banco: Cards) -> Winner:
    """Return the hand nearest to 9, or Egalite where both have the same total."""
    ahead = points_of(punto) - points_of(banco)
    if ahead == 0:
        return Winner.EGALITE
    return Winner.PUNTO if ahead > 0 else Winner.BANCO


def outcome_of(punto: Cards, banco: Cards) -> Outcome:
    """Return the outcome of two finished hands, each in the order of its slots."""
    winner = winner_of(punto, banco)
    return Outcome(
        winner=winner,
        egalite_points=points_of(punto) if winner is Winner.EGALITE else None,
        natural=is_natural(punto) or is_natural(banco),
        punto_pair=is_pair(punto),
        banco_pair=is_pair(banco),
        three_giving_eight=is_three_giving_eight(punto, banco),
    )


def outcome_of_result(result: CoupResult) -> Outcome | None:
    """Return the outcome of a published result; None while it has no winner (held or void)."""
    if result.winner is None:
        return None
    return Outcome(
        winner=result.winner,
        egalite_points=result.egalite_points,
        natural=result.punto.natural or result.banco.natural,
        punto_pair=result.punto.pair,
        banco_pair=result.banco.pair,
        three_giving_eight=result.three_giving_eight,
    )
