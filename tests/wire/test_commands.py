"""Orders: whatever bytes come in, they are an order of the contract or refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.schemas import schema
from vision.game.cards import Card
from vision.game.commands import AckAlert, CorrectCard, NewShoe, VoidCoup
from vision.game.events import BetsClosed, Event, ResultEntered, Role, ShoeEnded, Slot, Winner
from vision.record.codec import canonical, event_from_json, event_to_json, fields_of
from vision.wire.commands import (
    COMMANDS,
    PAYLOAD_LIMIT,
    PROOF,
    TEXT_LIMIT,
    RefusedError,
    order_fields,
    read_command,
    signed_text,
)

NOON = 1_700_000_000_000

ORDER = {"by": "Ann", "role": "inspector", "coup": 3}
SIGNED = {"key": "Ann", "nonce": "0" * 16, "time": "2026-01-01T00:00:00.000Z", "sig": "0" * 128}


def order(name: str, **values: Any) -> Event:
    """Read an order that arrives at noon."""
    return read_command(name, order_fields(json.dumps(values).encode()), NOON)


def is_in_contract(name: str, content: dict[str, Any]) -> bool:
    """Whether an order, signed, keeps to its schema."""
    form = {"$ref": f"#/$defs/{name}", "$defs": schema("cmd")["$defs"]}
    return not list(Draft202012Validator(form).iter_errors({**content, **SIGNED}))


@pytest.mark.parametrize(
    ("name", "values", "event"),
    [
        ("void_coup", ORDER, VoidCoup(NOON, "Ann", Role.INSPECTOR, 3)),
        (
            "correct_card",
            {**ORDER, "slot": "BANCO_3", "card": "Td", "reason": "glare", "ref": "a1"},
            CorrectCard(
                NOON, "Ann", Role.INSPECTOR, 3, Slot.BANCO_3, Card.parse("Td"),
                reason="glare", ref="a1",
            ),
        ),
        (
            "ack_alert",
            {"by": "Bo", "role": "dealer", "alert": "x"},
            AckAlert(NOON, "Bo", Role.DEALER, "x"),
        ),
        (
            "new_shoe",
            {"by": "Bo", "role": "dealer", "shoe": "12", "watch_burn": True},
            NewShoe(NOON, "Bo", Role.DEALER, "12", watch_burn=True),
        ),
        ("bets_closed", {}, BetsClosed(NOON)),
        ("shoe_ended", {"left": 14, "ref": "a2"}, ShoeEnded(NOON, 14)),
        ("result_entered", {"winner": "egalite"}, ResultEntered(NOON, Winner.EGALITE)),
    ],
)  # fmt: skip
def test_order_becomes_its_event(name: str, values: dict[str, Any], event: Event) -> None:
    """A well-formed order is the event it names; what has a default may be left out."""
    assert order(name, **values) == event
    assert is_in_contract(name, values)


@pytest.mark.parametrize(
    ("name", "payload", "words"),
    [
        ("make_tea", b"{}", "no order of that name; there are .*void_coup"),
        ("command", b"{}", "no order of that name"),
        ("void_coup", b"", "no JSON"),
        ("void_coup", b"\xff\xfe", "no JSON"),
        ("void_coup", b"[" * 10_000, "no JSON"),
        ("void_coup", b"[]", "no JSON object"),
        ("void_coup", b" " * (PAYLOAD_LIMIT + 1), "longer than"),
        ("void_coup", json.dumps({**ORDER, "by": ""}).encode(), "by: empty"),
        ("void_coup", json.dumps({**ORDER, "by": "x" * (TEXT_LIMIT + 1)}).encode(), "by: more"),
        ("void_coup", json.dumps({**ORDER, "by": "a\nb"}).encode(), "by: .*print"),
        ("void_coup", b'{"by":"\\ud800","role":"dealer","coup":1}', "surrogate"),
        ("void_coup", json.dumps({**ORDER, "coup": -1}).encode(), "coup: not a number"),
        ("void_coup", json.dumps({**ORDER, "coup": 10**20}).encode(), "a number beyond"),
        ("void_coup", json.dumps({**ORDER, "coup": 1.5}).encode(), "coup"),
        ("void_coup", json.dumps({**ORDER, "coup": True}).encode(), "coup"),
        ("void_coup", json.dumps({**ORDER, "role": "guest"}).encode(), "guest"),
        ("void_coup", json.dumps({**ORDER, "at": 5}).encode(), "at: no such field"),
        ("correct_card", json.dumps({**ORDER, "slot": "PUNTO_1", "card": "10h"}).encode(), "10h"),
        ("void_coup", json.dumps({**ORDER, "x": 5}).encode(), "x: no such field"),
        ("void_coup", b'{"coup":1,"coup":2}', "names a field twice"),
        ("void_coup", b'{"coup":NaN}', "NaN is no JSON"),
        ("void_coup", b'{"coup":[1]}', "coup: neither"),
        ("void_coup", b'{"coup":{"a":1}}', "coup: neither"),
        ("void_coup", b'{"\\ud800":1}', "surrogate"),
        ("void_coup", json.dumps({f"f{n}": 1 for n in range(40)}).encode(), "more than 24 fields"),
        ("void_coup", json.dumps(ORDER).encode("utf-16"), "no JSON in UTF-8"),
        ("void_coup", json.dumps({**ORDER, "coup": 2**53}).encode(), "a number beyond"),
        ("void_coup", json.dumps({"by": "Ann", "role": "dealer"}).encode(), "coup: missing"),
        (
            "new_shoe",
            json.dumps({"by": "A", "role": "dealer", "shoe": "a/#"}).encode(),
            "shoe: use",
        ),
        ("result_entered", b'{"winner":"egalite","egalite_points":"4"}', "egalite_points"),
    ],
)
def test_order_that_is_none_is_refused_with_the_reason(
    name: str, payload: bytes, words: str
) -> None:
    """Whatever comes in, the answer names what is wrong with it."""
    with pytest.raises(RefusedError, match=words):
        read_command(name, order_fields(payload), NOON)


def test_signed_text_is_the_documented_one() -> None:
    """A signature is over the topic and the sorted fields, itself left out, as UTF-8."""
    fields = {"sig": "00", "coup": 3, "by": "Zoë", "reason": 'a "b"', "watch": True}
    assert (
        signed_text("casino/h/table/1/cmd/void_coup", fields)
        == (
            "casino/h/table/1/cmd/void_coup\n"
            '{"by":"Zoë","coup":3,"reason":"a \\"b\\"","watch":true}'
        ).encode()
    )


def test_refusal_carries_the_senders_own_number() -> None:
    """Who sent a bad order can tell which; a monstrous number is not echoed."""
    for ref, echoed in (("a1", "a1"), ("x" * (TEXT_LIMIT + 1), ""), (7, "")):
        with pytest.raises(RefusedError) as refused:
            order("void_coup", ref=ref, coup=-1)
        assert refused.value.ref == echoed


@given(st.sampled_from(sorted(COMMANDS)), st.binary(max_size=200))
def test_random_bytes_are_refused_or_an_event(name: str, payload: bytes) -> None:
    """No bytes crash the reading of an order."""
    try:
        event = read_command(name, order_fields(payload), NOON)
    except RefusedError:
        return
    assert event.at == NOON


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(COMMANDS)), st.data())
def test_any_json_is_refused_or_an_event_that_fits_the_schema(
    name: str, data: st.DataObject
) -> None:
    """What is accepted keeps to the published schema, and survives the log."""
    keys = st.sampled_from([*(field.name for field in fields_of(COMMANDS[name])), "ref", "x"])
    good = st.sampled_from(["Ann", "dealer", "PUNTO_3", "As", 3, True, "punto"])
    content = data.draw(st.dictionaries(keys, json_values | good))
    try:
        event = read_command(name, order_fields(json.dumps(content).encode()), NOON)
    except RefusedError:
        return
    assert is_in_contract(name, content)
    assert event_from_json(json.loads(canonical(event_to_json(event)))) == event


def test_orders_are_those_of_the_schema() -> None:
    """The published forms are of exactly the orders that are understood."""
    named = {entry["$ref"].removeprefix("#/$defs/") for entry in schema("cmd")["anyOf"]}
    assert named == set(COMMANDS)
    for name, kind in COMMANDS.items():
        fields_of_schema = set(schema("cmd")["$defs"][name]["properties"])
        own = {field.name for field in fields_of(kind)}
        assert fields_of_schema - {"ref", *PROOF} == own - {"at", "ref"}
