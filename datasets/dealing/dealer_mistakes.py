"""Dealer mistakes: which cards a mistake needs, where the cards then lie, and the fault it is.

Each mistake leaves no doubt which fault it is: where two could be meant, other cards are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from vision.game.cards import Card, points_of
from vision.game.events import Slot
from vision.game.tableau import DEAL_ORDER, next_slot

from .scenario import Slip

Moment = Literal["out", "placed", "face", "removed", "shown"]
# Cards a coup may need: six by the rules, and two over-drawn.
MOST = 8
_PPBB = (Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2)
# A fault's code, the index of the card that makes it (None: it is missing), the deciding moment.
Fault = tuple[str, int | None, Moment]
Laid = tuple[tuple[str, ...], tuple[Fault, ...]]
Maker = Callable[[Sequence[Card], bool], Laid | None]


def lay_out(slip: Slip | None, cards: Sequence[Card], side: bool) -> Laid | None:
    """Return the places of a coup's cards in the order they leave the shoe, and its faults.

    `cards` are the next `MOST` of the shoe. None where the slip cannot happen with them; `side`
    (True: Punto) settles whose card it is where the slip could be either hand's.
    """
    return _MAKERS[slip](cards, side)


def _legal(cards: Sequence[Card], order: tuple[Slot, ...] = DEAL_ORDER) -> tuple[str, ...]:
    """Return the places of a coup dealt by the tableau."""
    hands: tuple[list[int], list[int]] = ([], [])
    places: list[str] = []
    for card in cards:
        slot = next_slot(tuple(hands[0]), tuple(hands[1]), order=order)
        if slot is None:
            break
        places.append(slot.name)
        hands[0 if slot.is_punto else 1].append(card.points)
    return tuple(places)


def _totals(cards: Sequence[Card]) -> tuple[int, int]:
    return points_of(tuple(cards[0:4:2])), points_of(tuple(cards[1:4:2]))


def _clean(cards: Sequence[Card], _: bool) -> Laid | None:
    return _legal(cards), ()


def _ppbb(cards: Sequence[Card], _: bool) -> Laid | None:
    return _legal(cards, _PPBB), (("WRONG_ORDER_INIT", 1, "placed"),)


def _over_punto(cards: Sequence[Card], _: bool) -> Laid | None:
    punto, banco = _totals(cards)
    if punto not in (6, 7) or banco not in (6, 7):
        return None
    return (*_legal(cards), "PUNTO_3"), (("OVER_P3_STAND", 4, "out"),)


def _over_banco(cards: Sequence[Card], _: bool) -> Laid | None:
    places = _legal(cards)
    if max(_totals(cards)) >= 8 or "BANCO_3" in places:
        return None
    return (*places, "BANCO_3"), (("OVER_B3", len(places), "out"),)


def _over_natural(cards: Sequence[Card], side: bool) -> Laid | None:
    if max(_totals(cards)) < 8:
        return None
    extra = "PUNTO_3" if side else "BANCO_3"
    return (*_legal(cards), extra), (("OVER_NATURAL", 4, "out"),)


def _under_punto(cards: Sequence[Card], _: bool) -> Laid | None:
    punto, banco = _totals(cards)
    if punto > 5 or banco not in (6, 7):
        return None
    return _legal(cards)[:4], (("UNDER_P3", None, "removed"),)


def _under_banco(cards: Sequence[Card], _: bool) -> Laid | None:
    places = _legal(cards)
    if "BANCO_3" not in places:
        return None
    return places[:-1], (("UNDER_B3", None, "removed"),)


def _wrong_hand(cards: Sequence[Card], _: bool) -> Laid | None:
    punto, banco = _totals(cards)
    # Banco 7 stands whatever Punto is given: nothing but the place of the card is wrong.
    if punto > 5 or banco != 7:
        return None
    return (*_legal(cards)[:4], "BANCO_3"), (("WRONG_HAND", 4, "placed"),)


def _fourth(cards: Sequence[Card], side: bool) -> Laid | None:
    places = _legal(cards)
    if len(places) != 6:
        return None
    return (*places, "PUNTO_4" if side else "BANCO_4"), (("OVER_4TH", 6, "out"),)


def _out_of_turn(cards: Sequence[Card], _: bool) -> Laid | None:
    punto, banco = _totals(cards)
    # Banco 0 to 2 draws whatever Punto is given: only the order of the two is wrong.
    if punto > 5 or banco > 2:
        return None
    return (*_legal(cards)[:4], "BANCO_3", "PUNTO_3"), (("OUT_OF_TURN_B3", 4, "placed"),)


def _seen(code: str, moment: Moment, *, among: Sequence[int]) -> Maker:
    """Return the maker of a mistake that breaks no rule of the tableau: only its motion shows."""

    def lay(cards: Sequence[Card], side: bool) -> Laid | None:
        which = among[(cards[0].points + side) % len(among)]
        return _legal(cards), ((code, which, moment),)

    return lay


def _taken_off(cards: Sequence[Card], side: bool) -> Laid | None:
    places = _legal(cards)
    # A card is due yet: what is taken away now is taken away before the result.
    if len(places) < 5:
        return None
    return places, (("WRONG_REMOVED", (cards[0].points + side) % 4, "removed"),)


# The cards, counted from 0, that every coup has; a later one may be missing.
_FIRST_FOUR = (0, 1, 2, 3)
_MAKERS: dict[Slip | None, Maker] = {
    None: _clean,
    Slip.NINTH_COPY: _clean,
    Slip.PPBB: _ppbb,
    Slip.OVER_DRAW_PUNTO: _over_punto,
    Slip.OVER_DRAW_BANCO: _over_banco,
    Slip.OVER_DRAW_NATURAL: _over_natural,
    Slip.UNDER_DRAW_PUNTO: _under_punto,
    Slip.UNDER_DRAW_BANCO: _under_banco,
    Slip.WRONG_HAND: _wrong_hand,
    Slip.FOURTH_CARD: _fourth,
    Slip.OUT_OF_TURN: _out_of_turn,
    Slip.EXPOSED_IN_SHOE: _seen("EXPOSED_IN_SHOE", "shown", among=_FIRST_FOUR),
    Slip.RETURNED_TO_SHOE: _seen("RETURNED_TO_SHOE", "shown", among=_FIRST_FOUR),
    Slip.TWO_AT_ONCE: _seen("TWO_CARDS_OUT", "shown", among=(1, 2, 3)),
    Slip.EXPOSED_EARLY: _seen("EXPOSED_EARLY", "shown", among=_FIRST_FOUR),
    Slip.SWITCHED: _seen("SWITCH", "shown", among=_FIRST_FOUR),
    Slip.TAKEN_OFF: _taken_off,
    Slip.STAYS_COVERED: _seen("UNREAD", "removed", among=_FIRST_FOUR),
}
# Mistakes that only the motions show, and those against the tableau.
FROM_SIGHT = (
    Slip.EXPOSED_IN_SHOE, Slip.RETURNED_TO_SHOE, Slip.TWO_AT_ONCE, Slip.EXPOSED_EARLY,
    Slip.SWITCHED, Slip.TAKEN_OFF, Slip.STAYS_COVERED,
)  # fmt: skip
BY_CHANCE = tuple(slip for slip in Slip if slip not in {*FROM_SIGHT, Slip.NINTH_COPY})
