"""A desk goes through a checkpoint without loss, and what does not fit is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.table_log import PLAYS, header
from vision.wire.checkpoint import desk_from_json, desk_to_json
from vision.wire.session import advance, new_desk


@pytest.mark.parametrize("name", PLAYS)
def test_desk_after_every_event_comes_back_the_same(name: str) -> None:
    """Whatever has happened at the table, a checkpoint holds all of it."""
    start = desk = new_desk(header())
    for event in PLAYS[name]().events:
        desk = advance(desk, event).desk
        text = json.dumps(desk_to_json(desk))
        assert desk_from_json(json.loads(text), start) == desk


def ended() -> dict[str, Any]:
    """Return a checkpoint of a table that has seen something."""
    desk = new_desk(header())
    for event in PLAYS["overdraw"]().events:
        desk = advance(desk, event).desk
    data: dict[str, Any] = json.loads(json.dumps(desk_to_json(desk)))
    return data


def test_field_that_was_added_since_takes_its_default() -> None:
    """A checkpoint of an earlier version that knew fewer fields is still good."""
    data = ended()
    del data["table"]["alerts"]
    assert desk_from_json(data, new_desk(header())).table.alerts == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["table"].update(colour="green"),
        lambda data: data["table"].update(clock="noon"),
        lambda data: data["table"]["shoe"].pop("name"),
        lambda data: data["table"]["coup"].pop("number"),
        lambda data: data["table"].update(shoe=3),
        lambda data: data.pop("line"),
    ],
    ids=["unknown field", "other type", "missing field", "missing in a coup", "no record", "part"],
)
def test_checkpoint_of_other_types_is_refused(change: Any) -> None:
    """What does not fit is never guessed."""
    data = ended()
    change(data)
    with pytest.raises(ValueError, match=r"differs|is no|version"):
        desk_from_json(data, new_desk(header()))
