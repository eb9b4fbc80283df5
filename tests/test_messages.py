"""The index of messages is that of the program, and explains each."""

from __future__ import annotations

import pytest

from tests.message_index import EXPLAINED, PAGE, Said, explained, messages, page


@pytest.mark.parametrize("said", messages(), ids=lambda said: f"{said.module}:{said.text[:40]}")
def test_message_has_cause_and_cure(said: Said) -> None:
    """Each says `what is wrong; how to mend it`, or is explained in tests/message_index.py."""
    assert all(explained(said)), said


def test_page_of_messages_is_that_of_the_program() -> None:
    """Nothing is missing from deploy/messages.md, and nothing is left that is said no more."""
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.message_index`"


def test_every_explanation_is_of_a_message() -> None:
    """No explanation outlives what it explains."""
    texts = [said.text for said in messages()]
    assert [part for part in EXPLAINED if not any(part in text for text in texts)] == []
