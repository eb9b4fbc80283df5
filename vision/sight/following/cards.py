"""What hypotheses have of a coup: of each card its place, side and points; what the lip shows.

There is one object for each place, side and card, all made here: they are compared by identity, and
a state of a coup is found by the objects of its cards. The index of a card in its coup is its place
in the order of leaving, which is its identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import product

from vision.game.events import Slot


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The side that shows; `seen`: the card has been seen since it was laid down."""

    is_face: bool
    seen: bool


BACK, FACE = Side(is_face=False, seen=True), Side(is_face=True, seen=True)
_NEW_BACK, _NEW_FACE = Side(is_face=False, seen=False), Side(is_face=True, seen=False)
UNSEEN = {BACK: _NEW_BACK, FACE: _NEW_FACE}  # the same side of a card that was just laid
SEEN = {BACK: BACK, FACE: FACE, _NEW_BACK: BACK, _NEW_FACE: FACE}
TURNED = {BACK: FACE, FACE: BACK, _NEW_BACK: _NEW_FACE, _NEW_FACE: _NEW_BACK}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a card is.

    `slot` is the one (0 to 5) in which it lies or lay, `lies` the same while it lies there. A card
    that is `held` was lifted from its slot: it is with a player, or being turned, and it may be
    seen `over` another slot of its hand. `gone`: it was taken away for good.
    """

    name: str
    slot: int | None = None
    lies: int | None = None
    held: bool = False
    over: int | None = None
    gone: bool = False


HAND = Place("in the hand")  # it left the shoe, and a hand has it
SHOE = Place("back in the shoe")
ASIDE = Place("aside")  # it lies outside the slots
GONE_ASIDE = Place("gone from aside", gone=True)  # or from the hand
SLOTS = tuple(Place(f"in {slot.name}", slot.value, slot.value) for slot in Slot)
THIRD = {Slot.PUNTO_3, Slot.BANCO_3}
GONE = tuple(Place(f"gone from {slot.name}", slot.value, gone=True) for slot in Slot)
HELD = {
    (slot, over): Place(f"held from {slot} over {over}", slot, held=True, over=over)
    for slot in range(len(Slot))
    for over in (None, *range(len(Slot)))
}
# Where a hand has a card over no slot. Of 2,885 looks at cards on their way, of ten films, a card
# seemed to rest outside the slots in 58, of 12,602 others in one.
CARRIED = {HAND, *(HELD[slot, None] for slot in range(len(Slot)))}
PLACES = (HAND, SHOE, ASIDE, GONE_ASIDE, *SLOTS, *GONE, *HELD.values())
# Each place by where a card is once it was taken from there; nothing happens any more to one that
# is gone or back in the shoe.
TAKEN = {
    place: place
    if place.gone or place is SHOE
    else GONE_ASIDE
    if place.slot is None
    else GONE[place.slot]
    for place in PLACES
}
# Each place by where a card lay that was last there: its slot, or none of them.
LAY = {
    place: SLOTS[place.slot] if place.slot is not None else ASIDE if place is GONE_ASIDE else place
    for place in PLACES
}
# The hand of each slot, 0 Punto's and 1 Banco's, and the other slots of that hand.
HAND_OF = tuple(int(not slot.is_punto) for slot in Slot)
BESIDE = tuple(
    tuple(other.value for other in Slot if other is not slot and other.is_punto is slot.is_punto)
    for slot in Slot
)


@dataclass(frozen=True, slots=True, eq=False)
class CoupCard:
    """A card of a coup; `points` (0 to 9) are `None` until its face is read."""

    place: Place
    side: Side
    points: int | None = None


CARDS = {key: CoupCard(*key) for key in product(PLACES, TURNED, (None, *range(10)))}
Cards = tuple[CoupCard, ...]


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
    INSIDE = 6  # and was pushed in, or one was drawn unseen: the hand goes before it draws the next
    CUT = 7  # the cut card is out
    LINGERS = 8  # the card just drawn is still before the shoe, and hides what its lip shows
    STAYS = 9  # of two that are out, one lies there at rest while the other is laid
    HIDDEN = 10  # a hand beside it, which is none that draws, hides what it shows
    SQUEEZED = 11  # a hand holds before it the card of a slot that is there
