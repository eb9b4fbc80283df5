"""What tables publish is in the archive once, whatever order and however often it comes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Table, select
from sqlalchemy.exc import OperationalError

from tests.floor.archive.postgres import FOLDERS, Postgres
from tests.table_log import PLAYS, said
from tests.wire.odd_messages import ODD, REPLY
from tests.wire.odd_messages import said as odd_said
from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive import writer as writing
from vision.floor.archive.database import MEMORY, forget_term, open_archive
from vision.floor.archive.writer import NO_TERM, Received, Writer
from vision.wire.commands import again
from vision.wire.form import unproven
from vision.wire.messages import Message

NOW = 1_800_000_000_000


@cache
def told(name: str) -> tuple[Message, ...]:
    """Return what a table says of a play."""
    return tuple(said(PLAYS[name]().events))


BOOT = json.loads(told("clean")[0].payload)["boot"]
PREFIX = "casino/house/table/7/"


def received(messages: Iterable[Message], prefix: str = PREFIX) -> list[Received]:
    """Return messages as the broker gives them."""
    return [
        Received("house", "7", message.topic.removeprefix(prefix), message.payload, NOW)
        for message in messages
    ]


def rows(engine: Engine, table: Table, *without: str) -> list[dict[str, Any]]:
    """Return the rows of a table in the order of their key."""
    with engine.connect() as connection:
        found = connection.execute(select(table).order_by(*table.primary_key)).mappings().all()
    return [{key: row[key] for key in row if key not in without} for row in found]


def everything(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Return all rows but for the order in which messages came."""
    return {t.name: rows(engine, t, "arrival") for t in (tables.message, *tables.DERIVED)}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """Run a database server."""
    if not FOLDERS:
        pytest.skip("no PostgreSQL")
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Open an empty archive in each kind of database."""
    if request.param == "sqlite":
        found = open_archive(str(tmp_path / "archive.sqlite"))
    else:
        found = open_archive(request.getfixturevalue("postgres").address)
    yield found
    if request.param == "postgresql":
        with found.begin() as connection:
            for table in tables.metadata.sorted_tables:
                connection.execute(table.delete())
    found.dispose()


@pytest.mark.parametrize("name", PLAYS)
def test_messages_in_any_order_and_twice_are_archived_once(engine: Engine, name: str) -> None:
    """Repeats, results that overtake, a crash between two batches: the rows are the same."""
    messages = told(name)
    undisturbed = open_archive(MEMORY)
    Writer(undisturbed).take(received(messages))
    draw = random.Random(name)
    jumbled = [*messages, *draw.sample(messages, len(messages) // 2)]
    jumbled.sort(key=lambda message: message.seq + draw.uniform(0, 12))
    writer = Writer(engine)
    for start in range(0, len(jumbled), 17):
        if draw.random() < 0.3:
            writer = Writer(engine)  # the archive was killed and started again
        writer.take(received(jumbled[start : start + 17]))
    assert everything(engine) == everything(undisturbed)
    assert writer.sources["house", "7"].missing() == []
    wanted = [m for m in messages if m.payload and m.topic.endswith("coup/result")]
    kept = [row for row in rows(engine, tables.message) if row["topic"] == "coup/result"]
    assert [row["payload"].encode() for row in kept] == [m.payload for m in wanted]


def test_message_that_never_came_is_missing_until_it_is_sent_again(engine: Engine) -> None:
    """Every number that did not come is known, pictures and cleared topics apart."""
    messages = told("overdraw")
    lost = {message.seq for message in messages[10:14]}
    writer = Writer(engine)
    writer.take(received(message for message in messages if message.seq not in lost))
    (gap,) = writer.sources["house", "7"].missing()
    assert set(range(gap[0], gap[1] + 1)) == lost
    writer.take(received(again(m, PREFIX) for m in messages if m.seq in lost))
    assert writer.sources["house", "7"].missing() == []
    undisturbed = open_archive(MEMORY)
    Writer(undisturbed).take(received(messages))
    assert everything(engine) == everything(undisturbed)


def test_message_of_an_older_term_is_kept_apart(engine: Engine) -> None:
    """A reader that was fenced off and wakes up makes no row of record."""
    status, *others = told("clean")
    writer = Writer(engine, pairs={"7": unproven})
    writer.take(received([with_fields(status, term=1)]))
    writer.take(received([with_fields(one, term=2, boot="b2") for one in others[:20]]))
    late = with_fields(others[21], term=1)
    writer.take(received([late]))
    assert writer.counts["apart"] == 1
    (apart,) = rows(engine, tables.apart)
    assert (apart["why"], apart["payload"].encode()) == ("of an older term", late.payload)
    payloads = {row["payload"].encode() for row in rows(engine, tables.message)}
    assert late.payload not in payloads
    # What the old term said before the new one began is history, whoever sends it again.
    before = with_fields(others[0], term=1, seq=status.seq)
    writer.take(received([before]))
    writer.take(received([again(before, PREFIX)]))
    assert (writer.counts["apart"], writer.counts["repeats"]) == (1, 2)


def test_term_that_nobody_signed_is_kept_apart_and_moves_nothing(engine: Engine) -> None:
    """A forged term keeps no true message out, also where it is the first that is heard."""
    good = f"{1:016x}:{1:0128x}"
    true = [with_fields(m, term=1, term_proof=good) for m in told("clean") if m.payload]
    writer = Writer(engine, pairs={"7": lambda term, proof: proof == f"{term:016x}:{term:0128x}"})
    for term in (99, 2, 1):
        proof = {"term_proof": good if term > 1 else f"{0:016x}:{0:0128x}"}
        forged = [with_fields(true[0], term=term, boot="b9", seq=9 + n, **proof) for n in range(5)]
        writer.take([health(99, term=term), *received(forged)])
    writer.take(received(true))
    assert len(rows(engine, tables.coup)) == 5
    assert {row["why"] for row in rows(engine, tables.apart)} == {NO_TERM}
    assert writer.counts["apart"] == 18


def test_term_that_was_forgotten_keeps_nothing_apart(engine: Engine) -> None:
    """A pair that begins again at term 1 is archived from its first message on."""
    first, *others = told("clean")
    Writer(engine, pairs={"7": unproven}).take(received([with_fields(first, term=9)]))
    overtaken = received([with_fields(others[0], term=1)])
    writer = Writer(engine, pairs={"7": unproven})
    writer.take(overtaken)
    assert writer.counts["apart"] == 1
    assert forget_term(engine, ("house", "7")) == 1
    assert forget_term(engine, ("house", "8")) == 0
    writer = Writer(engine, pairs={"7": unproven})
    writer.take(overtaken)
    assert (writer.counts["apart"], writer.counts["written"]) == (0, 1)


def test_numbers_that_begin_again_are_another_numbering(engine: Engine) -> None:
    """A table whose log was lost is not taken for one that repeats itself."""
    messages = told("clean")
    writer = Writer(engine)
    writer.take(received(messages))
    writer.take(received(with_fields(m, boot="b9") if m.payload else m for m in messages))
    results = [row for row in rows(engine, tables.coup) if row["numbering"] == 1]
    assert len(results) == len(rows(engine, tables.coup)) // 2 == 5


def test_last_will_is_kept_beside_the_message_whose_number_it_has(engine: Engine) -> None:
    """That a reader vanished is in the archive, though it has no number of its own."""
    messages = told("clean")
    writer = Writer(engine)
    writer.take(received(messages))
    newest = max(message.seq for message in messages if message.topic.endswith("status"))
    gone = with_fields(messages[0], seq=newest, state="offline", counted=False)
    writer.take(received([gone, gone]))
    states = [row["state"] for row in rows(engine, tables.status)]
    assert sorted(states) == ["offline", "online", "stopped"]
    offline = next(row for row in rows(engine, tables.status) if row["state"] == "offline")
    assert offline["at"] == NOW, "a will was written at the start: it counts when it comes"


@pytest.mark.parametrize(
    "payload", [b"\xff\x00", b"[]", b'{"boot": 1}', b'{"boot":"b","seq":1,"at":"?"}', b"{" * 9999]
)  # fmt: skip
def test_message_of_no_form_is_kept_apart(engine: Engine, payload: bytes) -> None:
    """Whatever the bytes are, they stop nothing and are not lost."""
    writer = Writer(engine)
    good = told("clean")
    bad = Received("house", "7", "coup/result", payload, NOW)
    writer.take([*received(good[:5]), bad, *received(good[5:])])
    assert writer.counts["unread"] == 1
    assert len(rows(engine, tables.apart)) == 1
    assert len(rows(engine, tables.coup)) == 5


def test_message_without_a_field_is_kept_apart_and_not_asked_for_again(engine: Engine) -> None:
    """What a newer reader says otherwise is kept, and its number has come."""
    messages = told("clean")
    place = next(n for n, m in enumerate(messages) if m.topic.endswith("coup/result"))
    content = json.loads(messages[place].payload)
    del content["punto"]
    odd = messages[place]
    odd = Message(odd.topic, json.dumps(content).encode(), 1, odd.retain, odd.seq)
    writer = Writer(engine)
    writer.take(received([*messages[:place], odd, *messages[place + 1 :]]))
    assert writer.sources["house", "7"].missing() == []
    assert (writer.counts["unread"], len(rows(engine, tables.apart))) == (1, 1)


def test_order_is_archived_once(engine: Engine) -> None:
    """An order stands beside its reply, with the person and the role; a request does not."""
    order = json.dumps({"by": "Ann", "role": "inspector", "coup": 3, "ref": "a1", "key": "Ann"})
    writer = Writer(engine)
    for name in ("void_coup", "void_coup", "replay"):
        writer.take([Received("house", "7", f"cmd/{name}", order.encode(), NOW)])
    (row,) = rows(engine, tables.command)
    assert (row["name"], row["by"], row["role"], row["at"]) == (
        "void_coup",
        "Ann",
        "inspector",
        NOW,
    )


def with_fields(message: Message, **fields: object) -> Message:
    """Return a message with other fields."""
    content = {**json.loads(message.payload), **fields}
    seq = int(str(fields.get("seq", message.seq)))
    return Message(message.topic, json.dumps(content).encode(), message.qos, message.retain, seq)


@pytest.mark.parametrize("name", ODD)
def test_odd_message_costs_the_archive_only_itself(engine: Engine, name: str) -> None:
    """It is kept apart, and the results before and behind it are there, after a restart too."""
    topic, payload = ODD[name]
    good = received(told("clean"))
    writer = Writer(engine)
    writer.take([*good[:9], Received("house", "7", topic, payload, NOW), *good[9:]])
    assert len(rows(engine, tables.coup)) == 5
    assert [len(row["payload"]) > 0 for row in rows(engine, tables.apart)] == [True]
    assert writer.counts["unread"] == 1
    assert Writer(engine).sources["house", "7"].missing() == []


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 10**30, ["a"], "x" * 3_000_000])
def test_message_that_the_database_refuses_costs_only_itself(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, text: Any
) -> None:
    """Also where the check of forms has a hole: one by one, and what fails alone is kept apart."""
    real = tables.row_of

    def holed(one: Any, at: int) -> Any:
        made = real(one, at)
        if made is not None and made[0] is tables.coup and made[1]["coup"] == 2:
            made[1]["shoe"] = text
        return made

    monkeypatch.setattr(writing, "row_of", holed)
    writer = Writer(engine)
    writer.take(received(told("clean")))
    apart = rows(engine, tables.apart)
    there = len(rows(engine, tables.coup))
    assert there + len(apart) == 5, [row["why"] for row in apart]
    assert there >= 4
    assert len(rows(engine, tables.message)) >= 5


def test_database_that_is_away_blames_no_message(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is given again as it was, and nothing of it is kept apart."""
    writer = Writer(engine)
    good = received(told("clean"))

    def away(*_: object) -> None:
        raise OperationalError("", {}, Exception("gone"))

    with monkeypatch.context() as patch:
        patch.setattr(engine, "connect", away)
        patch.setattr(engine, "begin", away)
        with pytest.raises(OutsideError):
            writer.take(good)
    writer.take(good)
    assert len(rows(engine, tables.coup)) == 5
    assert rows(engine, tables.apart) == []


def test_true_result_is_there_though_a_false_one_of_no_form_took_its_number(engine: Engine) -> None:
    """What was kept apart under a number keeps the true message of that number out of nothing."""
    good = told("clean")
    place = next(n for n, m in enumerate(good) if m.topic.endswith("coup/result"))
    content = json.loads(good[place].payload)
    del content["banco"]
    odd = Message(good[place].topic, json.dumps(content).encode(), 1, False, good[place].seq)
    Writer(engine).take(received([*good[:place], odd, *good[place:]]))
    assert len(rows(engine, tables.coup)) == 5


def test_second_text_of_a_number_is_kept_as_a_conflict(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """A forged result that came first does not hide that the true one came."""
    good = told("clean")
    place = next(n for n, m in enumerate(good) if m.topic.endswith("coup/result"))
    forged = with_fields(good[place], winner="banco")
    writer = Writer(engine)
    writer.take(received([*good[:place], forged, *good[place:], good[place]]))
    assert writer.counts["conflicts"] == 2
    (apart,) = rows(engine, tables.apart)
    assert apart["payload"].encode() == good[place].payload
    assert "find out who else publishes for this table" in caplog.text


def test_order_says_whether_the_table_took_it(engine: Engine) -> None:
    """An order that somebody made up stands beside the refusal of the table."""
    writer = Writer(engine)
    for ref in ("r1", "r2", "r3"):
        order = json.dumps({"by": "Ann", "role": "inspector", "coup": 3, "ref": ref, "sig": "0"})
        writer.take([Received("house", "7", "cmd/void_coup", order.encode(), NOW)])
    for ref, accepted in (("r1", True), ("r2", False)):
        reply = odd_said(REPLY, ref=ref, accepted=accepted, why="" if accepted else "not signed")
        reply = reply.replace(b'"seq": 5', f'"seq": {10 + accepted}'.encode())
        writer.take([Received("house", "7", "cmd/reply", reply, NOW)])
    found = {row["ref"]: (row["accepted"], row["why"]) for row in rows(engine, tables.command)}
    assert found == {"r1": (True, ""), "r2": (False, "not signed"), "r3": (None, "")}


def test_term_at_a_table_of_one_reader_keeps_nothing_apart(engine: Engine) -> None:
    """One false `health` with a term silences no table, after a restart neither."""
    Writer(engine).take([health(99, term=99)])
    good = received(told("clean"))
    for start in range(0, len(good), 20):
        Writer(engine).take(good[start : start + 20])
    assert len(rows(engine, tables.coup)) == 5
    assert rows(engine, tables.apart) == []


def health(seq: int, **fields: object) -> Received:
    """Return a `health` of the run of the plays."""
    payload = odd_said({"fps": 1}, boot=BOOT, seq=seq, **fields)
    return Received("house", "7", "health", payload, NOW)


def test_false_number_makes_no_gap_once_the_reader_has_spoken(engine: Engine) -> None:
    """The next `health` mends what a false one, or a false message, has named."""
    messages = told("clean")
    writer = Writer(engine)
    newest = max(message.seq for message in messages)
    writer.take([*received(messages), health(10**9)])
    assert writer.sources["house", "7"].missing() == [(newest + 1, 10**9)]
    writer.take([health(newest)])
    assert writer.sources["house", "7"].missing() == []
    writer.take(received([with_fields(messages[-1], seq=10**9)]))
    writer.take([health(newest + 2)])
    assert writer.sources["house", "7"].missing() == [(newest + 1, newest + 2)]


def test_false_run_takes_the_gaps_of_the_true_one_from_nobody(engine: Engine) -> None:
    """What begins another numbering is the table's only while the reader itself says so."""
    messages = told("clean")
    lost = {message.seq for message in messages[10:14]}
    writer = Writer(engine)
    writer.take(received(m for m in messages if m.seq not in lost))
    (gap,) = writer.sources["house", "7"].missing()
    writer.take(received([with_fields(messages[0], boot="forged")]))
    writer.take([health(max(message.seq for message in messages))])
    assert writer.sources["house", "7"].missing() == [gap]


def test_message_sent_again_that_is_of_no_form_is_asked_for_no_more(engine: Engine) -> None:
    """A table that has nothing better is not asked for ever."""
    messages = told("clean")
    odd = with_fields(messages[3], schema=2)
    writer = Writer(engine)
    writer.take(received([*messages[:3], *messages[4:]]))
    assert writer.sources["house", "7"].missing() == [(odd.seq, odd.seq)]
    writer.take(received([again(odd, PREFIX)]))
    assert writer.sources["house", "7"].missing() == []
