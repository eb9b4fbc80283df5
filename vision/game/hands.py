"""The two hands of a coup as its cards lie, and what the tableau says of them.

A slot is a hand and the count within it: where exactly a card lies in its hand does not matter, its
order of leaving the shoe does. A card not yet at rest in a slot is taken to go where the next card
is due. Which coup a card belongs to, and to which hand, never depends on a face. Must not know
alerts, results or time.
"""

from __future__ import annotations

from typing import NamedTuple

from vision.game.cards import Card
from vision.game.events import Slot
from vision.game.rules import Rules
from vision.game.table import NO_MARKS, Coup, Seen
from vision.game.tableau import opening, total
from vision.game.verdict import BANCO, NOWHERE, PUNTO, Extra, judge

COMPLETE: frozenset[Slot | None] = frozenset((None,))


class Laid(NamedTuple):
    """A coup laid out.

    `punto` and `banco` are the cards that count, three at most. `extras` are the cards beyond the
    first two of each hand with the fault of each ("" for none). `due` is where the next card may
    go, `None` in it when none may be due. `opened`: both hands have their first two cards.
    """

    punto: tuple[Seen, ...]
    banco: tuple[Seen, ...]
    extras: tuple[tuple[Seen, str], ...]
    due: frozenset[Slot | None]
    opened: bool

    @property
    def cards(self) -> tuple[Seen, ...]:
        """The cards that count."""
        return self.punto + self.banco

    @property
    def complete(self) -> bool:
        """Whether no card is due, whatever the unread ones are."""
        return self.due == COMPLETE

    @property
    def expected(self) -> tuple[Slot, ...]:
        """Where the next card may go, in the order of the slots."""
        return tuple(sorted(slot for slot in self.due if slot is not None))

    @property
    def surely_due(self) -> bool:
        """Whether a card is due, whatever the unread ones are."""
        return None not in self.due

    def slot_of(self, order: int) -> Slot | None:
        """Return the slot of a card that counts."""
        for hand in (self.punto, self.banco):
            for place, seen in enumerate(hand):
                if seen.order == order:
                    return Slot(2 * place + (hand is self.banco))
        return None

    def in_slot(self, slot: Slot) -> Seen | None:
        """Return the card in that slot, if there is one."""
        hand = self.punto if slot.is_punto else self.banco
        return hand[slot // 2] if slot // 2 < len(hand) else None


def lay(coup: Coup, rules: Rules) -> Laid:
    """Return the coup laid out by these rules."""
    hands: tuple[list[Seen], list[Seen]] = ([], [])
    beyond: list[Seen] = []
    for place, seen in enumerate(coup.cards):
        if seen.slot is not None and seen.marks is NO_MARKS:
            side = seen.slot % 2
        else:
            side = _side(seen, place, (len(hands[PUNTO]), len(hands[BANCO])), rules)
        if side == NOWHERE or len(hands[side]) > 1:
            beyond.append(seen)
        else:
            hands[side].append(seen)
    punto, banco = hands
    if len(punto) < 2 or len(banco) < 2:
        first = opening(len(punto), len(banco), rules.deal_order)
        extras = tuple((seen, "") for seen in beyond)
        return Laid(tuple(punto), tuple(banco), extras, frozenset((first,)), opened=False)
    if not beyond:
        verdict = judge(rules.tableau, _total(punto), _total(banco), ())
        return Laid(tuple(punto), tuple(banco), (), verdict.due, opened=True)
    verdict = judge(rules.tableau, _total(punto), _total(banco), tuple(map(_extra, beyond)))
    for seen, side in zip(beyond, verdict.hands, strict=True):
        if side != NOWHERE and len(hands[side]) < 3:
            hands[side].append(seen)
    extras = tuple(zip(beyond, verdict.codes, strict=True))
    return Laid(tuple(punto), tuple(banco), extras, verdict.due, opened=True)


def _side(seen: Seen, place: int, have: tuple[int, int], rules: Rules) -> int:
    """Return the hand of a card that may be one of the first four, `NOWHERE` for none."""
    if seen.marks.fate:
        return NOWHERE
    slot = seen.place
    if slot is not None:
        return slot % 2
    if place < 4 and have[rules.deal_order[place] % 2] < 2:
        return rules.deal_order[place] % 2
    lacking = opening(have[PUNTO], have[BANCO], rules.deal_order)
    return NOWHERE if lacking is None else lacking % 2


def _extra(seen: Seen) -> Extra:
    face, slot = seen.face, seen.place
    counts = NOWHERE if seen.marks.fate else None if slot is None else slot % 2
    lies = None if seen.slot is None else seen.slot % 2
    return Extra(lies, counts, None if face is None else face.points)


def _points(card: Card | None) -> int | None:
    return None if card is None else card.points


def _total(hand: list[Seen]) -> int | None:
    return total((_points(hand[0].face), _points(hand[1].face)))
