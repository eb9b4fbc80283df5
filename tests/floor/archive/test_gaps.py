"""Missing messages are asked for until they have come, or nobody has them any more."""

from __future__ import annotations

from vision.floor.archive.numbers import AGAIN_S, OPEN, PATIENCE_S, Gaps, NumberSet
from vision.wire.commands import NOT_KEPT, RANGE_LIMIT


def test_gap_is_asked_for_after_a_while_and_not_twice_at_once() -> None:
    """What is only overtaken comes by itself; a request is given again when nothing came of it."""
    gaps = Gaps()
    assert list(gaps.due([(5, 9)], 0.0)) == []
    (asked,) = gaps.due([(5, 9)], PATIENCE_S)
    assert (asked["first"], asked["last"]) == (5, 9)
    assert list(gaps.due([(5, 9)], PATIENCE_S + 1)) == []
    (again,) = gaps.due([(5, 9)], PATIENCE_S + AGAIN_S)
    assert (again["first"], again["last"]) == (5, 9)


def test_long_gap_is_asked_for_in_ranges_that_a_table_takes() -> None:
    """The newest come first, and no more requests are open than a table allows."""
    gaps = Gaps()
    list(gaps.due([(1, 9000)], 0.0))
    asked = list(gaps.due([(1, 9000)], PATIENCE_S))
    assert len(asked) == OPEN
    assert [one["last"] - one["first"] + 1 for one in asked] == [RANGE_LIMIT] * OPEN
    assert asked[0]["last"] == 9000


def test_messages_that_a_table_has_deleted_are_given_up_and_no_others() -> None:
    """A table that keeps messages from 2345 on: all of those come, and all before are lost."""
    oldest, gaps, have, lost, now = 2345, Gaps(), NumberSet([(5001, 5001)]), NumberSet(), 0.0
    for _ in range(200):
        now += PATIENCE_S
        missing = NumberSet((*have.ranges, *lost.ranges)).missing(5001)
        if not missing:
            break
        for asked in list(gaps.due(missing, now)):
            if asked["first"] < oldest:
                reply = {"ref": asked["ref"], "accepted": False, "why": NOT_KEPT}
                if last := gaps.answered(reply):
                    lost.add(1, last)
            else:
                have.add(asked["first"], asked["last"])
    assert have.ranges == [(oldest, 5001)]
    assert lost.ranges == [(1, oldest - 1)]


def test_gap_that_nothing_comes_of_lets_the_others_go_first() -> None:
    """What somebody made up is asked for in turn, and not instead of what is missing."""
    gaps = Gaps()
    missing = [(5, 6), (10, 12), (1_000, 10**9)]
    asked: list[int] = []
    for now_s in range(120):
        asked += [fields["first"] for fields in gaps.due(missing, float(now_s))]
    assert {5, 10} <= set(asked)
