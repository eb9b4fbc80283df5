"""The faults of a coup, found anew from what is known of it at a moment.

Theory of operation. Nothing is remembered here: a fault is found for as long as the facts show it,
and is gone when they no longer do (the card due came, the reading was corrected, the card was laid
right). `alerts` compares what is found with what was told. Must not know results or who rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from vision.game.coup.fault_table import Fault, slot_name, words_of
from vision.game.coup.layout import Laid, lay
from vision.game.coup.state import NO_MARKS, Coup, Seen
from vision.game.events import Slot
from vision.game.rules import Dealing, Rules


class FaultContext(NamedTuple):
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


def card_faults(context: FaultContext) -> list[Fault]:
    """Find what is wrong with each card that is not plainly read."""
    coup, rules, surplus = context.coup, context.rules, context.surplus
    lies = coup.over_at is None and coup.cleared_at is None
    # An unread card is no fault while there is time.
    waiting = lies and context.now < coup.changed_at + rules.unread_after_ms
    missing_since = context.now - rules.unaccounted_after_ms
    found: list[Fault] = []
    for seen in coup.cards:
        if seen.marks is NO_MARKS and not surplus:
            if seen.card is None:
                if waiting and seen.out_at > missing_since:
                    continue
            elif seen.confidence >= rules.confidence_gate:
                continue
        found += _card(context, seen)
    return found


def _card(context: FaultContext, seen: Seen) -> Iterator[Fault]:
    """Find what is wrong with, or doubtful about, one card."""
    rules, marks = context.rules, seen.marks
    if (
        seen.placed_at is None
        and seen.removed_at is None
        and seen.face is None
        and context.now >= seen.out_at + rules.unaccounted_after_ms
    ):
        text = words_of("CARD_UNACCOUNTED", order=seen.order)
        yield card_fault("CARD_UNACCOUNTED", seen, None, text)
    if seen.face is None:
        yield from _unread(context, seen)
    elif seen.order in context.surplus:
        words = words_of("DUP_CARD", copy=rules.decks + 1, card=seen.face, decks=rules.decks)
        yield card_fault("DUP_CARD", seen, context.laid.slot_of(seen.order), words)
    if _is_doubtful(seen, rules) and seen.second is not None:
        slot = context.laid.slot_of(seen.order)
        name = slot_name(slot, seen.order)
        words = words_of("MISREAD_RISK", slot=name, card=seen.card, second=seen.second)
        yield card_fault("MISREAD_RISK", seen, slot, words)
    if marks is not NO_MARKS:
        yield from _marked(context, seen)


def _is_doubtful(seen: Seen, rules: Rules) -> bool:
    if seen.card is None or seen.second is None or seen.confidence >= rules.confidence_gate:
        return False
    settled = seen.marks.confirmed or seen.marks.keyed is not None
    return not settled and seen.second.points != seen.card.points


def is_contradicted(seen: Seen) -> bool:
    """Whether a card was read as two different faces and nobody has said which it is."""
    marks = seen.marks
    if marks.clash is None or marks.clash == seen.card:
        return False
    return not marks.confirmed and marks.keyed is None


def _marked(context: FaultContext, seen: Seen) -> Iterator[Fault]:
    """Find what was noted of a card when it was read."""
    marks = seen.marks
    slot = context.laid.slot_of(seen.order)
    name = slot_name(slot, seen.order)
    settled = marks.confirmed or marks.keyed is not None
    if marks.early:
        grade = 0 if slot is None or slot.is_punto else 1
        text = words_of("EXPOSED_EARLY", slot=name)
        yield replace(card_fault("EXPOSED_EARLY", seen, slot, text), grade=grade)
    if is_contradicted(seen):
        text = words_of("READ_CONFLICT", slot=name, card=seen.card, other=marks.clash)
        yield replace(card_fault("READ_CONFLICT", seen, slot, text), second=marks.clash)
    if marks.switched is not None and not settled:
        text = words_of("SWITCH", slot=name, card=seen.face, now=marks.switched)
        yield replace(card_fault("SWITCH", seen, slot, text), second=marks.switched)


def _unread(context: FaultContext, seen: Seen) -> Iterator[Fault]:
    """Find a card that counts and has no face: declined, or the coup is over without it."""
    coup, laid, rules = context.coup, context.laid, context.rules
    slot = laid.slot_of(seen.order)
    over = coup.is_over(context.now, rules.removed_after_ms)
    open_long = (
        rules.dealing is Dealing.FACE_UP
        and seen.placed_at is not None
        and context.now >= coup.changed_at + rules.unread_after_ms
    )
    if slot is None or not (over or seen.marks.declined or open_long):
        return
    text = words_of("UNREAD", slot=slot_name(slot, seen.order))
    yield replace(card_fault("UNREAD", seen, slot, text), grade=1 if over else 0)


def find(context: FaultContext) -> tuple[Fault, ...]:
    """Return every fault of the coup at that moment, the gravest matters first."""
    coup, laid = context.coup, context.laid
    if coup.void:
        return coup.noticed
    found = _first_four(context)
    if laid.extras:
        found += _extras(context)
    if laid.surely_due and not coup.unseen:
        if laid.opened:
            found += _missing(context)
        found += _removed(context)
    found += card_faults(context)
    return (*found, *coup.noticed)


def _first_four(context: FaultContext) -> list[Fault]:
    """Find the first card that was dealt out of the order of the house.

    Where one of them passed unseen, which is which cannot be told.
    """
    cards, order = context.coup.cards[:4], context.rules.deal_order
    for place, seen in enumerate(cards):
        if seen.slot is not None and seen.slot % 2 != order[place] % 2:
            break
    else:
        return []
    if cards[-1].order - cards[0].order != len(cards) - 1:
        return []
    dealt = (order[i] if card.slot is None else card.slot for i, card in enumerate(cards))
    text = words_of("WRONG_ORDER_INIT", dealt=_letters(dealt), order=_letters(order))
    fault = card_fault("WRONG_ORDER_INIT", seen, context.laid.slot_of(seen.order), text)
    return [replace(fault, key="first-four", expected=(order[place],))]


def _letters(slots: Iterator[Slot] | tuple[Slot, ...]) -> str:
    return " ".join("P" if slot.is_punto else "B" for slot in slots)


def _extras(context: FaultContext) -> Iterator[Fault]:
    """Find cards drawn where none was due, or laid with the wrong hand."""
    for seen, code in context.laid.extras:
        if not code:
            continue
        face = "face down" if seen.face is None else f"exposed: {seen.face}"
        text = words_of(code, totals=totals_text(context.laid), face=face)
        fault = card_fault(code, seen, seen.slot, text)
        before = _before(context, seen)
        yield replace(
            fault,
            key=f"extra:{seen.order}",
            grade=0 if seen.face is None else 1,
            expected=before.expected,
            check_card=_would_vanish(context, code, seen.order),
        )


def _before(context: FaultContext, seen: Seen) -> Laid:
    """Lay the coup out as it was when that card left the shoe."""
    cards = context.coup.cards
    return lay(context.coup._replace(cards=cards[: cards.index(seen)]), context.rules)


def _missing(context: FaultContext) -> Iterator[Fault]:
    """Find a third card that is due and does not come."""
    coup, laid, rules = context.coup, context.laid, context.rules
    # A third card laid with Banco that Punto lacks is one fault, not two.
    if any(code == "WRONG_HAND" for _, code in laid.extras):
        return
    if coup.over_at is not None:
        grade = 2
    elif coup.cleared_at is not None or coup.entered is not None:
        grade = 1
    elif context.now >= coup.changed_at + rules.due_after_ms:
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
        check_card=_would_vanish(context, code, None),
    )


def _removed(context: FaultContext) -> Iterator[Fault]:
    """Find cards taken away before the coup was over."""
    coup, laid = context.coup, context.laid
    patience = context.rules.removed_after_ms
    gone = [one for one in coup.cards if one.removed_at is not None]
    if not gone:
        return
    seen = min(gone, key=_removed_at)
    until = context.now if coup.cleared_at is None else coup.cleared_at
    if until >= _removed_at(seen) + patience:
        slot = laid.slot_of(seen.order)
        text = words_of("WRONG_REMOVED", slot=slot_name(slot, seen.order))
        yield replace(card_fault("WRONG_REMOVED", seen, slot, text), expected=laid.expected)
    if coup.cleared_at is None or laid.opened:
        return
    if coup.over_at is not None or context.now >= coup.cleared_at + patience:
        text = words_of("PREMATURE_CLEAR")
        yield Fault("cleared", "PREMATURE_CLEAR", text, expected=laid.expected)


def _removed_at(seen: Seen) -> int:
    return seen.removed_at or 0


def _would_vanish(context: FaultContext, code: str, order: int | None) -> bool:
    """Whether the fault would be none under the second-best reading of one card."""
    for seen in context.coup.cards:
        if seen.second is None or seen.marks.keyed is not None or seen.marks.confirmed:
            continue
        second = seen.read_as(seen.second, seen.confidence, None)
        other = lay(context.coup.with_card(second), context.rules)
        if order is None:
            if not other.surely_due or not other.opened:
                return True
        elif all(extra.order != order or found != code for extra, found in other.extras):
            return True
    return False
