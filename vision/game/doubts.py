"""What is wrong with, or doubtful about, a single card of a coup.

Must not know the tableau: whether a card was due is for `findings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vision.game.faults import Fault, words_of
from vision.game.moment import Moment, card_fault, slot_name
from vision.game.rules import Dealing, Rules
from vision.game.table import NO_MARKS, Seen


def card_faults(moment: Moment) -> list[Fault]:
    """Find what is wrong with each card that is not plainly read."""
    coup, rules, surplus = moment.coup, moment.rules, moment.surplus
    lies = coup.over_at is None and coup.cleared_at is None
    # An unread card is no fault while there is time.
    waiting = lies and moment.now < coup.changed_at + rules.unread_after_ms
    missing_since = moment.now - rules.unaccounted_after_ms
    found: list[Fault] = []
    for seen in coup.cards:
        if seen.marks is NO_MARKS and not surplus:
            if seen.card is None:
                if waiting and seen.out_at > missing_since:
                    continue
            elif seen.confidence >= rules.confidence_gate:
                continue
        found += _card(moment, seen)
    return found


def _card(moment: Moment, seen: Seen) -> Iterator[Fault]:
    """Find what is wrong with, or doubtful about, one card."""
    rules, marks = moment.rules, seen.marks
    if (
        seen.placed_at is None
        and seen.removed_at is None
        and seen.face is None
        and moment.now >= seen.out_at + rules.unaccounted_after_ms
    ):
        text = words_of("CARD_UNACCOUNTED", order=seen.order)
        yield card_fault("CARD_UNACCOUNTED", seen, None, text)
    if seen.face is None:
        yield from _unread(moment, seen)
    elif seen.order in moment.surplus:
        words = words_of("DUP_CARD", copy=rules.decks + 1, card=seen.face, decks=rules.decks)
        yield card_fault("DUP_CARD", seen, moment.laid.slot_of(seen.order), words)
    if _is_doubtful(seen, rules) and seen.second is not None:
        slot = moment.laid.slot_of(seen.order)
        name = slot_name(slot, seen.order)
        words = words_of("MISREAD_RISK", slot=name, card=seen.card, second=seen.second)
        yield card_fault("MISREAD_RISK", seen, slot, words)
    if marks is not NO_MARKS:
        yield from _marked(moment, seen)


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


def _marked(moment: Moment, seen: Seen) -> Iterator[Fault]:
    """Find what was noted of a card when it was read."""
    marks = seen.marks
    slot = moment.laid.slot_of(seen.order)
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


def _unread(moment: Moment, seen: Seen) -> Iterator[Fault]:
    """Find a card that counts and has no face: declined, or the coup is over without it."""
    coup, laid, rules = moment.coup, moment.laid, moment.rules
    slot = laid.slot_of(seen.order)
    over = coup.is_over(moment.now, rules.removed_after_ms)
    open_long = (
        rules.dealing is Dealing.FACE_UP
        and seen.placed_at is not None
        and moment.now >= coup.changed_at + rules.unread_after_ms
    )
    if slot is None or not (over or seen.marks.declined or open_long):
        return
    text = words_of("UNREAD", slot=slot_name(slot, seen.order))
    yield replace(card_fault("UNREAD", seen, slot, text), grade=1 if over else 0)
