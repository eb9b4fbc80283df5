"""An archive is held against the logs of its tables: what does not fit is found and named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.table_log import PLAYS, Play, header, session_of, write_export, write_log
from vision.audit.verify import Trust
from vision.cli import main
from vision.errors import OutsideError
from vision.floor.archive import tables
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Folder, Following, verify
from vision.floor.archive.writer import Writer
from vision.record.codec import event_from_json, seal
from vision.storage.anchors import make_keys
from vision.storage.log_reader import read_log
from vision.version import VERSION
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
    Following(log, Trust()).take_in(Writer(engine))
    return engine


def faults(engine: Engine, log: Path) -> list[str]:
    """Return what is found, in words."""
    return [str(fault) for found in verify(engine, [log], Trust()) for fault in found.faults]


@pytest.mark.parametrize("name", PLAYS)
def test_archive_of_what_was_published_is_as_its_log(tmp_path: Path, name: str) -> None:
    """Every row of the archive is in the log, and every message of the log in the archive."""
    write_log(tmp_path / "t.sqlite", PLAYS[name]().events)
    write_export(tmp_path / "t.jsonl", read_log(tmp_path / "t.sqlite"))
    engine = open_archive(str(tmp_path / "archive.sqlite"))
    Following(tmp_path / "t.sqlite", Trust()).take_in(Writer(engine))
    (found,) = verify(engine, [tmp_path / "t.jsonl"], Trust())
    assert (found.faults, found.unproven) == ([], 0)
    assert found.good > 10
    assert "are as the logs say, 0 are not" in str(found)


UNKEYED = """CREATE TABLE other AS SELECT * FROM message; DROP TABLE message;
ALTER TABLE other RENAME TO message; INSERT INTO message SELECT * FROM message
WHERE topic = 'coup/result' LIMIT 1"""
CHANGED = """UPDATE message SET payload = replace(payload, 'punto', 'banco') WHERE seq =
(SELECT min(seq) FROM message WHERE topic = 'coup/result')"""
FORGED = """INSERT INTO message SELECT site, table_name, 'b1', 9999, '', topic, at, payload
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
        ("UPDATE coup SET named = 9 WHERE coup = 1", "changed: coup shoe s1, coup 1"),
    ],
    ids=["changed", "winner", "alert", "missing", "forged", "coup", "doubled", "count"],
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


def test_log_is_taken_in_as_it_grows_and_what_another_says_is_not(tmp_path: Path) -> None:
    """What is new comes, nothing twice; a log in the place of another is begun anew."""
    events = PLAYS["overdraw"]().events
    path = tmp_path / "t.sqlite"
    write_log(path, events)
    records = list(read_log(path))
    engine, grown = open_archive(str(tmp_path / "late.sqlite")), tmp_path / "g.jsonl"
    writer, following = Writer(engine), Following(grown, Trust())
    counts = []
    for length in (len(records) // 2, len(records), len(records)):
        write_export(grown, iter(records[:length]))
        counts.append(following.take_in(writer))
    assert 0 < counts[0] < sum(counts)
    assert counts[2] == 0
    assert faults(engine, path) == []
    assert Following(path, Trust()).take_in(writer) == sum(counts)
    assert faults(engine, path) == []
    write_log(tmp_path / "other.sqlite", PLAYS["clean"]().events)
    write_export(grown, read_log(tmp_path / "other.sqlite"))
    assert following.take_in(writer) > 0


def test_bad_log_costs_itself_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is reported once by name, and the others of the folder are in."""
    write_log(tmp_path / "a.sqlite", PLAYS["clean"]().events)
    records = list(read_log(tmp_path / "a.sqlite"))
    write_export(tmp_path / "b.jsonl", iter([*records[:3], *records[4:]]))
    (tmp_path / "notes.txt").write_text("not a log", "utf-8")
    engine = open_archive(str(tmp_path / "archive.db"))
    folder = Folder([tmp_path], Trust())
    for _ in range(2):
        folder.take_in(Writer(engine))
    assert faults(engine, tmp_path / "a.sqlite") == []
    assert [record.message.count("b.jsonl") > 0 for record in caplog.records] == [True]


def test_what_no_key_has_signed_is_not_taken_in(tmp_path: Path) -> None:
    """With a key nothing stands in the archive that it has not signed."""
    write_log(tmp_path / "t.sqlite", PLAYS["clean"]().events)
    public = make_keys(tmp_path / "key")
    engine = open_archive(str(tmp_path / "archive.db"))
    assert Following(tmp_path / "t.sqlite", Trust((public,))).take_in(Writer(engine)) == 0


def test_run_that_broke_off_is_offline_from_its_last_record(tmp_path: Path) -> None:
    """A log has no last will: the next run's beginning says that the one before had ended."""
    play = Play().begin(version=VERSION).coup("P1:9c B1:3s P2:Kd B2:4h").begin(version=VERSION)
    write_log(tmp_path / "t.sqlite", play.events)
    engine = open_archive(str(tmp_path / "archive.db"))
    Following(tmp_path / "t.sqlite", Trust()).take_in(Writer(engine))
    with engine.connect() as connection:
        states = connection.execute(text("SELECT state, at FROM status ORDER BY at, seq")).all()
    assert [row.state for row in states] == ["online", "offline", "online"]


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
        Following(log, Trust()).take_in(Writer(engine))


def test_log_that_no_given_key_signed_is_not_loaded(tmp_path: Path) -> None:
    """With a key, what `archive load` believes is what that key has signed."""
    write_log(tmp_path / "t.sqlite", PLAYS["overdraw"]().events)
    make_keys(tmp_path / "key")
    archive = tmp_path / "late.sqlite"
    words = ["floor", "archive", "load", str(tmp_path / "t.sqlite"), "--archive", str(archive)]
    assert main([*words, "--public-key", str(tmp_path / "key.pub")]) == 3
    assert not archive.exists()
    assert main(words) == 0
