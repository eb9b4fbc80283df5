"""What a card does, as the camera sees it: out, at rest, read, removed.

Each handler takes the turn and the event, puts the new fact in its coup and has the coup weighed.
Repeated events and cards nobody saw leave the shoe are said to be ignored, or taken as out.
"""

from __future__ import annotations

from vision.game.burning import is_enough, placed, put, watch
from vision.game.cards import Card
from vision.game.events import CardOut, CardPlaced, CardRead, CardRemoved
from vision.game.happenings import Deadline
from vision.game.rounds import begin, ensure_shoe, split
from vision.game.rules import Dealing
from vision.game.shoe import check_cut, check_order, count, end_burn
from vision.game.table import Coup, Marks, Seen
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
    if shoe.burning and not is_enough(shoe):
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


def _find(
    turn: Turn, event: CardPlaced | CardRead | CardRemoved
) -> tuple[Coup | None, Seen] | None:
    """Return the card and its coup (`None`: burned), or say that there is none.

    A card whose leaving was missed, being beyond the last one out, is taken as out now.
    """
    shoe = turn.table.shoe
    if event.order > shoe.last:
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
        placed(turn, seen)
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
    watch(turn)


def _is_as_taken(turn: Turn, coup: Coup, place: int) -> bool:
    """Whether a face-down card came to rest with the hand for which it was taken."""
    if place > 3 or coup.told:
        return False
    seen, order = coup.cards[place], turn.table.rules.deal_order
    return seen.face is None and seen.slot is not None and seen.slot % 2 == order[place] % 2


def _is_first(turn: Turn, coup: Coup, place: int) -> bool:
    """Whether that card of the running coup lies where the first card of a coup lies."""
    seen, before = coup.cards[place], coup.cards[:place]
    if place == 0 or seen.slot is not turn.table.rules.deal_order[0]:
        return False
    gone = all(one.removed_at is not None or one.placed_at is None for one in before)
    return gone or (coup.unseen and turn.lay(coup._replace(cards=before)).complete)


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
        put(turn, "read", seen)
        coup_number = 0
    else:
        coup_number = coup.number
        coup = coup.with_card(seen)
        turn.set_coup(coup._replace(changed_at=event.at) if coup.over_at is None else coup)
        turn.say_card("read", coup_number, seen)
    recount(turn, seen.order, coup_number, (before, seen.face))
    watch(turn)


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
        put(turn, "removed", seen)
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
    watch(turn)


def _lies(seen: Seen) -> bool:
    return seen.placed_at is not None or seen.card is not None
