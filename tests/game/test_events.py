"""What lasts is reported when it begins and when it is over."""

from __future__ import annotations

from vision.game.events import Condition, Noticed


def test_condition_is_reported_once_and_once_more_when_it_is_over() -> None:
    """Another reason meanwhile changes nothing."""
    condition = Condition("LOG")
    assert condition.take(None, 1) == ()
    assert condition.take("The disk is slow.", 2) == (
        Noticed(2, "LOG", detail="The disk is slow."),
    )
    assert condition.take("It is slower still.", 3) == ()
    assert condition.reason == "The disk is slow."
    assert condition.take(None, 4) == (Noticed(4, "LOG", over=True),)
    assert condition.take(None, 5) == ()


def test_condition_with_patience_has_to_last() -> None:
    """A blink is no report, either way."""
    condition = Condition("LIGHT", patience_ms=1000)
    assert condition.take("dark", 0) == ()
    assert condition.take(None, 900) == ()
    assert condition.take("dark", 1000) == ()
    assert [notice.at for notice in condition.take("dark", 2000)] == [2000]
    assert condition.take(None, 2500) == ()
    assert condition.take("dark", 3000) == ()
    assert condition.take(None, 3500) == ()
    assert condition.take(None, 4500) == (Noticed(4500, "LIGHT", over=True),)


def test_condition_that_happens_again_can_be_reported_again() -> None:
    """A second leap of a clock is told, though the first is not over."""
    condition = Condition("CLOCK")
    assert len(condition.report("by +1 s", 1)) == 1
    assert condition.report("by +2 s", 2) == (Noticed(2, "CLOCK", detail="by +2 s"),)
    assert condition.take(None, 3) == (Noticed(3, "CLOCK", over=True),)
