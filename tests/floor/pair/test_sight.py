"""At a takeover: what both readers saw is told once, what differs is believed of neither."""

from __future__ import annotations

import pytest

from tests.chaos.shoe import NOON, laid, play
from tests.chaos.table import config_of
from tests.table_log import session_of
from vision.app.journal import header_of
from vision.floor.pair.sight import OwnSight, news
from vision.game.cards import Card
from vision.game.coup.state import Table
from vision.game.events import CardRead, Event, Noticed, Slot, Started
from vision.game.fold.step import step

EVENTS = list(play(3))


def told(events: list[Event], *, unbroken: bool = True) -> Table:
    """Return the table of which so much has been told."""
    table = session_of(header_of(config_of(1))).table
    for event in (Started(NOON, "b"), *events):
        table = step(table, event)[0]
    return step(table, Started(table.clock, "c", unbroken=unbroken))[0]


def seen(events: list[Event]) -> OwnSight:
    """Return the sight that has seen all of it."""
    own = OwnSight()
    own.begin(1)
    own.note(events, told([]))
    return own


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_takeover_at_any_event_comes_to_the_table_that_saw_all(cut: int) -> None:
    """However far the other had told it, the rest is told, and nothing twice."""
    whole = told(EVENTS[:41])
    table = told(EVENTS[:cut])
    for event in seen(EVENTS[1:41]).unsaid(table):
        table = step(table, event)[0]
    assert [coup.cards for coup in table.coups][-1:] == [coup.cards for coup in whole.coups][-1:]
    assert table.next_order == whole.next_order
    assert not table.coup or not table.coup.noticed


def test_nothing_is_told_by_a_sight_that_has_seen_less() -> None:
    """A reader that is some pictures behind adds nothing, and what it sees next is known."""
    table = told(EVENTS[:20])
    assert list(seen(EVENTS[1:12]).unsaid(table)) == []
    late = [said for event in EVENTS[12:20] for said in news(table, event, table.next_order)]
    assert late == []


def test_card_that_two_readers_name_differently_goes_to_review() -> None:
    """The name that was published stays until a person rules."""
    events = [EVENTS[0], *laid(NOON + 70_000, 1, Slot.PUNTO_1, Card.parse("As"))]
    other = [CardRead(e.at, e.order, Card.parse("9h"), 0.99) if isinstance(e, CardRead) else e
             for e in events]  # fmt: skip
    said = list(seen(other[1:]).unsaid(told(events)))
    assert [(type(event), getattr(event, "code", "")) for event in said] == [(Noticed, "REVIEW")]


def test_run_that_was_not_watched_holds_its_coup() -> None:
    """Without eyes on the table the running coup is taken as one not wholly seen, as ever."""
    assert told(EVENTS[:8], unbroken=False).coup.unseen  # type: ignore[union-attr]
    assert not told(EVENTS[:8]).coup.unseen  # type: ignore[union-attr]
