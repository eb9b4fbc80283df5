"""What happens at a table besides cards and orders: the view, the shoe, what the house says.

Each handler takes the turn and the event. Must not know how hands are judged.
"""

from __future__ import annotations

from vision.game.coup.fault_table import KINDS, Fault, slot_name, words_of
from vision.game.coup.state import Coup
from vision.game.coup.transition import Turn, without
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


def tell_time(turn: Turn) -> None:
    """Set the clock of the table; one that goes back by more than a second is a fault."""
    at, clock = turn.at, turn.clock
    if at >= clock:
        turn.clock = at
        if turn.notices("CLOCK"):
            turn.drop("CLOCK", "the clock has caught up")
    elif at < clock - CLOCK_MS:
        text = f"{words_of('CLOCK')} It went back by {clock - at} ms."
        turn.note(Fault("CLOCK", "CLOCK", text))


def started(turn: Turn, event: Started) -> None:
    """Begin a run; the coup in progress may have gone on unseen while there was none."""
    turn.table = turn.table._replace(boot=event.boot, blind_since=None)
    turn.say_status("online")
    turn.drop("VIEW_LOST", "the reader started again")
    ensure_shoe(turn)
    _lose_sight(turn)


def _lose_sight(turn: Turn) -> Coup | None:
    """Take the running coup as one of which something may not have been seen."""
    coup = turn.coup
    if coup is None or coup.complete or coup.cleared_at is not None:
        return None
    return turn.weigh(coup._replace(unseen=True))


def view_lost(turn: Turn, event: ViewLost) -> None:
    """Hold what cannot be seen any more."""
    if turn.table.blind_since is not None:
        turn.ignore(event, "the view is lost already")
        return
    turn.table = turn.table._replace(blind_since=event.at)
    turn.say_status("blind", event.reason)
    coup = _lose_sight(turn)
    text = words_of("VIEW_LOST", detail=event.reason)
    turn.note(Fault("VIEW_LOST", "VIEW_LOST", text, grade=0 if coup is None else 1))


def view_back(turn: Turn, event: ViewBack) -> None:
    """Say what may have passed unseen."""
    since = turn.table.blind_since
    if since is None:
        turn.ignore(event, "the view was not lost")
        return
    turn.table = turn.table._replace(blind_since=None)
    turn.say_status("online")
    coup = turn.coup
    missed = "no coup was in progress, any dealt since was not seen"
    if coup is not None and coup.unseen:
        missed = f"coup {coup.number} was in progress, cards may have passed unseen"
    turn.drop("VIEW_LOST", f"view back after {(event.at - since) / 1000:.1f} s; {missed}")
    if coup is not None:
        turn.weigh(coup)


def noticed(turn: Turn, event: Noticed) -> None:
    """Take in what only sight or the machine can know."""
    kind = KINDS.get(event.code)
    if kind is None or not kind.noticed:
        turn.ignore(event, f"'{event.code}' is no fault that is noticed")
        return
    key = f"{event.code}:{event.order or ''}"
    coup = turn.coup if event.order is None else turn.table.coup_of(event.order)
    about_coup = coup is not None and not kind.machine
    fault = Fault(key, event.code, _text(event), order=event.order, slot=event.slot)
    if about_coup and coup is not None:
        faults = without(coup.noticed, key)
        turn.weigh(coup._replace(noticed=faults if event.over else (*faults, fault)))
    elif event.over:
        turn.drop(key, "over")
    else:
        turn.note(fault)


def _text(event: Noticed) -> str:
    name = slot_name(event.slot, event.order or 0)
    facts = {"card": "one face", "now": "another", "other": "another"}
    text = words_of(event.code, slot=name, order=event.order, **facts)
    return f"{text} {event.detail}" if event.detail else text


def cut_card_out(turn: Turn, event: CutCardOut) -> None:
    """Fix the last coup of this shoe."""
    shoe = ensure_shoe(turn)
    if shoe.last_coup is not None:
        turn.ignore(event, "the cut card is out already")
        return
    turn.shoe = shoe._replace(last_coup=last_coup(turn.table))
    turn.drop("cut", "the cut card is out")
    turn.say_shoe()


def shoe_started(turn: Turn, event: ShoeStarted) -> None:
    """Put another shoe in use; one announced twice is the same."""
    if event.shoe and turn.shoe.name == event.shoe:
        turn.ignore(event, f"shoe {event.shoe} is in use already")
        return
    start_shoe(turn, event.shoe, watch_burn=event.watch_burn)


def shoe_ended(turn: Turn, event: ShoeEnded) -> None:
    """Take the shoe as finished, in the middle of a coup too."""
    ensure_shoe(turn)
    coup = turn.coup
    if event.left == 0 and coup is not None and not coup.void and turn.lay(coup).surely_due:
        short = Fault("short", "SHORT_SHOE", words_of("SHORT_SHOE", left=0))
        turn.weigh(coup._replace(noticed=(*without(coup.noticed, "short"), short)))
    end_shoe(turn, event.left)


def result_entered(turn: Turn, event: ResultEntered) -> None:
    """Put what the dealer keyed in against the cards."""
    coup = turn.coup
    if turn.table.blind_since is not None and (coup is None or _is_past(turn, coup)):
        # Dealt while the reader was blind: all that is known of it is what the dealer says.
        ensure_shoe(turn)
        turn.weigh(begin(turn, ())._replace(entered=event))
        turn.say_shoe()
        return
    if coup is None or coup.void:
        turn.ignore(event, "there is no coup that it could be of")
        return
    turn.weigh(coup._replace(entered=event))


def _is_past(turn: Turn, coup: Coup) -> bool:
    """Whether a result keyed in now is of a later coup: this one is cleared, or has one already."""
    return coup.is_over(turn.at, turn.rules.removed_after_ms) and (
        coup.cards != () or turn.at >= coup.started_at + turn.rules.removed_after_ms
    )


def time_passed(turn: Turn) -> None:
    """Look at the running coup again: something may have been due by now."""
    if turn.coup is not None:
        turn.weigh(turn.coup, show=False)
