"""A dealer for tests: deals cards as events, and keeps the table and everything that was said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from tests.game.snapshots import Snapshots
from vision.game.cards import Card, parse_cards
from vision.game.commands import Confirm, NewShoe
from vision.game.coup.state import Table, new_table
from vision.game.events import (
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    Event,
    Role,
    ShoeStarted,
    Slot,
    Started,
)
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

    `whole`: what becomes of the cards is told coup by coup (`CoupSeen`).
    """

    rules: Rules = field(default_factory=Rules)
    now: int = 1_000_000
    pause: int = 400
    order: int = 0
    whole: bool = False

    def __post_init__(self) -> None:
        self.table: Table = new_table(self.rules)
        self.snapshots = Snapshots(self.rules)
        self.said: list[Output] = []
        self.events: list[Event] = []
        self.lying: list[int] = []

    def tell(self, event: Event) -> tuple[Output, ...]:
        """Step the table by one event and return what was said."""
        if isinstance(event, ShoeStarted | NewShoe):
            self.snapshots.begin_shoe()
        whole = self.snapshots.take(event) if self.whole else (event,)
        said = tuple(output for each in whole for output in self._step(each))
        self.said += said
        return said

    def _step(self, event: Event) -> tuple[Output, ...]:
        self.table, said = step(self.table, event)
        self.events.append(event)
        return said

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
        self.tell(CardOut(self.tick(), self.order))
        return self.order

    def lay(self, slot: Slot | None, order: int | None = None) -> int:
        """Lay the card (or a new one) in a slot."""
        order = self.out() if order is None else order
        self.tell(CardPlaced(self.tick(), order, slot))
        if order not in self.lying:
            self.lying.append(order)
        return order

    def read(self, order: int, card: Card | str | None, confidence: float = 1.0) -> None:
        """Read a face."""
        face = Card.parse(card) if isinstance(card, str) else card
        self.tell(CardRead(self.tick(), order, face, confidence))

    def deal(self, slot: Slot | None, card: Card | str | None) -> int:
        """Deal one card face up."""
        order = self.lay(slot)
        if card is not None:
            self.read(order, card)
        return order

    def hand(self, text: str, *more: tuple[Slot, str]) -> list[int]:
        """Deal the first four cards in order, face up, and then the others in their slots."""
        first = [self.deal(slot, card) for slot, card in zip(DEALT, cards(text), strict=True)]
        return first + [self.deal(slot, card) for slot, card in more]

    def confirm(self, coup: int) -> None:
        """Have the inspector confirm the cards of a coup."""
        self.tell(Confirm(self.tick(), *INSPECTOR, coup))

    def clear(self) -> None:
        """Take every card off the table."""
        for order in self.lying:
            self.tell(CardRemoved(self.tick(50), order))
        self.lying = []

    def all(self, kind: type[H]) -> list[H]:
        """Return everything of one kind that was said."""
        return [one for one in self.said if isinstance(one, kind)]

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
