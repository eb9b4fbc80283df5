"""What happens at a table besides cards and orders: the view, the shoe, what the house says.

Each handler takes the turn and the event. Must not know how hands are judged.
"""

from __future__ import annotations

from vision.game.coup.fault_table import KINDS, Fault, slot_name, words_of
from vision.game.coup.state import Coup
from vision.game.coup.transition import Transition, without
from vision.game.events import (
    CutCardOut,
    Noticed,
    ResultEntered,
    ShoeEnded,
    ShoeStarted,
    Started,
    ViewBack,
    ViewLost,
)
from vision.game.fold.coups import begin, ensure_shoe, start_shoe
from vision.game.fold.shoe import end_shoe, last_coup

CLOCK_MS = 1_000


def tell_time(transition: Transition) -> None:
    """Set the clock of the table; one that goes back by more than a second is a fault."""
    at, clock = transition.at, transition.clock
    if at >= clock:
        transition.clock = at
        if transition.notices("CLOCK"):
            transition.drop("CLOCK", "the clock has caught up")
    elif at < clock - CLOCK_MS:
        text = f"{words_of('CLOCK')} It went back by {clock - at} ms."
        transition.note(Fault("CLOCK", "CLOCK", text))


def started(transition: Transition, event: Started) -> None:
    """Begin a run; the coup in progress may have gone on unseen while there was none."""
    transition.table = transition.table._replace(boot=event.boot, blind_since=None)
    transition.say_status("online")
    transition.drop("VIEW_LOST", "the reader started again")
    ensure_shoe(transition)
    _lose_sight(transition)


def _lose_sight(transition: Transition) -> Coup | None:
    """Take the running coup as one of which something may not have been seen."""
    coup = transition.coup
    if coup is None or coup.complete or coup.cleared_at is not None:
        return None
    return transition.weigh(coup._replace(unseen=True))


def view_lost(transition: Transition, event: ViewLost) -> None:
    """Hold what cannot be seen any more."""
    if transition.table.blind_since is not None:
        transition.ignore(event, "the view is lost already")
        return
    transition.table = transition.table._replace(blind_since=event.at)
    transition.say_status("blind", event.reason)
    coup = _lose_sight(transition)
    text = words_of("VIEW_LOST", detail=event.reason)
    transition.note(Fault("VIEW_LOST", "VIEW_LOST", text, grade=0 if coup is None else 1))


def view_back(transition: Transition, event: ViewBack) -> None:
    """Say what may have passed unseen."""
    since = transition.table.blind_since
    if since is None:
        transition.ignore(event, "the view was not lost")
        return
    transition.table = transition.table._replace(blind_since=None)
    transition.say_status("online")
    coup = transition.coup
    missed = "no coup was in progress, any dealt since was not seen"
    if coup is not None and coup.unseen:
        missed = f"coup {coup.number} was in progress, cards may have passed unseen"
    transition.drop("VIEW_LOST", f"view back after {(event.at - since) / 1000:.1f} s; {missed}")
    if coup is not None:
        transition.weigh(coup)


def noticed(transition: Transition, event: Noticed) -> None:
    """Take in what only sight or the machine can know."""
    kind = KINDS.get(event.code)
    if kind is None or not kind.noticed:
        transition.ignore(event, f"'{event.code}' is no fault that is noticed")
        return
    key = f"{event.code}:{event.order or ''}"
    coup = transition.coup if event.order is None else transition.table.coup_of(event.order)
    about_coup = coup is not None and not kind.machine
    fault = Fault(key, event.code, _text(event), order=event.order, slot=event.slot)
    if about_coup and coup is not None:
        faults = without(coup.noticed, key)
        transition.weigh(coup._replace(noticed=faults if event.over else (*faults, fault)))
    elif event.over:
        transition.drop(key, "over")
    else:
        transition.note(fault)


def _text(event: Noticed) -> str:
    name = slot_name(event.slot, event.order or 0)
    facts = {"card": "one face", "now": "another", "other": "another"}
    text = words_of(event.code, slot=name, order=event.order, **facts)
    return f"{text} {event.detail}" if event.detail else text


def cut_card_out(transition: Transition, event: CutCardOut) -> None:
    """Fix the last coup of this shoe."""
    shoe = ensure_shoe(transition)
    if shoe.last_coup is not None:
        transition.ignore(event, "the cut card is out already")
        return
    transition.shoe = shoe._replace(last_coup=last_coup(transition.table))
    transition.drop("cut", "the cut card is out")
    transition.say_shoe()


def shoe_started(transition: Transition, event: ShoeStarted) -> None:
    """Put another shoe in use; one announced twice is the same."""
    if event.shoe and transition.shoe.name == event.shoe:
        transition.ignore(event, f"shoe {event.shoe} is in use already")
        return
    start_shoe(transition, event.shoe, watch_burn=event.watch_burn)


def shoe_ended(transition: Transition, event: ShoeEnded) -> None:
    """Take the shoe as finished, in the middle of a coup too."""
    ensure_shoe(transition)
    coup = transition.coup
    if event.left == 0 and coup is not None and not coup.void and transition.lay(coup).surely_due:
        short = Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=0))
        transition.weigh(coup._replace(noticed=(*without(coup.noticed, "short"), short)))
    end_shoe(transition, event.left)


def result_entered(transition: Transition, event: ResultEntered) -> None:
    """Put what the dealer keyed in against the cards."""
    coup = transition.coup
    if transition.table.blind_since is not None and (coup is None or _is_past(transition, coup)):
        # Dealt while the reader was blind: all that is known of it is what the dealer says.
        ensure_shoe(transition)
        transition.weigh(begin(transition, ())._replace(entered=event))
        transition.say_shoe()
        return
    if coup is None or coup.void:
        transition.ignore(event, "there is no coup that it could be of")
        return
    transition.weigh(coup._replace(entered=event))


def _is_past(transition: Transition, coup: Coup) -> bool:
    """Whether a result keyed in now is of a later coup: this one is cleared, or has one already."""
    return coup.is_over(transition.at, transition.rules.removed_after_ms) and (
        coup.cards != () or transition.at >= coup.started_at + transition.rules.removed_after_ms
    )


def time_passed(transition: Transition) -> None:
    """Look at the running coup again: something may have been due by now."""
    if transition.coup is not None:
        transition.weigh(transition.coup, show=False)
