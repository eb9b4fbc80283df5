"""An archive has what the logs of its tables say, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.floor.archive.rows import differences
from tests.table_log import PLAYS, Play, header, session_of, write_export, write_log
from vision.audit.verify import Trust
from vision.cli import main
from vision.errors import OutsideError
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Folder, Following
from vision.record.codec import event_from_json, seal
from vision.storage.anchors import make_keys
from vision.storage.log_reader import read_log
from vision.version import VERSION
from vision.wire.session import advance, session_to_json


def test_log_is_taken_in_as_it_grows_and_what_another_says_is_not(tmp_path: Path) -> None:
    """What is new comes, nothing twice; a log in the place of another is begun anew."""
    events = PLAYS["overdraw"]().events
    path = tmp_path / "t.sqlite"
    write_log(path, events)
    records = list(read_log(path))
    engine, grown = open_archive(str(tmp_path / "late.sqlite")), tmp_path / "g.jsonl"
    following = Following(grown, Trust())
    counts = []
    for length in (len(records) // 2, len(records), len(records)):
        write_export(grown, iter(records[:length]))
        counts.append(following.take_in(engine))
    assert 0 < counts[0] < sum(counts)
    assert counts[2] == 0
    assert differences(engine, [path]) == []
    assert Following(path, Trust()).take_in(engine) == sum(counts)
    assert differences(engine, [path]) == []
    write_log(tmp_path / "other.sqlite", PLAYS["clean"]().events)
    write_export(grown, read_log(tmp_path / "other.sqlite"))
    assert following.take_in(engine) > 0


def test_bad_log_costs_itself_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is reported once by name, and the others of the folder are in."""
    write_log(tmp_path / "a.sqlite", PLAYS["clean"]().events)
    records = list(read_log(tmp_path / "a.sqlite"))
    write_export(tmp_path / "b.jsonl", iter([*records[:3], *records[4:]]))
    (tmp_path / "notes.txt").write_text("not a log", "utf-8")
    engine = open_archive(str(tmp_path / "archive.db"))
    folder = Folder([tmp_path], Trust())
    for _ in range(2):
        folder.take_in(engine)
    assert differences(engine, [tmp_path / "a.sqlite"]) == []
    assert [record.message.count("b.jsonl") > 0 for record in caplog.records] == [True]


def test_what_no_key_has_signed_is_not_taken_in(tmp_path: Path) -> None:
    """With a key nothing stands in the archive that it has not signed."""
    write_log(tmp_path / "t.sqlite", PLAYS["clean"]().events)
    public = make_keys(tmp_path / "key")
    engine = open_archive(str(tmp_path / "archive.db"))
    assert Following(tmp_path / "t.sqlite", Trust((public,))).take_in(engine) == 0


def test_run_that_broke_off_is_offline_from_its_last_record(tmp_path: Path) -> None:
    """A log has no last will: the next run's beginning says that the one before had ended."""
    play = Play().begin(version=VERSION).coup("P1:9c B1:3s P2:Kd B2:4h")
    play.begin("b2", version=VERSION)
    write_log(tmp_path / "t.sqlite", play.events)
    engine = open_archive(str(tmp_path / "archive.db"))
    Following(tmp_path / "t.sqlite", Trust()).take_in(engine)
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
        Following(log, Trust()).take_in(engine)


def test_log_that_no_given_key_signed_is_not_loaded(tmp_path: Path) -> None:
    """With a key, what `archive load` believes is what that key has signed."""
    write_log(tmp_path / "t.sqlite", PLAYS["overdraw"]().events)
    make_keys(tmp_path / "key")
    archive = tmp_path / "late.sqlite"
    words = ["floor", "archive", "load", str(tmp_path / "t.sqlite"), "--archive", str(archive)]
    assert main([*words, "--public-key", str(tmp_path / "key.pub")]) == 3
    with open_archive(str(archive)).connect() as db:
        assert db.execute(text("SELECT * FROM message")).first() is None
    assert main(words) == 0
