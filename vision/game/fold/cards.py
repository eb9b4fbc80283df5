"""What a card does, as the camera sees it: out, at rest, read, removed.

Each handler takes the turn and the event, puts the new fact in its coup and has the coup weighed.
Repeated events and cards nobody saw leave the shoe are said to be ignored, or taken as out.
"""

from __future__ import annotations

from vision.game.cards import Card
from vision.game.coup.state import Coup, Seen
from vision.game.coup.transition import Transition
from vision.game.events import CardOut, CardPlaced, CardRead, CardRemoved
from vision.game.fold.burn import is_enough, placed, put, watch
from vision.game.fold.coups import begin, ensure_shoe, split
from vision.game.fold.shoe import check_cut, check_order, count, end_burn
from vision.game.outputs import Deadline
from vision.game.rules import Dealing


def card_out(transition: Transition, event: CardOut) -> None:
    """Take a card that left the shoe as one of the running coup, of the next, or as burned."""
    shoe = ensure_shoe(transition)
    if event.order <= shoe.last:
        transition.ignore(event, f"card {event.order} is out already")
        return
    transition.pass_table((Deadline.NEXT_CARD,))
    shoe = transition.shoe = shoe.with_card_out(event.order)
    seen = Seen(event.order, event.at)
    if shoe.burning and not is_enough(shoe):
        transition.shoe = shoe._replace(burned=(*shoe.burned, seen))
        transition.say_card("out", 0, seen)
        transition.say_shoe()
        return
    coup = transition.coup
    started = coup is None or coup.is_over(event.at, transition.rules.removed_after_ms)
    if coup is None or started:
        if shoe.burning:
            end_burn(transition, shoe)
        coup = begin(transition, (seen,))
    else:
        coup = transition.pass_coup(coup, (Deadline.NEXT_CARD,))
        coup = coup.changed(event.at, None, (*coup.cards, seen))
    transition.say_card("out", coup.number, seen)
    transition.weigh(coup)
    check_cut(transition)
    if started:
        transition.say_shoe()


def _find(
    transition: Transition, event: CardPlaced | CardRead | CardRemoved
) -> tuple[Coup | None, Seen, int] | None:
    """Return the card, its coup (`None`: burned) and its place in it, or say that there is none.

    A card whose leaving was missed, being beyond the last one out, is taken as out now.
    """
    order = event.order
    if order > transition.shoe.last:
        card_out(transition, CardOut(event.at, order))
    coup = transition.coup
    place = None if coup is None else coup.place_of(order)
    if place is None:
        coup = transition.table.coup_of(order)
        place = None if coup is None else coup.place_of(order)
    if coup is not None and place is not None:
        return coup, coup.cards[place], place
    for place, burned in enumerate(ensure_shoe(transition).burned):
        if burned.order == order:
            return None, burned, place
    transition.ignore(event, f"card {order} was not seen to leave the shoe")
    return None


def _put(coup: Coup, place: int, seen: Seen, at: int) -> Coup:
    """Return the coup with that card at that place; a running one has changed now."""
    cards = coup.cards
    cards = (*cards[:place], seen, *cards[place + 1 :])
    if coup.over_at is not None:
        return coup.with_cards(cards)
    return coup.changed(at, coup.cleared_at, cards)


def card_placed(transition: Transition, event: CardPlaced) -> None:
    """Take a card as lying at rest; one that leaves its slot for no slot keeps it."""
    found = _find(transition, event)
    if found is None:
        return
    coup, seen, place = found
    slot = seen.slot if event.slot is None else event.slot
    seen = seen.at_rest(event.at if seen.placed_at is None else seen.placed_at, slot)
    if coup is None:
        placed(transition, seen)
        return
    coup = _put(coup, place, seen, event.at)
    running = coup.over_at is None
    if running and coup.cleared_at is not None:
        coup = coup._replace(cleared_at=None)
    first = running and _is_first(transition, coup, place)
    if first:
        coup = split(transition, coup, place)
        transition.say_shoe()
    transition.say_card("placed", coup.number, seen)
    if first or not _is_as_taken(transition, coup, place):
        transition.weigh(coup)
    else:
        transition.set_coup(coup)
    watch(transition)


def _is_as_taken(transition: Transition, coup: Coup, place: int) -> bool:
    """Whether a face-down card came to rest with the hand for which it was taken."""
    if place > 3 or coup.told:
        return False
    seen, order = coup.cards[place], transition.rules.deal_order
    return seen.face is None and seen.slot is not None and seen.slot % 2 == order[place] % 2


def _is_first(transition: Transition, coup: Coup, place: int) -> bool:
    """Whether that card of the running coup lies where the first card of a coup lies."""
    if place == 0 or coup.cards[place].slot is not transition.rules.deal_order[0]:
        return False
    before = coup.cards[:place]
    gone = all(one.removed_at is not None or one.placed_at is None for one in before)
    return gone or (coup.unseen and transition.lay(coup.with_cards(before)).complete)


def card_read(transition: Transition, event: CardRead) -> None:
    """Take a face as read; once the result has been told, another face is a switched card."""
    found = _find(transition, event)
    if found is None:
        return
    coup, seen, place = found
    before = seen.face
    if coup is None or coup.shown is None or before is None:
        seen = _read(transition, coup, seen, event)
    else:
        seen = _reread(transition, seen, event)
    if coup is None:
        put(transition, "read", seen)
        number = 0
    else:
        number = coup.number
        transition.set_coup(_put(coup, place, seen, event.at))
        transition.say_card("read", number, seen)
    recount(transition, seen.order, number, (before, seen.face))
    watch(transition)


def _read(transition: Transition, coup: Coup | None, seen: Seen, event: CardRead) -> Seen:
    """Return the card as read before a result of it was told."""
    rules = transition.rules
    if event.card is None:
        return seen if seen.card is not None else seen.marked(seen.marks._replace(declined=True))
    gate = rules.confidence_gate
    sure = seen.confidence >= gate and event.confidence >= gate
    if seen.card is not None and seen.card != event.card and sure:
        seen = seen.marked(seen.marks._replace(clash=seen.card))
    if rules.dealing is Dealing.PUNTO_FIRST and coup is not None and len(coup.cards) < 4:
        seen = seen.marked(seen.marks._replace(early=True))
    return seen.read_as(event.card, event.confidence, event.second)


def _reread(transition: Transition, seen: Seen, event: CardRead) -> Seen:
    """Return the card as read again after the result was told."""
    if event.card is None or event.card == seen.face:
        return seen
    if event.confidence < transition.rules.confidence_gate or seen.marks.keyed is not None:
        return seen
    return seen.marked(seen.marks._replace(switched=event.card))


def recount(
    transition: Transition, order: int, coup: int, faces: tuple[Card | None, Card | None]
) -> None:
    """Count a card whose face changed, and weigh its coup and all that this concerns."""
    concerned = count(transition, *faces)
    numbers = {coup}
    for other in concerned:
        where = transition.table.coup_of(other)
        if where is not None:
            numbers.add(where.number)
    for number in sorted(numbers):
        found = transition.coup_at(number)
        if found is not None:
            transition.weigh(found)
    check_order(transition, order)


def card_removed(transition: Transition, event: CardRemoved) -> None:
    """Take a card as gone; when no card that counts lies any more, the hands are cleared."""
    found = _find(transition, event)
    if found is None:
        return
    coup, seen, place = found
    if seen.removed_at is not None:
        transition.ignore(event, f"card {event.order} is gone already")
        return
    seen = seen._replace(removed_at=event.at)
    if coup is None:
        put(transition, "removed", seen)
        return
    transition.say_card("removed", coup.number, seen)
    cards = coup.cards
    coup = coup.with_cards((*cards[:place], seen, *cards[place + 1 :]))
    transition.set_coup(coup)
    if coup.over_at is None and coup.cleared_at is None:
        if _still_lies(transition, coup):
            return
        coup = transition.weigh(coup._replace(cleared_at=event.at), show=False)
        transition.pass_coup(coup, (Deadline.SETTLEMENT,))
        transition.pass_table((Deadline.SETTLEMENT,))
    watch(transition)


def _still_lies(transition: Transition, coup: Coup) -> bool:
    """Whether a card that counts lies on the table."""
    lying = [
        seen
        for seen in coup.cards
        if seen.removed_at is None and (seen.placed_at is not None or seen.card is not None)
    ]
    if coup.complete and not coup.told:
        return bool(lying)  # every card was due, so every card counts
    return bool(lying) and any(seen in lying for seen in transition.lay(coup).cards)
