"""What is noticed of the machine or the shoe: a fault of the table until it is over.

A face in the mouth of the shoe goes to the coup that gets the card.
"""

from __future__ import annotations

from vision.game.coup.fault_table import KINDS, Fault, words_of
from vision.game.coup.transition import Transition
from vision.game.events import Noticed
from vision.game.fold.boundaries import EXPOSED


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
