"""What a dealer does, and how soon: one table of actions.

An action is as quick as one of five speeds, where procedure asks for it and where it does not, but
for a draw that the mouth misses; what procedure does not ask for carries a code. Dealers wait, and
waits have long tails, so that a due action that does not come says little. These numbers are
priors, set by hand so that films of the simulator (`python -m models.evaluate.following`) are
decoded; the figures of sight are fitted.
"""

from __future__ import annotations

from typing import NamedTuple

from vision.game.rules import Dealing

# Speeds, a second. A movement that has begun; what procedure asks for next; what happens at times;
# a departure from procedure, or a card that was none; what sight missed altogether.
MOVING, NEXT, AT_TIMES, DEPARTURE, MISSED = 15.0, 1.0, 0.03, 2e-3, 4e-5
# The share (0 to 1) of its rate by which the not coming of what is awaited counts as evidence; the
# same of a card on its way out: in some houses the next one waits half out of the shoe.
AWAITED, HALF_OUT = 0.1, 0.02
# The share (0 to 1) by which an action is less usual. First: a second card of a hand laid first,
# cards taken that lie face down or that nobody could see lie, a coup begun with cards left on the
# table or after one of fewer than four, a card held before the shoe, a burn's second card drawn
# before the first was shown and laid aside. Then: a card drawn while another is in the hand, or
# laid while the lip still shows it, a clearing while the next card is half out of the shoe, a card
# that was lifted held over another slot of its hand, a hand that hides the lip, and no card.
UNUSUAL, LESS_USUAL = 0.01, 0.1
# The share (0 to 1) of cards that are laid face up, by the way of dealing.
LAID_FACE_UP = {Dealing.FACE_UP: 0.9, Dealing.FACE_DOWN: 0.03, Dealing.PUNTO_FIRST: 0.03}


class Action(NamedTuple):
    """Rates a second where due and not due; `survival` is the share (0 to 1) of not coming."""

    due: float
    undue: float
    survival: float


def _awaited(due: float, undue: float | None = None) -> Action:
    return Action(due, due if undue is None else undue, AWAITED)


def _free(due: float, undue: float | None = None) -> Action:
    return Action(due, due if undue is None else undue, 1.0)


ACTIONS: dict[str, Action] = {
    # --- at the lip
    "edge": _awaited(NEXT, DEPARTURE),  # an edge emerges; not due: an over-draw
    "step": _free(MOVING),  # the first step of each way; its shortest time is 1/15 s
    "slide": Action(MOVING, MOVING, HALF_OUT),  # the edge comes further
    "out": Action(MOVING, MOVING, HALF_OUT),  # the edge is drawn wholly out
    "edge back": _awaited(NEXT),  # a hand lets the edge go
    "leave": _free(MOVING),  # the card leaves the mouth's picture; nobody waits there
    "linger": _free(NEXT * UNUSUAL),  # it is held or turned before the shoe
    "stay": _free(NEXT),  # of two that are out, one lies there while the other is laid
    "go on": _free(NEXT),  # it is carried on
    "squeeze": _free(NEXT * LESS_USUAL),  # before the mouth, one that lies face down beside it
    "push back": _free(DEPARTURE, DEPARTURE * LESS_USUAL),  # from the lip; from further away
    "cut": _free(1 / 400),  # of what is drawn, the share that is the cut card: one in a shoe
    "cut out": _free(MOVING / 2),  # as long as both ways of a card that leaves take
    "two": _free(DEPARTURE),  # two cards are drawn as one
    # A draw that the mouth did not see, by a hand that it saw; not due: without one. Of 1,439 draws
    # on 58 films none was without a hand, which is seen there for a twentieth of the other time.
    "unseen": _free(1e-2, 1e-5),
    # --- on the table
    "lay": _awaited(NEXT, DEPARTURE),  # from the hand to the slot; not due: with the other hand
    "lay in order": _free(AT_TIMES),  # another slot of the right hand
    "lay aside": _free(DEPARTURE),
    "bring on": _awaited(NEXT),  # from where it lay aside
    "turn": _awaited(NEXT, DEPARTURE),
    "lift": _free(AT_TIMES),  # a card that lies face down is taken to a player
    "hold away": _free(AT_TIMES),  # from over another slot of its hand, where it seemed to lie
    "turn in hand": _free(AT_TIMES),
    "bring back": _awaited(NEXT),
    "take": _awaited(NEXT, DEPARTURE),  # the first of a clearing; not due: under-draw, removal
    "take more": _awaited(NEXT),  # the others
    "lies still": _free(MISSED),  # what seemed to be taken lies there
    # What seemed to be in the hand is none. At twice this rate three more of twelve returns by a
    # quick hand are missed; at half of it two more coups of 65 with passages that were none are
    # held, at a five-thousandth they accuse (`models.evaluate.following --broken passages`).
    "no card": _free(DEPARTURE / 4),
}
