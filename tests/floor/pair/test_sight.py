"""At a takeover: what only one saw is told, what differs is believed of neither."""

from __future__ import annotations

import pytest

from tests.chaos.shoe import NOON, laid, play
from tests.chaos.table import config_of
from tests.seen import Sight
from tests.table_log import session_of
from vision.app.run_log import header_of
from vision.floor.pair.journal import DIFFER, OwnSight, unpublished_part
from vision.game.cards import parse_cards
from vision.game.commands import Confirm
from vision.game.coup.state import Table
from vision.game.events import CoupSeen, Event, Role, Slot, Started
from vision.game.fold.step import step
from vision.game.outputs import ResultState

EVENTS = list(play(3))
DEALT = (Slot.PUNTO_1, Slot.BANCO_1, Slot.PUNTO_2, Slot.BANCO_2)


def told(events: list[Event], *, unbroken: bool = True) -> Table:
    """Return the table of which so much has been told."""
    table = session_of(header_of(config_of(1))).table
    for event in (Started(NOON, "b"), *events):
        table = step(table, event)[0]
    return step(table, Started(table.clock, "c", unbroken=unbroken))[0]


def seen(events: list[Event]) -> OwnSight:
    """Return the sight that has seen all of it."""
    own = OwnSight()
    own.begin(told([]))
    own.note(events, told([]))
    return own


def dealt(faces: str, *slots: Slot) -> list[Event]:
    """Return a shoe of which these cards were dealt, as one sight has it."""
    sight, events = Sight(), [EVENTS[0]]
    for number, face in enumerate(parse_cards(faces), start=1):
        slot = (slots or DEALT)[number - 1]
        events += laid(sight, NOON + 70_000 + 1000 * number, number, slot, face)
    return events


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_takeover_at_any_event_comes_to_the_table_that_saw_all(cut: int) -> None:
    """However far the other had told it, the rest is told, and nothing twice."""
    whole = told(EVENTS[:41])
    table = told(EVENTS[:cut])
    for event in seen(EVENTS[1:41]).unpublished(table):
        table = step(table, event)[0]
    assert [_layout(table)] == [_layout(whole)]
    assert table.next_order == whole.next_order
    assert not table.coup or (table.coup.sure and not table.coup.doubt)


def _layout(table: Table) -> list[object]:
    coup = table.coup
    cards = () if coup is None else coup.cards
    return [(c.order, c.slot, c.card, c.removed_at is None) for c in cards]


def test_nothing_is_reported_by_a_sight_that_has_seen_less() -> None:
    """A reader that is some pictures behind adds nothing, and what it sees next is known."""
    table = told(EVENTS[:20])
    own = seen(EVENTS[1:12])
    for event in own.unpublished(table):
        table = step(table, event)[0]
    assert _layout(table) == _layout(told(EVENTS[:20]))
    for event in EVENTS[12:21]:
        for reported in unpublished_part(table, event, table.next_order):
            table = step(table, reported)[0]
    assert _layout(table) == _layout(told(EVENTS[:21]))
    assert table.coup is None or table.coup.sure


@pytest.mark.parametrize("other", ["9s Kd", "As Kc"], ids=["first", "second"])
def test_card_that_two_readers_see_differently_puts_its_coup_in_doubt(other: str) -> None:
    """What was told stands; the coup is held, whatever is seen next, until a person rules."""
    both = dealt("As Kd 7h 7c")
    table, own = told(both[:7]), [*dealt(other), *dealt(f"{other} 7h 7c")[7:]]
    inherited = table.next_order
    reported = list(seen(own[1:7]).unpublished(table))
    assert [(type(event), getattr(event, "doubt", "")) for event in reported] == [
        (CoupSeen, DIFFER)
    ]
    for event in (*reported, *own[7:]):
        for new in unpublished_part(table, event, inherited):
            table = step(table, new)[0]
    assert table.coup is not None
    assert [card.card for card in table.coup.cards] == list(parse_cards("As Kd 7h 7c"))
    assert table.coup.doubt == DIFFER
    assert table.coup.result is not None
    assert table.coup.result.state is ResultState.HELD
    table = step(table, Confirm(table.clock, "Ada", Role.INSPECTOR, 1))[0]
    assert table.coup is not None
    assert table.coup.shown is not None


def test_slot_in_which_two_readers_see_a_card_differs_too() -> None:
    """A card in another hand is another coup."""
    table = told(dealt("As Kd"))
    (reported,) = seen(dealt("As Kd", Slot.PUNTO_1, Slot.PUNTO_2)[1:]).unpublished(table)
    assert getattr(reported, "doubt", "") == DIFFER


def test_card_that_this_reader_has_not_seen_stays_and_the_coup_is_not_sure() -> None:
    """Nothing that was told is taken back unseen, nor alleged."""
    table = told(dealt("As Kd 7h 7c"))
    for event in seen(dealt("As Kd 7h")[1:]).unpublished(table):
        table = step(table, event)[0]
    assert table.coup is not None
    assert len(table.coup.cards) == 4
    assert not table.coup.sure


def test_run_that_was_not_watched_holds_its_coup() -> None:
    """Without eyes on the table the running coup is taken as one not wholly seen, as ever."""
    assert told(EVENTS[:8], unbroken=False).coup.unseen  # type: ignore[union-attr]
    assert not told(EVENTS[:8]).coup.unseen  # type: ignore[union-attr]
