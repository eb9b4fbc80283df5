"""The faults of a coup, found anew from what is known of it at a moment.

Theory of operation. Nothing is remembered here: a fault is found for as long as the facts show it,
and is gone when they no longer do (the card due came, the reading was corrected, the card was laid
right). `alerts` compares what is found with what was told. Must not know results or who rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vision.game.doubts import card_faults
from vision.game.events import Slot
from vision.game.faults import Fault, words_of
from vision.game.hands import Laid, lay
from vision.game.moment import Moment, card_fault, slot_name, totals_text
from vision.game.table import Seen


def find(moment: Moment) -> tuple[Fault, ...]:
    """Return every fault of the coup at that moment, the gravest matters first."""
    coup, laid = moment.coup, moment.laid
    if coup.void:
        return coup.noticed
    found = _first_four(moment)
    if laid.extras:
        found += _extras(moment)
    if laid.surely_due and not coup.unseen:
        if laid.opened:
            found += _missing(moment)
        found += _removed(moment)
    found += card_faults(moment)
    return (*found, *coup.noticed)


def _first_four(moment: Moment) -> list[Fault]:
    """Find the first card that was dealt out of the order of the house.

    Where one of them passed unseen, which is which cannot be told.
    """
    cards, order = moment.coup.cards[:4], moment.rules.deal_order
    for place, seen in enumerate(cards):
        if seen.slot is not None and seen.slot % 2 != order[place] % 2:
            break
    else:
        return []
    if cards[-1].order - cards[0].order != len(cards) - 1:
        return []
    dealt = (order[i] if card.slot is None else card.slot for i, card in enumerate(cards))
    text = words_of("WRONG_ORDER_INIT", dealt=_letters(dealt), order=_letters(order))
    fault = card_fault("WRONG_ORDER_INIT", seen, moment.laid.slot_of(seen.order), text)
    return [replace(fault, key="first-four", expected=(order[place],))]


def _letters(slots: Iterator[Slot] | tuple[Slot, ...]) -> str:
    return " ".join("P" if slot.is_punto else "B" for slot in slots)


def _extras(moment: Moment) -> Iterator[Fault]:
    """Find cards drawn where none was due, or laid with the wrong hand."""
    for seen, code in moment.laid.extras:
        if not code:
            continue
        face = "face down" if seen.face is None else f"exposed: {seen.face}"
        text = words_of(code, totals=totals_text(moment.laid), face=face)
        fault = card_fault(code, seen, seen.slot, text)
        before = _before(moment, seen)
        yield replace(
            fault,
            key=f"extra:{seen.order}",
            grade=0 if seen.face is None else 1,
            expected=before.expected,
            check_card=_would_vanish(moment, code, seen.order),
        )


def _before(moment: Moment, seen: Seen) -> Laid:
    """Lay the coup out as it was when that card left the shoe."""
    cards = moment.coup.cards
    return lay(moment.coup._replace(cards=cards[: cards.index(seen)]), moment.rules)


def _missing(moment: Moment) -> Iterator[Fault]:
    """Find a third card that is due and does not come."""
    coup, laid, rules = moment.coup, moment.laid, moment.rules
    # A third card laid with Banco that Punto lacks is one fault, not two.
    if any(code == "WRONG_HAND" for _, code in laid.extras):
        return
    if coup.over_at is not None:
        grade = 2
    elif coup.cleared_at is not None or coup.entered is not None:
        grade = 1
    elif moment.now >= coup.changed_at + rules.due_after_ms:
        grade = 0
    else:
        return
    code = "UNDER_P3" if Slot.PUNTO_3 in laid.due else "UNDER_B3"
    yield Fault(
        key="due",
        code=code,
        text=words_of(code, totals=totals_text(laid)),
        grade=grade,
        slot=laid.expected[0],
        expected=laid.expected,
        check_card=_would_vanish(moment, code, None),
    )


def _removed(moment: Moment) -> Iterator[Fault]:
    """Find cards taken away before the coup was over."""
    coup, laid = moment.coup, moment.laid
    patience = moment.rules.removed_after_ms
    gone = [one for one in coup.cards if one.removed_at is not None]
    if not gone:
        return
    seen = min(gone, key=_removed_at)
    until = moment.now if coup.cleared_at is None else coup.cleared_at
    if until >= _removed_at(seen) + patience:
        slot = laid.slot_of(seen.order)
        text = words_of("WRONG_REMOVED", slot=slot_name(slot, seen.order))
        yield replace(card_fault("WRONG_REMOVED", seen, slot, text), expected=laid.expected)
    if coup.cleared_at is None or laid.opened:
        return
    if coup.over_at is not None or moment.now >= coup.cleared_at + patience:
        text = words_of("PREMATURE_CLEAR")
        yield Fault("cleared", "PREMATURE_CLEAR", text, expected=laid.expected)


def _removed_at(seen: Seen) -> int:
    return seen.removed_at or 0


def _would_vanish(moment: Moment, code: str, order: int | None) -> bool:
    """Whether the fault would be none under the second-best reading of one card."""
    for seen in moment.coup.cards:
        if seen.second is None or seen.marks.keyed is not None or seen.marks.confirmed:
            continue
        second = seen.read_as(seen.second, seen.confidence, None)
        other = lay(moment.coup.with_card(second), moment.rules)
        if order is None:
            if not other.surely_due or not other.opened:
                return True
        elif all(extra.order != order or found != code for extra, found in other.extras):
            return True
    return False
