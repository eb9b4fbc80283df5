"""A world: one way in which a coup may have gone, up to now, as a small hashable value.

Worlds that agree in everything are one. A card is a tuple `(place, side, points)` and its index is
its place in the order of leaving, which is its identity. A place is one of the six slots (0 to 5,
by `Slot`), or one of the constants below. A card that was lifted from its slot is `HELD`: with a
player, or being turned, and it may be seen over another slot of its hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

BACK, FACE = 0, 1
UNSEEN = 2  # added to the side of a card that has not been seen since it was laid down
HAND = 6  # it left the shoe, and a hand has it
SHOE = 7  # it went back into the shoe
ASIDE = 8  # it lies outside the slots
HELD = 10  # + 7 x the slot it was lifted from + the slot over which it is seen, or NOWHERE
NOWHERE = 6
GONE = 60  # + slot: taken from that slot for good
GONE_ASIDE = 68  # taken away from where it lay aside, or from the hand

Card = tuple[int, int, int | None]
Cards = tuple[Card, ...]
Codes = tuple[str, ...]


class Lip(IntEnum):
    """What the lip of the shoe shows: two cards that leave as one look like one.

    Each way has two steps, so that it takes a shortest time: with one, cards that never were leak
    in through the noise of two pictures.
    """

    REST = 0
    EMERGING = 1  # an edge is out
    PARTLY = 2  # and further
    WHOLLY = 3  # a card is just out
    CLEAR = 4  # and has been for a moment
    RETURNING = 5  # a card goes back
    INSIDE = 6  # and was pushed in: the hand goes away before the next is drawn
    CUT = 7  # the cut card is out, or comes
    LINGERS = 8  # the card just drawn is still before the shoe, and hides what its lip shows


@dataclass(slots=True, eq=False)
class State:
    """A coup as it stands: its cards, the lip, and the departures from procedure that it needs.

    There is one object for each value (`Procedure.state`), so that worlds are compared by identity.
    `moves` and `sights` are kept once they were asked for.
    """

    cards: Cards
    lip: Lip
    codes: Codes
    burning: bool
    moves: Moves | None = field(default=None, repr=False)
    _sights: tuple[tuple[int, int], ...] | None = field(default=None, repr=False)

    @property
    def sights(self) -> tuple[tuple[int, int], ...]:
        """Where cards are to be seen: side (`BACK` or `FACE`) and slot; `ASIDE` 0 once, then 1.

        What lies in a slot or is held over it is seen there once, however many cards that are.
        """
        if self._sights is None:
            over = {seen_over(place): side for place, side, _ in self.cards if is_held(place)}
            over |= {place: side for place, side, _ in self.cards if place < HAND}
            over.pop(NOWHERE, None)
            aside = sum(place == ASIDE for place, _, _ in self.cards)
            elsewhere = ((min(number, 1), ASIDE) for number in range(aside))
            self._sights = (*((side % UNSEEN, slot) for slot, side in over.items()), *elsewhere)
        return self._sights


@dataclass(slots=True, eq=False)
class Move:
    """An action from a state: its rate, what its not coming costs, both a second; where it leads.

    `lip` is `None` where it leaves the lip as it is. `begins`: the coup ends, with the cards
    `left` and the codes `before`, and another begins with `cards`. `by_hand`: a hand at the mouth
    does it; without one it is so much rarer. `targets` keeps the states it led to, by lip, with the
    state in which the coup ended.
    """

    rate: float
    cost: float
    cards: Cards
    codes: Codes
    lip: Lip | None = None
    begins: bool = False
    left: Cards = ()
    before: Codes = ()
    burning: bool = False
    by_hand: bool = False
    # No argument: a move that is made of another leads elsewhere.
    targets: dict[Lip, tuple[State, State | None]] = field(
        default_factory=dict, repr=False, init=False
    )


class Moves(NamedTuple):
    """All moves from a state, the likeliest first, with the sums of their rates and costs."""

    moves: tuple[Move, ...]
    rate: float
    cost: float


class World(NamedTuple):
    """The running coup (0: the burn), the coup before as it ended until it is decided."""

    coup: int
    before: State | None
    state: State


def slot_of(place: int) -> int | None:
    """Return the slot in which a card lies or lay, `None` for one that lay in none."""
    if place < HAND:
        return place
    if is_held(place):
        return (place - HELD) // 7
    if GONE <= place < GONE + HAND:
        return place - GONE
    return None


def is_held(place: int) -> bool:
    """Whether a card was lifted from its slot, and somebody has it."""
    return HELD <= place < GONE


def seen_over(place: int) -> int:
    """Return the slot over which a held card is seen, or NOWHERE."""
    return (place - HELD) % 7


def held(slot: int, over: int = NOWHERE) -> int:
    """Return the place of a card that was lifted from a slot and is seen over another."""
    return HELD + 7 * slot + over


def is_gone(place: int) -> bool:
    """Whether a card was taken from the layout for good."""
    return place >= GONE


def layout(cards: Cards) -> tuple[int | None, ...]:
    """Return the slots of a coup's cards in the order of leaving, without those that went back."""
    return tuple(slot_of(place) for place, _, _ in cards if place != SHOE)


def put(cards: Cards, index: int, place: int, side: int | None = None) -> Cards:
    """Return the cards with one of them moved, and turned where a side is given."""
    _, was, points = cards[index]
    moved = (place, was if side is None else side, points)
    return (*cards[:index], moved, *cards[index + 1 :])
