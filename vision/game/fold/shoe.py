"""The shoe: its burn, its cut card, what it should hold and what was seen of it.

The burn is watched only where it is known to be seen: from `ShoeStarted(watch_burn=True)`, or once
the first cards of a shoe lie face up in no slot. A camera that begins at the first coup therefore
never reports a missing burn. Must not know hands or the tableau.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vision.game.cards import Card, Rank
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.state import Coup, Seen, Shoe, Table
from vision.game.coup.transition import Transition
from vision.game.rules import BurnKind, BurnRule, Rules

FEWEST = 6
RUN_OF = 20
RUN_ENOUGH = 8


def burn_due(rule: BurnRule, first: Card | None) -> int | None:
    """Return how many cards the rule burns in all, `None` while the first is not known."""
    if rule.kind is BurnKind.NONE:
        return 0
    if rule.kind is BurnKind.FIXED:
        return rule.cards
    if first is None:
        return None
    # "burn as many as its value, ace 1 (some houses 11), ten and court cards 10": with itself
    return 1 + (rule.ace if first.rank is Rank.ACE else first.points or 10)


def end_burn(transition: Transition, shoe: Shoe) -> None:
    """Take the burn as over, and say what was wrong with it."""
    rule = transition.rules.burn
    burned, due = len(shoe.burned), shoe.burn_due
    transition.shoe = shoe._replace(burning=False)
    if burned == 0 and rule.kind is not BurnKind.NONE:
        asked = "as the first card counts" if rule.kind is BurnKind.VALUE else f"{rule.cards} cards"
        transition.note(Fault("burn", "BURN_MISSED", words_of("BURN_MISSED", rule=asked)))
    elif due is not None and burned != due:
        transition.note(Fault("burn", "BURN_WRONG", words_of("BURN_WRONG", burned=burned, due=due)))


def last_coup(table: Table) -> int:
    """Return the number of the last coup to be dealt, the cut card being out now.

    In the middle of a coup, so many more as the house deals after it; between two, or as the first
    card of one, that one is counted as the one in which it appeared.
    """
    more, coup = table.rules.coups_after_cut, table.coup
    if coup is None:
        return 1 + max(0, more - 1)
    if coup.complete or coup.void or coup.cleared_at is not None:
        return coup.number + 1 + max(0, more - 1)
    return coup.number + more


def begin_faults(table: Table, number: int, seen: Seen) -> Iterable[Fault]:
    """Find what speaks against beginning that coup with that card."""
    shoe, rules = table.shoe, table.rules
    if shoe.last_coup is not None and number > shoe.last_coup:
        yield Fault("cut", "CUT_IGNORED", words_of("CUT_IGNORED", last=shoe.last_coup))
    left = rules.cards - shoe.last + 1
    if left < FEWEST:
        yield Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=left))
    if table.bets_closed is False:
        text = words_of("EARLY_DEAL", before="before the bets were closed")
        yield Fault("early", "EARLY_DEAL", text, order=seen.order)


def check_cut(transition: Transition) -> None:
    """Say once that the cut card should have been seen by now."""
    shoe, rules = transition.shoe, transition.rules
    if shoe.last_coup is not None:
        return
    left = rules.cards - shoe.last
    if left == rules.cut_depth - 1:
        transition.note(Fault("cut", "CUT_MISSING", words_of("CUT_MISSING", left=left)))


def count(transition: Transition, before: Card | None, after: Card | None) -> frozenset[int]:
    """Count a card that is now known as `after`; return the cards of which that changes the view.

    Those are the orders of the latest copies of a face, where there are now too many or no longer.
    """
    shoe, decks = transition.shoe, transition.rules.decks
    if before == after:
        return frozenset()
    counts = list(shoe.counts)
    if before is not None:
        counts[before.index] -= 1
    if after is not None:
        counts[after.index] += 1
    surplus = shoe.surplus
    if surplus or (after is not None and counts[after.index] > decks):
        surplus = _surplus(transition.table, decks)
    transition.shoe = shoe.with_counts(tuple(counts), surplus)
    return surplus ^ shoe.surplus


def all_seen(table: Table) -> tuple[Seen, ...]:
    """Return every card of the shoe that was seen or keyed in, burn cards first."""
    coups: tuple[Coup, ...] = table.done if table.coup is None else (*table.done, table.coup)
    return (*table.shoe.burned, *(seen for coup in coups for seen in coup.cards))


def _surplus(table: Table, decks: int) -> frozenset[int]:
    copies: dict[Card, int] = {}
    found: list[int] = []
    for seen in all_seen(table):
        if seen.face is not None:
            copies[seen.face] = copies.get(seen.face, 0) + 1
            if copies[seen.face] > decks:
                found.append(seen.order)
    return frozenset(found)


def check_order(transition: Transition, order: int) -> None:
    """Say whether the first cards of the shoe came out in the order of a new deck."""
    if order > RUN_OF:
        return
    faces = {
        seen.order: seen.face for seen in all_seen(transition.table) if 0 < seen.order <= RUN_OF
    }
    pairs = [(faces[n], faces[n + 1]) for n in sorted(faces) if n + 1 in faces]
    steps = Counter(_step(one, other) for one, other in pairs if one and other)
    del steps[0]
    runs = max(steps.values(), default=0)
    if runs >= RUN_ENOUGH:
        text = words_of("NEW_DECK_ORDER", runs=runs, pairs=len(pairs))
        transition.note(Fault("order", "NEW_DECK_ORDER", text))
    elif transition.notices("order"):
        transition.drop("order", "the cards as now read are shuffled")


def _step(one: Card, other: Card) -> int:
    """Return 1 where the second card follows the first in a new deck, -1 where it goes before it.

    A deck comes suit by suit, ace to king or king to ace. Between a king and an ace a suit ends, or
    a deck, and the next one begins; where the deck was cut makes no difference.
    """
    ranks = other.rank - one.rank
    if abs(ranks) == Rank.KING - Rank.ACE:
        return 1 if ranks < 0 else -1
    return ranks if one.suit is other.suit and abs(ranks) == 1 else 0


def end_shoe(transition: Transition, left: int) -> None:
    """Take the shoe as finished with so many cards left in it, and reckon up."""
    shoe, rules = transition.shoe, transition.rules
    transition.shoe = shoe._replace(ended=True, left=left)
    counted = shoe.last + left
    if counted > rules.cards or (counted < rules.cards and not shoe.partial):
        text = words_of("SHOE_COUNT", counted=counted, cards=rules.cards)
        transition.note(Fault("count", "SHOE_COUNT", text))
    transition.say_shoe()


def new_shoe(rules: Rules, name: str, *, watch_burn: bool, partial: bool) -> Shoe:
    """Return a shoe of which nothing has been seen; `partial`: nor may all of it be."""
    due = burn_due(rules.burn, None) if watch_burn else None
    burning = watch_burn and rules.burn.kind is not BurnKind.NONE
    return Shoe(name=name, burning=burning, burn_due=due, partial=partial)
