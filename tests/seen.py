"""What tests deal, card by card, as sight says it: each coup whole, again whenever it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from vision.game.cards import Card
from vision.game.events import Allegation, CoupSeen, Event, Life, SeenCard, Slot
from vision.game.rules import Rules

Seen = tuple[CoupSeen, ...]
ODDS = 1_000.0
SURE = 0.999999  # confidence of a face that is plainly read


def out(at: int, order: int = 1, coup: int = 1) -> CoupSeen:
    """Return that a card left the shoe, the only one of its coup."""
    return CoupSeen(at, coup, (SeenCard(order, at, Life.OUT),))


def is_out(event: Event) -> bool:
    """Whether a coup is seen whose last card is on its way."""
    return isinstance(event, CoupSeen) and event.cards[-1].life is Life.OUT


def is_read(event: Event) -> bool:
    """Whether a coup is seen whose cards all lie, the last of them read."""
    return (
        isinstance(event, CoupSeen)
        and event.cards[-1].card is not None
        and all(card.life is Life.LYING for card in event.cards)
    )


def is_clearing(event: Event) -> bool:
    """Whether a coup is seen of which a card was taken away."""
    return isinstance(event, CoupSeen) and any(c.life is Life.REMOVED for c in event.cards)


def later(event: Event, ms: int) -> Event:
    """Return the event so many milliseconds later, with the cards that left by then."""
    if isinstance(event, CoupSeen):
        cards = tuple(replace(card, out_at=card.out_at + ms) for card in event.cards)
        event = replace(event, cards=cards)
    return replace(event, at=event.at + ms)


@dataclass
class OpenCoup:
    """A coup as it is dealt."""

    number: int
    cards: list[SeenCard] = field(default_factory=list)
    alleged: dict[tuple[str, int | None], Allegation] = field(default_factory=dict)
    doubt: str = ""
    sure: bool = True
    gone_at: int | None = None
    reported: CoupSeen | None = None


class Sight:
    """A sight that is told what happens, and never mistakes it unless told to.

    Cards have the numbers that the test gave them; what is said counts on without those that were
    withdrawn. Each method takes a time (Unix ms) and returns what is said then.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.begin_shoe()

    def begin_shoe(self) -> None:
        """Begin with the first coup of a shoe."""
        self.coups: list[OpenCoup] = []
        self.withdrawn: list[int] = []
        self._changed: list[OpenCoup] = []

    # --- what happens to a card -------------------------------------------------------------------

    def out(self, at: int, order: int) -> Seen:
        """Let a card leave the shoe: of this coup, or of the next where this one is cleared."""
        coup = self.coups[-1] if self.coups else None
        if coup is None or self._is_over(coup, at):
            coup = OpenCoup(len(self.coups) + 1)
            self.coups.append(coup)
        coup.gone_at = None
        coup.cards.append(SeenCard(order, at, Life.OUT))
        self._changed.append(coup)
        return self._reported(at)

    def place(self, at: int, order: int, slot: Slot | None) -> Seen:
        """Lay a card down; in the first slot, over hands that are gone, it begins a coup."""
        coup, index = self._find(order)
        card = replace(coup.cards[index], life=Life.LYING)
        coup.cards[index] = card if slot is None else replace(card, slot=slot)
        coup.gone_at = None
        if self._is_first(coup, index):
            begun = OpenCoup(len(self.coups) + 1, coup.cards[index:])
            coup.cards = coup.cards[:index]
            self.coups.append(begun)
            self._changed.append(begun)
        return self._reported(at)

    def read(
        self,
        at: int,
        order: int,
        card: Card | None,
        confidence: float = 1.0,
        second: Card | None = None,
    ) -> Seen:
        """Read a face that lies open; `None`: the reader declines to."""
        coup, index = self._find(order)
        seen = coup.cards[index]
        if card is None:
            seen = replace(seen, declined=seen.card is None, face_up=True)
        else:
            facts = {"confidence": float(confidence), "second": second}
            seen = replace(seen, card=card, declined=False, face_up=True, **facts)  # type: ignore[arg-type]
        coup.cards[index] = seen
        return self._reported(at)

    def switch(self, at: int, order: int, card: Card | None = None) -> Seen:
        """Let another face lie in the place of a card."""
        coup, index = self._find(order)
        coup.cards[index] = replace(coup.cards[index], switched=card)
        return self.allege(at, "SWITCH", order)

    def take(self, at: int, order: int) -> Seen:
        """Take a card away from the layout."""
        return self._end(at, order, Life.REMOVED)

    def give_back(self, at: int, order: int) -> Seen:
        """Push a card back into the shoe."""
        coup, _ = self._find(order)
        coup.alleged["RETURNED_TO_SHOE", order] = Allegation("RETURNED_TO_SHOE", order, ODDS)
        return self._end(at, order, Life.RETURNED)

    def withdraw(self, at: int, order: int) -> Seen:
        """Take a card for none."""
        coup, index = self._find(order)
        del coup.cards[index]
        self.withdrawn.append(order)
        self._changed += self.coups[coup.number :]  # their cards have other numbers now
        return self._reported(at)

    # --- what is believed of a coup ---------------------------------------------------------------

    def allege(
        self, at: int, code: str, order: int | None = None, *, coup: int = 0, over: bool = False
    ) -> Seen:
        """Allege a fault, of a card or of that coup (0: the last), or no longer."""
        about = self._find(order)[0] if order is not None else self._coup(coup)
        about.alleged.pop((code, order), None)
        if not over:
            about.alleged[code, order] = Allegation(code, order, ODDS)
        return self._reported(at)

    def doubt(self, at: int, words: str, coup: int = 0) -> Seen:
        """Be in doubt about that coup (0: the last); without words no longer."""
        self._coup(coup).doubt = words
        return self._reported(at)

    def trust(self, at: int, *, sure: bool, coup: int = 0) -> Seen:
        """Be sure of that coup (0: the last), or not."""
        self._coup(coup).sure = sure
        return self._reported(at)

    # --- what is said -----------------------------------------------------------------------------

    def _reported(self, at: int) -> Seen:
        return tuple(self._news(at))

    def _news(self, at: int) -> Iterator[CoupSeen]:
        changed, self._changed = self._changed, []
        for coup in sorted(changed, key=lambda coup: coup.number):
            seen = self._seen(coup, at)
            if coup.reported is None or replace(seen, at=coup.reported.at) != coup.reported:
                coup.reported = seen
                yield seen

    def _seen(self, coup: OpenCoup, at: int) -> CoupSeen:
        numbers = {c.order: c.order - sum(w < c.order for w in self.withdrawn) for c in coup.cards}
        return CoupSeen(
            at,
            coup.number,
            tuple(replace(card, order=numbers[card.order]) for card in coup.cards),
            tuple(
                replace(each, order=numbers.get(each.order or 0, each.order))
                for each in coup.alleged.values()
            ),
            sure=coup.sure,
            doubt=coup.doubt,
        )

    def _coup(self, number: int) -> OpenCoup:
        coup = self.coups[number - 1]
        self._changed.append(coup)
        return coup

    def _find(self, order: int) -> tuple[OpenCoup, int]:
        coup, index = next(
            (coup, index)
            for coup in reversed(self.coups)
            for index, card in enumerate(coup.cards)
            if card.order == order
        )
        self._changed.append(coup)
        return coup, index

    def _end(self, at: int, order: int, life: Life) -> Seen:
        coup, index = self._find(order)
        coup.cards[index] = replace(coup.cards[index], life=life)
        gone = all(card.life is not Life.LYING for card in coup.cards)
        coup.gone_at = (coup.gone_at or at) if gone else None
        return self._reported(at)

    def _is_over(self, coup: OpenCoup, at: int) -> bool:
        cards = [card for card in coup.cards if card.life is not Life.RETURNED]
        if coup.gone_at is None or not cards:
            return False
        return len(cards) > 3 or at >= coup.gone_at + self.rules.removed_after_ms

    def _is_first(self, coup: OpenCoup, index: int) -> bool:
        if index == 0 or coup.cards[index].slot is not self.rules.deal_order[0]:
            return False
        before = coup.cards[:index]
        if coup.number > 1 and not any(c.slot is not None or c.card is not None for c in before):
            return False
        return all(c.life is not Life.LYING for c in before)
