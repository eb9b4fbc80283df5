"""An archive is held against the logs of its tables: what does not fit is found and named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.config.test_table import table_file
from tests.floor.archive.test_writer import received
from tests.table_log import NOON, PLAYS, Play, header, said, session_of, write_log
from vision.cli import main
from vision.config.table import load
from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import load_log, verify
from vision.floor.archive.writer import Received, Writer
from vision.record.codec import event_from_json, seal
from vision.storage.anchors import make_keys
from vision.storage.log_reader import read_log, write_export
from vision.version import VERSION
from vision.wire.form import unproven
from vision.wire.session import advance, session_to_json


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write a table's log of a play with an overdraw."""
    write_log(tmp_path / "t.sqlite", PLAYS["overdraw"]().events)
    export = tmp_path / "t.jsonl"
    write_export(export, read_log(tmp_path / "t.sqlite"))
    return export


@pytest.fixture
def engine(tmp_path: Path, log: Path) -> Engine:
    """Archive what the table published."""
    engine = open_archive(str(tmp_path / "archive.sqlite"))
    Writer(engine).take(received(said(PLAYS["overdraw"]().events)))
    return engine


def faults(engine: Engine, log: Path) -> list[str]:
    """Return what is found, in words."""
    return [str(fault) for found in verify(engine, [log]) for fault in found.faults]


@pytest.mark.parametrize("name", PLAYS)
def test_archive_of_what_was_published_is_as_its_log(tmp_path: Path, name: str) -> None:
    """Every row of the archive is in the log, and every message of the log in the archive."""
    write_log(tmp_path / "t.sqlite", PLAYS[name]().events)
    write_export(tmp_path / "t.jsonl", read_log(tmp_path / "t.sqlite"))
    engine = open_archive(str(tmp_path / "archive.sqlite"))
    Writer(engine).take(received(said(PLAYS[name]().events)))
    (found,) = verify(engine, [tmp_path / "t.jsonl"])
    assert (found.faults, found.unproven, found.lost) == ([], 0, 0)
    assert found.good > 10
    assert "are as the logs say, 0 are not" in str(found)


UNKEYED = """CREATE TABLE other AS SELECT * FROM message; DROP TABLE message;
ALTER TABLE other RENAME TO message; INSERT INTO message SELECT * FROM message
WHERE topic = 'coup/result' LIMIT 1"""
CHANGED = """UPDATE message SET payload = replace(payload, 'punto', 'banco') WHERE arrival =
(SELECT min(arrival) FROM message WHERE topic = 'coup/result')"""
FORGED = """INSERT INTO message SELECT site, table_name, 'b1', 9999, '', 9999, topic, at, payload
FROM message WHERE topic = 'coup/result' LIMIT 1"""
COLUMNS = ", ".join("'s9'" if column.name == "shoe" else column.name for column in tables.coup.c)
NO_SUCH_SHOE = f"INSERT INTO coup SELECT {COLUMNS} FROM coup LIMIT 1"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (CHANGED, "changed: message boot b1, seq "),
        ("UPDATE coup SET winner = 'egalite' WHERE coup = 1", "changed: coup shoe s1, coup 1"),
        ("DELETE FROM alert", "missing: alert id a1"),
        (
            "DELETE FROM message WHERE topic = 'coup/result'",
            "missing: message boot b1, seq ",
        ),
        (FORGED, "forged: message boot b1, seq 9999 on coup/result"),
        (NO_SUCH_SHOE, "forged: coup shoe s9, coup 1"),
        (UNKEYED, "doubled: message boot b1, seq "),
        ("UPDATE source SET seen = '[[1,9],[11,999]]'", "never came: source message 10"),
        ("UPDATE coup SET named = 9 WHERE coup = 1", "changed: coup shoe s1, coup 1"),
    ],
    ids=["changed", "winner", "alert", "missing", "forged", "coup", "doubled", "number", "count"],
)
def test_row_that_is_not_as_the_log_says_is_named(
    engine: Engine, log: Path, change: str, named: str
) -> None:
    """A forged, missing, doubled or changed row is found, whichever table it stands in."""
    assert faults(engine, log) == []
    with engine.begin() as connection:
        for statement in change.split(";"):
            connection.execute(text(statement))
    found = faults(engine, log)
    assert len(found) == 1 if "DELETE FROM message" not in change else len(found) > 1
    assert found[0].startswith(named)


def test_archive_is_filled_from_a_log(tmp_path: Path, log: Path) -> None:
    """What a broker lost for good is loaded from the table's log; loading twice adds nothing."""
    engine = open_archive(str(tmp_path / "late.sqlite"))
    writer = Writer(engine)
    writer.take(received(said(PLAYS["overdraw"]().events)[30:]))
    assert faults(engine, log) != []
    load_log(log, writer)
    written = writer.counts["written"]
    load_log(log, writer)
    assert writer.counts["written"] == written
    assert faults(engine, log) == []


def forged(log: Path, folder: Path) -> Path:
    """Return an export with a checkpoint behind its last record in which all winners are others."""
    records = list(read_log(log))
    session = session_of(header())
    for event in map(event_from_json, (json.loads(r.body).get("event") for r in records[1:])):
        session = advance(session, event).session
    names = {"punto": "banco", "banco": "punto"}
    swapped = re.sub(
        '"winner": "(punto|banco)"',
        lambda found: f'"winner": "{names[found[1]]}"',
        json.dumps(session_to_json(session)),
    )
    assert swapped != json.dumps(session_to_json(session))
    last = records[-1]
    records.append(seal(last.number + 1, last.hash, {"desk": json.loads(swapped)}))
    write_export(folder / "forged.jsonl", iter(records))
    return folder / "forged.jsonl"


def test_checkpoint_that_nobody_signed_puts_nothing_into_an_archive(tmp_path: Path) -> None:
    """What the events of the log say counts: a checkpoint is held against them, and refused."""
    play = (
        Play()
        .begin(version=VERSION)
        .coup("P1:9c B1:3s P2:Kd B2:4h")
        .coup("P1:2c B1:3s P2:Kd B2:4h P3:5h")
    )
    write_log(tmp_path / "t.sqlite", play.events)
    engine = open_archive(str(tmp_path / "late.sqlite"))
    log = forged(tmp_path / "t.sqlite", tmp_path)
    with pytest.raises(OutsideError, match="not what the records before say"):
        load_log(log, Writer(engine))


def test_log_that_no_given_key_signed_is_not_loaded(tmp_path: Path) -> None:
    """With a key, what `archive load` believes is what that key has signed."""
    write_log(tmp_path / "t.sqlite", PLAYS["overdraw"]().events)
    make_keys(tmp_path / "key")
    archive = tmp_path / "late.sqlite"
    words = ["floor", "archive", "load", str(tmp_path / "t.sqlite"), "--archive", str(archive)]
    assert main([*words, "--public-key", str(tmp_path / "key.pub")]) == 3
    assert not archive.exists()
    assert main(words) == 0


def test_command_forgets_the_term_of_a_table_that_the_archive_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names tables by their files, and refuses one of which there is nothing."""
    config = load(table_file(tmp_path))
    archive = str(tmp_path / "late.sqlite")
    writer = Writer(open_archive(archive), pairs={config.table: unproven})
    message = said(PLAYS["clean"]().events)[0]
    payload = json.dumps({**json.loads(message.payload), "table": config.table, "term": 9})
    words = ["floor", "archive", "forget-term", str(table_file(tmp_path)), "--archive", archive]
    assert main(words) == 2
    assert "has nothing of table" in capsys.readouterr().err
    writer.take([Received(config.site, config.table, "status", payload.encode(), NOON)])
    assert main(words) == 0
    assert "the next term counts" in capsys.readouterr().out


def test_messages_that_wait_for_the_broker_are_not_missing(tmp_path: Path) -> None:
    """Only what was published must be in the archive."""
    write_log(tmp_path / "t.sqlite", PLAYS["clean"]().events)
    engine = open_archive(str(tmp_path / "archive.sqlite"))
    assert faults(engine, tmp_path / "t.sqlite") == []
