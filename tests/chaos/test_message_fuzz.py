"""Short form of the fuzzer of messages."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.chaos.message_fuzz import consumers_in, fuzz

MESSAGES = 600


def test_any_message_on_any_topic_costs_itself_only(tmp_path: Path) -> None:
    """Behind each few the true result is there, at every consumer, and nothing ever crashed."""
    with ExitStack() as stack:
        found = fuzz(consumers_in(tmp_path, stack), MESSAGES, seed=4)
    assert [(name, one.lost, one.crashes[:1]) for name, one in found.items()] == [
        (name, 0, []) for name in found
    ]
    assert all(one.messages >= MESSAGES for one in found.values())
