"""Facts in the log: who may report which, and that they change nothing else."""

from __future__ import annotations

import json

import pytest

from tests.table_log import PLAYS, header, session_of
from vision.game.commands import KeepEvidence, ReleaseEvidence
from vision.game.events import Event, Role
from vision.record.codec import canonical, event_from_json, event_to_json
from vision.record.facts import Fact, Hold, Recorded
from vision.wire.commands import RefusedError, order_fields, read_command
from vision.wire.session import TableSession, advance, session_from_json, session_to_json

REASON = "claim 17"


def ordered(**fields: str) -> Event:
    """Return the event of the order `record` with these fields."""
    return read_command("record", order_fields(json.dumps(fields).encode()), 5)


def after(session: TableSession, *events: Event) -> TableSession:
    """Return the session after the events."""
    for event in events:
        session = advance(session, event).session
    return session


def test_fact_of_a_desk_is_an_event_that_comes_back() -> None:
    """A refused log-in of an unknown name is reported by the desk itself, with no person."""
    event = ordered(kind="sign_in_refused", subject="Bob", detail="wrong password")
    assert event == Recorded(5, Fact.SIGN_IN_REFUSED, "Bob", "wrong password")
    assert event_from_json(json.loads(canonical(event_to_json(event)))) == event


@pytest.mark.parametrize("kind", ["evidence_deleted", "user", "key", "nonsense"])
def test_fact_that_only_the_reader_knows_is_no_order(kind: str) -> None:
    """No desk can claim that evidence was deleted or that a key counts."""
    with pytest.raises(RefusedError):
        ordered(kind=kind, subject="Ann")


def test_fact_changes_neither_table_nor_messages() -> None:
    """The messages of a play are the same with facts in between."""
    session = plain = session_of(header())
    for event in PLAYS["overdraw"]().events:
        step, with_fact = advance(plain, event), after(session, Recorded(event.at, Fact.JOB_RUN))
        other = advance(with_fact, event)
        assert other.messages == step.messages
        plain, session = step.session, other.session


def test_register_survives_a_checkpoint() -> None:
    """Users and holds come back from the state as it is stored; what ended is gone."""
    start = session_of(header())
    session = after(
        start,
        Recorded(1, Fact.USER, "Ann", '{"key":"a"}'),
        Recorded(2, Fact.USER, "Bob", '{"key":"b"}'),
        Recorded(3, Fact.USER, "Bob", ""),
        KeepEvidence(4, "Cy", Role.SURVEILLANCE, "s1", 3, reason=REASON),
        KeepEvidence(5, "Cy", Role.SURVEILLANCE, "s1", 4, reason=REASON),
        ReleaseEvidence(6, "Cy", Role.SURVEILLANCE, "s1", 4, reason=REASON),
    )
    assert dict(session.register.users).get("Ann", "") == '{"key":"a"}'
    assert dict(session.register.users).get("Bob", "") == ""
    assert session.register.holds == (Hold("s1", 3),)
    back = session_from_json(json.loads(canonical(session_to_json(session))), start)
    assert back.register == session.register


@pytest.mark.parametrize(
    "order",
    [
        KeepEvidence(4, "Cy", Role.DEALER, "s1", 3, reason=REASON),
        KeepEvidence(4, "Cy", Role.SURVEILLANCE, "s1", 3),
    ],
    ids=["by a dealer", "without a reason"],
)
def test_hold_that_is_refused_holds_nothing(order: KeepEvidence) -> None:
    """Only who watches the table holds evidence, and says why."""
    assert after(session_of(header()), order).register.holds == ()
