"""Exits are counted by when they were said, and an `out` said of no card helps none."""

from __future__ import annotations

from typing import Any

import pytest

from datasets.dealing.exits import Exits, compare_exits, cut_seen

CARD = {"began_ms": 1000, "out_ms": 1200, "placed_ms": 1900, "slot": "PUNTO_1"}


def card_message(at_ms: int, event: str, order: int, slot: str | None = None) -> dict[str, Any]:
    """Return a `card` message at a time of the film."""
    at = f"2026-01-01T00:00:{at_ms / 1000:06.3f}Z"
    seen = {"at": at, "event": event, "order": order, "slot": slot}
    return {"topic": "casino/a/table/1/card", "payload": seen}


START = {"topic": "casino/a/table/1/status", "payload": {"at": "2026-01-01T00:00:00.000Z"}}


@pytest.mark.parametrize(
    ("at_ms", "counted"),
    [
        pytest.param(1150, "early", id="before it was wholly out"),
        pytest.param(1185, "in_time", id="as its last millimetres left"),
        pytest.param(1200, "in_time", id="as it was wholly out"),
        pytest.param(1500, "in_time", id="within the promise"),
        pytest.param(1600, "late", id="after it"),
        pytest.param(600, "never", id="before it began to leave"),
        pytest.param(9000, "never", id="long after it lay"),
    ],
)
def test_exit_is_counted_by_when_it_was_published(at_ms: int, counted: str) -> None:
    """One card, one `out`: exactly one of early, in time, late and never."""
    tally = Exits()
    compare_exits([CARD], [START, card_message(at_ms, "out", 1)], tally)
    counts = {name: getattr(tally, name) for name in ("early", "in_time", "late", "never")}
    assert counts == {name: int(name == counted) for name in counts}


def test_exit_of_a_card_that_is_placed_elsewhere_is_not_in_the_right_place() -> None:
    """The `out` of a card counts as in the right place by the slot its order is placed in."""
    placed = [card_message(2000, "placed", 1, "BANCO_1")]
    wrong, right = Exits(), Exits()
    compare_exits([CARD], [START, card_message(1300, "out", 1), *placed], wrong)
    compare_exits(
        [CARD | {"slot": "BANCO_1"}], [START, card_message(1300, "out", 1), *placed], right
    )
    assert (wrong.placed, right.placed) == (0, 1)


def test_one_exit_serves_one_card() -> None:
    """Two cards and one `out`: one of them was never said to leave."""
    tally = Exits()
    compare_exits([CARD, CARD], [START, card_message(1300, "out", 1)], tally)
    assert (tally.cards, tally.in_time, tally.never) == (2, 1, 1)


def test_card_that_is_found_where_it_lies_does_not_make_the_next_one_late() -> None:
    """The second is said to be out before 1.5 s have passed since the first one lay."""
    behind = CARD | {"began_ms": 2500, "out_ms": 2600, "placed_ms": 3400}
    published = [card_message(2100, "found", 1, "PUNTO_1"), card_message(2700, "out", 2)]
    tally = Exits()
    compare_exits([CARD, behind], [START, *published], tally)
    assert (tally.late, tally.in_time) == (1, 1)


def test_missed_card_makes_no_other_one_late() -> None:
    """The `out` of the card behind a missed one is its own, though it came while that one lay."""
    rows = [
        CARD | {"began_ms": 1000 + ms, "out_ms": 1200 + ms, "placed_ms": 1900 + ms}
        for ms in (0, 1000, 2000)
    ]
    said = [card_message(2300, "out", 1), card_message(3300, "out", 2)]
    tally = Exits()
    compare_exits(rows, [START, *said], tally)
    assert (tally.in_time, tally.late, tally.never) == (2, 0, 1)


@pytest.mark.parametrize(("cards", "withheld"), [(2, 0), (3, 3)])
def test_cards_said_together_first_of_all_were_withheld(cards: int, withheld: int) -> None:
    """Three that are found at one instant are those after which the view was believed."""
    rows = [
        CARD | {"began_ms": 1000 + ms, "out_ms": 1200 + ms, "placed_ms": 1900 + ms}
        for ms in range(0, 500 * cards, 500)
    ]
    said = [card_message(3100, "found", order + 1) for order in range(cards)]
    behind = CARD | {"began_ms": 9000, "out_ms": 9200, "placed_ms": 9900}
    tally = Exits()
    compare_exits([*rows, behind], [START, *said, card_message(9300, "out", cards + 1)], tally)
    assert (tally.cards, tally.in_time, tally.withheld) == (cards + 1, 1, withheld)
    assert f"in time 1 of {cards + 1 - withheld} " in str(tally)


def test_cut_card_is_seen_if_the_shoe_says_so() -> None:
    """The shoe's message alone says that the cut card is out."""
    shoe = {"topic": "casino/a/table/1/shoe", "payload": {"cut_card_seen": True}}
    assert cut_seen([START, shoe])
    assert not cut_seen([START, card_message(1300, "out", 1)])
