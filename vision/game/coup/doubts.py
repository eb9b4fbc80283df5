"""Doubts of sight about a coup, and the faults that are not alleged because they rest on them.

Theory of operation. Sight says `REVIEW` of a card, or of a whole coup, where its witnesses do not
agree. That is a doubt about the reader and no fault of the dealer. A doubt about a card leaves open
whether there is such a card, where it lies, and which face it has: a fault is alleged only if it is
there however each of these turns out. A doubt about a coup leaves everything open. What is withheld
is found again as soon as sight says that the doubt is over or a person has ruled on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vision.game.coup.alerts import OPEN
from vision.game.coup.fault_finding import FaultContext, find, of_sight
from vision.game.coup.fault_table import Fault
from vision.game.coup.state import NO_MARKS, Coup, lay_out

REVIEW = "REVIEW"
# Keys and codes of faults that rest on every card. A card whose leaving is in doubt may have left
# at any time, and so in any order; and what was taken away may be what now lies elsewhere.
_UNSURE = frozenset(("first-four", "cleared", "WRONG_REMOVED"))


def open_reviews(coup: Coup) -> tuple[Fault, ...]:
    """Return the doubts about the coup that no person has ruled on."""
    ruled = {
        tracked.key
        for tracked in coup.alerts
        if tracked.alert.by and tracked.alert.state not in OPEN
    }
    found = (*coup.noticed, *of_sight(coup))
    return tuple(fault for fault in found if fault.code == REVIEW and fault.key not in ruled)


def is_sure(coup: Coup) -> bool:
    """Whether the coup lies as sight says: sight is sure of it, or a person has ruled so."""
    return coup.sure or coup.stands or (bool(coup.doubt) and not open_reviews(coup))


def cards_in_review(coup: Coup) -> frozenset[int]:
    """Return the orders of the cards of which it is not known whether they are there."""
    return frozenset(fault.order for fault in open_reviews(coup) if fault.order is not None)


def alleged(context: FaultContext, faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return the faults without those of the dealer that rest on a doubt of sight."""
    coup = context.coup
    if not open_reviews(coup):
        return faults
    doubted = cards_in_review(coup)
    sure = _sure(context, doubted)
    return tuple(
        fault
        for fault in faults
        if fault.kind.of_reader
        or (fault.key, fault.code) in sure
        or (fault in coup.noticed and not (fault.order in doubted and _is_of_sight(fault)))
    )


def _is_of_sight(fault: Fault) -> bool:
    return fault.kind.noticed or fault.code == "EARLY_DEAL"


def _sure(context: FaultContext, doubted: frozenset[int]) -> frozenset[tuple[str, str]]:
    """Return key and code of the faults found in the cards however the doubts turn out."""
    coup = context.coup
    if any(fault.order is None for fault in open_reviews(coup)):
        return frozenset()
    common: frozenset[tuple[str, str]] | None = None
    for other in _turns(coup, doubted):
        layout = lay_out(other, context.rules)
        found = find(context._replace(coup=other._replace(noticed=()), layout=layout))
        here = frozenset((fault.key, fault.code) for fault in found)
        common = here if common is None else common & here
    return frozenset(pair for pair in common or () if not _UNSURE & set(pair))


def _turns(coup: Coup, doubted: frozenset[int]) -> Iterator[Coup]:
    """Yield the coup as each doubt may turn out."""
    yield coup._replace(cards=tuple(card for card in coup.cards if card.order not in doubted))
    for card in coup.cards:
        if card.order in doubted:
            yield coup._replace(cards=tuple(old for old in coup.cards if old is not card))
            yield coup.with_card(card._replace(card=None, face=None, second=None, marks=NO_MARKS))
            yield coup.with_card(card._replace(slot=None))
