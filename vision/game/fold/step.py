"""The fold of the game: a table and an event make the next table and the outputs.

Theory of operation. The state is what was seen and what was ordered, no more: cards in the order in
which they left the shoe, where each came to rest, how each was read, and the orders of supervisors.
An event changes what is known of one coup, which is then evaluated: its cards are laid out in two
hands, the tableau checks each card against what was due when it left the shoe, faults are found
and compared with the alerts there are, and a result is published if it is new. So nothing depends
on the order in which faces come to be known: face up, face down, Punto turned first, a card keyed
in after an hour, all end the same.

    sight     (what the camera saw of a coup)   -+
    commands  (orders)                          +-> lay_out -> find -> reconcile -> publish
    this file (view, shoe, entered results)    -+

The border between two coups is physical (`boundaries`). `step` is total: it answers every event at
every table, with `Ignored` or a refusal where the event makes no sense, and never raises. It reads
no clock: time comes with the events, and `Table.waits_until` is when the table next needs to hear
of it.
"""

from __future__ import annotations

from vision.game.commands import Command
from vision.game.coup.fault_table import Fault, words_of
from vision.game.coup.state import Coup, Table
from vision.game.coup.transition import Transition, without
from vision.game.events import (
    BetsClosed,
    CoupSeen,
    CutCardOut,
    Event,
    Noticed,
    ResultEntered,
    ShoeEnded,
    ShoeStarted,
    Started,
    Stopped,
    TimePassed,
    ViewBack,
    ViewLost,
)
from vision.game.fold.commands import order
from vision.game.fold.shoe import begin, end_shoe, ensure_shoe, last_coup, noticed, start_shoe
from vision.game.fold.sight import coup_seen
from vision.game.outputs import Output

CLOCK_MS = 1_000  # a clock set back by less makes no fault: time servers correct by less than that


def step(table: Table, event: Event) -> tuple[Table, tuple[Output, ...]]:
    """Return the table after the event, and the outputs that it gave."""
    actor = event if isinstance(event, Command) else None
    transition = Transition(table.copied(), event.at, actor)
    _set_clock(transition)
    _handle(transition, event)
    return transition.table, tuple(transition.outputs)


def _handle(transition: Transition, event: Event) -> None:  # one case for each event there is
    match event:
        case CoupSeen():
            coup_seen(transition, event)
        case TimePassed():
            _time_passed(transition)
        case Command():
            order(transition, event)
        case CutCardOut():
            _cut_card_out(transition, event)
        case Noticed():
            noticed(transition, event)
        case ViewLost():
            _view_lost(transition, event)
        case ViewBack():
            _view_back(transition, event)
        case Started():
            _started(transition, event)
        case Stopped():
            transition.report_status("stopped")
        case ShoeStarted():
            _shoe_started(transition, event)
        case ShoeEnded():
            _shoe_ended(transition, event)
        case BetsClosed():
            transition.table.bets_closed = True
        case ResultEntered():
            _result_entered(transition, event)
        case _:
            transition.ignore(event, "no such event is known")


def _set_clock(transition: Transition) -> None:
    """Set the clock of the table; one that goes back by more than a second is a fault."""
    at, clock = transition.at, transition.table.clock
    if at >= clock:
        transition.table.clock = at
        if transition.has_fault("CLOCK"):
            transition.drop_fault("CLOCK", "the clock has caught up")
    elif at < clock - CLOCK_MS:
        text = f"{words_of('CLOCK')} It went back by {clock - at} ms."
        transition.add_fault(Fault("CLOCK", "CLOCK", text))


def _started(transition: Transition, event: Started) -> None:
    """Begin a run; the coup in progress may have gone on unseen while there was none."""
    transition.table.boot, transition.table.blind_since = event.boot, None
    transition.report_status("online")
    transition.drop_fault("VIEW_LOST", "the reader started again")
    ensure_shoe(transition)
    if not event.unbroken:
        _lose_sight(transition)


def _lose_sight(transition: Transition) -> Coup | None:
    """Take the running coup as one of which something may not have been seen."""
    coup = transition.table.coup
    if coup is None or coup.complete or coup.cleared_at is not None:
        return None
    return transition.evaluate(coup._replace(unseen=True))


def _view_lost(transition: Transition, event: ViewLost) -> None:
    """Hold the running coup, of which something may pass unseen from here on."""
    if transition.table.blind_since is not None:
        transition.ignore(event, "the view is lost already")
        return
    transition.table.blind_since = event.at
    transition.report_status("blind", event.reason)
    coup = _lose_sight(transition)
    text = words_of("VIEW_LOST", detail=event.reason)
    transition.add_fault(Fault("VIEW_LOST", "VIEW_LOST", text, grade=0 if coup is None else 1))


def _view_back(transition: Transition, event: ViewBack) -> None:
    """End the fault of a lost view, with what may have passed unseen."""
    since = transition.table.blind_since
    if since is None:
        transition.ignore(event, "the view was not lost")
        return
    transition.table.blind_since = None
    transition.report_status("online")
    coup = transition.table.coup
    came = coup is not None and any(card.out_at >= since for card in coup.cards)
    if coup is not None and came:
        coup = coup._replace(unseen=True)
    missed = "no coup was in progress, any dealt since was not seen"
    if coup is not None and coup.unseen:
        missed = f"coup {coup.number} was in progress, cards may have passed unseen"
    transition.drop_fault(
        "VIEW_LOST", f"view back after {(event.at - since) / 1000:.1f} s; {missed}"
    )
    if coup is not None:
        transition.evaluate(coup)


def _cut_card_out(transition: Transition, event: CutCardOut) -> None:
    """Fix the last coup of this shoe."""
    shoe = ensure_shoe(transition)
    if shoe.last_coup is not None:
        transition.ignore(event, "the cut card is out already")
        return
    transition.table.shoe = shoe._replace(last_coup=last_coup(transition.table))
    transition.drop_fault("cut", "the cut card is out")
    transition.report_shoe()


def _shoe_started(transition: Transition, event: ShoeStarted) -> None:
    """Put another shoe in use; one announced twice is the same."""
    if event.shoe and transition.table.shoe.name == event.shoe:
        transition.ignore(event, f"shoe {event.shoe} is in use already")
        return
    start_shoe(transition, event.shoe, watch_burn=event.watch_burn)


def _shoe_ended(transition: Transition, event: ShoeEnded) -> None:
    """Take the shoe as finished, in the middle of a coup too."""
    ensure_shoe(transition)
    coup = transition.table.coup
    running = event.left == 0 and coup is not None and not coup.void
    if running and coup is not None and transition.lay_out(coup.cards).surely_due:
        short = Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=0))
        transition.evaluate(coup._replace(noticed=(*without(coup.noticed, "short"), short)))
    end_shoe(transition, event.left)


def _result_entered(transition: Transition, event: ResultEntered) -> None:
    """Compare what the dealer keyed in with the cards."""
    coup = transition.table.coup
    if transition.table.blind_since is not None and (coup is None or _is_past(transition, coup)):
        # Dealt while the reader was blind: all that is known of it is what the dealer says.
        ensure_shoe(transition)
        transition.evaluate(begin(transition, ())._replace(entered=event))
        transition.report_shoe()
        return
    if coup is None or coup.void:
        transition.ignore(event, "there is no coup that it could be of")
        return
    transition.evaluate(coup._replace(entered=event))


def _is_past(transition: Transition, coup: Coup) -> bool:
    """Whether a result keyed in now is of a later coup: this one is cleared, or has one already."""
    return coup.is_over(transition.at, transition.table.rules.removed_after_ms) and (
        coup.cards != ()
        or transition.at >= coup.started_at + transition.table.rules.removed_after_ms
    )


def _time_passed(transition: Transition) -> None:
    """Evaluate the running coup again: a time limit may have passed."""
    if transition.table.coup is not None:
        transition.evaluate(transition.table.coup, show=False)
