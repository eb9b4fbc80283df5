"""The state of a table, and how the cards of a coup lie in its two hands.

The state holds facts (what was seen), orders (what people decided) and what was published, nothing
derived: `lay_out` works out the hands, `evaluate` the faults and the result, again at every event.
So a correction leaves no trace of the error but the record of it. The types are named tuples rather
than dataclasses because a few are made at every event; change them with `_replace`.

A slot is a hand and the count within it: where exactly a card lies in its hand does not matter, its
order of leaving the shoe does. A card not yet at rest in a slot is taken to go where the next card
is due. Which coup a card belongs to, and to which hand, never depends on its face.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from vision.game.cards import Card
from vision.game.coup.fault_table import Fault
from vision.game.events import Allegation, ResultEntered, Slot
from vision.game.outputs import Alert, CoupResult
from vision.game.rules import Rules
from vision.game.tableau import BANCO, NOWHERE, PUNTO, ExtraCard, check_draws, opening


class Marks(NamedTuple):
    """What holds for few cards only: orders about the card, and doubts about its reading.

    `fate`: "burned" or "carried". `declined`: the face lies open and was not read. `clash`: a
    different earlier reading. `switched`: the other face that lies in its place now.
    """

    keyed: Card | None = None
    moved: Slot | None = None
    fate: str = ""
    confirmed: bool = False
    declined: bool = False
    clash: Card | None = None
    switched: Card | None = None


NO_MARKS = Marks()


class DealtCard(NamedTuple):
    """A card that left the shoe; `order` is 0 or below for a card keyed in that nobody saw.

    `card` is the face as read, `face` the face that counts: keyed in, else read.
    """

    order: int
    out_at: int
    placed_at: int | None = None
    slot: Slot | None = None
    removed_at: int | None = None
    card: Card | None = None
    confidence: float = 0.0
    second: Card | None = None
    face: Card | None = None
    marks: Marks = NO_MARKS
    face_up: bool = False

    def read_as(self, card: Card, confidence: float, second: Card | None) -> DealtCard:
        """Return the card with that face read."""
        face = self.marks.keyed or card
        return self._replace(card=card, confidence=confidence, second=second, face=face)

    def marked(self, marks: Marks) -> DealtCard:
        """Return the card with those marks."""
        if marks == self.marks:
            return self
        return self._replace(marks=marks, face=marks.keyed or self.card)

    @property
    def ruled_slot(self) -> Slot | None:
        """The slot that counts: where the card was ordered to be, else where it lies."""
        return self.slot if self.marks.moved is None else self.marks.moved


class FaultAlert(NamedTuple):
    """An alert and the key of the fault that it is about."""

    key: str
    alert: Alert


Alerts: TypeAlias = tuple[FaultAlert, ...]


class Coup(NamedTuple):
    """One round: its cards in the order in which they left the shoe, and the orders about it.

    `changed_at`: when a card was last out, at rest or read. `cleared_at`: when the last card was
    removed. `over_at`: when the next coup began. `unseen`: the view was lost during it, or when it
    began. `noticed`: faults that its cards do not show. `shown`: the last result that was not held.
    `first`: the order of its first card, or of the next card to leave the shoe where nobody saw its
    cards. `back`: orders of cards that were taken for its own and are in the shoe again, or were
    none. `sight`: its number among the coups that sight has begun, 0 where it has begun none;
    `alleged`, `sure`, `doubt` and `odds` are those of the last `CoupSeen`. `doubted_at`: when the
    doubt began that a person has not ruled on (0: there was but one). `carried`: the order of the
    card that an order made its first, 0 for none.
    """

    number: int
    started_at: int
    changed_at: int
    cleared_at: int | None = None
    cards: tuple[DealtCard, ...] = ()
    over_at: int | None = None
    unseen: bool = False
    void: bool = False
    hold: bool = False
    stands: bool = False
    free: bool = False
    entered: ResultEntered | None = None
    noticed: tuple[Fault, ...] = ()
    alerts: Alerts = ()
    result: CoupResult | None = None
    shown: CoupResult | None = None
    complete: bool = False
    first: int = 0
    back: tuple[int, ...] = ()
    sight: int = 0
    alleged: tuple[Allegation, ...] = ()
    sure: bool = True
    doubt: str = ""
    doubted_at: int = 0
    odds: float | None = None
    carried: int = 0

    @property
    def doubt_key(self) -> str:
        """The key of the fault that sight is in doubt about it."""
        return f"REVIEW:@{self.doubted_at}" if self.doubted_at else "REVIEW:"

    def is_over(self, at: int, patience_ms: int) -> bool:
        """Whether the next card to leave the shoe begins the next coup.

        It does once the cards are gone for good, or where nobody saw any. A hand of fewer than four
        cards that vanished for a moment was covered, not cleared. A coup whose only card went back
        into the shoe has yet to be dealt.
        """
        if self.void or self.over_at is not None:
            return True
        if not self.cards:
            return not self.back and not self.sight
        if self.cleared_at is None:
            return False
        return len(self.cards) >= 4 or at >= self.cleared_at + patience_ms

    def has(self, order: int) -> bool:
        """Whether the card with that order is one of its cards."""
        return any(card.order == order for card in self.cards)

    def with_card(self, card: DealtCard) -> Coup:
        """Return the coup with its card of that order replaced."""
        return self._replace(cards=self.cards_with(card))

    def cards_with(self, card: DealtCard) -> tuple[DealtCard, ...]:
        """Return the cards with the one of that order replaced."""
        return tuple([card if old.order == card.order else old for old in self.cards])


class Burn(NamedTuple):
    """The burned cards of one coup of sight; `back`: as of a `Coup`; `sure`: of their number."""

    sight: int
    cards: tuple[DealtCard, ...] = ()
    back: tuple[int, ...] = ()
    sure: bool = True


class Shoe(NamedTuple):
    """The shoe in use.

    `last` is the highest order seen, `out` how many cards were seen to leave, `back` how many
    orders are of cards that are in the shoe again, or were none. `counts`: how many of each of the
    52 faces were read; `surplus`: the orders of the cards of which there are too many.
    `burning`: cards that leave are burn cards; `burn_due` is how many there should be, the first
    included. `last_coup` is the last to be dealt, known once the cut card is out. `partial`: cards
    may have left unseen. `sight`: how many coups sight has begun in it, those of `burns` included.
    """

    name: str
    last: int = 0
    out: int = 0
    ended: bool = False
    counts: tuple[int, ...] = (0,) * 52
    surplus: frozenset[int] = frozenset()
    burning: bool = False
    burns: tuple[Burn, ...] = ()
    burn_due: int | None = None
    last_coup: int | None = None
    left: int | None = None
    partial: bool = False
    back: int = 0
    sight: int = 0

    @property
    def burned(self) -> tuple[DealtCard, ...]:
        """The burned cards, in the order of leaving."""
        return tuple([card for burn in self.burns for card in burn.cards])

    def burn_of(self, sight: int) -> Burn | None:
        """Return the burned cards that sight counts as that coup."""
        return next((burn for burn in self.burns if burn.sight == sight), None)

    @property
    def gone(self) -> int:
        """How many cards are out of the shoe, those that left unseen included."""
        return self.last - self.back

    @property
    def missed(self) -> int:
        """How many numbers of cards were skipped, until a coup's change is reported."""
        return self.gone - self.out


NO_SHOE = Shoe("")


class Undo(NamedTuple):
    """A coup's orders as they stood before one more; what was seen of the coup is not in it.

    `carried` is the card that the order made the first of the next coup, if it did.
    """

    coup: int
    void: bool
    hold: bool
    stands: bool
    free: bool
    unseen: bool
    marks: tuple[tuple[int, Marks], ...]
    alerts: Alerts
    carried: int | None = None


@dataclass
class Table:
    """Everything that is known of a table; `step` changes a copy of the one that it is given.

    `done` are this shoe's coups before the running one, coup n at index n - 1. `alerts` are those
    about the shoe and the reader, `earlier_alerts` those of earlier shoes that nobody closed;
    `alerts_raised` counts all alerts there ever were. A `shoe` without a name: nothing has been
    seen yet. `bets_closed` is `None` at a table that never reports it.
    """

    rules: Rules
    clock: int = 0
    shoe: Shoe = NO_SHOE
    coup: Coup | None = None
    boot: str = ""
    shoes: int = 0
    done: tuple[Coup, ...] = ()
    noticed: tuple[Fault, ...] = ()
    alerts: Alerts = ()
    earlier_alerts: Alerts = ()
    alerts_raised: int = 0
    blind_since: int | None = None
    bets_closed: bool | None = None
    free_next: bool = False
    undo: tuple[Undo, ...] = ()

    @property
    def coups(self) -> tuple[Coup, ...]:
        """The coups of this shoe, the running one last."""
        return self.done if self.coup is None else (*self.done, self.coup)

    @property
    def latest(self) -> tuple[Coup, ...]:
        """The last two coups of this shoe."""
        return self.done[-2:] if self.coup is None else (*self.done[-1:], self.coup)

    @property
    def next_order(self) -> int:
        """The order of the next card to leave the shoe, for a reader that starts again."""
        return self.shoe.last + 1

    @property
    def waits_until(self) -> int | None:
        """The next time (Unix ms) at which `TimePassed` would change anything, if any."""
        if self.coup is None:
            return None
        times = waiting_times(self.coup, self.rules)
        return min((at for at in times if at > self.clock), default=None)

    def coup_at(self, number: int) -> Coup | None:
        """Return the coup of this shoe with that number."""
        if self.coup is not None and self.coup.number == number:
            return self.coup
        return self.done[number - 1] if 0 < number <= len(self.done) else None

    def coup_of_sight(self, number: int) -> Coup | None:
        """Return the coup of this shoe that sight counts as that one."""
        if self.coup is not None and self.coup.sight == number > 0:
            return self.coup
        return next((coup for coup in reversed(self.done) if coup.sight == number > 0), None)

    def coup_of(self, order: int) -> Coup | None:
        """Return the coup of this shoe in which that card was dealt."""
        if self.coup is not None and self.coup.has(order):
            return self.coup
        index = bisect_right(self.done, order, key=attrgetter("first")) - 1
        return self.done[index] if index >= 0 and self.done[index].has(order) else None

    def copied(self) -> Table:
        """Return another table of which the same is known."""
        table = object.__new__(Table)
        table.__dict__.update(self.__dict__)
        return table

    def set_coup(self, coup: Coup) -> None:
        """Replace the coup of that number."""
        if self.coup is not None and self.coup.number == coup.number:
            self.coup = coup
        else:
            index = coup.number - 1
            self.done = (*self.done[:index], coup, *self.done[index + 1 :])


def waiting_times(coup: Coup, rules: Rules) -> list[int]:
    """Return the times (Unix ms) at which a fault of the coup may come due, past ones too."""
    if coup.void or coup.over_at is not None:
        return []
    times = [
        card.out_at + rules.unaccounted_after_ms for card in coup.cards if card.placed_at is None
    ]
    if not coup.complete:
        times += [coup.changed_at + rules.due_after_ms, coup.changed_at + rules.unread_after_ms]
        removed = (card.removed_at for card in coup.cards)
        times += [at + rules.removed_after_ms for at in removed if at is not None]
    return times


def new_table(rules: Rules | None = None) -> Table:
    """Return a table at which nothing has happened yet, under these rules (default: `Rules()`)."""
    return Table(rules=rules or Rules())


# --- how the cards of a coup lie ------------------------------------------------------------------

COMPLETE: frozenset[Slot | None] = frozenset((None,))
_ONLY = {slot: frozenset((slot,)) for slot in (None, *Slot)}


Faces: TypeAlias = tuple[Card | None, ...]


class HandLayout(NamedTuple):
    """A coup laid out in two hands.

    `punto` and `banco` are the cards that count, three at most. `extras` are the cards beyond the
    first two of each hand with the fault code of each ("" for none). `due` is where the next card
    may go, with `None` in it when none may be due. `opened`: both hands have their first two cards.
    `faces` are those of `punto` and of `banco`.
    """

    punto: tuple[DealtCard, ...]
    banco: tuple[DealtCard, ...]
    extras: tuple[tuple[DealtCard, str], ...]
    due: frozenset[Slot | None]
    opened: bool
    faces: tuple[Faces, Faces]

    @property
    def cards(self) -> tuple[DealtCard, ...]:
        """The cards that count."""
        return self.punto + self.banco

    @property
    def read(self) -> bool:
        """Whether the faces of all cards that count are known."""
        return None not in self.faces[PUNTO] and None not in self.faces[BANCO]

    @property
    def complete(self) -> bool:
        """Whether no card is due, whatever the unread faces are."""
        return self.due == COMPLETE

    @property
    def expected(self) -> tuple[Slot, ...]:
        """Where the next card may go, in the order of the slots."""
        return _in_order(self.due)

    @property
    def surely_due(self) -> bool:
        """Whether a card is due, whatever the unread faces are."""
        return None not in self.due

    def slot_of(self, order: int) -> Slot | None:
        """Return the slot of a card that counts."""
        for hand in (self.punto, self.banco):
            for index, card in enumerate(hand):
                if card.order == order:
                    return Slot(2 * index + (hand is self.banco))
        return None

    def in_slot(self, slot: Slot) -> DealtCard | None:
        """Return the card in that slot, if there is one."""
        hand = self.hand_of(slot)
        return hand[slot // 2] if slot // 2 < len(hand) else None

    def hand_of(self, slot: Slot) -> tuple[DealtCard, ...]:
        """Return the hand to which the slot belongs."""
        return self.punto if slot.is_punto else self.banco


@cache
def _in_order(due: frozenset[Slot | None]) -> tuple[Slot, ...]:
    return tuple(sorted(slot for slot in due if slot is not None))


def lay_out(cards: tuple[DealtCard, ...], rules: Rules) -> HandLayout:
    """Return the cards of a coup laid out by these rules."""
    places = tuple([card.slot if card.marks is NO_MARKS else _ruled_place(card) for card in cards])
    hands = _assign(places, rules.deal_order)
    punto = tuple([cards[index] for index in hands.punto])
    banco = tuple([cards[index] for index in hands.banco])
    beyond = [cards[index] for index in hands.beyond]
    if hands.first is not None:
        extras = tuple([(card, "") for card in beyond])
        faces = _faces(punto), _faces(banco)
        return HandLayout(punto, banco, extras, _ONLY[hands.first], opened=False, faces=faces)
    drawn = tuple([_extra(card) for card in beyond])
    checked = check_draws(rules.tableau, _total(punto), _total(banco), drawn)
    for card, side in zip(beyond, checked.hands, strict=True):
        if side == PUNTO and len(punto) < 3:
            punto = (*punto, card)
        elif side == BANCO and len(banco) < 3:
            banco = (*banco, card)
    extras = tuple(zip(beyond, checked.codes, strict=True))
    faces = _faces(punto), _faces(banco)
    return HandLayout(punto, banco, extras, checked.due, opened=True, faces=faces)


def _faces(cards: tuple[DealtCard, ...]) -> Faces:
    return tuple([card.face for card in cards])


def _ruled_place(card: DealtCard) -> Slot | int | None:
    return NOWHERE if card.marks.fate else card.ruled_slot


class _Hands(NamedTuple):
    """Indices of cards: two for each hand at most, and those beyond.

    `first` is where the next of the first four is due, `None` when they are there.
    """

    punto: tuple[int, ...]
    banco: tuple[int, ...]
    beyond: tuple[int, ...]
    first: Slot | None


# Coups lie in few ways, and each is laid out at every event; 4096 entries are some 2 MB at most.
@lru_cache(maxsize=4096)
def _assign(places: tuple[Slot | int | None, ...], order: tuple[Slot, ...]) -> _Hands:
    """Assign cards to hands by where they lie; `None`: not at rest, `NOWHERE`: in no hand."""
    hands: tuple[list[int], list[int]] = ([], [])
    beyond: list[int] = []
    for index, place in enumerate(places):
        side = _side(place, index, (len(hands[PUNTO]), len(hands[BANCO])), order)
        (beyond if side == NOWHERE or len(hands[side]) > 1 else hands[side]).append(index)
    first = opening(len(hands[PUNTO]), len(hands[BANCO]), order)
    return _Hands(tuple(hands[PUNTO]), tuple(hands[BANCO]), tuple(beyond), first)


def _side(
    place: Slot | int | None, index: int, have: tuple[int, int], order: tuple[Slot, ...]
) -> int:
    """Return the hand of a card that may be one of the first four, `NOWHERE` for none."""
    if place == NOWHERE:
        return NOWHERE
    if place is not None:
        return place % 2
    if index < 4 and have[order[index] % 2] < 2:
        return order[index] % 2
    lacking = opening(have[PUNTO], have[BANCO], order)
    return NOWHERE if lacking is None else lacking % 2


def _extra(card: DealtCard) -> ExtraCard:
    slot = card.ruled_slot
    return ExtraCard(
        lies=None if card.slot is None else card.slot % 2,
        counts=NOWHERE if card.marks.fate else None if slot is None else slot % 2,
        points=None if card.face is None else card.face.points,
    )


def _total(hand: tuple[DealtCard, ...]) -> int | None:
    first, second = hand[0].face, hand[1].face
    return None if first is None or second is None else (first.points + second.points) % 10
