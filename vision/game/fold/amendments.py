"""What sight corrects of a coup: a card that left unseen, one that went back, one that was none.

A card's order is its identity and is not given away again; where it stands among the cards of its
coup is its turn. Only a card found on the table has a turn that differs from its order.
"""

from __future__ import annotations

from vision.game.coup.state import Coup, DealtCard, Marks
from vision.game.coup.transition import Transition
from vision.game.editions import Edition
from vision.game.events import CardFound, CardWithdrawn
from vision.game.fold.boundaries import burn_due, ensure_shoe
from vision.game.fold.cards import clear_if_gone, recount, take_out


def card_found(transition: Transition, event: CardFound) -> None:
    """Take a card that lies on the table as out; its hand is judged once it is said where."""
    take_out(transition, event, DealtCard(event.order, event.at, marks=Marks(found=True)))


def card_withdrawn(transition: Transition, event: CardWithdrawn) -> None:
    """Take a card as none: out of its coup, or out of the burn."""
    coup = transition.table.coup_of(event.order)
    if coup is not None:
        withdraw(transition, coup, event.order)
    elif any(card.order == event.order for card in ensure_shoe(transition).burned):
        _withdraw_burned(transition, event.order)
    else:
        transition.ignore(event, f"card {event.order} was not seen to leave the shoe")


def withdraw(transition: Transition, coup: Coup, order: int) -> None:
    """Take the card of that order out of the coup, as if it had never been in it."""
    (card,) = (card for card in coup.cards if card.order == order)
    left = tuple(other for other in coup.cards if other.order != order)
    began = left[0].out_at if left and transition.table.edition is not Edition.FIRST else None
    coup = coup._replace(cards=left, back=(*coup.back, order), started_at=began or coup.started_at)
    transition.set_coup(coup)
    _give_back(transition)
    transition.report_card("withdrawn", coup.number, card)
    recount(transition, order, coup.number, (card.face, None))
    clear_if_gone(transition, coup.number)
    transition.report_shoe()


def _withdraw_burned(transition: Transition, order: int) -> None:
    shoe = transition.shoe
    (card,) = (card for card in shoe.burned if card.order == order)
    left = tuple(other for other in shoe.burned if other.order != order)
    due = burn_due(transition.rules.burn, left[0].face if left else None)
    transition.shoe = shoe._replace(burned=left, burn_due=due)
    _give_back(transition)
    transition.report_card("withdrawn", 0, card)
    recount(transition, order, 0, (card.face, None))
    transition.report_shoe()


def _give_back(transition: Transition) -> None:
    """Count one card fewer as out of the shoe."""
    shoe = transition.shoe
    transition.shoe = shoe._replace(out=shoe.out - 1, back=shoe.back + 1)
