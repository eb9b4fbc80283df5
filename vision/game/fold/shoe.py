"""A shoe: where it and its coups begin and end, and the burn between.

Which coup a card is of, sight says, and it never depends on a face. The burn is checked only where
it is known to be one: from `ShoeStarted(watch_burn=True)`, or once the first cards of a shoe lie in
no slot, the first one open. A camera that begins at the first coup therefore never reports a
missing burn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vision.game.cards import Card, Rank
from vision.game.coup.alerts import BEFORE_NEXT_COUP, LIVE
from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.results import is_holding
from vision.game.coup.state import Coup, DealtCard, FaultAlert, Shoe, Table
from vision.game.coup.transition import Transition
from vision.game.events import Noticed
from vision.game.outputs import AlertChanged, CoupsChanged, Deadline
from vision.game.rules import BurnKind, BurnRule, Rules

EXPOSED = "EXPOSED_IN_SHOE"
FEWEST = 6  # cards that a coup can need: three for each hand
EVERY_DEADLINE = (*BEFORE_NEXT_COUP, Deadline.SHOE_END)


def ensure_shoe(transition: Transition) -> Shoe:
    """Return the shoe in use; where none was announced, take one to be in use already."""
    shoe = transition.table.shoe
    if shoe.name:
        return shoe
    start_shoe(transition, "", watch_burn=False, partial=True)
    return transition.table.shoe


def start_shoe(
    transition: Transition, name: str, *, watch_burn: bool, partial: bool = False
) -> None:
    """End what is left of the shoe in use, keep its open alerts, and begin another."""
    if transition.table.coup is not None:
        finish(transition, transition.table.coup)
    transition.pass_table_deadlines(EVERY_DEADLINE)
    for coup in transition.table.coups:
        _part(transition, transition.pass_coup_deadlines(coup, (Deadline.SHOE_END,)))
    table = transition.table
    lasting = tuple(fault for fault in table.noticed if fault.kind.machine)
    number = table.shoes + 1
    shoe = new_shoe(table.rules, name or f"shoe-{number}", watch_burn=watch_burn, partial=partial)
    keys = {fault.key for fault in lasting}
    table.earlier_alerts = (*table.earlier_alerts, *_left_open(table, keys))
    table.alerts = tuple(tracked for tracked in table.alerts if tracked.key in keys)
    table.bets_closed = None if table.bets_closed is None else False
    table.shoe, table.shoes, table.noticed = shoe, number, lasting
    table.coup, table.done, table.undo, table.free_next = None, (), (), False
    transition.report_shoe()
    transition.outputs.append(CoupsChanged(transition.at, transition.table.shoe.name, ()))


def _left_open(table: Table, keys: set[str]) -> Iterator[FaultAlert]:
    """Yield the live alerts of this shoe, but for those of faults that go on into the next."""
    for alerts in (table.alerts, *(coup.alerts for coup in table.coups)):
        for tracked in alerts:
            if tracked.key not in keys and tracked.alert.state in LIVE:
                yield tracked


def _part(transition: Transition, coup: Coup) -> None:
    """Let an alert say that the coup is left held: closing it ends the dispute.

    That is the alert that holds it, where one does.
    """
    if coup.void or not (coup.hold or is_holding(coup.alerts)):
        return
    words = words_of("HELD_OVER", coup=coup.number)
    if not is_holding(coup.alerts):
        fault = Fault("held", "HELD_OVER", words)
        transition.evaluate(coup._replace(noticed=(*coup.noticed, fault)))
        return
    alerts = []
    for tracked in coup.alerts:
        if is_holding((tracked,)):
            text = f"{tracked.alert.text} {words}"
            alert = replace(tracked.alert, text=text, changed_at=transition.at)
            transition.outputs.append(AlertChanged(transition.at, alert, first=False))
            tracked = FaultAlert(tracked.key, alert)
        alerts.append(tracked)
    transition.table.set_coup(coup._replace(alerts=tuple(alerts)))


def begin(transition: Transition, cards: tuple[DealtCard, ...], *noticed: Fault) -> Coup:
    """Begin the next coup with those cards; the one before is over, and its time limits pass.

    Without cards it is one that nobody saw: its result is held until its cards are keyed in. Of one
    that begins while the view is lost, what is not there may only not have been seen.
    """
    old = transition.table.coup
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
        first=cards[0].order if cards else transition.table.shoe.last + 1,
    )
    table.done, table.coup, table.free_next = table.coups, coup, False
    table.bets_closed = None if table.bets_closed is None else False
    count_behind_cut(transition)
    return coup


def count_behind_cut(transition: Transition) -> None:
    """Count the coups dealt behind the cut card, in the one alert that the shoe has for them."""
    table = transition.table
    last, dealt = table.shoe.last_coup, 0 if table.coup is None else table.coup.number
    if last is not None and dealt > last:
        transition.add_fault(_behind_cut(last, dealt - last), dealt)
    elif transition.has_fault("cut-ignored"):
        transition.drop_fault("cut-ignored", "no coup is dealt behind the cut card")


def _behind_cut(last: int, count: int) -> Fault:
    coups = "1 coup" if count == 1 else f"{count} coups"
    text = words_of("CUT_IGNORED", coups=coups, last=last)
    return Fault("cut-ignored", "CUT_IGNORED", text, grade=count - 1, count=count)


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
    table.noticed = tuple(fault for fault in table.noticed if fault.key not in keys)
    table.alerts = tuple(tracked for tracked in table.alerts if tracked.key not in keys)
    return coup._replace(noticed=(*coup.noticed, *faults), alerts=(*coup.alerts, *alerts))


def finish(transition: Transition, coup: Coup) -> None:
    """Take the coup as over: what was not put right by now lapses, and it stands as dealt.

    "if the error has not been rectified or brought to the attention of management prior to cards
    being drawn for the next coup, all coups thereafter will be deemed valid" (sheets 0 to 2)
    """
    coup = transition.evaluate(coup._replace(over_at=transition.at), late=False)
    transition.pass_table_deadlines(BEFORE_NEXT_COUP)
    after = transition.pass_coup_deadlines(coup, BEFORE_NEXT_COUP)
    if after is not coup:
        transition.evaluate(after)


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
    transition.table.shoe = shoe._replace(burning=False)
    judge_burn(transition)


def judge_burn(transition: Transition) -> None:
    """Raise what was wrong with the burn, over and surely counted; take back what was not.

    It is once the first coup has a result: cards that sight took from one for the other spoil both.
    Nor is a burn missed where the first coup is in doubt.
    """
    rule, shoe = transition.table.rules.burn, transition.table.shoe
    burned, due, first = len(shoe.burned), shoe.burn_due, transition.table.coup_at(1)
    counted = due is not None and all(burn.sure for burn in shoe.burns)
    counted &= first is not None and first.shown is not None
    doubted = first is not None and bool(first.doubt)
    if burned == 0 and rule.kind is not BurnKind.NONE and not doubted:
        asked = "as the first card counts" if rule.kind is BurnKind.VALUE else f"{rule.cards} cards"
        transition.add_fault(Fault("burn", "BURN_MISSED", words_of("BURN_MISSED", rule=asked)))
    elif counted and burned != due:
        transition.add_fault(
            Fault("burn", "BURN_WRONG", words_of("BURN_WRONG", burned=burned, due=due))
        )
    elif transition.has_fault("burn"):
        transition.drop_fault("burn", "the burn as now seen was right, or is not surely counted")


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
        yield _behind_cut(shoe.last_coup, number - shoe.last_coup)
    left = rules.cards - (card.order - 1 - shoe.back)
    if left < FEWEST:
        yield Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=left))
    if table.bets_closed is False:
        text = words_of("EARLY_DEAL", before="before the bets were closed")
        yield Fault("early", "EARLY_DEAL", text, order=card.order)


def end_shoe(transition: Transition, left: int) -> None:
    """Take the shoe as finished with so many cards left in it, and compare the count."""
    shoe, rules = transition.table.shoe, transition.table.rules
    transition.table.shoe = shoe._replace(ended=True, left=left)
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
    coup = transition.table.coup
    if coup is None:
        return 1
    over = coup.complete or coup.is_over(transition.at, transition.table.rules.removed_after_ms)
    return coup.number + over
