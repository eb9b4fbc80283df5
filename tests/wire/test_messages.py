"""Messages keep to the contract, logs lose nothing, orders are read with suspicion."""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.game.test_roads import roads_of
from tests.schemas import SCHEMAS, check, schema
from vision.config.profiles import load_profile
from vision.game.cards import DECK, Card, parse_cards
from vision.game.commands import Confirm
from vision.game.events import (
    Category,
    CoupSeen,
    CutCardOut,
    Event,
    Life,
    Role,
    SeenCard,
    Slot,
    Started,
    Winner,
)
from vision.game.outcome import Outcome
from vision.game.outputs import (
    Alert,
    AlertChanged,
    AlertState,
    CardSeen,
    CoupLive,
    CoupResult,
    CoupsChanged,
    Deadline,
    Hand,
    Ignored,
    Output,
    Replied,
    ResultState,
    Severity,
    ShoeChanged,
    StatusChanged,
)
from vision.game.roads import roads_payload
from vision.metrics.counters import Metrics, SightCounts
from vision.record.chain import (
    BrokenChainError,
    header_of,
    identity,
    record_from_line,
    record_line,
    verified,
)
from vision.record.codec import (
    EVENTS,
    GENESIS,
    Record,
    canonical,
    chain_hash,
    event_from_json,
    event_to_json,
    fields_of,
    is_record,
    messages_digest,
    seal,
    to_json,
)
from vision.record.facts import Fact, Hold, Medium, Nonce, Person, Register
from vision.wire.messages import (
    Message,
    MessageStream,
    answer,
    health,
    iso,
    last_will,
    message_line,
    messages_of,
    snake,
    topic_level,
)

PREFIX = "casino/house/table/7/"
NOON = 1_700_000_000_123


def stream() -> MessageStream:
    """Give the stream of a table that has published 40 messages."""
    return MessageStream(
        site="house",
        table="7",
        profile="punto-banco sha256:ab",
        betting=load_profile("punto-banco").betting,
        boot="b1",
        version="1.0",
        seq=40,
    )


def published(output: Output) -> tuple[MessageStream, tuple[Message, ...]]:
    """Return the messages of an output, and the stream after them."""
    return messages_of(stream(), output)


def hand(text: str, points: int, *, natural: bool = False, pair: bool = False) -> Hand:
    """Give a hand of a result."""
    return Hand(parse_cards(text), points, natural, pair)


def result(**changes: Any) -> CoupResult:
    """Give a final result: Punto wins with a natural 9."""
    final = CoupResult(
        NOON,
        shoe="s1",
        coup=3,
        revision=0,
        state=ResultState.FINAL,
        why="",
        winner=Winner.PUNTO,
        punto=hand("9c Kd", 9, natural=True),
        banco=hand("3s 4h", 7),
        egalite_points=None,
        three_giving_eight=False,
        faults=(),
        free=False,
        by="",
        reason="",
    )
    return final._replace(**changes)


EGALITE = result(
    coup=4,
    winner=Winner.EGALITE,
    punto=hand("3c 3d", 6, pair=True),
    banco=hand("2s 4h", 6),
    egalite_points=6,
)
HELD = result(
    coup=5,
    state=ResultState.HELD,
    why="unread",
    winner=None,
    punto=Hand((Card.parse("9c"), None), None, natural=False, pair=False),
)
ALERT = Alert(
    id="s1-3-OVER_B3",
    code="OVER_B3",
    severity=Severity.WARNING,
    state=AlertState.RAISED,
    text="Bank 6, Punto stood: bank stands",
    shoe="s1",
    coup=3,
    raised_at=NOON,
    deadline=Deadline.NEXT_CARD,
    audience=(Role.DEALER, Role.INSPECTOR),
    order=17,
    slot=Slot.BANCO_3,
    observed=Slot.BANCO_3,
    exposed=False,
    confidence=0.99,
    changed_at=NOON,
)
CLOSED = replace(
    ALERT,
    state=AlertState.CLOSED,
    by="Ann",
    role=Role.INSPECTOR,
    remedy="R1",
    acknowledged_by="Bo",
    acknowledged_at=NOON,
    deadline_at=NOON,
    in_time=True,
    confidence=None,
)
LIVE = CoupLive(
    NOON,
    shoe="s1",
    coup=3,
    punto=(Card.parse("9c"), None),
    banco=(Card.parse("3s"),),
    punto_points=None,
    banco_points=None,
    expected=(Slot.BANCO_2,),
    complete=False,
    free=False,
)
SEEN = CardSeen(
    NOON,
    event="read",
    shoe="s1",
    coup=3,
    order=17,
    slot=Slot.PUNTO_1,
    card=Card.parse("9c"),
    confidence=0.9999991234,
    second=Card.parse("6c"),
)
SHOE = ShoeChanged(
    NOON,
    shoe="s1",
    decks=8,
    out=40,
    missed=0,
    coups=7,
    burned=5,
    burn_due=None,
    cut_seen=False,
    last_hand=False,
    ended=False,
    left=None,
    unseen=None,
)
STATUS = StatusChanged(NOON, state="blind", boot="b1", why="covered")
REPLY = Replied(NOON, ref="r9", command="CorrectCard", by="Ann", accepted=False, why="no such coup")

SAID: list[tuple[Output, list[tuple[str, bool]]]] = [
    (SEEN, [("card", False)]),
    (SEEN._replace(event="out", slot=None, card=None, second=None), [("card", False)]),
    (LIVE, [("coup/live", True)]),
    (result(), [("coup/result", True)]),
    (EGALITE, [("coup/result", True)]),
    (HELD, [("coup/result", True)]),
    (result(state=ResultState.VOID, winner=None, by="Ann", reason="x"), [("coup/result", True)]),
    (CoupsChanged(NOON, "s1", (result(), EGALITE, result(coup=5))), [("roads", True)]),
    (CoupsChanged(NOON, "s1", ()), [("roads", True)]),
    (AlertChanged(NOON, ALERT, first=True), [("alert", False), ("alert/s1-3-OVER_B3", True)]),
    (
        AlertChanged(NOON, replace(ALERT, state=AlertState.LAPSED), first=False),
        [("alert/s1-3-OVER_B3", True)],
    ),
    (
        AlertChanged(NOON, CLOSED, first=False),
        [("alert/s1-3-OVER_B3", False), ("alert/s1-3-OVER_B3", True)],
    ),
    (SHOE, [("shoe", True)]),
    (STATUS, [("status", True)]),
    (REPLY, [("cmd/reply", False)]),
    (Ignored(NOON, event="CoupSeen", why="seen before"), []),
]


def said(output: Output) -> list[dict[str, Any]]:
    """Return the payloads that publish an output."""
    _, messages = published(output)
    return [json.loads(message.payload or b"null") for message in messages]


@pytest.mark.parametrize(("output", "topics"), SAID, ids=lambda x: type(x).__name__)
def test_output_is_reported_on_its_topics(output: Output, topics: list[tuple[str, bool]]) -> None:
    """Each output goes to the topics of the contract, retained or not, and fits its schema."""
    after, messages = published(output)
    assert [(m.topic.removeprefix(PREFIX), m.retain) for m in messages] == topics
    assert [m.seq for m in messages] == list(range(41, 41 + len(topics)))
    assert after.seq == 40 + len(topics)
    for message in messages:
        assert message.qos == 1
        check(message)


def test_every_payload_says_who_when_and_which_number() -> None:
    """Schema, table, run, number and moment are in every payload."""
    (payload,) = said(SHOE)
    common = {key: payload[key] for key in ("schema", "table", "boot", "seq", "at")}
    assert common == {
        "schema": 1,
        "table": "7",
        "boot": "b1",
        "seq": 41,
        "at": "2023-11-14T22:13:20.123Z",
    }


def test_result_carries_hands_and_winning_wagers() -> None:
    """A final result says the cards, the points and what the house pays."""
    (payload,) = said(result())
    assert payload["punto"] == {"cards": ["9c", "Kd"], "points": 9, "natural": True, "pair": False}
    assert [wager["bet"] for wager in payload["wagers"]] == ["punto"]
    (tie,) = said(EGALITE)
    assert {"egalite", "punto_pair"} <= {wager["bet"] for wager in tie["wagers"]} | {"punto_pair"}
    assert tie["egalite_points"] == 6


@pytest.mark.parametrize(
    "unpaid", [HELD, result(free=True), result(state=ResultState.VOID, winner=None)]
)
def test_result_without_winner_or_bets_pays_nothing(unpaid: CoupResult) -> None:
    """Held, void and free coups list no winning wager."""
    assert said(unpaid)[0]["wagers"] == []


def test_held_result_says_unread_as_null() -> None:
    """An unread card is null, never a guess."""
    (payload,) = said(HELD)
    assert payload["punto"]["cards"] == ["9c", None]
    assert payload["winner"] is None
    assert payload["why"] == "unread"


def test_roads_leave_out_void_and_held_coups() -> None:
    """The roads are of the coups that count."""
    coups = (result(coup=1), HELD, result(coup=2, state=ResultState.VOID, winner=None), EGALITE)
    (payload,) = said(CoupsChanged(NOON, "s1", coups))
    assert [cell["coup"] for cell in payload["bead_plate"]] == [1, 4]
    assert payload["big_road"][0]["ties"] == 1


def test_roads_of_a_corrected_shoe_are_those_of_a_new_one() -> None:
    """Whatever was drawn before, also of a shoe that is longer than any."""
    winners = [(Winner.PUNTO, Winner.BANCO)[number % 7 % 2] for number in range(400)]
    for each in (winners, [Winner.BANCO, *winners[1:]]):
        coups = tuple(result(coup=coup, winner=winner) for coup, winner in enumerate(each, 1))
        (payload,) = said(CoupsChanged(NOON, "s1", coups))
        road = enumerate((Outcome(winner, natural=True) for winner in each), 1)
        assert roads_payload(roads_of(road)).items() <= payload.items()


def test_closed_alert_is_reported_and_then_cleared() -> None:
    """The desk hears who closed it; who comes later hears nothing of it."""
    reported, cleared = said(AlertChanged(NOON, CLOSED, first=False))
    assert reported["state"] == "closed"
    assert reported["by"] == "Ann"
    assert cleared is None


def test_alert_id_cannot_leave_its_topic() -> None:
    """Whatever an id holds, it is one level of a topic."""
    _, messages = published(AlertChanged(NOON, replace(ALERT, id="a/#+ b"), first=False))
    assert messages[0].topic == PREFIX + "alert/a____b"
    check(messages[0])
    assert topic_level("") == "_"


def test_unknown_output_is_an_error_of_ours() -> None:
    """A output nobody taught the wire is not silently dropped."""
    unknown: Any = CutCardOut(NOON)
    with pytest.raises(TypeError, match="CutCardOut"):
        published(unknown)


def test_started_names_the_run_from_then_on() -> None:
    """The boot id, version and models of the run are in what follows."""
    started = Started(NOON, "b2", "2.0", ("detector sha256:12",))
    online = StatusChanged(NOON, state="online", boot="b2", why="")
    after, (message,) = messages_of(stream().of_run(started), online)
    payload = json.loads(message.payload)
    assert (payload["boot"], payload["version"]) == ("b2", "2.0")
    assert payload["models"] == ["detector sha256:12"]
    assert after.boot == "b2"


def test_last_will_health_and_answers_take_no_number() -> None:
    """What the log does not know of does not move the count."""
    link = {"outbox": 0, "outbox_age_s": 0.0, "connected": True, "orders_refused": 0}
    values = {**Metrics(lambda: SightCounts(looked=5), frames=10).health(), **link}
    for message in (
        last_will(stream(), NOON),
        health(stream(), NOON, values),
        answer(stream(), REPLY),
    ):
        check(message)
        assert message.seq == 40
    assert last_will(stream(), NOON).retain
    assert json.loads(last_will(stream(), NOON).payload)["state"] == "offline"


def test_message_line_is_one_json_object() -> None:
    """The messages file holds topic, payload, qos and retain; a cleared topic is null."""
    _, messages = published(AlertChanged(NOON, CLOSED, first=False))
    reported, cleared = (json.loads(message_line(message)) for message in messages)
    assert reported.keys() == {"topic", "payload", "qos", "retain"}
    assert reported["payload"]["id"] == "s1-3-OVER_B3"
    assert cleared == {
        "topic": PREFIX + "alert/s1-3-OVER_B3", "payload": None, "qos": 1, "retain": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "text"),
    [(0, "1970-01-01T00:00:00.000Z"), (1_000, "1970-01-01T00:00:01.000Z"),
     (1_709_164_799_999, "2024-02-28T23:59:59.999Z")],
)  # fmt: skip
def test_moment_is_written_in_utc_with_milliseconds(at: int, text: str) -> None:
    """Moments are exact to the millisecond."""
    assert iso(at) == text


# --- the log -------------------------------------------------------------------------------------

cards = st.sampled_from(DECK)
values: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**53), 2**53),
    str: st.text(max_size=20),
    bool: st.booleans(),
    float: st.floats(0, 1),
    Card: cards,
    Slot: st.sampled_from(Slot),
    Role: st.sampled_from(Role),
    Winner: st.sampled_from(Winner),
    Medium: st.sampled_from(Medium),
    Fact: st.sampled_from(Fact),
    Life: st.sampled_from(Life),
    tuple[str, ...]: st.lists(st.text(max_size=5), max_size=3).map(tuple),
    **{
        types.GenericAlias(tuple, (kind, ...)): st.lists(st.from_type(kind), max_size=3).map(tuple)
        for kind in (Hold, Nonce, Person)
    },
    Category: st.sampled_from(Category),
    Register: st.from_type(Register),
}


def one_of(hint: Any) -> st.SearchStrategy[Any]:
    """Give values of a field's type."""
    if hint in values:
        return values[hint]
    if is_record(hint):
        fields = {field.name: one_of(field.hint) for field in fields_of(hint)}
        return st.fixed_dictionaries(fields).map(lambda chosen: hint(**chosen))
    if get_origin(hint) is tuple:
        return st.lists(one_of(hint.__args__[0]), max_size=3).map(tuple)
    choices = [choice for choice in hint.__args__ if choice is not type(None)]
    return st.none() | one_of(choices[0])


def events_of(name: str) -> st.SearchStrategy[Event]:
    """Give events of that name with any values."""
    return st.fixed_dictionaries(
        {field.name: one_of(field.hint) for field in fields_of(EVENTS[name])}
    ).map(lambda chosen: EVENTS[name](**chosen))


@pytest.mark.parametrize("name", sorted(EVENTS))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_event_survives_the_log(name: str, data: st.DataObject) -> None:
    """Any event comes back from its JSON text as it was, and gives the same text again."""
    event = data.draw(events_of(name))
    text = canonical(event_to_json(event))
    back = event_from_json(json.loads(text))
    assert back == event
    assert canonical(event_to_json(back)) == text


def test_whole_number_as_confidence_comes_back_as_the_same_text() -> None:
    """A confidence of 1 is written 1.0, before and after."""
    text = canonical(event_to_json(CoupSeen(1, 1, (SeenCard(2, 1, Life.LYING, confidence=1),))))
    assert '"confidence":1.0' in text
    assert canonical(event_to_json(event_from_json(json.loads(text)))) == text


COUP = event_to_json(CoupSeen(1, 1, ()))
CARD = {"order": 1, "out_at": 1, "life": "out"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"is": "Nothing"}, "no event"),
        ({}, "no event"),
        ({"is": "ShoeEnded", "at": 1}, "fields at, left"),
        ({"is": "ShoeEnded", "at": 1, "left": 2, "more": 3}, "fields at, left"),
        ({"is": "ShoeEnded", "at": 1, "left": "2"}, "left"),
        ({"is": "ShoeEnded", "at": True, "left": 2}, "at"),
        ({**COUP, "cards": [{**CARD, "slot": "PUNTO_9"}]}, "PUNTO_9"),
        ({**COUP, "cards": [{**CARD, "slot": 3}]}, "cards"),
        ({**COUP, "cards": [{"order": 1}]}, "out_at"),
        ({**COUP, "cards": "x"}, "cards"),
        ({"is": "ResultEntered", "at": 1, "winner": "bank", "punto_pair": None,
          "banco_pair": None, "three_giving_eight": None, "egalite_points": None}, "bank"),
    ],
)  # fmt: skip
def test_event_that_is_none_is_refused(data: dict[str, Any], words: str) -> None:
    """What is no event of ours is refused with the place."""
    with pytest.raises(ValueError, match=words):
        event_from_json(data)


def test_sets_are_written_in_order() -> None:
    """A set has one text."""
    assert to_json({Slot.BANCO_1, Slot.PUNTO_1}) == ["PUNTO_1", "BANCO_1"]


def chain(count: int = 4) -> list[Record]:
    """Give a chain of that many records."""
    records: list[Record] = []
    for number in range(count):
        previous = records[-1].hash if records else GENESIS
        content = (
            {"log": {"site": "x", "rules": "r"}} if number == 0 else {"event": 1, "said": None}
        )
        records.append(seal(number, previous, content))
    return records


def broken_at(records: list[Record]) -> int:
    """Return the number of the first bad record."""
    with pytest.raises(BrokenChainError) as broken:
        list(verified(records))
    return broken.value.number


def test_chain_holds_and_breaks_where_it_was_touched() -> None:
    """Any single change, loss, insertion or move is found at its record."""
    good = chain(6)
    assert [record for record, _ in verified(good)] == good
    for n in range(6):
        other = replace(good[n], body=good[n].body + " ")
        assert broken_at([*good[:n], other, *good[n + 1 :]]) == n
        if n < 5:
            assert broken_at([*good[:n], *good[n + 1 :]]) == n
            assert broken_at([*good[:n], good[n + 1], good[n], *good[n + 2 :]]) == n
        assert broken_at([*good[: n + 1], good[n], *good[n + 1 :]]) == n + 1


def test_record_that_calls_itself_another_is_found() -> None:
    """A body under another number, though its hash was made anew, does not pass."""
    first, second = chain(2)
    body = second.body.replace('"n":1', '"n":7')
    assert broken_at([first, Record(1, body, chain_hash(first.hash, body))]) == 1


@pytest.mark.parametrize("body", ["no json", "[1]"])
def test_record_that_is_no_object_is_found(body: str) -> None:
    """A body that is not a JSON object does not pass, though its hash fits."""
    assert broken_at([Record(0, body, chain_hash(GENESIS, body))]) == 0


def test_digest_of_what_was_published_tells_messages_apart() -> None:
    """Another word, another order or another cut between two lines gives another digest."""
    digests = {messages_digest(lines) for lines in (["ab"], ["ac"], ["a", "b"], ["b", "a"], [])}
    assert len(digests) == 5


def test_header_is_record_0_or_an_error() -> None:
    """A log says first what it is of."""
    assert header_of(chain())["site"] == "x"
    assert identity(header_of(chain())) == {"site": "x"}
    for records in ([], [seal(0, GENESIS, {"event": 1})], [seal(0, GENESIS, {"log": 1})]):
        with pytest.raises(BrokenChainError, match="header"):
            header_of(records)


def test_exported_record_comes_back() -> None:
    """An export loses nothing."""
    for number, record in enumerate(chain()):
        assert record_from_line(record_line(record), number) == record


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "1", "{}", '{"n":"0","body":"","hash":""}', '{"n":0,"body":1,"hash":""}'],
)
def test_line_that_is_no_record_is_named(text: str) -> None:
    """A line that is no record is told by its number."""
    with pytest.raises(BrokenChainError, match="record 7: is not a record"):
        record_from_line(text, 7)


# --- the rest -----------------------------------------------------------------------------------


def test_schemas_are_schemas() -> None:
    """Every published schema is itself valid and names itself."""
    names = [path.name for path in SCHEMAS.iterdir() if path.name.endswith(".json")]
    assert len(names) == 14
    for name in names:
        contract = schema(name.removesuffix(".json"))
        Draft202012Validator.check_schema(contract)
        assert contract["$id"] == name


def test_class_names_are_reported_in_small_letters() -> None:
    """Orders are named as the contract writes them."""
    assert snake("CorrectCard") == "correct_card"
    assert snake("VoidCoup") == "void_coup"


def test_every_event_can_be_logged() -> None:
    """No input was added that the log does not know."""
    assert {CoupSeen, Confirm, Started} <= set(EVENTS.values())
    for kind in EVENTS.values():
        assert is_dataclass(kind)
        assert [field.name for field in fields(kind)] == [own.name for own in fields_of(kind)]
    assert isinstance(Message("t", b"", 1, True, 1), Message)
