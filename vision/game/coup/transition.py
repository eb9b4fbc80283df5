"""The work on one event: a table as it changes from before to after it, and the outputs.

Mutable, but made by `step` and gone when it returns: seen from outside, `step` is a pure function.
Here is what the handlers of events share: evaluating a coup, adding and dropping faults, letting
deadlines pass, reporting, and counting the faces that were seen.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from vision.game.cards import Card, Rank
from vision.game.commands import Command
from vision.game.coup.alerts import BEFORE_NEXT_COUP, AlertContext, pass_deadlines, reconcile
from vision.game.coup.fault_finding import FaultContext, find, is_with_either_hand, rests_on_layout
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.results import (
    Publishing,
    entered_faults,
    is_doubted,
    is_sure,
    live,
    publish,
    published_results,
    shows_as,
)
from vision.game.coup.state import Alerts, Coup, DealtCard, HandLayout, Table, lay_out
from vision.game.outputs import (
    CardSeen,
    CoupsChanged,
    Deadline,
    Ignored,
    Output,
    ShoeChanged,
    StatusChanged,
)
from vision.game.rules import Rules

# The first cards of a shoe that are compared with the order of a new deck, and how many of their 19
# pairs may follow one another as in a new deck. Of a shuffled shoe fewer than one pair does, on
# average; with fewer than eight NEW_DECK_ORDER is raised by chance, with more a shoe that was only
# cut passes unnoticed where some of its first cards are not read.
RUN_OF = 20
RUN_ENOUGH = 8
# The layouts made last, each with its cards and rules: an event needs a coup's as it was before and
# as it is now. With fewer than two each is made twice; more help only where tables take turns.
_LAID: deque[tuple[tuple[DealtCard, ...], Rules, HandLayout]] = deque(maxlen=4)


class Transition:
    """A table, the time of the event (Unix ms), its order if it is one, and the outputs so far."""

    __slots__ = ("actor", "at", "outputs", "table")

    def __init__(self, table: Table, at: int, actor: Command | None = None) -> None:
        self.table = table
        self.at = at
        self.actor = actor
        self.outputs: list[Output] = []

    def lay_out(self, cards: tuple[DealtCard, ...]) -> HandLayout:
        """Lay cards out by the rules of this table; the layouts made last are kept."""
        rules = self.table.rules
        for laid in tuple(_LAID):
            if laid[0] is cards and laid[1] is rules:
                return laid[2]
        layout = lay_out(cards, rules)
        _LAID.appendleft((cards, rules, layout))
        return layout

    # --- reporting --------------------------------------------------------------------------------

    def ignore(self, event: object, why: str) -> None:
        """Report that an event made no sense."""
        self.outputs.append(Ignored(self.at, type(event).__name__, why))

    def report_card(self, event: str, coup: int, card: DealtCard) -> None:
        """Report to surveillance what one card did."""
        self.outputs.append(
            CardSeen(
                at=self.at,
                event=event,
                shoe=self.table.shoe.name,
                coup=coup,
                order=card.order,
                slot=card.ruled_slot,
                card=card.face,
                confidence=card.confidence,
                second=card.second,
            )
        )

    def report_status(self, state: str, why: str = "") -> None:
        """Report whether the reader can see."""
        self.outputs.append(StatusChanged(self.at, state, self.table.boot, why))

    def report_shoe(self) -> None:
        """Report the state of the shoe."""
        table, shoe = self.table, self.table.shoe
        coups = len(table.done) + (table.coup is not None)
        unseen = None if shoe.left is None else table.rules.cards - shoe.out - shoe.left
        self.outputs.append(
            ShoeChanged(
                at=self.at,
                shoe=shoe.name,
                decks=table.rules.decks,
                out=shoe.out,
                missed=shoe.missed,
                coups=coups,
                burned=len(shoe.burned),
                burn_due=shoe.burn_due,
                cut_seen=shoe.last_coup is not None,
                last_hand=shoe.last_coup is not None and coups >= shoe.last_coup,
                ended=shoe.ended,
                left=shoe.left,
                unseen=unseen,
            )
        )

    # --- a coup -----------------------------------------------------------------------------------

    def evaluate(self, coup: Coup, *, show: HandLayout | bool = True, late: bool = True) -> Coup:
        """Find the coup's faults and its result again, report what changed, and store the coup.

        `show`: report a running coup's cards too, unless they show as they did in that layout.
        `late`: time limits that passed when the coup was over have passed for faults found after
        that as well.
        """
        at, rules, shoe = self.at, self.table.rules, self.table.shoe
        layout = self.lay_out(coup.cards)
        faults = self._find(coup, layout)
        if faults or coup.alerts:
            coup = self._reconcile(coup, faults, late=late)
        over = coup.is_over(at, rules.removed_after_ms)
        publishing = Publishing(shoe.name, at, over, self.actor, is_sure(coup))
        coup, result = publish(coup, layout, faults, publishing)
        complete = layout.complete and layout.read
        if complete != coup.complete:
            coup = coup._replace(complete=complete)
        self.table.set_coup(coup)
        if not isinstance(show, bool):
            show = not shows_as(coup, layout, show)
        if show and coup.over_at is None:
            self.outputs.append(live(coup, layout, shoe.name, at))
        if result is not None:
            self.outputs += result, CoupsChanged(at, shoe.name, published_results(self.table))
        return coup

    def _find(self, coup: Coup, layout: HandLayout) -> tuple[Fault, ...]:
        """Find the coup's faults, but for those that rest on a doubt of sight."""
        table = self.table
        # While nothing is seen, no time limit of what is to be seen passes.
        now = self.at if table.blind_since is None else table.blind_since
        context = FaultContext(coup, layout, table.rules, now, table.shoe.surplus)
        faults = find(context)
        if coup.entered is not None:
            faults += entered_faults(coup, layout)
        if not faults:
            return ()
        sure, doubted = is_sure(coup), is_doubted(coup)
        if sure and not doubted:
            return faults
        over = coup.odds is not None and not coup.sure  # a card was not due, wherever it lies
        certain = [fault for fault in faults if over and is_with_either_hand(context, fault)]
        if not sure:
            faults = tuple(f for f in faults if f in certain or not rests_on_layout(f.key))
        if not doubted:
            return faults
        return tuple(f for f in faults if f.kind.of_reader or f in coup.noticed or f in certain)

    def with_alerts(self, coup: Coup) -> Coup:
        """Return the coup with its alerts as its faults now are, its result left as it is."""
        return self._reconcile(coup, self._find(coup, self.lay_out(coup.cards)), late=False)

    def _reconcile(self, coup: Coup, faults: tuple[Fault, ...], *, late: bool) -> Coup:
        """Bring the alerts of a coup in line with its faults."""
        gone = "a card of the coup is in doubt" if is_doubted(coup) else "no longer so"
        # Until sight is sure how the coup lies, what was alleged of it is neither so nor not so.
        waits = not is_sure(coup) and not coup.doubt
        own = tuple(fault for fault in faults if not fault.kind.of_shoe)
        found = {fault.key for fault in own}
        left = [t for t in coup.alerts if not waits or t.key in found or not rests_on_layout(t.key)]
        after = self._reconciled(tuple(left), own, coup.number, gone)
        untouched = [tracked for tracked in coup.alerts if tracked not in left]
        alerts = (*untouched, *after)
        if late and coup.over_at is not None:
            alerts, changes = pass_deadlines(alerts, BEFORE_NEXT_COUP, self.at)
            self.outputs += changes
        return coup._replace(alerts=alerts)

    def _reconciled(
        self, alerts: Alerts, faults: tuple[Fault, ...], coup: int, gone: str = "no longer so"
    ) -> Alerts:
        table = self.table
        context = AlertContext(table.shoe.name, coup, self.at, table.alerts_raised, gone)
        alerts, changes, table.alerts_raised = reconcile(alerts, faults, context)
        self.outputs += changes
        return alerts

    def end_alerts(self, coup: Coup) -> None:
        """Rectify the alerts of a coup that is taken back."""
        self._reconciled(coup.alerts, (), coup.number)

    def pass_coup_deadlines(self, coup: Coup, deadlines: tuple[Deadline, ...]) -> Coup:
        """Let time limits of a coup's alerts pass; return the coup, stored."""
        alerts, changes = pass_deadlines(coup.alerts, deadlines, self.at)
        if not changes:
            return coup
        self.outputs += changes
        coup = coup._replace(alerts=alerts)
        self.table.set_coup(coup)
        return coup

    # --- faults of the shoe and the reader --------------------------------------------------------

    def has_fault(self, key: str) -> bool:
        """Whether a fault of the shoe or the reader is there under that key."""
        noticed = self.table.noticed
        return bool(noticed) and any(fault.key == key for fault in noticed)

    def add_fault(self, fault: Fault, coup: int | None = None) -> None:
        """Add a fault of the shoe or the reader, which stays until it is dropped.

        `coup`: the number of a coup to come that it is about, where it is about one.
        """
        self.table.noticed = (*without(self.table.noticed, fault.key), fault)
        self._reconcile_table(coup=coup)

    def drop_fault(self, key: str, gone: str) -> None:
        """Drop the fault of that key, if it is there; `gone` is the reason given."""
        self.table.noticed = without(self.table.noticed, key)
        self._reconcile_table(gone)

    def _reconcile_table(self, gone: str = "no longer so", *, coup: int | None = None) -> None:
        """Bring the alerts about shoe and reader in line with their faults."""
        table = self.table
        if coup is None:
            coup = 0 if table.coup is None else table.coup.number
        table.alerts = self._reconciled(table.alerts, table.noticed, coup, gone)

    def pass_table_deadlines(self, deadlines: tuple[Deadline, ...]) -> None:
        """Let time limits of alerts about shoe and reader pass."""
        if self.table.alerts:
            self.table.alerts, changes = pass_deadlines(self.table.alerts, deadlines, self.at)
            self.outputs += changes


def without(faults: Iterable[Fault], key: str) -> tuple[Fault, ...]:
    """Return the faults but the one of that key."""
    return tuple(fault for fault in faults if fault.key != key)


def check_cut_card(transition: Transition) -> None:
    """Raise once that the cut card should have been seen by now."""
    shoe, rules = transition.table.shoe, transition.table.rules
    if shoe.last_coup is not None:
        return
    left = rules.cards - shoe.gone
    if left < rules.cut_depth and not transition.has_fault("cut"):
        transition.add_fault(Fault("cut", "CUT_MISSING", words_of("CUT_MISSING", left=left)))


class Changes(NamedTuple):
    """Cards that are there no longer, and those that took their place."""

    old: list[DealtCard]
    new: list[DealtCard]


def changes(before: tuple[DealtCard, ...], after: tuple[DealtCard, ...]) -> Changes:
    """Return what differs between the cards of before and after."""
    old = [card for card in before if card not in after]
    return Changes(old, [card for card in after if card not in before])


def recount(
    transition: Transition, coup: Coup | None, changed: Changes, *, show: HandLayout | bool = True
) -> None:
    """Count the faces of cards that changed, of a coup or of the burn (`None`).

    Evaluate that coup, as it is now (`show`: see `evaluate`), and others that this concerns.
    """
    old, new = ([c.face for c in cards if c.marks.fate != "carried"] for cards in changed)
    concerned = frozenset() if old == new else _count(transition, old, new)
    if coup is not None:
        transition.evaluate(coup, show=show)
    for other in concerned:
        where = transition.table.coup_of(other)
        if where is not None and (coup is None or where.number != coup.number):
            transition.evaluate(where)
    if old != new:
        _check_order(transition, min([card.order for cards in changed for card in cards]))


def _count(
    transition: Transition, before: list[Card | None], after: list[Card | None]
) -> frozenset[int]:
    """Count faces that took the place of others; return the cards that this concerns.

    Those are the orders of the latest copies of a face, where there are now too many or no longer.
    """
    shoe, decks = transition.table.shoe, transition.table.rules.decks
    counts = list(shoe.counts)
    for faces, one in ((before, -1), (after, 1)):
        for face in faces:
            if face is not None:
                counts[face.index] += one
    surplus = shoe.surplus
    if surplus or max(counts) > decks:
        surplus = _surplus(transition.table, decks)
    transition.table.shoe = shoe._replace(counts=tuple(counts), surplus=surplus)
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
