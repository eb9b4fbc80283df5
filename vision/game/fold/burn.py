"""The cards that are burned before the first coup, as the camera sees them.

Must not know the running coup, but for the first, whose cards may turn out to have been burned.
"""

from __future__ import annotations

from vision.game.coup.state import Seen, Shoe
from vision.game.coup.transition import Turn
from vision.game.fold.coups import begin, begin_burn, burns, ensure_shoe
from vision.game.fold.shoe import burn_due, end_burn


def is_enough(shoe: Shoe) -> bool:
    """Whether as many cards are burned as there should be."""
    return shoe.burn_due is not None and len(shoe.burned) >= shoe.burn_due


def put(turn: Turn, event: str, seen: Seen) -> None:
    """Put a burn card in place and tell of it."""
    shoe = ensure_shoe(turn)
    burned = tuple(seen if one.order == seen.order else one for one in shoe.burned)
    due = shoe.burn_due
    if burned[0].order == seen.order:
        due = burn_due(turn.rules.burn, seen.face)
    turn.shoe = shoe._replace(burned=burned, burn_due=due)
    turn.say_card(event, 0, seen)
    turn.say_shoe()


def placed(turn: Turn, seen: Seen) -> None:
    """Put a burn card down; where it lies in a slot, the burn is over and the first coup begins."""
    shoe = ensure_shoe(turn)
    if seen.slot is None or not shoe.burning:
        put(turn, "placed", seen)
        return
    place = [one.order for one in shoe.burned].index(seen.order)
    after = shoe.burned[place + 1 :]
    end_burn(turn, shoe._replace(burned=shoe.burned[:place]))
    coup = begin(turn, (seen, *after))
    turn.say_card("placed", coup.number, seen)
    turn.weigh(coup)
    turn.say_shoe()


def watch(turn: Turn) -> None:
    """Take the first cards of a shoe as burned where they lie in no slot, the first one open."""
    coup = turn.coup
    if coup is None or coup.number > 1 or not coup.cards:
        return
    if not burns(turn) or ensure_shoe(turn).burned or coup.result is not None:
        return
    first = coup.cards[0]
    if first.card is None or any(seen.slot is not None for seen in coup.cards):
        return
    aside = len(coup.cards) > 1 and all(seen.placed_at is not None for seen in coup.cards)
    if aside or first.removed_at is not None:
        begin_burn(turn, coup)
        turn.say_shoe()
