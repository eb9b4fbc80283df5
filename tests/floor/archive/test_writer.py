"""What logs say is in the archive once, however often it is given."""

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
from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive import writer as writing
from vision.floor.archive.database import MEMORY, open_archive
from vision.floor.archive.writer import Received, Writer
from vision.wire.messages import Message

NOW = 1_800_000_000_000


@cache
def told(name: str) -> tuple[Message, ...]:
    """Return what a table says of a play."""
    return tuple(said(PLAYS[name]().events))


BOOT = json.loads(told("clean")[0].payload)["boot"]
PREFIX = "casino/house/table/7/"


def received(messages: Iterable[Message], prefix: str = PREFIX) -> list[Received]:
    """Return messages as a log gives them."""
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
    """Return all rows."""
    return {t.name: rows(engine, t) for t in (tables.message, *tables.DERIVED)}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """Run a database server."""
    if not FOLDERS:
        pytest.skip("needs PostgreSQL")
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
def test_messages_given_twice_and_in_parts_are_archived_once(engine: Engine, name: str) -> None:
    """A crash between two batches, a log loaded again: the rows are the same."""
    messages = told(name)
    undisturbed = open_archive(MEMORY)
    Writer(undisturbed).take(received(messages))
    draw = random.Random(name)
    for start in range(0, len(messages), 17):
        again = max(0, start - draw.randrange(20))
        Writer(engine).take(received(messages[again : start + 17]))
    assert everything(engine) == everything(undisturbed)
    wanted = [m for m in messages if m.payload and m.topic.endswith("coup/result")]
    kept = [row for row in rows(engine, tables.message) if row["topic"] == "coup/result"]
    assert [row["payload"].encode() for row in kept] == [m.payload for m in wanted]


@pytest.mark.parametrize("payload", [b"{", b"[1]", b'{"a": NaN}', b"\xff", b"{}"])
def test_message_of_no_form_costs_only_itself(
    engine: Engine, payload: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Those beside it are in, and the log names its topic."""
    good = received(told("clean"))
    odd = Received("house", "7", "coup/result", payload, NOW)
    writer = Writer(engine)
    writer.take([*good[:9], odd, *good[9:]])
    assert writer.counts["left out"] == 1
    assert "a message on coup/result is left out" in caplog.text
    assert len(rows(engine, tables.coup)) == 5


@pytest.mark.parametrize("text", ["a\0b", "\ud800", 10**30, ["a"], "x" * 3_000_000])
def test_message_that_the_database_refuses_costs_only_itself(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, text: Any
) -> None:
    """Also where a form has a hole: one by one, and what fails alone is left out."""
    real = tables.row_of

    def holed(one: Any, at: int) -> Any:
        made = real(one, at)
        if made is not None and made[0] is tables.coup and made[1]["coup"] == 2:
            made[1]["shoe"] = text
        return made

    monkeypatch.setattr(writing, "row_of", holed)
    writer = Writer(engine)
    writer.take(received(told("clean")))
    assert len(rows(engine, tables.coup)) + writer.counts["left out"] == 5
    assert len(rows(engine, tables.coup)) >= 4


def test_database_that_is_away_blames_no_message(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is given again as it was, and nothing of it is left out."""
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
    assert writer.counts["left out"] == 0


def test_order_says_what_the_table_answered(engine: Engine) -> None:
    """An order stands once, with the reply to it."""
    order = json.dumps({"ref": "r1", "by": "Ann", "role": "inspector", "coup": 3}).encode()
    frame = {"schema": 1, "table": "7", "boot": BOOT, "seq": 9, "at": "2026-11-22T21:00:00.000Z"}
    answer = {"command": "void_coup", "ref": "r1", "accepted": True, "why": "", "by": "Ann"}
    reply = {**frame, **answer}
    given = [
        Received("house", "7", "cmd/void_coup", order, NOW),
        Received("house", "7", "cmd/reply", json.dumps(reply).encode(), NOW),
    ]
    for _ in range(2):
        Writer(engine).take(given)
    (row,) = rows(engine, tables.command)
    assert (row["name"], row["by"], row["accepted"]) == ("void_coup", "Ann", True)
