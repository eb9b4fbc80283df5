"""What a card does, as the camera sees it: out, at rest, read, removed.

Each handler takes the turn and the event, puts the new fact in its coup and has the coup weighed.
Repeated events and cards nobody saw leave the shoe are said to be ignored, or taken as out.
"""

from __future__ import annotations

from vision.game.cards import Card
from vision.game.events import CardOut, CardPlaced, CardRead, CardRemoved
from vision.game.happenings import Deadline
from vision.game.rounds import begin, begin_burn, burns, ensure_shoe, split
from vision.game.rules import Dealing
from vision.game.shoe import burn_due, check_cut, check_order, count, end_burn
from vision.game.table import Coup, Marks, Seen, Shoe
from vision.game.turn import Turn


def card_out(turn: Turn, event: CardOut) -> None:
    """Take a card that left the shoe as one of the running coup, of the next, or as burned."""
    shoe = ensure_shoe(turn)
    if event.order <= shoe.last:
        turn.ignore(event, f"card {event.order} is out already")
        return
    turn.pass_table((Deadline.NEXT_CARD,))
    shoe = shoe._replace(last=event.order, out=shoe.out + 1, ended=False)
    turn.set_shoe(shoe)
    seen = Seen(event.order, event.at)
    if shoe.burning and not _is_burned(shoe):
        turn.set_shoe(shoe._replace(burned=(*shoe.burned, seen)))
        turn.say_card("out", 0, seen)
        turn.say_shoe()
        return
    coup = turn.table.coup
    started = coup is None or coup.is_over(event.at, turn.table.rules.removed_after_ms)
    if coup is None or started:
        if shoe.burning:
            end_burn(turn, shoe)
        coup = begin(turn, (seen,))
    else:
        coup = turn.pass_coup(coup, (Deadline.NEXT_CARD,))
        coup = coup._replace(cards=(*coup.cards, seen), changed_at=event.at, cleared_at=None)
    turn.say_card("out", coup.number, seen)
    turn.weigh(coup)
    check_cut(turn)
    if started:
        turn.say_shoe()


def _is_burned(shoe: Shoe) -> bool:
    """Whether as many cards are burned as there should be."""
    return shoe.burn_due is not None and len(shoe.burned) >= shoe.burn_due


def _find(
    turn: Turn, event: CardPlaced | CardRead | CardRemoved
) -> tuple[Coup | None, Seen] | None:
    """Return the card and its coup (`None`: burned), or say that there is none.

    A card whose leaving was missed, being beyond the last one out, is taken as out now.
    """
    shoe = turn.table.shoe
    if (shoe is None or event.order > shoe.last) and event.order > 0:
        card_out(turn, CardOut(event.at, event.order))
    coup = turn.table.coup_of(event.order)
    seen = None if coup is None else coup.find(event.order)
    if seen is not None:
        return coup, seen
    for burned in ensure_shoe(turn).burned:
        if burned.order == event.order:
            return None, burned
    turn.ignore(event, f"card {event.order} was not seen to leave the shoe")
    return None


def _burned(turn: Turn, event: str, seen: Seen) -> None:
    """Put a burn card in place and tell of it."""
    shoe = ensure_shoe(turn)
    burned = tuple(seen if one.order == seen.order else one for one in shoe.burned)
    due = shoe.burn_due
    if burned[0].order == seen.order:
        due = burn_due(turn.table.rules.burn, seen.face)
    turn.set_shoe(shoe._replace(burned=burned, burn_due=due))
    turn.say_card(event, 0, seen)
    turn.say_shoe()


def card_placed(turn: Turn, event: CardPlaced) -> None:
    """Take a card as lying at rest; one that leaves its slot for no slot keeps it."""
    found = _find(turn, event)
    if found is None:
        return
    coup, seen = found
    slot = seen.slot if event.slot is None else event.slot
    placed_at = event.at if seen.placed_at is None else seen.placed_at
    seen = seen._replace(placed_at=placed_at, slot=slot, removed_at=None)
    if coup is None:
        _placed_burned(turn, seen)
        return
    running = coup.over_at is None
    coup = coup.with_card(seen)
    coup = coup._replace(changed_at=event.at, cleared_at=None) if running else coup
    place = coup.cards.index(seen)
    first = running and _is_first(turn, coup, place)
    if first:
        coup = split(turn, coup, place)
        turn.say_shoe()
    turn.say_card("placed", coup.number, seen)
    if first or not _is_as_taken(turn, coup, place):
        turn.weigh(coup)
    else:
        turn.set_coup(coup)
    _watch_for_burn(turn)


def _is_as_taken(turn: Turn, coup: Coup, place: int) -> bool:
    """Whether a face-down card came to rest with the hand for which it was taken."""
    if place > 3 or coup.told:
        return False
    seen, order = coup.cards[place], turn.table.rules.deal_order
    return seen.face is None and seen.slot is not None and seen.slot % 2 == order[place] % 2


def _placed_burned(turn: Turn, seen: Seen) -> None:
    """Put a burn card down; where it lies in a slot, the burn is over and the first coup begins."""
    shoe = ensure_shoe(turn)
    if seen.slot is None or not shoe.burning:
        _burned(turn, "placed", seen)
        return
    place = [one.order for one in shoe.burned].index(seen.order)
    after = shoe.burned[place + 1 :]
    end_burn(turn, shoe._replace(burned=shoe.burned[:place]))
    coup = begin(turn, (seen, *after))
    turn.say_card("placed", coup.number, seen)
    turn.weigh(coup)
    turn.say_shoe()


def _is_first(turn: Turn, coup: Coup, place: int) -> bool:
    """Whether that card of the running coup lies where the first card of a coup lies."""
    seen, before = coup.cards[place], coup.cards[:place]
    if place == 0 or seen.slot is not turn.table.rules.deal_order[0]:
        return False
    gone = all(one.removed_at is not None or one.placed_at is None for one in before)
    return gone or (coup.unseen and turn.lay(coup._replace(cards=before)).complete)


def _watch_for_burn(turn: Turn) -> None:
    """Take the first cards of a shoe as burned where they lie in no slot, the first one open."""
    coup = turn.table.coup
    if coup is None or coup.number > 1 or not burns(turn) or ensure_shoe(turn).burned:
        return
    first = coup.cards[0]
    if first.card is None or any(seen.slot is not None for seen in coup.cards):
        return
    aside = len(coup.cards) > 1 and all(seen.placed_at is not None for seen in coup.cards)
    if aside or first.removed_at is not None:
        begin_burn(turn, coup)
        turn.say_shoe()


def card_read(turn: Turn, event: CardRead) -> None:
    """Take a face as read; once the result has been told, another face is a switched card."""
    found = _find(turn, event)
    if found is None:
        return
    coup, seen = found
    before = seen.face
    shown = coup is not None and coup.shown is not None
    seen = (
        _read(turn, coup, seen, event)
        if not shown or before is None
        else _reread(turn, seen, event)
    )
    if coup is None:
        _burned(turn, "read", seen)
        coup_number = 0
    else:
        coup_number = coup.number
        coup = coup.with_card(seen)
        turn.set_coup(coup._replace(changed_at=event.at) if coup.over_at is None else coup)
        turn.say_card("read", coup_number, seen)
    recount(turn, seen.order, coup_number, (before, seen.face))
    _watch_for_burn(turn)


def _read(turn: Turn, coup: Coup | None, seen: Seen, event: CardRead) -> Seen:
    """Return the card as read before a result of it was told."""
    marks, rules = seen.marks, turn.table.rules
    if event.card is None:
        return seen if seen.card is not None else _marked(seen, marks._replace(declined=True))
    gate = rules.confidence_gate
    sure = seen.confidence >= gate and event.confidence >= gate
    if seen.card is not None and seen.card != event.card and sure:
        marks = marks._replace(clash=seen.card)
    if rules.dealing is Dealing.PUNTO_FIRST and coup is not None and len(coup.cards) < 4:
        marks = marks._replace(early=True)
    seen = seen._replace(card=event.card, confidence=event.confidence, second=event.second)
    return _marked(seen, marks)


def _reread(turn: Turn, seen: Seen, event: CardRead) -> Seen:
    """Return the card as read again after the result was told."""
    if event.card is None or event.card == seen.face:
        return seen
    if event.confidence < turn.table.rules.confidence_gate or seen.marks.keyed is not None:
        return seen
    return _marked(seen, seen.marks._replace(switched=event.card))


def _marked(seen: Seen, marks: Marks) -> Seen:
    return seen if marks == seen.marks else seen._replace(marks=marks)


def recount(turn: Turn, order: int, coup: int, faces: tuple[Card | None, Card | None]) -> None:
    """Count a card whose face changed, and weigh its coup and all that this concerns."""
    concerned = count(turn, *faces)
    numbers = {coup}
    for other in concerned:
        where = turn.table.coup_of(other)
        if where is not None:
            numbers.add(where.number)
    for number in sorted(numbers):
        found = turn.table.coup_at(number)
        if found is not None:
            turn.weigh(found)
    check_order(turn, order)


def card_removed(turn: Turn, event: CardRemoved) -> None:
    """Take a card as gone; when no card that counts lies any more, the hands are cleared."""
    found = _find(turn, event)
    if found is None:
        return
    coup, seen = found
    if seen.removed_at is not None:
        turn.ignore(event, f"card {event.order} is gone already")
        return
    seen = seen._replace(removed_at=event.at)
    if coup is None:
        _burned(turn, "removed", seen)
        return
    turn.say_card("removed", coup.number, seen)
    coup = coup.with_card(seen)
    turn.set_coup(coup)
    if coup.over_at is None and coup.cleared_at is None:
        if any(one.removed_at is None and _lies(one) for one in turn.lay(coup).cards):
            return
        coup = turn.weigh(coup._replace(cleared_at=event.at), show=False)
        turn.pass_coup(coup, (Deadline.SETTLEMENT,))
        turn.pass_table((Deadline.SETTLEMENT,))
    _watch_for_burn(turn)


def _lies(seen: Seen) -> bool:
    return seen.placed_at is not None or seen.card is not None
