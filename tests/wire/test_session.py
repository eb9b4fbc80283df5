"""A session goes through a checkpoint without loss, and what does not fit is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.table_log import PLAYS, Play, header, session_of
from vision.game.commands import ResultStands
from vision.game.events import Role, ShoeStarted
from vision.wire.session import advance, session_from_json, session_to_json


@pytest.mark.parametrize("name", PLAYS)
def test_desk_after_every_event_comes_back_the_same(name: str) -> None:
    """Whatever has happened at the table, a checkpoint holds all of it."""
    start = desk = session_of(header())
    for event in PLAYS[name]().events:
        desk = advance(desk, event).session
        text = json.dumps(session_to_json(desk))
        assert session_from_json(json.loads(text), start) == desk


def test_alert_that_was_put_right_leaves_the_broker_with_its_shoe() -> None:
    """Nobody could close it any more; one that is open stands, and log and archive have both."""
    desk = session_of(header())
    play = Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h")
    play.card("P1:2c").card("B1:3s").card("P2:Kd").card("B2:4h").card("P3:5h").card("B3:9h")
    play.then(ResultStands(play.at, "Ann", Role.INSPECTOR, 2, reason="told the pit"))
    for event in play.events:
        desk = advance(desk, event).session
    standing = {topic for topic in desk.standing if "/alert/" in topic}
    assert standing
    step = advance(desk, ShoeStarted(play.at + 60_000, "s2"))
    known = {f"alert/{each.alert.id}" for each in step.session.table.earlier_alerts}
    cleared = {message.topic for message in step.messages if "/alert/" in message.topic}
    assert cleared == {topic for topic in standing if topic.split("/", 4)[4] not in known}
    assert all(message.retain and not message.payload for message in step.messages
               if message.topic in cleared)  # fmt: skip
    assert {topic for topic in step.session.standing if "/alert/" in topic} == standing - cleared


def ended() -> dict[str, Any]:
    """Return a checkpoint of a table that has seen something."""
    desk = session_of(header())
    for event in PLAYS["overdraw"]().events:
        desk = advance(desk, event).session
    data: dict[str, Any] = json.loads(json.dumps(session_to_json(desk)))
    return data


def test_field_that_was_added_since_takes_its_default() -> None:
    """A checkpoint of an earlier version that knew fewer fields is still good."""
    data = ended()
    del data["table"]["alerts_raised"]
    assert session_from_json(data, session_of(header())).table.alerts_raised == 0


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
    with pytest.raises(ValueError, match=r"no such field|missing|is no|version"):
        session_from_json(data, session_of(header()))
