"""Nothing beside the chain decides: whatever a row says, nothing is deleted or published by it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_signing import audit, behind
from tests.chaos.shoe import NOON, play
from tests.chaos.table import config_of, journal_of
from vision.app.journal import Journal
from vision.app.retention import confirmed
from vision.cli import main
from vision.clock import DAY_MS
from vision.errors import OutsideError
from vision.files import is_private
from vision.game.events import ShoeStarted
from vision.record.codec import canonical, chain_hash, event_to_json
from vision.record.facts import EvidenceKept, Medium
from vision.storage.anchors import anchors_of, make_keys
from vision.storage.evidence import EvidenceStore, folder_of
from vision.storage.log import Store
from vision.storage.log_reader import read_log, walked
from vision.storage.retention import CHECKPOINTS, ProvenCheckpoint, ProvenCheckpoints
from vision.storage.sqlite import BESIDE
from vision.wire.messages import Message, message_sum

# What somebody may write into a column: too small, too large, of another row; text, nothing.
VALUES = (0, -1, 1, 2, 7, 10**15, 2.5, "x", b"x", "", None)


RECORDS = "SELECT count(*) FROM log WHERE body != ''"


def opened(folder: Path, **more: float) -> Journal:
    """Open the journal of the signed log, which publishes, and keeps a day of records."""
    keys: dict[str, Any] = {"signing_key": str(folder / "key"), "keep_days": 1, **more}
    return journal_of(folder / "t.sqlite", 1, **keys)


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the signed log of three shoes of one day, of which the broker has the first."""
    folder = tmp_path_factory.mktemp("beside")
    make_keys(folder / "key")
    with opened(folder) as journal:
        journal.link.connect = lambda *_: None  # type: ignore[method-assign]
        journal.start(NOON, "b1", ())
        journal.take(list(play(4, a_shoe=2)))
        journal._store.acknowledge(range(1, journal.session.stream.seq + 1))
        journal.take(list(play(2, seed=3, start=journal.table.clock)))
        journal.stop(journal.table.clock)
    return folder


@pytest.fixture(name="folder")
def _folder(made: Path, tmp_path: Path) -> Path:
    """Give a copy of it."""
    return Path(shutil.copytree(made, tmp_path / "t"))


def columns(log: Path) -> list[tuple[str, str]]:
    """Return table and column of all that lies beside the chain, as the file has it."""
    with closing(sqlite3.connect(log)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return [
            (table, column)
            for (table,) in tables
            if table != "log"
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})")
        ]


def changes(log: Path, table: str, column: str) -> Iterator[str]:
    """Change the first and the last row of a table, in that column, to each value; undo each."""
    for end in ("min", "max"):
        for value in VALUES:
            with closing(sqlite3.connect(log, isolation_level=None)) as db:
                before = db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
                query = f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT {end}(rowid) FROM "
                try:
                    db.execute(f"{query}{table})", (value,))
                except sqlite3.Error:
                    continue  # the file itself does not take it
                after = db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
            if before == after:
                continue
            whole = log.read_bytes()
            yield f"{table}.{column} = {value!r} in the {end} row"
            log.write_bytes(whole)
            with closing(sqlite3.connect(log, isolation_level=None)) as db:
                db.execute(f"DELETE FROM {table}")
                marks = ", ".join("?" * (len(before[0]) - 1))
                rows = [row[1:] for row in before]
                db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def walked_messages(log: Path) -> Iterator[Message]:
    """Yield all that was ever said."""
    for taken in walked(log):
        yield from taken.messages


def published(folder: Path) -> tuple[list[Message], int]:
    """Start the reader and prune; return what it would send, and how many records are left."""
    with opened(folder) as journal:
        store = journal._store
        sent = [*store.pending(0, 10**6), *store.retained()]
        journal.prune(journal.table.clock)
        return sent, int(store.database.first(RECORDS))


def test_every_table_beside_the_chain_is_listed(folder: Path) -> None:
    """What is no record is named in one place, with what it is good for."""
    assert {table for table, _ in columns(folder / "t.sqlite")} == set(BESIDE)


def test_no_column_of_any_table_beside_the_chain_is_believed(folder: Path) -> None:
    """Each column of each table, changed alone: found by the audit, nothing deleted or published.

    The schema is read from the file, so that a table that is added is covered by itself.
    """
    log = folder / "t.sqlite"
    true, records = published(Path(shutil.copytree(folder, folder.parent / "true")))
    tried, messages = 0, {*walked_messages(log)}
    for table, column in columns(log):
        before = tried
        for words in changes(log, table, column):
            tried += 1
            # No record says what a broker has acknowledged: a true message may come twice, or late.
            may_repeat = table == "unsent" and audit(folder) == 0
            assert may_repeat or audit(folder) == 3, words
            assert may_repeat or main(["replay", str(log), "--check"]) == 3, words
            anew = Path(shutil.copytree(folder, folder.parent / "anew"))
            try:
                sent, left = published(anew)
            except OutsideError:
                pass
            else:
                assert (sent if not may_repeat else true, left) == (true, records), words
                assert {*sent} <= messages, words
            shutil.rmtree(anew)
        assert tried > before, f"nothing of {table}.{column} could be changed"
    assert tried > 50
    assert audit(folder) == 0, "and put back, all is well"


def put(log: Path, message: Message) -> None:
    """Write a row of a message, with the sum that goes with it."""
    row = (message.seq, message.topic, message.payload, message.qos, message.retain)
    with closing(sqlite3.connect(log, isolation_level=None)) as db:
        values = (*row, message_sum(message))
        db.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?)", values)


def outbox(folder: Path, *, meanwhile: Callable[[Path], None] = lambda _: None) -> list[Message]:
    """Have the reader play a coup; return what it would send after something happened meanwhile."""
    with opened(folder) as journal:
        journal.link.connect = lambda *_: None  # type: ignore[method-assign]
        journal.start(journal.table.clock + 1000, "b2", ())
        journal.take(list(play(1, seed=9, start=journal.table.clock + 2000)))
        meanwhile(folder / "t.sqlite")
        return [*journal._store.pending(0, 10**6), *journal._store.retained()]


FORGED = b'{"winner":"banco"}'


SILENT = "CREATE TRIGGER t AFTER INSERT ON unsent BEGIN DELETE FROM unsent WHERE seq = NEW.seq; END"
FORGES = """CREATE TRIGGER t AFTER INSERT ON message WHEN NEW.topic LIKE '%result' BEGIN
UPDATE message SET payload = f.payload, sum = f.sum FROM forged f
WHERE message.seq = NEW.seq AND f.seq = NEW.seq; END"""
FORGETS = """DROP TABLE unsent; CREATE TABLE unsent (
seq INTEGER PRIMARY KEY, k GENERATED ALWAYS AS (1) UNIQUE ON CONFLICT IGNORE)"""


@pytest.mark.parametrize(
    "statement",
    [
        SILENT,
        FORGES,
        FORGETS,
        "CREATE VIEW v AS SELECT * FROM log",
        "CREATE INDEX i ON message (retain)",
        "ALTER TABLE unsent ADD COLUMN k GENERATED ALWAYS AS (1)",
        "DROP INDEX checkpoint; CREATE INDEX checkpoint ON log (n) WHERE n < 0",
    ],
)
def test_file_that_acts_by_itself_is_not_opened(folder: Path, statement: str) -> None:
    """A trigger would have the reader publish a forged result, or nothing at all."""
    log = folder / "t.sqlite"
    with closing(sqlite3.connect(log, isolation_level=None)) as db:
        db.execute("CREATE TABLE forged (seq, payload, sum)")
        rows = [Message("casino/chaos/table/1/coup/result", FORGED, 1, True, n) for n in range(999)]
        values = [(row.seq, row.payload, message_sum(row)) for row in rows]
        db.executemany("INSERT INTO forged VALUES (?, ?, ?)", values)
        assert outbox(Path(shutil.copytree(folder, folder.parent / "plain")))
        db.executescript(statement)
    with pytest.raises(OutsideError, match="is not as this program makes it"):
        outbox(folder)
    assert audit(folder) == 3


@pytest.mark.parametrize("is_sent", [False, True])
def test_row_that_is_changed_while_it_waits_is_not_published(folder: Path, is_sent: bool) -> None:
    """The broker is away: a result that waits, or that stands, is put in with a sum that fits."""

    def change(log: Path) -> None:
        with closing(sqlite3.connect(log, isolation_level=None)) as db:
            if is_sent:
                db.execute("DELETE FROM unsent")
            query = "SELECT seq, topic FROM message WHERE topic LIKE '%coup/result' ORDER BY seq"
            seq, topic = db.execute(query).fetchall()[-1]
        put(log, Message(topic, FORGED, 1, True, seq))

    assert outbox(Path(shutil.copytree(folder, folder.parent / "plain")))
    with pytest.raises(OutsideError, match="is not what was written"):
        outbox(folder, meanwhile=change)


def test_what_is_given_out_again_is_what_records_prove(folder: Path) -> None:
    """A row that a broker had long acknowledged, changed with its sum: nobody gets it again."""
    log = folder / "t.sqlite"
    reported = list(walked_messages(log))
    with opened(folder) as journal:
        assert journal.link.proven(range(1, len(reported) + 1)) == reported
        assert journal.link.proven(range(5, 8)) == reported[4:7]
    for number in (1, len(reported) // 4, len(reported) // 2):
        whole = log.read_bytes()
        true = reported[number - 1]
        put(log, true._replace(payload=true.payload.replace(b'"', b"' ", 1) + b" "))
        with opened(folder) as journal:
            asked = {"first": max(1, number - 1), "last": number + 1}
            reply = journal.link._replays.ask(asked, "", len(reported), NOON)
            assert not reply.accepted
            assert journal.link._replays.next() is None
        log.write_bytes(whole)


def test_number_that_no_record_proves_is_not_gone_on_from(folder: Path) -> None:
    """A row with a high number would have made all later messages begin there, and be believed."""
    reported = list(walked_messages(folder / "t.sqlite"))
    put(folder / "t.sqlite", reported[-1]._replace(seq=10**12))
    assert audit(folder) == 3
    with opened(folder) as journal, pytest.raises(OutsideError, match="was changed"):
        journal.start(journal.table.clock, "b2", ())
    assert audit(folder) == 3


def redate(folder: Path, n: int, clock: int) -> None:
    """Give a checkpoint another time, and the hash that goes with it."""
    with closing(sqlite3.connect(folder / "t.sqlite", isolation_level=None)) as db:
        one = "SELECT body, hash FROM log WHERE n = ?"
        content = json.loads(db.execute(one, (n,)).fetchone()[0])
        content["desk"]["table"]["clock"] = clock
        body = canonical(content)
        digest = chain_hash(db.execute(one, (n - 1,)).fetchone()[1], body)
        db.execute("UPDATE log SET body = ?, hash = ? WHERE n = ?", (body, digest, n))


def checkpoints(folder: Path) -> list[int]:
    """Return the records that are checkpoints."""
    with closing(sqlite3.connect(folder / "t.sqlite")) as db:
        return [n for (n,) in db.execute(f"{CHECKPOINTS} ORDER BY n")]


def test_shoe_of_today_is_not_deleted_whatever_date_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkpoint dated back, in a chain made again up to it: nothing goes, the log says why."""
    with closing(sqlite3.connect(folder / "t.sqlite", isolation_level=None)) as db:
        db.execute("DELETE FROM unsent")
    for n in checkpoints(folder)[:-1]:
        redate(folder, n, 1)
    assert audit(folder) == 3
    before = published(folder)[1]
    with opened(folder) as journal:
        journal.prune(journal.table.clock)
        assert "nothing of it is deleted" in journal._retention._doubt
    assert published(folder)[1] == before
    assert audit(folder) == 3
    assert "record" in capsys.readouterr().err


def test_file_that_is_full_of_something_else_costs_no_record(folder: Path) -> None:
    """Somebody puts a table of 60 MB beside the chain: no shoe goes for its size."""
    with closing(sqlite3.connect(folder / "t.sqlite", isolation_level=None)) as db:
        db.execute("DELETE FROM unsent")
        db.execute("CREATE TABLE junk AS SELECT zeroblob(60000000)")
    with opened(folder, max_mb=50) as journal:
        before = journal._store.database.first(RECORDS)
        journal.prune(journal.table.clock)
        assert journal._store.database.first(RECORDS) == before


def test_old_shoes_still_go_by_proven_time(folder: Path) -> None:
    """Two days on, the shoes that ended are gone, and the audit has no fault to find."""
    with closing(sqlite3.connect(folder / "t.sqlite", isolation_level=None)) as db:
        db.execute("DELETE FROM unsent")
    with opened(folder) as journal:
        journal.start(journal.table.clock, "b2", ())
        before = journal._store.database.first(RECORDS)
        journal._retention._elapsed._asked_s -= 3 * 86_400  # as if it had run on
        journal.take(list(play(2, seed=9, start=journal.table.clock + 3 * DAY_MS, a_shoe=1)))
        journal.stop(journal.table.clock)
        assert journal._store.database.first(RECORDS) < before
    assert audit(folder) == 0
    assert main(["audit", str(folder / "t.sqlite")]) in (0, 4)


@pytest.mark.parametrize("with_anchors", [True, False])
def test_pruning_before_its_time_is_a_fault_though_the_reader_signed_it(
    folder: Path,
    with_anchors: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A reader that believed a forged date deleted today's shoe: every audit says so."""
    with closing(sqlite3.connect(folder / "t.sqlite", isolation_level=None)) as db:
        db.execute("DELETE FROM unsent")
    with opened(folder) as journal:
        journal.start(journal.table.clock + 1000, "b2", ())
        monkeypatch.setattr(
            ProvenCheckpoints, "mark", lambda _, number: ProvenCheckpoint(number, 1, 0)
        )
        assert journal._prune_one(journal.table.clock)
        monkeypatch.undo()
        journal.stop(journal.table.clock)
    log, key = str(folder / "t.sqlite"), str(folder / "key.pub")
    anchors = ["--anchors", str(anchors_of(folder / "t.sqlite"))] if with_anchors else []
    assert main(["audit", log, "--public-key", key, *anchors]) == 3
    assert "before their time" in capsys.readouterr().err


def forged_time(folder: Path) -> None:
    """Write that time is confirmed to far ahead, behind the last signature."""
    fact = confirmed(NOON, 10**15, 10**15)
    behind(folder, {"event": event_to_json(fact), "said": None})


@pytest.mark.parametrize("killed", [True, False])
def test_confirmed_time_that_nobody_signed_is_refused(folder: Path, killed: bool) -> None:
    """Behind a run that was killed as behind one that was stopped: the reader does not start."""
    if killed:
        with opened(folder) as journal:
            journal.start(journal.table.clock + 1000, "b2", ())
    forged_time(folder)
    with pytest.raises(OutsideError, match="always signed"):
        opened(folder)
    assert audit(folder) == 3


def test_clock_that_a_person_confirms_is_a_signed_fact(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`log confirm-clock` says so in the chain behind the end of the run; the reader goes on."""
    later = NOON + 500 * DAY_MS
    path, key = str(folder / "t.sqlite"), str(folder / "key")
    config = config_of(1, path=path, signing_key=key)
    monkeypatch.setattr("vision.commands.log.load", lambda _: config)
    monkeypatch.setattr("vision.commands.log.now_ms", lambda: later)
    assert main(["log", "confirm-clock", "t.toml"]) == 0
    assert audit(folder) == 0
    with opened(folder) as journal:
        assert journal._retention._elapsed.at(later) == later
        journal.start(later, "b2", ())
        journal.stop(later)
    assert audit(folder) == 0


def test_log_anchors_and_evidence_are_for_the_user_of_the_program_alone(folder: Path) -> None:
    """Whatever the umask: the log, its write-ahead file, its anchors, the folder of evidence."""
    with opened(folder) as journal:
        journal.start(journal.table.clock + 1000, "b2", ())
        stored = EvidenceKept(NOON, "s1-1-c1", Medium.STILL, "s1", 1, "", 0, 1)
        EvidenceStore(folder_of(folder / "t.sqlite")).keep(stored, b"picture")
        paths = [path for path in folder.glob("t.*") if path.suffix != ".lock"]
        assert {path.name for path in paths} > {"t.sqlite-wal", "t.anchors.jsonl", "t.evidence"}
        assert [path for path in paths if not is_private(path)] == []


def test_run_whose_disk_refused_something_does_not_end_in_order(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last record would fit again: the reader is published as lost, and the log says no end."""

    def refuse(*_: object) -> None:
        raise OutsideError("the disk is full")

    last: list[Message] = []
    with opened(folder) as journal:
        at = journal.table.clock + 1000
        journal.start(at, "b2", ())
        assert journal.link._publisher is not None
        monkeypatch.setattr(journal.link._publisher, "publish_last", last.append)
        with monkeypatch.context() as full:
            full.setattr(Store, "append", refuse)
            with pytest.raises(OutsideError, match="full"):
                journal.take([ShoeStarted(at, "s9")])
        with pytest.raises(OutsideError, match="full"):
            journal.stop(at)
    assert [json.loads(message.payload)["state"] for message in last] == ["offline"]
    assert "Stopped" not in [*read_log(folder / "t.sqlite")][-1].body
