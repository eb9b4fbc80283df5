"""What logs say is in the archive once, however often it is given."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from tests.floor.archive.postgres import FOLDERS, Postgres
from tests.floor.archive.rows import MEMORY, everything, rows
from tests.table_log import PLAYS, said
from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Received, write
from vision.wire.messages import Message


@cache
def published(name: str) -> tuple[Message, ...]:
    """Return what a table publishes of a play."""
    return tuple(said(PLAYS[name]().events))


PREFIX = "casino/house/table/7/"


def received(messages: Iterable[Message], prefix: str = PREFIX) -> list[Received]:
    """Return messages as a log gives them."""
    return [
        Received("house", "7", message.topic.removeprefix(prefix), message.payload)
        for message in messages
    ]


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
    messages = published(name)
    undisturbed = open_archive(MEMORY)
    write(undisturbed, received(messages))
    draw = random.Random(name)
    for start in range(0, len(messages), 17):
        again = max(0, start - draw.randrange(20))
        write(engine, received(messages[again : start + 17]))
    assert everything(engine) == everything(undisturbed)
    wanted = [m for m in messages if m.payload and m.topic.endswith("coup/result")]
    kept = [row for row in rows(engine, tables.message) if row["topic"] == "coup/result"]
    assert [row["payload"].encode() for row in kept] == [m.payload for m in wanted]


def test_database_that_is_away_blames_no_message(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is given again as it was, and all of it is in."""
    good = received(published("clean"))

    def away(*_: object) -> None:
        raise OperationalError("", {}, Exception("gone"))

    with monkeypatch.context() as patch:
        patch.setattr(engine, "connect", away)
        patch.setattr(engine, "begin", away)
        with pytest.raises(OutsideError):
            write(engine, good)
    write(engine, good)
    assert len(rows(engine, tables.coup)) == 5
