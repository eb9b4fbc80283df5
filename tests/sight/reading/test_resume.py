"""After a restart the cards in the log are found again, and changes are reported."""

from __future__ import annotations

import pytest

from tests.sight.film import MOUTH, PLACES, UP, Prop, Stage, deal_coup
from tests.sight.reading.test_reader import FIVE_CARDS, Log, check_coup
from vision.game.events import CardOut, CardPlaced, CardRead, CardRemoved, Event, Noticed, Slot
from vision.sight.detection.detector import Kind
from vision.sight.reading.resume import ExpectedCard, ResumeState


def expected(events: list[Event]) -> list[ExpectedCard]:
    """Return what lies on the table by these events."""
    outs = [event.order for event in events if isinstance(event, CardOut)]
    slots = {event.order: event.slot for event in events if isinstance(event, CardPlaced)}
    reads = {event.order: event.card for event in events if isinstance(event, CardRead)}
    return [ExpectedCard(order, slots.get(order), reads.get(order)) for order in outs]


def restarted(before: Log, resume: ResumeState) -> Log:
    """Return tracker and reader begun afresh at the same table."""
    after = Log(before.stage)
    after.reader.begin_shoe(order=1 + sum(isinstance(e, CardOut) for e in before.events))
    after.reader.restore(resume)
    return after


@pytest.mark.parametrize("cards", [1, 4])
def test_restart_within_a_coup_says_each_card_once(cards: int) -> None:
    """Cut anywhere, the two runs together give exactly the events of a single one."""
    first = Log(Stage(seed=5, props=[Prop(MOUTH, Kind.BACK)]))
    first.play(first.stage.wait(2000))
    script = deal_coup(first.stage, FIVE_CARDS, UP)
    for _ in script:
        first.see(first.stage.detections(), first.stage.picture())
        if sum(isinstance(event, CardRead) for event in first.events) == cards:
            break
    second = restarted(first, ResumeState(expected(first.events)))
    second.play(script)
    # The felt under cards that lay there at the start was never seen: steady is bare.
    second.play(first.stage.wait(9000))
    check_coup(first.events + second.events, FIVE_CARDS, 1)


def at_rest(*slots: Slot) -> Log:
    """Give a table on which a card has been seen in each of these slots."""
    log = Log(Stage(seed=6))
    log.play(log.stage.wait(500))
    for slot, card in zip(slots, FIVE_CARDS, strict=False):
        log.play(log.stage.deal(Prop(MOUTH, Kind.FACE, card), PLACES[slot]))
    log.play(log.stage.wait(1000))
    assert len(expected(log.events)) == len(slots)
    return log


def confirmations(events: list[Event]) -> list[str]:
    """Return what is to be confirmed."""
    return [event.detail for event in events if isinstance(event, Noticed)]


def test_cards_gone_and_cards_new_after_a_restart_are_to_be_confirmed() -> None:
    """Cards that came or went meanwhile are reported, in numbers."""
    before = at_rest(Slot.PUNTO_1, Slot.BANCO_1)
    after = restarted(before, ResumeState(expected(before.events)))
    before.stage.props[0].pose = PLACES[Slot.PUNTO_2]
    after.play(before.stage.wait(8000))
    assert confirmations(after.events) == ["1 gone, 1 new."]
    assert [event.order for event in after.events if isinstance(event, CardRemoved)] == [1]
    assert [event.order for event in after.events if isinstance(event, CardOut)] == [3]


@pytest.mark.parametrize(("may_clear", "details"), [(True, []), (False, ["2 gone, 0 new."])])
def test_table_cleared_during_a_restart_is_told_only_within_a_coup(
    may_clear: bool, details: list[str]
) -> None:
    """A coup that was complete may be cleared; one that was not may not."""
    before = at_rest(Slot.PUNTO_1, Slot.BANCO_1)
    after = restarted(before, ResumeState(expected(before.events), may_clear=may_clear))
    before.stage.props.clear()
    after.play(before.stage.wait(8000))
    assert confirmations(after.events) == details
    assert len([event for event in after.events if isinstance(event, CardRemoved)]) == 2
    assert not after.reader.waiting


def test_card_that_was_on_its_way_is_placed_when_found() -> None:
    """A card out but not at rest when the power went is the one that lies there afterwards."""
    before = at_rest(Slot.PUNTO_1)
    after = restarted(before, ResumeState([ExpectedCard(1, None, None)]))
    after.play(before.stage.wait(8000))
    kinds = [(type(event).__name__, getattr(event, "order", 0)) for event in after.events]
    assert kinds == [("CardPlaced", 1), ("CardRead", 1)]
