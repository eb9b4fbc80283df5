"""What sight believes of a coup: the whole of it at once, in place of what it believed before.

Sight keeps several explanations of what it saw and says which is the likeliest (`CoupSeen`). So a
card may come late, change its place in the order or prove to be none; nothing here depends on what
was believed before but two things. What a person ordered of a card stays with it: it is the one
that lies where that card lay, else the one of its order. And a sure face that becomes another sure
face is a contradiction, which a person settles.

Sight counts coups by itself; `Coup.sight` is its number. A coup that nobody saw has none (0), nor
has one that began with a card carried over by order until sight begins one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vision.game.coup.fault_table import KINDS
from vision.game.coup.state import NO_MARKS, Burn, Coup, DealtCard, Marks
from vision.game.coup.transition import Changes, Transition, changes, check_cut_card, recount
from vision.game.events import CoupSeen, Life, SeenCard, Slot
from vision.game.fold.shoe import begin, burn_due, end_burn, ensure_shoe, judge_burn, take_ahead
from vision.game.outputs import Deadline
from vision.game.rules import BurnKind

_TURNS = {slot: turn for turn, slot in enumerate(Slot)}


def coup_seen(transition: Transition, event: CoupSeen) -> None:
    """Replace what is known of a coup, or of the burn, by what sight believes now."""
    shoe = transition.table.shoe if transition.table.shoe.name else ensure_shoe(transition)
    coup = transition.table.coup_of_sight(event.coup)
    is_burn = shoe.burn_of(event.coup) is not None
    known = coup is not None or is_burn
    if not known and event.coup != shoe.sight + 1:
        expected = f"the next of this shoe is {shoe.sight + 1}"
        transition.ignore(event, f"coup {event.coup} of sight was not begun here: {expected}")
        return
    before = transition.table.shoe.last
    burned = _burned(transition, event)
    if burned or is_burn:
        _replace_burn(transition, event, event.cards[:burned])
        coup = transition.table.coup_of_sight(event.coup)
    cards = event.cards[burned:]
    if not cards and coup is None:
        return
    if coup is None:
        coup = _begin(transition, event, cards)
    _replace(transition, coup, event, cards)
    if transition.table.shoe.last > before:
        check_cut_card(transition)


# --- a coup ---------------------------------------------------------------------------------------


def _begin(transition: Transition, event: CoupSeen, cards: Sequence[SeenCard]) -> Coup:
    """Begin the next coup; one that began with a card carried over by order is sight's next."""
    before = transition.table.coup
    transition.table.shoe = transition.table.shoe._replace(sight=event.coup)
    if before is not None and before.carried and not before.sight:
        coup = before._replace(sight=event.coup)
        transition.table.set_coup(coup)
        return coup
    transition.pass_table_deadlines((Deadline.NEXT_CARD,))
    if transition.table.shoe.burning and event.doubt:  # some of its cards may be burned
        transition.table.shoe = transition.table.shoe._replace(burning=False)
    elif transition.table.shoe.burning:
        end_burn(transition, transition.table.shoe)
    coup = begin(transition, (DealtCard(cards[0].order, cards[0].out_at),))
    unseen = coup.unseen
    if before is not None and before.unseen:
        # A card that left while those hands lay may have done so when something passed unseen.
        unseen |= cards[0].out_at < (before.cleared_at or transition.at)
    transition.table.coup = begun = coup._replace(sight=event.coup, cards=(), unseen=unseen)
    return begun


def _replace(
    transition: Transition, before: Coup, event: CoupSeen, cards: Sequence[SeenCard]
) -> None:
    """Put the cards of a coup in place of those it had; report what is another thing now."""
    coup = _with_cards(transition, before, event, cards)
    if coup == before:
        return
    missed = transition.table.shoe.missed
    if _left_since(before, coup):
        transition.pass_table_deadlines((Deadline.NEXT_CARD,))
        before = transition.pass_coup_deadlines(before, (Deadline.NEXT_CARD,))
        coup = coup._replace(alerts=before.alerts)
    if len(coup.cards) > len(before.cards):
        coup = take_ahead(transition, coup)
    gone = coup.cleared_at is not None and before.cleared_at is None and coup.over_at is None
    transition.table.set_coup(coup)
    changed = changes(before.cards, coup.cards)
    _count(transition, before, coup, changed)
    _report_cards(transition, coup.number, changed)
    show = coup.cleared_at is None and transition.lay_out(before.cards)
    recount(transition, coup, changed, show=show)
    coup = transition.table.coup_at(coup.number) or coup
    _mirror(transition, coup)
    if gone:
        transition.pass_coup_deadlines(coup, (Deadline.SETTLEMENT,))
        transition.pass_table_deadlines((Deadline.SETTLEMENT,))
    if coup.number == 1 and transition.table.shoe.burns:
        judge_burn(transition)
    fewer = len(coup.cards) < len(before.cards)
    if not before.cards or fewer or transition.table.shoe.missed != missed:
        transition.report_shoe()


def _with_cards(
    transition: Transition, before: Coup, event: CoupSeen, cards: Sequence[SeenCard]
) -> Coup:
    """Return the coup with these cards, and with the orders about those it had."""
    at, gate = event.at, transition.table.rules.confidence_gate
    present = [card for card in cards if card.life is not Life.RETURNED]
    partners, left = _partners(before.cards, present)
    dealt = [_dealt(card, old, at, gate) for card, old in zip(present, partners, strict=True)]
    for card in left:
        _keep(dealt, card, before.carried)
    now = tuple(dealt)
    if now == before.cards:
        now = before.cards
    moved = now is not before.cards and before.over_at is None
    return before._replace(
        cards=now,
        cleared_at=_cleared_at(transition, before, now),
        changed_at=at if moved else before.changed_at,
        back=tuple([card.order for card in cards if card.life is Life.RETURNED]),
        first=min([card.order for card in cards], default=before.first),
        started_at=min([card.out_at for card in cards], default=before.started_at),
        alleged=tuple([each for each in event.alleged if _is_of_sight(each.code)]),
        sure=event.sure,
        doubt=event.doubt,
        doubted_at=at if event.doubt and _is_another_doubt(before) else before.doubted_at,
        odds=event.odds,
    )


def _is_another_doubt(before: Coup) -> bool:
    """Whether a doubt about the coup is another one than that on which a person ruled."""
    if before.doubt:
        return False
    return any(tracked.key == before.doubt_key and tracked.alert.by for tracked in before.alerts)


def _is_of_sight(code: str) -> bool:
    """Whether sight may allege that of a coup."""
    kind = KINDS.get(code)
    return kind is not None and kind.alleged


def _partners(
    before: Sequence[DealtCard], cards: Sequence[SeenCard]
) -> tuple[list[DealtCard | None], list[DealtCard]]:
    """Return for each card the one that it was before, and those that no card is now.

    It is the one that was in its slot if there is one, else the one of its order.
    """
    left = list(before)
    found: dict[int, DealtCard] = {}
    for by_slot, by_order in ((True, True), (True, False), (False, True)):
        for index, card in enumerate(cards):
            if index in found or (by_slot and card.slot is None and not by_order):
                continue
            for old in left:
                if (not by_slot or old.slot is card.slot) and (
                    not by_order or old.order == card.order
                ):
                    found[index] = old
                    left.remove(old)
                    break
    return [found.get(index) for index in range(len(cards))], left


def _dealt(seen: SeenCard, old: DealtCard | None, at: int, gate: float) -> DealtCard:
    """Return a card as sight believes it, with what was ordered of the one that it was."""
    marks = NO_MARKS if old is None else old.marks
    clash = None if old is None or seen.card is None else marks.clash
    if (
        old is not None
        and None not in (old.card, seen.card)
        and old.card != seen.card
        and min(old.confidence, seen.confidence) >= gate
    ):
        clash, marks = old.card, marks._replace(confirmed=False)
    if old is not None and seen.switched not in (None, marks.switched):
        marks = marks._replace(confirmed=False)
    if clash is not None and clash == seen.switched:
        clash = None  # both faces are true: one card lay there, and another does
    lay = None if old is None else old.placed_at
    gone = None if old is None else old.removed_at
    if (seen.declined, seen.switched, clash) != (marks.declined, marks.switched, marks.clash):
        marks = marks._replace(declined=seen.declined, switched=seen.switched, clash=clash)
    return DealtCard(
        order=seen.order,
        out_at=seen.out_at,
        placed_at=(at if lay is None else lay) if _rests(seen) else None,
        slot=seen.slot,
        removed_at=(at if gone is None else gone) if seen.life is Life.REMOVED else None,
        card=seen.card,
        confidence=seen.confidence,
        second=seen.second,
        face=marks.keyed or seen.card,
        face_up=seen.face_up,
        marks=marks,
    )


def _rests(seen: SeenCard) -> bool:
    life = seen.life
    return life is not Life.OUT and (seen.slot is not None or life is Life.LYING)


def _keep(dealt: list[DealtCard], card: DealtCard, carried: int) -> None:
    """Keep a card that sight does not tell of where an order put it there or keyed its face."""
    if card.order == carried:
        if all(other.order != carried for other in dealt):
            dealt.insert(0, card)
        return
    slot = card.ruled_slot
    if card.marks.keyed is None or slot is None:
        return
    keyed = DealtCard(-1 - slot, card.out_at, card.placed_at or card.out_at, slot)
    keyed = keyed.marked(Marks(keyed=card.marks.keyed))
    turn = _TURNS[slot]
    later = (i for i, o in enumerate(dealt) if o.slot is not None and _TURNS[o.slot] > turn)
    dealt.insert(next(later, len(dealt)), keyed)


def _cleared_at(transition: Transition, before: Coup, cards: tuple[DealtCard, ...]) -> int | None:
    """Return when the last of these cards that counts was taken away, `None` while one lies."""
    if not any(card.removed_at for card in cards):
        return None
    seen = [
        card
        for card in cards
        if card.order > 0 and not (card.order == before.carried and card.slot is None)
    ]
    if not any(card.removed_at for card in seen):
        return None
    lying = [
        card
        for card in seen
        if card.removed_at is None and (card.placed_at is not None or card.card is not None)
    ]
    if lying and any(card in lying for card in transition.lay_out(cards).cards):
        return None
    return transition.at if before.cleared_at is None else before.cleared_at


def _left_since(before: Coup, after: Coup) -> bool:
    """Whether a card left the shoe after all those that were known of."""
    if len(after.cards) <= len(before.cards):
        return False
    known = max([card.out_at for card in before.cards], default=before.started_at)
    return any(card.out_at > known for card in after.cards)


def _mirror(transition: Transition, coup: Coup) -> None:
    """Give the coup that began with a card of this one, by order, the face that it shows now."""
    following = transition.table.coup_at(coup.number + 1)
    if following is None or not following.carried:
        return
    now = next((card for card in coup.cards if card.order == following.carried), None)
    old = next((card for card in following.cards if card.order == following.carried), None)
    if now is None or now.card is None or old is None or now.card == old.card:
        return
    card = old.read_as(now.card, now.confidence, now.second)
    transition.evaluate(following.with_card(card))


# --- the burn -------------------------------------------------------------------------------------


def _burned(transition: Transition, event: CoupSeen) -> int:
    """Return how many of the first of these cards are burned.

    While a shoe is burning, those that lie in no slot; and where nobody stated it, the first of
    a shoe where they were laid aside, the first one open.
    """
    table, shoe, cards = transition.table, transition.table.shoe, event.cards
    coup = table.coup
    other = bool(table.done) or (coup is not None and coup.sight != event.coup)
    burns = transition.table.rules.burn.kind is not BurnKind.NONE
    known = shoe.burn_of(event.coup) is not None
    if not cards or not burns or (other and not known):
        return 0
    is_burn = shoe.burning or known
    slotted = next((i for i, card in enumerate(cards) if card.slot is not None), None)
    if other and table.coup_of_sight(event.coup) is None and slotted is None:
        return len(cards)
    if slotted is not None:
        aside = [i for i, card in enumerate(cards[:slotted]) if card.life is not Life.OUT]
        return aside[-1] + 1 if aside and is_burn else 0
    laid = all(card.life is not Life.OUT for card in cards)
    if is_burn:
        earlier = [card for card in shoe.burned if card.order < cards[0].order]
        enough = shoe.burn_due is not None and len(earlier) >= shoe.burn_due
        return len(cards) if laid or not enough else 0
    aside_open = len(cards) > 1 and laid
    is_aside = aside_open or cards[0].life is Life.REMOVED
    began = coup is not None and (
        coup.result is not None or coup.doubt or any(card.slot is not None for card in coup.cards)
    )
    return len(cards) if cards[0].card is not None and is_aside and not began else 0


def _replace_burn(transition: Transition, event: CoupSeen, cards: Sequence[SeenCard]) -> None:
    """Put these cards in place of those of the burn that sight counted as this coup."""
    table = transition.table
    shoe, coup, gate = table.shoe, table.coup, table.rules.confidence_gate
    part = shoe.burn_of(event.coup) or Burn(event.coup)
    was = Coup(0, event.at, event.at, cards=part.cards, back=part.back)
    present = [card for card in cards if card.life is not Life.RETURNED]
    partners, _ = _partners(part.cards, present)
    now = Burn(
        event.coup,
        tuple([_dealt(c, old, event.at, gate) for c, old in zip(present, partners, strict=True)]),
        tuple([card.order for card in cards if card.life is Life.RETURNED]),
        event.sure if len(cards) == len(event.cards) else part.sure,
    )
    if coup is not None and coup.sight == event.coup and len(cards) == len(event.cards):
        transition.end_alerts(coup)
        was = coup._replace(cards=(*part.cards, *coup.cards))
        table.coup = coup = None
    elif now == part:
        return
    burning = shoe.burning or coup is None
    others = [burn for burn in shoe.burns if burn.sight != event.coup]
    shoe = shoe._replace(
        burning=burning, burns=tuple(sorted([*others, now])), sight=max(shoe.sight, event.coup)
    )
    burned = shoe.burned
    due = burn_due(table.rules.burn, burned[0].face if burned else None)
    table.shoe = shoe._replace(burn_due=due)
    after = Coup(0, event.at, event.at, cards=now.cards, back=now.back, sight=event.coup)
    changed = changes(was.cards, now.cards)
    _count(transition, was, after, changed)
    _report_cards(transition, 0, changed)
    recount(transition, None, changed)
    if not burning:
        judge_burn(transition)
    transition.report_shoe()


# --- what both have in common ---------------------------------------------------------------------


def _count(transition: Transition, before: Coup, after: Coup, changed: Changes) -> None:
    """Count the cards that are out of the shoe.

    A coup with a card more shares a number with the next one until that is reported again: a number
    counts once.
    """
    same = before.first == after.first and before.back == after.back
    if same and _numbers(changed.old) == _numbers(changed.new):
        return
    shoe, coups = transition.table.shoe, transition.table.latest
    rest: list[Burn | Coup] = [coup for coup in coups if coup.number != after.number]
    rest += [burn for burn in shoe.burns if after.number or burn.sight != after.sight]
    others = [card for each in rest for card in each.cards]
    returned = [order for each in rest for order in each.back]
    out, back = _tally([*others, *after.cards], [*returned, *after.back])
    had, had_back = _tally([*others, *before.cards], [*returned, *before.back])
    orders = [card.order for card in (*others, *after.cards)] + [*returned, *after.back]
    last = max(orders, default=coups[0].first - 1 if coups else 0)
    if out != had or back != had_back or last != shoe.last:
        transition.table.shoe = shoe._replace(
            last=last,
            out=shoe.out + out - had,
            back=shoe.back + back - had_back,
            ended=shoe.ended and out <= had,
        )


def _numbers(cards: Iterable[DealtCard]) -> list[tuple[int, str]]:
    """Return what of cards decides how many are out of the shoe."""
    return [(card.order, card.marks.fate) for card in cards]


def _tally(cards: Iterable[DealtCard], back: Iterable[int]) -> tuple[int, int]:
    """Return how many numbers are of cards seen to leave, how many of cards back and no others."""
    seen = {card.order for card in cards if card.order > 0 and card.marks.fate != "carried"}
    return len(seen), len(set(back) - seen)


def _report_cards(transition: Transition, number: int, changed: Changes) -> None:
    """Report to surveillance what is another thing now of each card, by its order."""
    old, new = ({card.order: card for card in side if card.order > 0} for side in changed)
    for order in sorted(old.keys() - new.keys()):
        elsewhere = any(card.order == order for card in transition.table.shoe.burned)
        if not elsewhere and transition.table.coup_of(order) is None:
            transition.report_card("withdrawn", number, old[order])
    for order in sorted(new):
        for event in _events(old.get(order), new[order]):
            transition.report_card(event, number, new[order])


def _events(old: DealtCard | None, new: DealtCard) -> Iterator[str]:
    """Yield what became of a card since it was reported last."""
    if old is None:
        yield "out" if new.placed_at is None else "found"
        old = DealtCard(new.order, new.out_at)
    back = old.removed_at is not None and new.removed_at is None
    if new.placed_at is not None and (old.placed_at is None or old.slot is not new.slot or back):
        yield "placed"
    if old.card != new.card or (new.marks.declined and not old.marks.declined):
        yield "read"
    if new.removed_at is not None and old.removed_at is None:
        yield "removed"
