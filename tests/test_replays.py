"""A consumer that has missed messages gets them again, byte for byte, and in bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.table_log import PLAYS, header, said, write_log
from vision.app.order_intake import AT_ONCE, RANGES_EACH, Replays
from vision.record.facts import EvidenceKept, Medium
from vision.storage.log import Store
from vision.storage.log_reader import proven_messages
from vision.wire.commands import PUBLIC, again
from vision.wire.messages import Message

PREFIX = "casino/house/table/7/"


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now


@pytest.fixture(name="desk")
def _desk(tmp_path: Path) -> Iterator[tuple[Replays, Clock, tuple[Message, ...]]]:
    """Give replays over a log with messages of every kind, their clock, and the messages."""
    events = PLAYS["overdraw"]().events
    write_log(tmp_path / "t.sqlite", events)
    clock = Clock()
    with Store(tmp_path / "t.sqlite", header()) as store:
        yield replays_of(store, clock), clock, said(events)


def replays_of(store: Store, clock: Clock) -> Replays:
    """Give the replays of a log that nobody signs."""
    path = store.database.path
    proven = partial(proven_messages, path, vouches=None, head=store.head[1])
    return Replays(store, PREFIX, proven, clock)


def ask(replays: Replays, **fields: Any) -> tuple[bool, str]:
    """Ask for messages; return whether that was accepted, and why not."""
    newest, sender = fields.pop("newest", 10_000), fields.get("key", "")
    reply = replays.ask(dict(fields), sender, newest, 0)
    return reply.accepted, reply.why


def drain(replays: Replays, clock: Clock) -> list[Message]:
    """Let time pass until everything has been said again."""
    found: list[Message] = []
    for _ in range(100):
        clock.now += 0.1
        found += ready(replays)
    return found


def ready(replays: Replays) -> list[Message]:
    """Return all that is due now."""
    return list(iter(replays.next, None))


def test_messages_asked_for_come_again_byte_for_byte(
    desk: tuple[Replays, Clock, tuple[Message, ...]],
) -> None:
    """The whole range comes in order, under the topics for replays, not retained."""
    replays, clock, messages = desk
    assert ask(replays, first=3, last=len(messages)) == (True, "")
    found = drain(replays, clock)
    assert [message.payload for message in found] == [m.payload for m in messages[2:]]
    assert {message.retain for message in found} == {False}


def test_public_side_gets_only_what_is_public(
    desk: tuple[Replays, Clock, tuple[Message, ...]],
) -> None:
    """What a board may not hear comes under a topic that it may not hear."""
    for message in desk[2]:
        level = message.topic.removeprefix(PREFIX)
        side = "public" if level in PUBLIC else "restricted"
        assert again(message, PREFIX).topic == f"{PREFIX}replay/{side}/{level}"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"first": 1}, "two messages are needed"),
        ({"first": "1", "last": 2}, "two messages are needed"),
        ({"first": True, "last": 2}, "two messages are needed"),
        ({"first": 5, "last": 4}, "not a range"),
        ({"first": 0, "last": 4}, "not a range"),
        ({"first": 1, "last": 5000}, "at most 1000"),
        ({"first": 1, "last": 9, "newest": 8}, "the newest message is 8"),
        ({"first": 1, "last": 999}, "kept any more"),
        ({"first": 1, "last": 2, "colour": "red"}, "no such field"),
    ],
)
def test_request_that_cannot_be_served_is_refused_with_the_reason(
    desk: tuple[Replays, Clock, tuple[Message, ...]], fields: dict[str, Any], why: str
) -> None:
    """Nothing is sent, and the asker knows why."""
    accepted, words = ask(desk[0], **fields)
    assert not accepted
    assert why in words
    assert drain(desk[0], desk[1]) == []


def test_many_requests_neither_pile_up_nor_hurry(
    desk: tuple[Replays, Clock, tuple[Message, ...]],
) -> None:
    """A sender has a few that wait, all senders ten, and at most AT_ONCE messages go at a time."""
    replays, clock, messages = desk
    answers = [ask(replays, first=1, last=len(messages))[0] for _ in range(RANGES_EACH + 1)]
    assert answers == [True] * RANGES_EACH + [False]
    for name, accepted in (("Ann", True), ("Bo", True), ("Cy", False)):
        signed = {"key": name, "first": 1, "last": len(messages)}
        answers = [ask(replays, **signed)[0] for _ in range(3)]
        assert answers == [accepted] * 3, name
    clock.now += 60
    first = ready(replays)
    assert 0 < len(first) <= AT_ONCE
    assert len(first) + len(drain(replays, clock)) == (RANGES_EACH + 6) * len(messages)


def test_pictures_come_again_only_to_who_has_signed(tmp_path: Path) -> None:
    """Whoever may publish there can ask, and pictures are a thousand times as much as messages."""
    stored = EvidenceKept(1, "s1-1-c1", Medium.STILL, "s1", 1, "0" * 64, 9, 1)
    write_log(tmp_path / "t.sqlite", [stored])
    clock = Clock()
    with Store(tmp_path / "t.sqlite", header()) as store:
        replays = replays_of(store, clock)
        assert ask(replays, first=1, last=2)[0]
        heard = [message.topic.removeprefix(PREFIX) for message in drain(replays, clock)]
        assert heard == ["replay/restricted/evidence"]
        assert ask(replays, first=1, last=2, key="desk")[0]
        heard = [message.topic.removeprefix(PREFIX) for message in drain(replays, clock)]
        assert heard == ["replay/restricted/evidence/s1-1-c1", "replay/restricted/evidence"]


def test_messages_that_did_not_reach_the_broker_come_first_again(
    desk: tuple[Replays, Clock, tuple[Message, ...]],
) -> None:
    """A connection that breaks in a replay leaves no gap."""
    replays, clock, messages = desk
    assert ask(replays, first=1, last=len(messages))[0]
    clock.now += 60
    lost = [replays.next(), replays.next()]
    replays.put_back([message for message in lost if message is not None])
    assert len(drain(replays, clock)) == len(messages)
