"""A shoe: where it and its coups begin and end, the burn between, and the faces seen of it.

Which coup a card is of, sight says, and it never depends on a face. The burn is checked only where
it is known to be one: from `ShoeStarted(watch_burn=True)`, or once the first cards of a shoe lie in
no slot, the first one open. A camera that begins at the first coup therefore never reports a
missing burn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from vision.game.cards import Card, Rank
from vision.game.coup.alerts import BEFORE_NEXT_COUP, LIVE
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.results import is_holding
from vision.game.coup.state import Coup, DealtCard, FaultAlert, Shoe, Table
from vision.game.coup.transition import Transition
from vision.game.events import Noticed
from vision.game.outputs import AlertChanged, AlertState, CoupLive, CoupsChanged, Deadline
from vision.game.rules import BurnKind, BurnRule, Rules

EXPOSED = "EXPOSED_IN_SHOE"
FEWEST = 6  # cards that a coup can need: three for each hand
EVERY_DEADLINE = (*BEFORE_NEXT_COUP, Deadline.SHOE_END)
# The first cards of a shoe that are compared with the order of a new deck, and how many of their 19
# pairs may follow one another as in a new deck. Of a shuffled shoe fewer than one pair does, on
# average; with fewer than eight NEW_DECK_ORDER is raised by chance, with more a shoe that was only
# cut passes unnoticed where some of its first cards are not read.
RUN_OF = 20
RUN_ENOUGH = 8


def ensure_shoe(transition: Transition) -> Shoe:
    """Return the shoe in use; where none was announced, take one to be in use already."""
    if not transition.shoe.name:
        start_shoe(transition, "", watch_burn=False, partial=True)
    return transition.shoe


def start_shoe(
    transition: Transition, name: str, *, watch_burn: bool, partial: bool = False
) -> None:
    """End what is left of the shoe in use, keep its open alerts, and begin another."""
    if transition.coup is not None:
        finish(transition, transition.coup)
    transition.pass_table_deadlines(EVERY_DEADLINE)
    for coup in transition.table.coups:
        _part(transition, transition.pass_coup_deadlines(coup, (Deadline.SHOE_END,)))
    table = transition.table
    lasting = tuple(fault for fault in table.noticed if fault.kind.machine)
    number = table.shoes + 1
    shoe = new_shoe(table.rules, name or f"shoe-{number}", watch_burn=watch_burn, partial=partial)
    keys = {fault.key for fault in lasting}
    transition.table = table._replace(
        shoe=shoe,
        shoes=number,
        coup=None,
        done=(),
        noticed=lasting,
        alerts=tuple(tracked for tracked in table.alerts if tracked.key in keys),
        earlier_alerts=(*table.earlier_alerts, *_left_open(table, keys)),
        bets_closed=None if table.bets_closed is None else False,
        free_next=False,
        undo=(),
    )
    transition.report_shoe()
    transition.outputs.append(CoupsChanged(transition.at, transition.shoe.name, ()))


def _left_open(table: Table, keys: set[str]) -> Iterator[FaultAlert]:
    """Yield the live alerts of this shoe, but for those of faults that go on into the next."""
    for alerts in (table.alerts, *(coup.alerts for coup in table.coups)):
        for tracked in alerts:
            if tracked.key not in keys and tracked.alert.state in LIVE:
                yield tracked


def _part(transition: Transition, coup: Coup) -> None:
    """Raise an alert for a coup that is left held; closing it ends the dispute."""
    if (coup.hold or is_holding(coup.alerts)) and not coup.void:
        fault = Fault("held", "HELD_OVER", words_of("HELD_OVER", coup=coup.number))
        transition.evaluate(coup._replace(noticed=(*coup.noticed, fault)), show=False)


def begin(transition: Transition, cards: tuple[DealtCard, ...], *noticed: Fault) -> Coup:
    """Begin the next coup with those cards; the one before is over, and its time limits pass.

    Without cards it is one that nobody saw: its result is held until its cards are keyed in. Of one
    that begins while the view is lost, what is not there may only not have been seen.
    """
    old = transition.coup
    if old is not None:
        finish(transition, old)
    number = 1 if old is None else old.number + 1
    faults = (*noticed, *begin_faults(transition.table, number, cards[0])) if cards else noticed
    table = transition.table
    coup = Coup(
        number=number,
        started_at=cards[0].out_at if cards else transition.at,
        changed_at=transition.at,
        cards=cards,
        unseen=not cards or table.blind_since is not None,
        free=table.free_next,
        noticed=faults,
        first=cards[0].order if cards else transition.shoe.last + 1,
    )
    transition.table = table._replace(
        coup=coup,
        done=table.done if table.coup is None else (*table.done, table.coup),
        free_next=False,
        bets_closed=None if table.bets_closed is None else False,
    )
    return coup


def take_ahead(transition: Transition, coup: Coup) -> Coup:
    """Return the coup with what was noticed of its card while that was in the shoe."""
    table = transition.table
    faults = tuple(fault for fault in table.noticed if fault.code == EXPOSED)
    if not faults:
        return coup
    keys = {fault.key for fault in faults}
    alerts = []
    for tracked in table.alerts:
        if tracked.key in keys:
            alert = replace(tracked.alert, coup=coup.number)
            alerts.append(FaultAlert(tracked.key, alert))
            if alert != tracked.alert:
                transition.outputs.append(AlertChanged(transition.at, alert, first=False))
    transition.table = table._replace(
        noticed=tuple(fault for fault in table.noticed if fault.key not in keys),
        alerts=tuple(tracked for tracked in table.alerts if tracked.key not in keys),
    )
    return coup._replace(noticed=(*coup.noticed, *faults), alerts=(*coup.alerts, *alerts))


def finish(transition: Transition, coup: Coup) -> None:
    """Take the coup as over: what was not put right by now lapses, and it stands as dealt.

    "if the error has not been rectified or brought to the attention of management prior to cards
    being drawn for the next coup, all coups thereafter will be deemed valid" (sheets 0 to 2)
    """
    coup = transition.evaluate(coup._replace(over_at=transition.at), show=False, late=False)
    transition.pass_table_deadlines(BEFORE_NEXT_COUP)
    after = transition.pass_coup_deadlines(coup, BEFORE_NEXT_COUP)
    if after is coup:
        return
    before = {tracked.key for tracked in coup.alerts if tracked.alert.state is AlertState.LAPSED}
    coup = after
    lapsed = [
        tracked.alert.code
        for tracked in coup.alerts
        if tracked.alert.state is AlertState.LAPSED
        and tracked.key not in before
        and Deadline.NEXT_COUP in KINDS[tracked.alert.code].deadlines
    ]
    if not lapsed:
        transition.evaluate(coup, show=False)
        return
    facts = {"coup": coup.number, "next": coup.number + 1}
    passed = tuple(
        Fault(
            f"passed:{code}",
            "DEADLINE_PASSED",
            words_of("DEADLINE_PASSED", fault=KINDS[code].title, **facts),
        )
        for code in dict.fromkeys(lapsed)
    )
    transition.evaluate(coup._replace(noticed=(*coup.noticed, *passed)), show=False)


def burns(transition: Transition) -> bool:
    """Whether the house burns cards at all."""
    return transition.rules.burn.kind is not BurnKind.NONE


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
    """Take the burn as over, and raise what was wrong with it."""
    transition.shoe = shoe._replace(burning=False)
    judge_burn(transition)


def judge_burn(transition: Transition) -> None:
    """Raise what was wrong with the burn, now that it is over; take back what was not."""
    rule, shoe = transition.rules.burn, transition.shoe
    burned, due = len(shoe.burned), shoe.burn_due
    if burned == 0 and rule.kind is not BurnKind.NONE:
        asked = "as the first card counts" if rule.kind is BurnKind.VALUE else f"{rule.cards} cards"
        transition.add_fault(Fault("burn", "BURN_MISSED", words_of("BURN_MISSED", rule=asked)))
    elif due is not None and burned != due:
        transition.add_fault(
            Fault("burn", "BURN_WRONG", words_of("BURN_WRONG", burned=burned, due=due))
        )
    elif transition.has_fault("burn"):
        transition.drop_fault("burn", "the burn as now seen was right")


def last_coup(table: Table) -> int:
    """Return the number of the last coup to be dealt, the cut card being out now.

    Between two coups, or as the first card of one, the cut card appears in the one that comes. Some
    houses make that one the last; no sheet says so, and a dealer is accused on no reading of two.
    """
    rules, coup = table.rules, table.coup
    if coup is not None and not (coup.complete or coup.void or coup.cleared_at is not None):
        return coup.number + rules.coups_after_cut
    comes = 1 if coup is None else coup.number + 1
    return comes + max(0, rules.coups_after_cut - rules.cut_first_is_last)


def begin_faults(table: Table, number: int, card: DealtCard) -> Iterable[Fault]:
    """Find the faults of beginning that coup with that card."""
    shoe, rules = table.shoe, table.rules
    if shoe.last_coup is not None and number > shoe.last_coup:
        yield Fault("cut", "CUT_IGNORED", words_of("CUT_IGNORED", last=shoe.last_coup))
    left = rules.cards - (card.order - 1 - shoe.back)
    if left < FEWEST:
        yield Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=left))
    if table.bets_closed is False:
        text = words_of("EARLY_DEAL", before="before the bets were closed")
        yield Fault("early", "EARLY_DEAL", text, order=card.order)


def end_shoe(transition: Transition, left: int) -> None:
    """Take the shoe as finished with so many cards left in it, and compare the count."""
    shoe, rules = transition.shoe, transition.rules
    transition.shoe = shoe._replace(ended=True, left=left)
    counted = shoe.gone + left
    if counted > rules.cards or (counted < rules.cards and not shoe.partial):
        text = words_of("SHOE_COUNT", counted=counted, cards=rules.cards)
        transition.add_fault(Fault("count", "SHOE_COUNT", text))
    transition.report_shoe()


def new_shoe(rules: Rules, name: str, *, watch_burn: bool, partial: bool) -> Shoe:
    """Return a shoe of which nothing has been seen; `partial`: cards may have left before."""
    due = burn_due(rules.burn, None) if watch_burn else None
    burning = watch_burn and rules.burn.kind is not BurnKind.NONE
    return Shoe(name=name, burning=burning, burn_due=due, partial=partial)


def noticed(transition: Transition, event: Noticed) -> None:
    """Take in what was noticed, or that it has ended."""
    kind = KINDS.get(event.code)
    if kind is None or not kind.noticed:
        transition.ignore(event, f"'{event.code}' is no fault that is noticed")
        return
    key = f"{event.code}:"
    if event.over:
        transition.drop_fault(key, "over")
        return
    coming = event.code == EXPOSED
    words = words_of(event.code)
    text = f"{words} {event.detail}" if event.detail else words
    order = transition.table.next_order if coming else None
    transition.add_fault(
        Fault(key, event.code, text, order=order), _coming(transition) if coming else None
    )


def _coming(transition: Transition) -> int:
    """Return the number of the coup that the next card is of."""
    coup = transition.coup
    if coup is None:
        return 1
    over = coup.complete or coup.is_over(transition.at, transition.rules.removed_after_ms)
    return coup.number + over


# --- the faces seen ------------------------------------------------------------------------------


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
    show: CoupLive | bool = True,
) -> None:
    """Count the faces of cards that took the place of others, of a coup or of the burn (`None`).

    Evaluate that coup (`show`: see `evaluate`), and others that this concerns.
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
