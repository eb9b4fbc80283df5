"""The fold of the game: a table and an event make a table and what the house is told.

Theory of operation. The state is what was seen and what was ordered, no more: cards in the order in
which they left the shoe, where each came to rest, how each was read, and the orders of supervisors.
An event adds one such fact to one coup, and the coup is then weighed anew: its cards are laid out
in two hands, the tableau judges each card against what was due when it left the shoe, faults are
found and compared with the alerts that stand, and a result is told if it is new. So nothing depends
on the order in which faces come to be known: face up, face down, Punto turned first, a card keyed
in after an hour, all end the same.

    dealing (a card)  -+
    commands (orders) -+-> hands -> verdict -> findings -> alerts -> results
    house (all else)  -+

The border between two coups is physical (`rounds`). `step` is total: it answers every event at
every table, with `Ignored` or a refusal where the event makes no sense, and never raises. It reads
no clock: time comes with the events, and `Table.waits_until` says when the table would hear of it
next.
"""

from __future__ import annotations

from vision.game.commands import Command
from vision.game.coup.state import Table, new_table
from vision.game.coup.transition import Transition
from vision.game.events import (
    BetsClosed,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
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
from vision.game.fold import house
from vision.game.fold.cards import card_out, card_placed, card_read, card_removed
from vision.game.fold.commands import order
from vision.game.outputs import Output

__all__ = ["new_table", "step"]


def step(table: Table, event: Event) -> tuple[Table, tuple[Output, ...]]:
    """Return the table after the event, and what the house is to be told of it."""
    transition = Transition(table, event.at, event if isinstance(event, Command) else None)
    house.tell_time(transition)
    _handle(transition, event)
    return transition.table, tuple(transition.said)


def _handle(transition: Transition, event: Event) -> None:  # one case for each event there is
    match event:
        case CardOut():
            card_out(transition, event)
        case CardPlaced():
            card_placed(transition, event)
        case CardRead():
            card_read(transition, event)
        case CardRemoved():
            card_removed(transition, event)
        case TimePassed():
            house.time_passed(transition)
        case Command():
            order(transition, event)
        case CutCardOut():
            house.cut_card_out(transition, event)
        case Noticed():
            house.noticed(transition, event)
        case ViewLost():
            house.view_lost(transition, event)
        case ViewBack():
            house.view_back(transition, event)
        case Started():
            house.started(transition, event)
        case Stopped():
            transition.say_status("stopped")
        case ShoeStarted():
            house.shoe_started(transition, event)
        case ShoeEnded():
            house.shoe_ended(transition, event)
        case BetsClosed():
            transition.table = transition.table._replace(bets_closed=True)
        case ResultEntered():
            house.result_entered(transition, event)
        case _:
            transition.ignore(event, "no such event is known")
