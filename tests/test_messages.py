"""Each message of the program explains itself, or the page of messages does."""

from __future__ import annotations

import pytest

from tests.message_index import (
    EXPLAINED,
    PAGE,
    Said,
    explained,
    explains_itself,
    messages,
    page,
)


@pytest.mark.parametrize(
    "reported", messages(), ids=lambda reported: f"{reported.module}:{reported.text[:40]}"
)
def test_message_has_cause_and_cure(reported: Said) -> None:
    """Each says `what is wrong; how to mend it`, or is explained in tests/message_index.py."""
    assert explains_itself(reported) or explained(reported), reported


def test_page_of_messages_is_that_of_the_program() -> None:
    """Nothing is missing from deploy/messages.md, and nothing is left that is said no more."""
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.message_index`"


def test_every_explanation_is_of_a_message() -> None:
    """No explanation outlives what it explains, or is of what explains itself."""
    texts = [published.text for published in messages() if not explains_itself(published)]
    assert [part for part in EXPLAINED if not any(part in text for text in texts)] == []
