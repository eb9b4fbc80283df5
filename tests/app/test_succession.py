"""Backup, restore and a new log that goes on: the drill of `deploy/resilience.md`, as a test."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.shoe import play
from tests.chaos.table import PREFIX, config_of
from tests.schemas import check
from tests.table_log import Play
from vision.app.evidence import wanted_names
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.app.succession import SEQ_A_DAY, Beginning, begin_log
from vision.cli import main
from vision.clock import DAY_MS
from vision.commands.printing.console import NOT_PROVEN
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.game.commands import KeepEvidence
from vision.game.events import Event, Role
from vision.record.facts import EvidenceKept, Fact, Hold, Medium, Recorded, Register
from vision.storage.anchors import anchors_of, make_keys
from vision.storage.evidence import EvidenceStore, folder_of
from vision.storage.log import Entry, write_record
from vision.storage.log_reader import _messages, read_log, recent_orders
from vision.wire.messages import Message, message_sum

IDENTITY = "1d" * 32


class House:
    """A table with a signing key, its files in one folder, and a table file that says so."""

    def __init__(self, folder: Path, profile: str = "punto-banco") -> None:
        self.folder = folder
        self.log = folder / "t.sqlite"
        if not (folder / "key").exists():
            make_keys(folder / "key")
        config = config_of(1, path=str(self.log), signing_key=str(folder / "key"))
        self.config: TableConfig = config.model_copy(update={"profile": profile})

    def deal(self, events: list[Event], boot: str = "b1") -> None:
        """Run the reader for a while, without a broker."""
        with self.open() as journal:
            journal.start(max(journal.table.clock, events[0].at), boot, (), IDENTITY)
            journal.take(events)
            journal.stop(journal.table.clock)

    def open(self, *, publish: bool = False) -> Journal:
        """Open the journal of the table's log."""
        return Journal(self.config, Destinations(self.log, publish=publish))

    def messages(self) -> list[Message]:
        """Return the messages that stand beside the log."""
        return list(_messages(self.log, "true"))

    def audit(self, log: Path | None = None) -> int:
        """Audit a log with the key and its anchors."""
        log = log or self.log
        words = ["audit", str(log), "--public-key", str(self.folder / "key.pub")]
        return main([*words, "--anchors", str(anchors_of(self.log))])


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> House:
    """Give a house at whose table Banco was over-drawn: an alert stands open."""
    house = House(tmp_path)
    cards = Play().begin().coup("P1:9c B1:3s P2:Kd B2:4h")
    cards.card("P1:2c").card("B1:3s").card("P2:Kd").card("B2:4h").card("P3:5h").card("B3:9h")
    house.deal(cards.events[1:])
    return house


def standing_alerts(house: House) -> list[str]:
    """Return the topics of alerts that stand."""
    with sqlite3.connect(house.log) as db:
        rows = db.execute("SELECT topic FROM standing WHERE topic LIKE '%/alert/%'")
        return [topic.removeprefix(PREFIX) for (topic,) in rows]


def test_new_log_goes_on_with_the_numbers_and_closes_what_was_open(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """No number comes twice, no alert haunts a desk, and the old log's last hash is named."""
    before, alerts = house.messages()[-1].seq, standing_alerts(house)
    assert alerts
    last = list(read_log(house.log))[-1]
    with house.open() as journal:
        clock = journal.table.clock
    kept, ended, _ = begin_log(house.config, Beginning(clock + 5000))
    assert (ended.number, ended.hash) == (last.number, last.hash)
    published = house.messages()
    for message in published:
        check(message)
    closing = [m for m in published if m.topic.startswith(f"{PREFIX}alert/") and m.payload]
    assert [m.topic.removeprefix(PREFIX) for m in closing] == alerts
    assert {json.loads(m.payload)["state"] for m in closing} == {"closed"}
    assert [m.topic.removeprefix(PREFIX) for m in published if not m.payload] == alerts
    assert standing_alerts(house) == []
    house.deal(list(play(3)), "b2")
    numbers = [message.seq for message in house.messages()]
    assert numbers == list(range(before + 1, before + 1 + len(numbers)))
    assert house.audit() == 0
    assert f"record {ended.number} of another log, hash {ended.hash}" in capsys.readouterr().out
    assert house.audit(kept) == 0
    assert main(["replay", str(house.log), "--check"]) == 0


def test_new_log_may_have_other_rules(house: House) -> None:
    """A change of rules needs a new log, and nothing else."""
    other = House(house.folder)
    other.config = other.config.model_copy(update={"dealing": "face-down"})
    with pytest.raises(ConfigurationError, match="log begin"):
        other.open()
    begin_log(other.config, Beginning(1_800_000_000_000))
    other.open().close()


def test_log_is_not_begun_beside_a_reader_or_over_unsent_messages(house: House) -> None:
    """A running reader and messages that nobody has heard yet are left alone."""
    at = 1_800_000_000_000
    with house.open(publish=True) as journal:
        with pytest.raises(OutsideError, match="another reader"):
            begin_log(house.config, Beginning(at))
        journal.link._publisher = None
        journal.take(list(play(1, start=at)))
    with pytest.raises(ConfigurationError, match=r"messages .* are not sent"):
        begin_log(house.config, Beginning(at))
    assert begin_log(house.config, Beginning(at, lose_unsent=True))[1].unsent > 0
    with pytest.raises(ConfigurationError, match="there is no"):
        begin_log(config_of(1, path=str(house.folder / "none.sqlite")), Beginning(at))


def saved_copy(log: Path, out: Path) -> None:
    """Copy a log as `deploy/record.md` says, with SQLite's own backup."""
    with closing(sqlite3.connect(log)) as source, closing(sqlite3.connect(out)) as target:
        source.backup(target)
        target.execute("PRAGMA user_version = 0")


def test_backup_of_a_running_log_is_whole_and_a_plain_copy_is_not(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """The backup has every record at that moment; a copy of the file alone says what it lacks."""
    with house.open() as journal:
        journal.start(journal.table.clock + 500, "b2", (), IDENTITY)
        journal.take(list(play(20, start=journal.table.clock + 1000)))
        records = journal._store.head[0]
        saved_copy(house.log, house.folder / "b.sqlite")
        shutil.copyfile(house.log, house.folder / "cp.sqlite")
    assert list(read_log(house.folder / "b.sqlite"))[-1].number == records
    assert main(["audit", str(house.folder / "b.sqlite")]) == NOT_PROVEN, "no key was given"
    capsys.readouterr()
    assert main(["audit", str(house.folder / "cp.sqlite")]) == 3
    assert "the end of the log may be missing" in capsys.readouterr().err
    assert house.audit() == 0


def test_drill_of_a_lost_disk(
    house: House, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Back up, lose the disk, restore, go on: no number twice, the chain of logs holds."""
    away = tmp_path_factory.mktemp("away")
    stored = EvidenceKept(1_700_000_000_000, "s1-1-c1", Medium.STILL, "s1", 1, "", 0, 1)
    EvidenceStore(folder_of(house.log)).keep(stored, b"picture")
    saved = away / "b.sqlite"
    saved_copy(house.log, saved)
    shutil.copytree(folder_of(house.log), folder_of(saved))
    house.deal(list(play(5, start=1_700_000_500_000)), "b2")
    lost = house.messages()[-1].seq
    table = _table_file(house)
    assert main(["log", "restore", str(saved), str(table)]) == 2, "the log is still there"
    house.log.unlink()
    shutil.rmtree(folder_of(house.log))
    assert main(["log", "restore", str(saved), str(table)]) == 0
    assert "evidence: put back to" in capsys.readouterr().out
    assert [path.read_bytes() for path in folder_of(house.log).rglob("*.jpg")] == [b"picture"]
    house.deal(list(play(3, start=1_900_000_000_000)), "b3")
    numbers = [message.seq for message in house.messages()]
    assert min(numbers) > lost + SEQ_A_DAY / 2
    assert house.audit() == 0
    (old,) = house.folder.glob("t-until-*.sqlite")
    assert main(["audit", str(old)]) == NOT_PROVEN, "no key was given"


def test_backup_that_was_changed_is_not_restored(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged backup is named before anything is put in place."""
    saved = house.folder / "b.sqlite"
    saved_copy(house.log, saved)
    with sqlite3.connect(saved) as db:
        db.execute("UPDATE log SET body = body || ' ' WHERE n = 9")
    table = _table_file(house)
    house.log.unlink()
    assert main(["log", "restore", str(saved), str(table)]) == 3
    assert "record 9" in capsys.readouterr().err
    assert not house.log.exists()


def _table_file(house: House) -> Path:
    """Write a table file for the house."""
    text = Path("deploy/table.example.toml").read_text("utf-8")
    head = text.index("[log]")
    tail = text.find("\n[", head)
    tail = len(text) if tail < 0 else tail
    lines = f'[log]\npath = "{house.log}"\nsigning_key = "{house.folder / "key"}"\n'
    text = text[:head] + lines + text[tail:]
    for name, value in (("site", "chaos"), ("table", "1")):
        text = "\n".join(
            f'{name} = "{value}"' if line.startswith(f"{name} =") else line
            for line in text.splitlines()
        )
    path = house.folder / "table.toml"
    path.write_text(text, "utf-8")
    return path


# --- everything is taken over --------------------------------------------------------------------


def hold_and_name(house: House) -> None:
    """Give the old log a user and a legal hold on the second coup."""
    with house.open() as journal:
        at = journal.table.clock + 1000
        journal.start(at, "b2", (), IDENTITY)
        shoe = journal.table.shoe.name
        journal.take([KeepEvidence(at, "Cy", Role.SURVEILLANCE, shoe, 1, reason="claim 17")])
        journal.take([Recorded(at, Fact.USER, "Ann", '{"key":"aa"}')])
        journal.stop(at + 1000)


def test_every_field_of_the_register_goes_on(house: House) -> None:
    """Users, holds and key, and whatever comes after them, are in the new log as in the old."""
    hold_and_name(house)
    with house.open() as journal:
        before, wanted = journal.session.register, wanted_names(journal.session)
    begin_log(house.config, Beginning(1_800_000_000_000))
    with house.open() as journal:
        after = journal.session.register
        assert wanted_names(journal.session) == wanted, "also of the alert that stood open"
    for name in Register._fields:
        old = getattr(before, name)
        assert old, f"{name}: the old log of this test has some"
        if name == "holds":
            assert set(old) <= set(after.holds)
        else:
            assert getattr(after, name) == old, name
    assert house.audit() == 0
    assert main(["replay", str(house.log), "--check"]) == 0


def test_hold_outlives_a_restored_backup(
    house: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A lost disk does not release what a court has asked for."""
    hold_and_name(house)
    with house.open() as journal:
        wanted = wanted_names(journal.session)
    saved = tmp_path_factory.mktemp("away") / "b.sqlite"
    saved_copy(house.log, saved)
    house.log.unlink()
    assert main(["log", "restore", str(saved), str(_table_file(house))]) == 0
    with house.open() as journal:
        assert wanted_names(journal.session) == wanted


def test_log_whose_holds_cannot_be_read_is_not_begun_until_somebody_names_them(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged old log, and nobody has said what is under hold: nothing is begun."""
    with sqlite3.connect(house.log) as db:
        db.execute("UPDATE log SET body = '{}' WHERE n BETWEEN 20 AND 24")
    table = str(_table_file(house))
    assert main(["log", "begin", table]) == 2
    assert "name each coup with --hold SHOE:COUP" in capsys.readouterr().err
    assert main(["log", "begin", table, "--hold", "s1"]) == 2
    assert main(["log", "begin", table, "--hold", "s1:2", "--hold", "s1:0"]) == 0
    with house.open() as journal:
        assert journal.session.register.holds == (Hold("s1", 0), Hold("s1", 2))


def forge(log: Path, topic: str, payload: bytes, seq: int) -> None:
    """Put in a row that stands, with the sum that goes with it."""
    row = Message(f"{PREFIX}{topic}", payload, 1, True, seq)
    values = (row.seq, row.topic, row.payload, row.qos, row.retain, message_sum(row))
    with sqlite3.connect(log) as db:
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", values)
        db.execute("INSERT INTO standing VALUES (?, ?)", (row.topic, row.seq))


@pytest.mark.parametrize("payload", [b'{"id":"a9","code":"SWITCH"}', b"[]"])
@pytest.mark.parametrize("is_readable", [True, False])
def test_new_log_signs_no_alert_and_no_number_that_somebody_put_beside_the_old_one(
    house: House, payload: bytes, is_readable: bool
) -> None:
    """The cure of a changed log takes over what its records prove, not what lies beside them."""
    with house.open() as journal:
        last, (true,) = journal.session.stream.seq, standing_alerts(house)
    forge(house.log, "alert/a9", payload, 10**15)
    if not is_readable:
        with sqlite3.connect(house.log) as db:
            db.execute("UPDATE log SET body = '{}' WHERE n BETWEEN 2 AND 4")
    how = Beginning(1_800_000_000_000, lose_unsent=True, holds=())
    ended = begin_log(house.config, how)[1]
    ids = {json.loads(text)["id"] for text in ended.alerts}
    known = {true.removeprefix("alert/")}
    assert ids == known if is_readable else ids - {"a9"} == known
    assert ended.seq == last
    with house.open() as journal:
        assert journal.session.stream.seq < last + 20


@pytest.mark.parametrize(
    "event",
    [[1], {"is": "KeepEvidence"}, {"is": "KeepEvidence", "shoe": "s1", "coup": "x"}, 7],
)
def test_odd_record_behind_the_last_signature_holds_no_new_log_up(
    house: House, event: object
) -> None:
    """What nobody signed may hold more evidence, and is passed over where it is no order at all."""
    held = {"is": "KeepEvidence", "shoe": "s7", "coup": 2}
    with sqlite3.connect(house.log) as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        for more, each in enumerate((event, held), 1):
            head = write_record(db, n + more, head, {"event": each})
    assert Hold("s7", 2) in begin_log(house.config, Beginning(1_800_000_000_000))[2].holds


def test_order_is_not_taken_again_by_the_next_log(house: House) -> None:
    """What was given in the old log is known to the new one, and to the one after that."""
    fields = {"key": "Ann", "nonce": "n" * 16, "time": "2026-11-21T18:00:00.000Z"}
    with house.open() as journal:
        event = Recorded(journal.table.clock, Fact.JOB_RUN)
        order = {"name": "record", "fields": fields}
        journal._store.append([Entry(event, (), order=order)])
    for second in range(2):
        begin_log(house.config, Beginning(1_800_000_000_000 + 1000 * second, lose_unsent=True))
    with house.open() as journal:
        assert recent_orders(journal._store.database.path) == [fields]


def test_confirmed_time_goes_on_whatever_the_clock_says(house: House) -> None:
    """A clock forty days ahead at `log begin` makes nothing old."""
    with house.open() as journal:
        journal.take([journal._retention.time(1_700_000_100_000)], "time")
        before = journal.session.register.time
    assert before
    begin_log(house.config, Beginning(1_700_000_000_000 + 40 * DAY_MS))
    with house.open() as journal:
        assert journal.session.register.time == before


def test_time_of_a_new_log_begins_at_the_newest_evidence(tmp_path: Path) -> None:
    """Where the old log is gone, the evidence beside it does not grow old by the clock alone."""
    stored = EvidenceKept(1_700_000_000_000, "s1-1-c1", Medium.STILL, "s1", 1, "", 0, 1)
    store = EvidenceStore(tmp_path)
    assert store.newest() == 0
    store.keep(stored, b"picture")
    assert store.newest() == 1_700_000_000_000 // DAY_MS * DAY_MS
