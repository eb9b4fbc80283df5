"""The faults of a coup, found from what is known of it at one moment.

Theory of operation. Nothing is remembered here: a fault is found for as long as the facts show it,
and is gone when they no longer do (the card due came, the reading was corrected, the card was moved
to the right hand). `alerts` compares what is found with the alerts there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from vision.game.cards import Card
from vision.game.coup.fault_table import Fault, card_name, words_of
from vision.game.coup.state import NO_MARKS, Coup, DealtCard, HandLayout, lay_out
from vision.game.events import Allegation, Slot
from vision.game.rules import Dealing, Rules

# How the keys begin of the faults that rest on where every card lies, or in which order they left.
_OF_LAYOUT = ("first-four", "extra", "due", "cleared", "WRONG_REMOVED", "entered")


class FaultContext(NamedTuple):
    """What faults are found in: a coup, how it lies, by which rules, when (Unix ms).

    `surplus`: orders of the cards of which there are too many.
    """

    coup: Coup
    layout: HandLayout
    rules: Rules
    now: int
    surplus: frozenset[int] = frozenset()


def totals_text(layout: HandLayout) -> str:
    """Return what the hands have, as in `Punto 5, Banco 3, Punto's third card 8`."""
    parts = []
    for name, hand in (("Punto", layout.punto), ("Banco", layout.banco)):
        points = [card.face.points for card in hand[:2] if card.face is not None]
        parts.append(f"{name} {sum(points) % 10}" if len(points) == 2 else f"{name} not known")
    if len(layout.punto) > 2 and layout.punto[2].face is not None:
        parts.append(f"Punto's third card {layout.punto[2].face.points}")
    return ", ".join(parts)


def card_fault(code: str, card: DealtCard, slot: Slot | None, text: str) -> Fault:
    """Return a fault of one card, with the facts of that card."""
    return Fault(
        key=f"{code}:{card.order}",
        code=code,
        text=text,
        order=card.order,
        slot=slot,
        observed=card.slot,
        exposed=card.face is not None,
        card=card.face,
        second=card.second,
        confidence=card.confidence if card.card is not None else None,
    )


def card_faults(context: FaultContext, card: DealtCard) -> Iterator[Fault]:
    """Find what is wrong with, or doubtful about, one card."""
    rules, marks = context.rules, card.marks
    if (
        context.coup.sure  # a card that may lie somewhere is not missing
        and not context.coup.unseen  # nor one that was laid while nobody saw it
        and card.placed_at is None
        and card.removed_at is None
        and card.face is None
        and context.now >= card.out_at + rules.unaccounted_after_ms
    ):
        text = words_of("CARD_UNACCOUNTED", order=card.order)
        yield card_fault("CARD_UNACCOUNTED", card, None, text)
    if card.face is None:
        yield from _unread(context, card)
    elif card.order in context.surplus:
        words = words_of("DUP_CARD", copy=rules.decks + 1, card=card.face, decks=rules.decks)
        yield card_fault("DUP_CARD", card, context.layout.slot_of(card.order), words)
    if _is_doubtful(card, rules) and card.second is not None:
        slot = context.layout.slot_of(card.order)
        name = card_name(slot, card.order)
        words = words_of("MISREAD_RISK", slot=name, card=card.card, second=card.second)
        yield card_fault("MISREAD_RISK", card, slot, words)
    if marks != NO_MARKS:
        yield from _marked(context, card)


def _is_doubtful(card: DealtCard, rules: Rules) -> bool:
    if card.card is None or card.second is None or card.confidence >= rules.confidence_gate:
        return False
    settled = card.marks.confirmed or card.marks.keyed is not None
    return not settled and card.second.points != card.card.points


def is_contradicted(card: DealtCard) -> bool:
    """Whether a card was read as two different faces and nobody has settled which it is."""
    marks = card.marks
    if marks.clash is None or marks.clash == card.card:
        return False
    return not marks.confirmed and marks.keyed is None


def _marked(context: FaultContext, card: DealtCard) -> Iterator[Fault]:
    """Find what was noted of a card when it was read."""
    marks = card.marks
    slot = context.layout.slot_of(card.order)
    name = card_name(slot, card.order)
    settled = marks.confirmed or marks.keyed is not None
    if is_contradicted(card):
        text = words_of("READ_CONFLICT", slot=name, card=card.card, other=marks.clash)
        yield replace(card_fault("READ_CONFLICT", card, slot, text), second=marks.clash)
    if marks.switched is not None and not settled:
        text = words_of("SWITCH", slot=name, card=card.face, now=marks.switched)
        yield replace(card_fault("SWITCH", card, slot, text), second=marks.switched)


def _unread(context: FaultContext, card: DealtCard) -> Iterator[Fault]:
    """Find a card that counts and has no face: declined, or the coup is over without it."""
    coup, layout, rules = context.coup, context.layout, context.rules
    over = coup.is_over(context.now, rules.removed_after_ms)
    open_long = (
        rules.dealing is Dealing.FACE_UP
        and not coup.unseen
        and card.placed_at is not None
        and context.now >= coup.changed_at + rules.unread_after_ms
    )
    if not (over or card.marks.declined or open_long):
        return
    slot = layout.slot_of(card.order)
    if slot is None:
        return
    text = words_of("UNREAD", slot=card_name(slot, card.order))
    yield replace(card_fault("UNREAD", card, slot, text), grade=1 if over else 0)


def find(context: FaultContext) -> tuple[Fault, ...]:
    """Return every fault of the coup at that moment, the gravest matters first."""
    coup, layout = context.coup, context.layout
    if coup.void:
        return (*coup.noticed, *of_sight(coup))
    found = _first_four(context)
    if layout.extras:
        found += _extras(context)
    if not coup.unseen:
        if layout.surely_due and layout.opened:
            found += _missing(context)
        gone = [card for card in coup.cards if card.removed_at is not None]
        if gone:
            found += _taken_away(context, gone)
            found += _cleared_early(context)
    for card in coup.cards:
        # Most cards are read for good: nothing can be wrong with such a card alone.
        if card.face is None or card.second or card.marks is not NO_MARKS or context.surplus:
            found += card_faults(context, card)
    return _with_odds(coup, (*found, *coup.noticed))


def rests_on_layout(key: str) -> bool:
    """Whether the fault of that key is found in how the cards lie, not in one card alone."""
    return key.split(":", maxsplit=1)[0] in _OF_LAYOUT


def is_with_either_hand(context: FaultContext, fault: Fault) -> bool:
    """Whether a card beyond the first four makes that fault with whichever hand it lies."""
    if not fault.key.startswith("extra"):
        return False
    card = next(card for card, _ in context.layout.extras if card.order == fault.order)
    for slot in (Slot.PUNTO_3, Slot.BANCO_3):
        cards = context.coup.cards_with(card._replace(slot=slot))
        if not _is_extra(lay_out(cards, context.rules), fault.order, fault.code):
            return False
    return True


def _is_extra(layout: HandLayout, order: int | None, code: str) -> bool:
    """Whether the card of that order is one beyond the first four, with that fault."""
    return any(extra.order == order and found == code for extra, found in layout.extras)


def of_sight(coup: Coup) -> tuple[Fault, ...]:
    """Return what only sight can know: the doubt about the coup, and what it alleges."""
    found = [_alleged(coup, allegation) for allegation in coup.alleged]
    if coup.doubt:
        text = f"{words_of('REVIEW', about='this coup')} {coup.doubt}"
        found.append(Fault(coup.doubt_key, "REVIEW", text))
    return tuple(found)


def _alleged(coup: Coup, allegation: Allegation) -> Fault:
    code, order = allegation.code, allegation.order
    card = next((card for card in coup.cards if card.order == order), None)
    slot = None if card is None else card.ruled_slot
    name = card_name(slot, order or 0)
    facts = {"card": "one face", "now": "another", "other": "another", "about": f"card {name}"}
    if code == "READ_CONFLICT" and card is not None and card.face and card.second:
        facts |= {"card": str(card.face), "other": f"{card.second}, too briefly to know"}
    text = words_of(code, slot=name, order=order, before="before its time", **facts)
    fault = Fault(f"{code}:{order or ''}", code, text, order=order)
    if card is not None:
        fault = card_fault(code, card, slot, text)
    grade = 0 if slot is None or slot.is_punto else 1
    return replace(fault, grade=grade, odds=allegation.odds)


def _with_odds(coup: Coup, found: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """Return the faults with what sight alleges, each with its odds."""
    if coup.odds is None and not coup.alleged and not coup.doubt:
        return found
    alleged = {fault.key: fault for fault in of_sight(coup)}
    keys = {fault.key for fault in found}
    reported = (
        fault
        if fault.kind.of_reader
        else replace(fault, odds=alleged[fault.key].odds if fault.key in alleged else coup.odds)
        for fault in found
    )
    return (*reported, *(fault for key, fault in alleged.items() if key not in keys))


def _first_four(context: FaultContext) -> list[Fault]:
    """Find the first card that was dealt out of the order of the house.

    Until all four are there it lies with the wrong hand, and can be moved; then they were dealt in
    another order. Where a card passed unseen, it is not known which of them is which.
    """
    cards, order = context.coup.cards[:4], context.rules.deal_order
    for index, card in enumerate(cards):
        if card.slot is not None and card.slot.is_punto is not order[index].is_punto:
            break
    else:
        return []
    if not _are_consecutive(context.coup, cards):
        return []
    if not context.layout.opened or any(card.marks.moved is not None for card in cards):
        code, text = "WRONG_HAND", _wrong_hand(f"Card {index + 1}", card, order[index])
    else:
        dealt = (order[i] if card.slot is None else card.slot for i, card in enumerate(cards))
        code = "WRONG_ORDER_INIT"
        text = words_of(code, dealt=_letters(dealt), order=_letters(order))
    fault = card_fault(code, card, context.layout.slot_of(card.order), text)
    return [replace(fault, key="first-four", expected=(order[index],))]


def _are_consecutive(coup: Coup, cards: tuple[DealtCard, ...]) -> bool:
    """Whether no card passed unseen between the first and the last of these."""
    if any(card.order < 1 for card in cards):  # keyed in: nobody knows when it left the shoe
        return False
    between = range(cards[0].order, cards[-1].order + 1)
    return len(between) - sum(order in between for order in coup.back) == len(cards)


def _wrong_hand(which: str, card: DealtCard, due: Slot, totals: str = "") -> str:
    lies, wanted = ("Punto" if slot.is_punto else "Banco" for slot in (card.slot or due, due))
    return words_of("WRONG_HAND", which=which, lies=lies, due=wanted, totals=totals)


def _letters(slots: Iterator[Slot] | tuple[Slot, ...]) -> str:
    return " ".join("P" if slot.is_punto else "B" for slot in slots)


def _extras(context: FaultContext) -> Iterator[Fault]:
    """Find cards drawn where none was due, or lying with the wrong hand."""
    for card, code in context.layout.extras:
        if not code:
            continue
        fault = card_fault(code, card, card.slot, _extra_text(context, card, code))
        doubted = _clearing(context, code, card.order)
        cards = context.coup.cards
        before = lay_out(cards[: cards.index(card)], context.rules)  # as it left the shoe
        yield replace(
            fault,
            key=f"extra:{card.order}",
            grade=0 if card.face is None else 1,
            expected=before.expected,
            check_card=bool(doubted),
            waits=_are_in_doubt(context, doubted),
        )


def _extra_text(context: FaultContext, card: DealtCard, code: str) -> str:
    totals = totals_text(context.layout)
    if code == "WRONG_HAND":
        return _wrong_hand("Third card", card, Slot.PUNTO_3, f" ({totals})")
    face = "face down" if card.face is None else f"exposed: {card.face}"
    return words_of(code, totals=totals, face=face)


def _missing(context: FaultContext) -> Iterator[Fault]:
    """Find a third card that is due and does not come."""
    coup, layout, rules = context.coup, context.layout, context.rules
    # A third card that lies with Banco and that Punto lacks makes a single fault.
    if any(code == "WRONG_HAND" for _, code in layout.extras):
        return
    if coup.over_at is not None:
        grade = 2
    elif coup.cleared_at is not None or coup.entered is not None:
        grade = 1
    elif context.now >= coup.changed_at + rules.due_after_ms:
        grade = 0
    else:
        return
    code = "UNDER_P3" if Slot.PUNTO_3 in layout.due else "UNDER_B3"
    doubted = _clearing(context, code, None)
    yield Fault(
        key="due",
        code=code,
        text=words_of(code, totals=totals_text(layout)),
        grade=grade,
        slot=layout.expected[0],
        expected=layout.expected,
        check_card=bool(doubted),
        waits=_are_in_doubt(context, doubted),
    )


def _taken_away(context: FaultContext, gone: list[DealtCard]) -> Iterator[Fault]:
    """Find whether the first card that was taken away was so before the coup was over.

    Hands that are cleared card by card though one is due are an under-draw, and no fault besides.
    """
    coup, layout = context.coup, context.layout
    card = min(gone, key=_removed_at)
    until = context.now if coup.cleared_at is None else coup.cleared_at
    times = (*sorted(map(_removed_at, gone)), until)
    waited = any(b >= a + context.rules.removed_after_ms for a, b in pairwise(times))
    if waited if layout.surely_due else _went_on(context, card):
        slot = layout.slot_of(card.order)
        text = words_of("WRONG_REMOVED", slot=card_name(slot, card.order))
        yield replace(card_fault("WRONG_REMOVED", card, slot, text), expected=layout.expected)


def _cleared_early(context: FaultContext) -> Iterator[Fault]:
    """Find that the hands were cleared though a card is due."""
    coup, layout = context.coup, context.layout
    if coup.cleared_at is None or layout.opened or not layout.surely_due:
        return
    if coup.over_at is not None or context.now >= coup.cleared_at + context.rules.removed_after_ms:
        text = words_of("PREMATURE_CLEAR")
        yield Fault("cleared", "PREMATURE_CLEAR", text, expected=layout.expected)


def _went_on(context: FaultContext, gone: DealtCard) -> bool:
    """Whether a card left the shoe after that one was taken away: no hand was being cleared."""
    # Of one that was keyed in nobody knows when it left.
    later = (card for card in context.coup.cards if card.order > 0)
    # What is seen to be gone as the next one leaves was taken away before it.
    return any(card.placed_at and card.out_at >= _removed_at(gone) for card in later)


def _removed_at(card: DealtCard) -> int:
    return card.removed_at or 0


def _clearing(context: FaultContext, code: str, order: int | None) -> list[DealtCard]:
    """Return the cards of which another reading of each would clear the fault."""
    return [
        card
        for card in context.coup.cards
        if card.marks.keyed is None and not card.marks.confirmed
        if any(_would_vanish(context, card, other, (code, order)) for other in _others(card))
    ]


def _others(card: DealtCard) -> list[Card]:
    """Return what else the card may be: the second-best reading, and a different earlier one."""
    others = (card.second, card.marks.clash if is_contradicted(card) else None)
    return [other for other in others if other is not None]


def _would_vanish(
    context: FaultContext, card: DealtCard, other: Card, fault: tuple[str, int | None]
) -> bool:
    code, order = fault
    changed = context.coup.cards_with(card.read_as(other, card.confidence, None))
    layout = lay_out(changed, context.rules)
    if order is None:
        return not layout.surely_due or not layout.opened
    return not _is_extra(layout, order, code)


def _are_in_doubt(context: FaultContext, cards: list[DealtCard]) -> bool:
    """Whether one of the cards is itself in doubt, so that no time limit makes the fault stand."""
    return any(_is_doubtful(card, context.rules) or is_contradicted(card) for card in cards)
