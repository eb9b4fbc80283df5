"""The faces seen of a shoe: too many of one, the order of a new deck, the cut card due by now."""

from __future__ import annotations

from collections import Counter

from vision.game.cards import Card, Rank
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.state import Coup, DealtCard, Table
from vision.game.coup.transition import Transition

# The first cards of a shoe that are compared with the order of a new deck, and how many of their 19
# pairs may follow one another as in a new deck. Of a shuffled shoe fewer than one pair does, on
# average; with fewer than eight NEW_DECK_ORDER is raised by chance, with more a shoe that was only
# cut passes unnoticed where some of its first cards are not read.
RUN_OF = 20
RUN_ENOUGH = 8


def check_cut_card(transition: Transition) -> None:
    """Raise once that the cut card should have been seen by now."""
    shoe, rules = transition.shoe, transition.rules
    if shoe.last_coup is not None:
        return
    left = rules.cards - shoe.gone
    if left < rules.cut_depth and not transition.has_fault("cut"):
        transition.add_fault(Fault("cut", "CUT_MISSING", words_of("CUT_MISSING", left=left)))


def recount(
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
        [card.face for card in cards if card.marks.fate != "carried"] for cards in (before, after)
    ]
    changed = faces[0] != faces[1]
    concerned = _count(transition, *faces) if changed else frozenset()
    if coup is not None:
        transition.evaluate(coup, show=show)
    for other in concerned:
        where = transition.table.coup_of(other)
        if where is not None and (coup is None or where.number != coup.number):
            transition.evaluate(where)
    if changed:
        _check_order(transition, min((card.order for card in after), default=0))


def _count(
    transition: Transition, before: list[Card | None], after: list[Card | None]
) -> frozenset[int]:
    """Count faces that took the place of others; return the cards that this concerns.

    Those are the orders of the latest copies of a face, where there are now too many or no longer.
    """
    shoe, decks = transition.shoe, transition.rules.decks
    counts = list(shoe.counts)
    for faces, one in ((before, -1), (after, 1)):
        for face in faces:
            if face is not None:
                counts[face.index] += one
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
