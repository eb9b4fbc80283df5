"""What a card does, as the camera sees it: out, at rest, read, removed.

Each handler adds the new fact to the card's coup, or to the burn cards, and has the coup evaluated.
A repeated event is ignored; a card that nobody saw leave the shoe is taken as out first.
"""

from __future__ import annotations

from collections import Counter

from vision.game.cards import Card, Rank
from vision.game.coup.doubts import cards_in_review
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.state import NO_MARKS, Coup, DealtCard, Table
from vision.game.coup.transition import Transition, without
from vision.game.editions import Edition
from vision.game.events import CardFound, CardOut, CardPlaced, CardRead, CardRemoved, Slot
from vision.game.fold.boundaries import (
    begin,
    burn_card_placed,
    burns,
    detect_burn,
    end_burn,
    ensure_shoe,
    is_burn_enough,
    set_burn_card,
    split,
    take_ahead,
)
from vision.game.outputs import Deadline
from vision.game.rules import Dealing, Rules

# The first cards of a shoe that are compared with the order of a new deck, and how many of their 19
# pairs may follow one another as in a new deck. Of a shuffled shoe fewer than one pair does, on
# average; with fewer than eight NEW_DECK_ORDER is raised by chance, with more a shoe that was only
# cut passes unnoticed where some of its first cards are not read.
RUN_OF = 20
RUN_ENOUGH = 8


def card_out(transition: Transition, event: CardOut) -> None:
    """Take a card that left the shoe as one of the running coup, of the next, or as burned."""
    marks = NO_MARKS._replace(unseen=True) if event.unseen else NO_MARKS
    take_out(transition, event, DealtCard(event.order, event.at, marks=marks))


def take_out(transition: Transition, event: CardOut | CardFound, card: DealtCard) -> None:
    """Take a card as one of the running coup, of the next, or as burned.

    A card that was found left some time before: no time limit passes with it.
    """
    shoe = ensure_shoe(transition)
    if event.order <= shoe.last:
        transition.ignore(event, f"card {event.order} is out already")
        return
    found = card.marks.found
    before = range(shoe.last + 1, event.order + 1)
    if not found:
        transition.pass_table_deadlines((Deadline.NEXT_CARD,))
    shoe = transition.shoe._replace(last=event.order, out=shoe.out + 1, ended=False)
    transition.shoe = shoe
    if shoe.burning and not is_burn_enough(shoe):
        transition.shoe = shoe._replace(burned=(*shoe.burned, card))
        transition.report_card("found" if found else "out", 0, card)
        transition.report_shoe()
        return
    coup = transition.coup
    started = coup is None or coup.is_over(event.at, transition.rules.removed_after_ms)
    if coup is None or started:
        if shoe.burning:
            end_burn(transition, shoe)
        coup = begin(transition, (card,))
    else:
        if not found:
            coup = transition.pass_coup_deadlines(coup, (Deadline.NEXT_CARD,))
        cards = (*coup.cards, card)
        coup = coup._replace(changed_at=event.at, cleared_at=None, cards=cards)
    coup = take_ahead(transition, coup, before)
    transition.report_card("found" if found else "out", coup.number, card)
    if found:
        transition.set_coup(coup)  # nothing is known of it until it is said where it lies
    else:
        transition.evaluate(coup)
    check_cut_card(transition)
    if started:
        transition.report_shoe()


def _find(
    transition: Transition, event: CardPlaced | CardRead | CardRemoved
) -> tuple[Coup | None, DealtCard] | None:
    """Return the card and its coup (`None`: burned); None, reported, where there is no such card.

    A card whose leaving was missed, being beyond the last one out, is taken as out now; but what is
    only told to be gone lay there of the shoe before.
    """
    order, first = event.order, transition.table.edition is Edition.FIRST
    if order > transition.shoe.last and (first or not isinstance(event, CardRemoved)):
        card_out(transition, CardOut(event.at, order))
    coup = transition.table.coup_of(order)
    cards = ensure_shoe(transition).burned if coup is None else coup.cards
    for card in cards:
        if card.order == order:
            lies = not isinstance(event, CardRemoved)
            if coup is not None and lies and not first and _is_of_another(coup, card):
                break
            return coup, card
    transition.ignore(event, f"card {order} was not seen to leave the shoe, or in an earlier coup")
    return None


def _is_of_another(coup: Coup, card: DealtCard) -> bool:
    """Whether a card lay nowhere while its coup was dealt: what lies now is no card of that coup.

    It must not make a result that is held final.
    """
    lay = card.placed_at is not None or card.removed_at is not None or card.face is not None
    return coup.over_at is not None and not lay


def _with_changed(coup: Coup, card: DealtCard, at: int) -> Coup:
    """Return the coup with that card replaced; a running coup has changed now."""
    changed_at = at if coup.over_at is None else coup.changed_at
    return coup._replace(changed_at=changed_at, cards=coup.cards_with(card))


def card_placed(transition: Transition, event: CardPlaced) -> None:
    """Take a card as lying at rest; one that leaves its slot for no slot keeps it.

    Where it is not known which of several cards it is, it has the turn of its place, like one that
    was found.
    """
    found = _find(transition, event)
    if found is None:
        return
    coup, card = found
    if event.unordered or card.marks.unseen:
        found_late = event.unordered or card.marks.found
        card = card.marked(card.marks._replace(found=found_late, unseen=False))
    card = card._replace(
        placed_at=event.at if card.placed_at is None else card.placed_at,
        slot=card.slot if event.slot is None else event.slot,
        removed_at=None,
    )
    if coup is None:
        burn_card_placed(transition, card)
        return
    coup = _with_changed(coup, card, event.at)
    if card.marks.found:
        coup = _in_turn(transition, coup, card, after=card.out_at if event.unordered else 0)
    running = coup.over_at is None
    if running and coup.cleared_at is not None:
        coup = coup._replace(cleared_at=None)
    index = coup.index_of(card.order) or 0
    first = running and _is_first(transition, coup, index)
    if first:
        coup = split(transition, coup, index)
        transition.report_shoe()
    transition.report_card("placed", coup.number, card)
    if first or not _is_as_expected(transition, coup, index):
        transition.evaluate(coup)
    else:
        transition.set_coup(coup)
    detect_burn(transition)


def _in_turn(transition: Transition, coup: Coup, card: DealtCard, *, after: int) -> Coup:
    """Return the coup with a card that was found in the turn that it would have by the rules.

    Cards that still are to be laid come before it only as far as its turn leaves room for them; one
    that left the shoe `after` a time (ms) comes after what was followed and laid by then.
    """
    turns = (*transition.rules.deal_order, Slot.PUNTO_3, Slot.BANCO_3)
    others = [other for other in coup.cards if other is not card]
    if card.slot is None:
        return coup
    turn = turns.index(card.slot)
    laid = [turns.index(other.slot) if other.slot is not None else -1 for other in others]
    later = next((index for index, of in enumerate(laid) if of > turn), len(others))
    if transition.table.edition is Edition.FIRST:
        room = later
    else:
        room = max([turn, *(index + 1 for index, of in enumerate(laid) if 0 <= of < turn)])
    followed = [
        index + 1
        for index, other in enumerate(others)
        if not other.marks.found and other.placed_at is not None and other.placed_at < after
    ]
    first = max(followed, default=0) if transition.table.edition is not Edition.FIRST else 0
    others.insert(max(first, min(later, room)), card)
    return coup._replace(cards=tuple(others))


def _is_as_expected(transition: Transition, coup: Coup, index: int) -> bool:
    """Whether a face-down card came to rest with the hand to which it was assigned already."""
    card, order = coup.cards[index], transition.rules.deal_order
    if index > 3 or coup.alerts or card.marks.found:
        return False
    return card.face is None and card.slot is not None and card.slot % 2 == order[index] % 2


def _is_first(transition: Transition, coup: Coup, index: int) -> bool:
    """Whether that card of the running coup lies where the first card of a coup lies."""
    if index == 0 or coup.cards[index].slot is not transition.rules.deal_order[0]:
        return False
    before = coup.cards[:index]
    if _were_nowhere(transition, coup, before):
        return False
    doubted = cards_in_review(coup)
    gone = all(
        card.removed_at is not None or card.placed_at is None or card.order in doubted
        for card in before
    )
    return gone or (coup.unseen and transition.lay_out(coup._replace(cards=before)).complete)


def _were_nowhere(transition: Transition, coup: Coup, cards: tuple[DealtCard, ...]) -> bool:
    """Whether none of these was ever laid, so that they make no coup of their own.

    One that went back into the shoe, or that was none, is told to be out for a while. Before the
    first coup they may have been burned.
    """
    if transition.table.edition is Edition.FIRST or (coup.number == 1 and burns(transition)):
        return False
    return not any(card.placed_at is not None or card.card is not None for card in cards)


def card_read(transition: Transition, event: CardRead) -> None:
    """Take a face as read; once the result is published, another face is a switched card."""
    found = _find(transition, event)
    if found is None:
        return
    coup, card = found
    before = card.face
    switch = f"SWITCH:{card.order}"
    if coup is not None and any(fault.key == switch for fault in coup.noticed):
        coup, card = _switched(coup, card, event, switch)
    elif coup is None or coup.shown is None or before is None:
        card = _read(transition, coup, card, event)
    else:
        card = _reread(transition, card, event)
    if coup is None:
        set_burn_card(transition, "read", card)
    else:
        transition.set_coup(_with_changed(coup, card, event.at))
        transition.report_card("read", coup.number, card)
    recount(transition, card.order, 0 if coup is None else coup.number, (before, card.face))
    detect_burn(transition)


def _read(transition: Transition, coup: Coup | None, card: DealtCard, event: CardRead) -> DealtCard:
    """Return the card as read before a result of it was published."""
    rules = transition.rules
    if event.card is None:
        return card if card.card is not None else card.marked(card.marks._replace(declined=True))
    gate = rules.confidence_gate
    sure = card.confidence >= gate and event.confidence >= gate
    if card.card is not None and card.card != event.card and sure:
        card = _contradicted(transition, card)
    if coup is not None and is_early(rules, coup, card):
        card = card.marked(card.marks._replace(early=True))
    return card.read_as(event.card, event.confidence, event.second)


def is_early(rules: Rules, coup: Coup, card: DealtCard) -> bool:
    """Whether a face that shows now does so before its time: the first four all lie before it."""
    if rules.dealing is not Dealing.PUNTO_FIRST or len(coup.cards) > 4:
        return False
    last = card.placed_at is None and card.order == coup.cards[-1].order
    return len(coup.cards) < 4 or (last and all(other.face is None for other in coup.cards))


def _switched(coup: Coup, card: DealtCard, event: CardRead, key: str) -> tuple[Coup, DealtCard]:
    """Return coup and card with the face that lies in its place now, as sight noticed."""
    if event.card is None or event.card == card.card or card.card is None:
        return coup, card
    card = card.marked(card.marks._replace(switched=event.card, confirmed=False))
    return coup._replace(noticed=without(coup.noticed, key)), card


def _reread(transition: Transition, card: DealtCard, event: CardRead) -> DealtCard:
    """Return the card as read again after the result was published."""
    if event.card is None or event.card == card.face:
        return card
    if event.confidence < transition.rules.confidence_gate or card.marks.keyed is not None:
        return card
    if transition.table.edition is Edition.FIRST:
        return card.marked(card.marks._replace(switched=event.card))
    # Whether a card was switched or misread, only sight can say: until it does, neither is right.
    card = _contradicted(transition, card)
    return card.read_as(event.card, event.confidence, event.second)


def _contradicted(transition: Transition, card: DealtCard) -> DealtCard:
    """Return a card that is read otherwise than before, which nobody has confirmed."""
    marks = card.marks._replace(clash=card.card)
    if transition.table.edition is Edition.FIRST:
        return card.marked(marks)
    return card.marked(marks._replace(confirmed=False))


def check_cut_card(transition: Transition) -> None:
    """Raise once that the cut card should have been seen by now."""
    shoe, rules = transition.shoe, transition.rules
    if shoe.last_coup is not None:
        return
    left = rules.cards - shoe.gone
    if left < rules.cut_depth and not transition.has_fault("cut"):
        transition.add_fault(Fault("cut", "CUT_MISSING", words_of("CUT_MISSING", left=left)))


def recount(
    transition: Transition, order: int, coup: int, faces: tuple[Card | None, Card | None]
) -> None:
    """Count a card whose face changed (before, after); evaluate its coup and others concerned."""
    numbers = {coup}
    for other in _count(transition, *(Counter([face]) for face in faces)):
        where = transition.table.coup_of(other)
        if where is not None:
            numbers.add(where.number)
    for number in sorted(numbers):
        found = transition.table.coup_at(number)
        if found is not None:
            transition.evaluate(found)
    _check_order(transition, order)


def recount_cards(
    transition: Transition,
    coup: Coup | None,
    before: tuple[DealtCard, ...],
    after: tuple[DealtCard, ...],
    *,
    show: bool = True,
) -> None:
    """Count the faces of cards that took the place of others, of a coup or of the burn (`None`).

    Evaluate that coup, and others that this concerns.
    """
    faces = [
        Counter(c.face for c in cards if c.marks.fate != "carried") for cards in (before, after)
    ]
    concerned = _count(transition, *faces)
    if coup is not None:
        transition.evaluate(coup, show=show)
    for other in concerned:
        where = transition.table.coup_of(other)
        if where is not None and (coup is None or where.number != coup.number):
            transition.evaluate(where)
    _check_order(transition, min((card.order for card in after), default=0))


def _count(
    transition: Transition, before: Counter[Card | None], after: Counter[Card | None]
) -> frozenset[int]:
    """Count faces that took the place of others; return the cards that this concerns.

    Those are the orders of the latest copies of a face, where there are now too many or no longer.
    """
    shoe, decks = transition.shoe, transition.rules.decks
    if before == after:
        return frozenset()
    counts = list(shoe.counts)
    for face in before | after:
        if face is not None:
            counts[face.index] += after[face] - before[face]
    surplus = shoe.surplus
    if surplus or max(counts) > decks:
        surplus = _surplus(transition.table, decks)
    transition.shoe = shoe._replace(counts=tuple(counts), surplus=surplus)
    return surplus ^ shoe.surplus


def _known_cards(table: Table) -> tuple[DealtCard, ...]:
    """Return every card of the shoe that was seen or keyed in, burn cards first."""
    dealt = (card for coup in table.coups for card in coup.cards if card.marks.fate != "carried")
    return (*table.shoe.burned, *dealt)


def _surplus(table: Table, decks: int) -> frozenset[int]:
    copies: Counter[Card] = Counter()
    found: list[int] = []
    for card in _known_cards(table):
        if card.face is not None:
            copies[card.face] += 1
            if copies[card.face] > decks:
                found.append(card.order)
    return frozenset(found)


def _check_order(transition: Transition, order: int) -> None:
    """Check whether the first cards of the shoe came out in the order of a new deck."""
    if order > RUN_OF:
        return
    known = _known_cards(transition.table)
    faces = {card.order: card.face for card in known if 0 < card.order <= RUN_OF}
    pairs = [(faces[n], faces[n + 1]) for n in sorted(faces) if n + 1 in faces]
    steps = Counter(_step(first, second) for first, second in pairs if first and second)
    del steps[0]
    runs = max(steps.values(), default=0)
    if runs >= RUN_ENOUGH:
        text = words_of("NEW_DECK_ORDER", runs=runs, pairs=len(pairs))
        transition.add_fault(Fault("order", "NEW_DECK_ORDER", text))
    elif transition.has_fault("order"):
        transition.drop_fault("order", "the cards as now read are shuffled")


def _step(first: Card, second: Card) -> int:
    """Return 1 where the second card follows the first in a new deck, -1 where it goes before it.

    A deck comes suit by suit, ace to king or king to ace. Between a king and an ace a suit ends, or
    a deck, and the next one begins; where the deck was cut makes no difference.
    """
    ranks = second.rank - first.rank
    if abs(ranks) == Rank.KING - Rank.ACE:
        return 1 if ranks < 0 else -1
    return ranks if first.suit is second.suit and abs(ranks) == 1 else 0


def card_removed(transition: Transition, event: CardRemoved) -> None:
    """Take a card as gone; when no card that counts lies any more, the hands are cleared."""
    found = _find(transition, event)
    if found is None:
        return
    coup, card = found
    if card.removed_at is not None:
        transition.ignore(event, f"card {event.order} is gone already")
        return
    card = card._replace(removed_at=event.at)
    if coup is None:
        set_burn_card(transition, "removed", card)
        return
    transition.report_card("removed", coup.number, card)
    coup = coup.with_card(card)
    transition.set_coup(coup)
    if clear_if_gone(transition, coup.number):
        detect_burn(transition)


def clear_if_gone(transition: Transition, number: int) -> bool:
    """Take the running coup as cleared where no card of it lies any more; return whether it is."""
    coup = transition.table.coup_at(number)
    if coup is None or coup.over_at is not None or coup.cleared_at is not None:
        return True
    if not coup.cards or _still_lies(transition, coup):
        return False
    coup = transition.evaluate(coup._replace(cleared_at=transition.at), show=False)
    transition.pass_coup_deadlines(coup, (Deadline.SETTLEMENT,))
    transition.pass_table_deadlines((Deadline.SETTLEMENT,))
    return True


def _still_lies(transition: Transition, coup: Coup) -> bool:
    """Whether a card that counts lies on the table, one in doubt left out."""
    doubted = cards_in_review(coup)
    lying = [
        card
        for card in coup.cards
        if card.removed_at is None and (card.placed_at is not None or card.card is not None)
        if card.order not in doubted
    ]
    if coup.complete and not coup.alerts:
        return bool(lying)  # every card was due, so every card counts
    return bool(lying) and any(card in lying for card in transition.lay_out(coup).cards)
