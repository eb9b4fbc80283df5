"""A dealer for tests: deals cards as events, and keeps the table and everything that was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from tests.seen import Sight
from vision.game.cards import Card, parse_cards
from vision.game.commands import Confirm, NewShoe
from vision.game.coup.state import Table, new_table
from vision.game.events import CoupSeen, Event, Role, ShoeStarted, Slot, Started
from vision.game.fold.step import step
from vision.game.outputs import Alert, AlertChanged, AlertState, CoupResult, Output
from vision.game.rules import Rules

P1, B1, P2, B2, P3, B3 = Slot
DEALT = (P1, B1, P2, B2)
INSPECTOR = ("Ada", Role.INSPECTOR)
H = TypeVar("H", bound=Output)


def cards(text: str) -> tuple[Card, ...]:
    """Return the cards written in the text."""
    return parse_cards(text)


@dataclass
class Dealer:
    """Deals at one table; `now` is the time of the last event, `pause` the time between two.

    What becomes of the cards its `sight` says, coup by coup.
    """

    rules: Rules = field(default_factory=Rules)
    now: int = 1_000_000
    pause: int = 400
    order: int = 0

    def __post_init__(self) -> None:
        self.table: Table = new_table(self.rules)
        self.sight = Sight(self.rules)
        self.outputs: list[Output] = []
        self.events: list[Event] = []
        self.lying: list[int] = []

    def tell(self, event: Event) -> tuple[Output, ...]:
        """Step the table by one event and return what was said."""
        if isinstance(event, ShoeStarted | NewShoe):
            self.sight.begin_shoe()
        self.table, outputs = step(self.table, event)
        assert all(one.at == event.at for one in outputs)
        self.events.append(event)
        self.outputs += outputs
        return outputs

    def see(self, seen: tuple[CoupSeen, ...]) -> None:
        """Step the table by what sight says."""
        for event in seen:
            self.tell(event)

    def tick(self, ms: int | None = None) -> int:
        """Let time go by, and return the time."""
        self.now += self.pause if ms is None else ms
        return self.now

    def start(self) -> Dealer:
        """Begin a run."""
        self.tell(Started(self.tick(), "boot-1"))
        return self

    def out(self) -> int:
        """Let a card leave the shoe, and return its order."""
        self.order = max(self.order, self.table.next_order - 1) + 1
        self.see(self.sight.out(self.tick(), self.order))
        return self.order

    def lay(self, slot: Slot | None, order: int | None = None) -> int:
        """Lay the card (or a new one) in a slot."""
        order = self.out() if order is None else order
        self.see(self.sight.place(self.tick(), order, slot))
        if order not in self.lying:
            self.lying.append(order)
        return order

    def read(
        self,
        order: int,
        card: Card | str | None,
        confidence: float = 1.0,
        second: str | None = None,
    ) -> None:
        """Read a face."""
        face = Card.parse(card) if isinstance(card, str) else card
        other = None if second is None else Card.parse(second)
        self.see(self.sight.read(self.tick(), order, face, confidence, other))

    def take(self, order: int, ms: int | None = None) -> None:
        """Take a card away after so many milliseconds."""
        self.see(self.sight.take(self.tick(ms), order))

    def give_back(self, order: int) -> None:
        """Push a card back into the shoe."""
        self.see(self.sight.give_back(self.tick(), order))

    def withdraw(self, order: int) -> None:
        """Have sight take a card for none."""
        self.see(self.sight.withdraw(self.tick(), order))

    def allege(self, code: str, order: int | None = None, *, over: bool = False) -> None:
        """Have sight allege a fault, or no longer."""
        self.see(self.sight.allege(self.tick(), code, order, over=over))

    def doubt(self, words: str, coup: int = 0) -> None:
        """Have sight be in doubt about a coup (0: the last); without words no longer."""
        self.see(self.sight.doubt(self.tick(), words, coup))

    def deal(self, slot: Slot | None, card: Card | str | None) -> int:
        """Deal one card face up."""
        order = self.lay(slot)
        if card is not None:
            self.read(order, card)
        return order

    def hand(self, text: str, *more: tuple[Slot, str | None]) -> list[int]:
        """Deal the first four cards in order, face up, and then the others in their slots."""
        first = [self.deal(slot, card) for slot, card in zip(DEALT, cards(text), strict=True)]
        return first + [self.deal(slot, card) for slot, card in more]

    def confirm(self, coup: int) -> None:
        """Have the inspector confirm the cards of a coup."""
        self.tell(Confirm(self.tick(), *INSPECTOR, coup))

    def clear(self) -> None:
        """Take every card off the table."""
        for order in self.lying:
            self.take(order, 50)
        self.lying = []

    def all(self, kind: type[H]) -> list[H]:
        """Return everything of one kind that was said."""
        return [one for one in self.outputs if isinstance(one, kind)]

    @property
    def results(self) -> list[CoupResult]:
        """Every result told."""
        return self.all(CoupResult)

    @property
    def result(self) -> CoupResult:
        """The last result told."""
        return self.results[-1]

    def result_of(self, coup: int) -> CoupResult:
        """Return the last result told of that coup."""
        return [result for result in self.results if result.coup == coup][-1]

    @property
    def alerts(self) -> dict[str, Alert]:
        """Every alert as it now stands by its code, of several with one code the first."""
        last = {one.alert.id: one.alert for one in self.all(AlertChanged)}
        return {alert.code: alert for alert in reversed(last.values())}

    @property
    def raised(self) -> list[str]:
        """The codes told, in order."""
        return [one.alert.code for one in self.all(AlertChanged) if one.first]

    @property
    def open(self) -> list[str]:
        """The codes that are neither rectified nor closed."""
        ended = (AlertState.RECTIFIED, AlertState.CLOSED)
        last = {one.alert.id: one.alert for one in self.all(AlertChanged)}
        return [alert.code for alert in last.values() if alert.state not in ended]
