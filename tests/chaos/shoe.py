"""A shoe dealt by the rules, as the events that the camera would give: the play of every chaos."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.seen import SURE, Seen, Sight
from vision.game.cards import DECK, Card
from vision.game.events import Event, ShoeStarted, Slot
from vision.game.tableau import next_slot

NOON = 1_700_000_000_000
COUPS_A_SHOE = 70


def play(
    coups: int, seed: int = 1, start: int = NOON, *, a_shoe: int = COUPS_A_SHOE
) -> Iterator[Event]:
    """Yield the events of so many coups, shoe after shoe, each later than the one before."""
    draw = random.Random(seed)
    at = start
    for number, first in enumerate(range(0, coups, a_shoe), start=1):
        at += 60_000
        yield ShoeStarted(at, f"s{number}")
        cards = [*DECK] * 8
        draw.shuffle(cards)
        order, sight = 0, Sight()
        for _ in range(min(a_shoe, coups - first)):
            dealt = list(deal(cards))
            for slot, card in dealt:
                order += 1
                yield from laid(sight, at := at + 1000, order, slot, card)
            at += 3000
            for gone in range(order - len(dealt) + 1, order + 1):
                at += 100
                yield from sight.take(at, gone)
            at += 30_000  # about eighty coups an hour


def deal(cards: list[Card]) -> Iterator[tuple[Slot, Card]]:
    """Take the cards of one coup from the shoe, as the tableau asks."""
    hands: tuple[list[int], list[int]] = ([], [])
    while (slot := next_slot(tuple(hands[0]), tuple(hands[1]))) is not None:
        card = cards.pop()
        hands[0 if slot.is_punto else 1].append(card.points)
        yield slot, card


def laid(sight: Sight, at: int, order: int, slot: Slot, card: Card) -> Seen:
    """Return how one card comes out, comes to rest and is read."""
    return (
        *sight.out(at, order),
        *sight.place(at + 400, order, slot),
        *sight.read(at + 500, order, card, SURE),
    )
