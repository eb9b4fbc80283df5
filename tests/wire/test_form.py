"""The one check of messages: what no reader says is refused in words, what readers say is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.table_log import PLAYS, said
from tests.wire.odd_messages import ODD, RESULT
from tests.wire.odd_messages import said as odd
from vision.wire.commands import order_fields
from vision.wire.form import FormError, json_object, message_of
from vision.wire.messages import PICTURES


def checked(topic: str, data: bytes) -> None:
    """Check a message or an order as a consumer does; FormError and the like."""
    order = topic.startswith("cmd/") and topic != "cmd/reply"
    order_fields(data) if order else message_of("7", topic, data)


# The archive asks these itself: whether a time exists, and what the orders are called.
OF_THE_ARCHIVE = ("no time", "order of no name")


@pytest.mark.parametrize("name", [name for name in ODD if name not in OF_THE_ARCHIVE])
def test_odd_message_is_refused_in_words(name: str) -> None:
    """Whatever is wrong, it is one error that says what."""
    with pytest.raises(ValueError, match=r"\w"):
        checked(*ODD[name])


@pytest.mark.parametrize("name", PLAYS)
def test_what_a_reader_says_has_the_form(name: str) -> None:
    """Every message of a play passes, and comes out as it was."""
    for message in said(PLAYS[name]().events):
        topic = message.topic.split("/", 4)[4]
        if message.payload and not topic.startswith(PICTURES):
            assert message_of("7", topic, message.payload) == json.loads(message.payload)


def test_fields_may_be_missing_and_new() -> None:
    """A consumer lives with readers that are older or newer."""
    content = message_of("7", "coup/result", b'{"seq": 1, "new": {"a": [1.5]}}')
    assert content == {"seq": 1, "new": {"a": [1.5]}}


def test_whole_number_is_one_however_it_was_written() -> None:
    """JSON Schema calls 3.0 an integer, and a database does not."""
    data = odd(RESULT).replace(b'"coup": 1,', b'"coup": 3.0,').replace(b'"seq": 5', b'"seq": 5e0')
    content = message_of("7", "coup/result", data)
    assert (repr(content["coup"]), repr(content["seq"])) == ("3", "5")


@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_object_or_an_error_in_words(data: bytes) -> None:
    """Nothing else is ever raised, and what is taken can be written out again."""
    try:
        content = json_object(data)
    except FormError:
        return
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
