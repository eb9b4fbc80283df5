"""The cards that are burned before the first coup, as the camera sees them.

Must not know the running coup, but for the first, whose cards may turn out to have been burned.
"""

from __future__ import annotations

from vision.game.coup.state import Seen, Shoe
from vision.game.coup.transition import Transition
from vision.game.fold.coups import begin, begin_burn, burns, ensure_shoe
from vision.game.fold.shoe import burn_due, end_burn


def is_enough(shoe: Shoe) -> bool:
    """Whether as many cards are burned as there should be."""
    return shoe.burn_due is not None and len(shoe.burned) >= shoe.burn_due


def put(transition: Transition, event: str, seen: Seen) -> None:
    """Put a burn card in place and tell of it."""
    shoe = ensure_shoe(transition)
    burned = tuple(seen if one.order == seen.order else one for one in shoe.burned)
    due = shoe.burn_due
    if burned[0].order == seen.order:
        due = burn_due(transition.rules.burn, seen.face)
    transition.shoe = shoe._replace(burned=burned, burn_due=due)
    transition.say_card(event, 0, seen)
    transition.say_shoe()


def placed(transition: Transition, seen: Seen) -> None:
    """Put a burn card down; where it lies in a slot, the burn is over and the first coup begins."""
    shoe = ensure_shoe(transition)
    if seen.slot is None or not shoe.burning:
        put(transition, "placed", seen)
        return
    place = [one.order for one in shoe.burned].index(seen.order)
    after = shoe.burned[place + 1 :]
    end_burn(transition, shoe._replace(burned=shoe.burned[:place]))
    coup = begin(transition, (seen, *after))
    transition.say_card("placed", coup.number, seen)
    transition.weigh(coup)
    transition.say_shoe()


def watch(transition: Transition) -> None:
    """Take the first cards of a shoe as burned where they lie in no slot, the first one open."""
    coup = transition.coup
    if coup is None or coup.number > 1 or not coup.cards:
        return
    if not burns(transition) or ensure_shoe(transition).burned or coup.result is not None:
        return
    first = coup.cards[0]
    if first.card is None or any(seen.slot is not None for seen in coup.cards):
        return
    aside = len(coup.cards) > 1 and all(seen.placed_at is not None for seen in coup.cards)
    if aside or first.removed_at is not None:
        begin_burn(transition, coup)
        transition.say_shoe()
