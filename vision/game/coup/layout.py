"""The two hands of a coup as its cards lie, and what the tableau says of them.

A slot is a hand and the count within it: where exactly a card lies in its hand does not matter, its
order of leaving the shoe does. A card not yet at rest in a slot is taken to go where the next card
is due. Which coup a card belongs to, and to which hand, never depends on a face. Must not know
alerts, results or time.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from vision.game.coup.draw_check import BANCO, NOWHERE, PUNTO, Extra, judge
from vision.game.coup.state import NO_MARKS, Coup, Seen
from vision.game.events import Slot
from vision.game.rules import Rules
from vision.game.tableau import opening

COMPLETE: frozenset[Slot | None] = frozenset((None,))
_ONLY = {slot: frozenset((slot,)) for slot in (None, *Slot)}


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
        return _in_order(self.due)

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


@cache
def _in_order(due: frozenset[Slot | None]) -> tuple[Slot, ...]:
    return tuple(sorted(slot for slot in due if slot is not None))


def lay(coup: Coup, rules: Rules) -> Laid:
    """Return the coup laid out by these rules."""
    cards = coup.cards
    where = tuple([seen.slot if seen.marks is NO_MARKS else _ruled(seen) for seen in cards])
    sorted_ = _sort(where, rules.deal_order)
    punto = tuple([cards[place] for place in sorted_.punto])
    banco = tuple([cards[place] for place in sorted_.banco])
    if sorted_.first is not None:
        extras = tuple([(cards[place], "") for place in sorted_.beyond])
        return Laid(punto, banco, extras, _ONLY[sorted_.first], False)
    if not sorted_.beyond:
        verdict = judge(rules.tableau, _total(punto), _total(banco), ())
        return Laid(punto, banco, (), verdict.due, True)
    beyond = [cards[place] for place in sorted_.beyond]
    verdict = judge(rules.tableau, _total(punto), _total(banco), tuple(map(_extra, beyond)))
    for seen, side in zip(beyond, verdict.hands, strict=True):
        if side == PUNTO and len(punto) < 3:
            punto = (*punto, seen)
        elif side == BANCO and len(banco) < 3:
            banco = (*banco, seen)
    return Laid(punto, banco, tuple(zip(beyond, verdict.codes, strict=True)), verdict.due, True)


def _ruled(seen: Seen) -> Slot | int | None:
    return NOWHERE if seen.marks.fate else seen.place


class _Sorted(NamedTuple):
    """The places of the cards: two of each hand at most, and those beyond.

    `first` is where the next of the first four is due, `None` when they are there.
    """

    punto: tuple[int, ...]
    banco: tuple[int, ...]
    beyond: tuple[int, ...]
    first: Slot | None


@lru_cache(maxsize=4096)
def _sort(where: tuple[Slot | int | None, ...], order: tuple[Slot, ...]) -> _Sorted:
    """Sort cards into hands by where they lie; `None`: not at rest, `NOWHERE`: ruled out."""
    hands: tuple[list[int], list[int]] = ([], [])
    beyond: list[int] = []
    for place, slot in enumerate(where):
        side = _side(slot, place, (len(hands[PUNTO]), len(hands[BANCO])), order)
        (beyond if side == NOWHERE or len(hands[side]) > 1 else hands[side]).append(place)
    first = opening(len(hands[PUNTO]), len(hands[BANCO]), order)
    return _Sorted(tuple(hands[PUNTO]), tuple(hands[BANCO]), tuple(beyond), first)


def _side(
    slot: Slot | int | None, place: int, have: tuple[int, int], order: tuple[Slot, ...]
) -> int:
    """Return the hand of a card that may be one of the first four, `NOWHERE` for none."""
    if slot == NOWHERE:
        return NOWHERE
    if slot is not None:
        return slot % 2
    if place < 4 and have[order[place] % 2] < 2:
        return order[place] % 2
    lacking = opening(have[PUNTO], have[BANCO], order)
    return NOWHERE if lacking is None else lacking % 2


def _extra(seen: Seen) -> Extra:
    face, slot = seen.face, seen.place
    counts = NOWHERE if seen.marks.fate else None if slot is None else slot % 2
    lies = None if seen.slot is None else seen.slot % 2
    return Extra(lies, counts, None if face is None else face.points)


def _total(hand: tuple[Seen, ...]) -> int | None:
    one, other = hand[0].face, hand[1].face
    return None if one is None or other is None else (one.points + other.points) % 10
