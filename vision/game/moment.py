"""What the finders of faults look at, and the words they share.

Must not know which faults there are.
"""

from __future__ import annotations

from typing import NamedTuple

from vision.game.events import Slot
from vision.game.faults import Fault
from vision.game.hands import Laid
from vision.game.rules import Rules
from vision.game.table import Coup, Seen


class Moment(NamedTuple):
    """What is looked at: a coup, how it lies, by which rules, when (Unix ms)."""

    coup: Coup
    laid: Laid
    rules: Rules
    now: int
    surplus: frozenset[int] = frozenset()


def totals_text(laid: Laid) -> str:
    """Say what the hands have, as in `Punto 5, Banco 3, Punto's third card 8`."""
    parts = []
    for name, hand in (("Punto", laid.punto), ("Banco", laid.banco)):
        points = [seen.face.points for seen in hand[:2] if seen.face is not None]
        parts.append(f"{name} {sum(points) % 10}" if len(points) == 2 else f"{name} not known")
    if len(laid.punto) > 2 and laid.punto[2].face is not None:
        parts.append(f"Punto's third card {laid.punto[2].face.points}")
    return ", ".join(parts)


def slot_name(slot: Slot | None, order: int) -> str:
    """Name a place for people, or the card by its order where it has none."""
    if slot is None:
        return f"number {order}"
    return f"{'Punto' if slot.is_punto else 'Banco'} {slot // 2 + 1}"


def card_fault(code: str, seen: Seen, slot: Slot | None, text: str) -> Fault:
    """Return a fault of one card, with the facts of that card."""
    return Fault(
        key=f"{code}:{seen.order}",
        code=code,
        text=text,
        order=seen.order,
        slot=slot,
        observed=seen.slot,
        exposed=seen.face is not None,
        card=seen.face,
        second=seen.second,
        confidence=seen.confidence if seen.card is not None else None,
    )
