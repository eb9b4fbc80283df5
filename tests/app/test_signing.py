"""Signing while a table runs: nobody without the key takes records out, and no old copy runs."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.shoe import NOON, play
from tests.chaos.table import journal_of
from vision.access.users import Credential
from vision.app.journal import Journal
from vision.cli import main
from vision.clock import DAY_MS
from vision.errors import ConfigurationError, OutsideError
from vision.game.commands import KeepEvidence, ReleaseEvidence
from vision.game.events import Event, Role, Started, TimePassed
from vision.record.codec import canonical, chain_hash, event_to_json, messages_digest
from vision.record.facts import Anchored, Fact, LogBegun, Person, Recorded, Register
from vision.storage.anchors import anchors_of, make_keys
from vision.storage.log import write_record
from vision.storage.log_reader import read_log
from vision.storage.retention import CHECKPOINTS
from vision.wire.messages import message_line, message_sum
from vision.wire.session import advance

IDENTITY = "1d" * 32


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a signing key and the log of three shoes, signed."""
    folder = tmp_path_factory.mktemp("signed")
    make_keys(folder / "key")
    with opened(folder) as journal:
        journal.start(NOON, "b1", (), IDENTITY)
        for events in batched(play(36, a_shoe=15), 60):
            journal.take(events)
        journal.stop(journal.table.clock)
    return folder


@pytest.fixture(name="folder")
def _folder(made: Path, tmp_path: Path) -> Path:
    """Give a copy of that folder."""
    return Path(shutil.copytree(made, tmp_path / "t"))


def batched(events: Iterator[Event], size: int) -> Iterator[tuple[Event, ...]]:
    """Yield the events, so many at a time."""
    while some := tuple(islice(events, size)):
        yield some


def opened(folder: Path) -> Journal:
    """Open the journal of the signed log, which keeps a day."""
    key = str(folder / "key")
    return journal_of(folder / "t.sqlite", 1, publish=False, signing_key=key, keep_days=1)


def go_on(folder: Path) -> None:
    """Run the reader on that log for a moment; OutsideError where it refuses."""
    with opened(folder) as journal:
        journal.start(journal.table.clock + 1000, "b2", (), IDENTITY)
        journal.stop(journal.table.clock + 2000)


def audit(folder: Path) -> int:
    """Audit the log with the key and the anchors."""
    log = folder / "t.sqlite"
    anchors = ["--anchors", str(anchors_of(log))]
    return main(["audit", str(log), "--public-key", str(folder / "key.pub"), *anchors])


def forge_pruning(folder: Path) -> None:
    """Take the second shoe out as a pruning does, and say so in a record that nobody signs."""
    with sqlite3.connect(folder / "t.sqlite") as db:
        marks = [n for (n,) in db.execute(f"{CHECKPOINTS} ORDER BY n")]
        first, last = marks[1], marks[2] - 1
        (digest,) = db.execute("SELECT hash FROM log WHERE n = ?", (last,)).fetchone()
        db.execute("DELETE FROM log WHERE n >= ? AND n < ?", (first, last))
        db.execute("UPDATE log SET body = '' WHERE n = ?", (last,))
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        write_record(db, n + 1, head, {"pruned": [[first, last, digest]]})


def test_pruning_that_nobody_signed_is_found_and_never_signed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records taken out without the key: the audit names the record, the reader does not go on."""
    assert audit(folder) == 0
    forge_pruning(folder)
    assert audit(folder) == 3
    assert "stands behind the signature with which a run ended" in capsys.readouterr().err
    with pytest.raises(OutsideError, match="nobody signed it"):
        go_on(folder)


def test_forged_pruning_is_found_without_the_file_of_anchors(folder: Path) -> None:
    """The signatures that are in the log count as well: a reader whose file was lost looks too."""
    forge_pruning(folder)
    anchors_of(folder / "t.sqlite").unlink()
    with pytest.raises(OutsideError, match="nobody signed it"):
        go_on(folder)


def test_signature_of_another_record_seals_no_pruning(folder: Path) -> None:
    """The seal of a true pruning does not vouch for a forged one that stands before it."""
    with sqlite3.connect(folder / "t.sqlite") as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        event = {
            "is": "Anchored", "at": NOON, "log": "0" * 64, "number": n, "hash": head, "shoe": "s3",
            "why": "prune", "key": "0" * 16, "signature": "0" * 128,
        }  # fmt: skip
    forge_pruning(folder)
    with sqlite3.connect(folder / "t.sqlite") as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        reported = {"event": {**event, "number": n, "hash": head}, "said": None}
        write_record(db, n + 1, head, reported)
    assert audit(folder) == 3
    with pytest.raises(OutsideError, match="nobody signed it"):
        go_on(folder)


def test_reader_prunes_with_its_seal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An old shoe goes, the chain and the signatures hold, and the reader goes on."""
    with opened(folder) as journal:
        at = NOON + 5 * DAY_MS
        journal.start(at, "b2", (), IDENTITY)
        journal.prune(at)
        journal.stop(at + 1000)
    records = list(read_log(folder / "t.sqlite"))
    assert any(record.body == "" for record in records)
    pruned = [n for n, record in enumerate(records) if '"pruned":[[' in record.body]
    for n in pruned:
        assert json.loads(records[n].body)["went"]["why"] == "age"
        assert json.loads(records[n + 1].body)["event"]["why"] == "prune"
    assert pruned
    assert audit(folder) == 0
    out = capsys.readouterr().out
    assert "PRUNED: records 1 to" in out
    assert "no record was changed, removed, inserted or moved, but for what was pruned" in out
    go_on(folder)
    assert audit(folder) == 0


def test_gap_that_is_no_whole_shoe_is_found(folder: Path) -> None:
    """A cut through the middle of a shoe follows no checkpoint, whatever a record says."""
    with sqlite3.connect(folder / "t.sqlite") as db:
        (digest,) = db.execute("SELECT hash FROM log WHERE n = 60").fetchone()
        db.execute("DELETE FROM log WHERE n >= 40 AND n < 60")
        db.execute("UPDATE log SET body = '' WHERE n = 60")
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        write_record(db, n + 1, head, {"pruned": [[40, 60, digest]]})
    assert main(["audit", str(folder / "t.sqlite")]) == 3


def test_older_copy_is_noticed_whatever_line_is_put_behind(folder: Path) -> None:
    """Half the log cut off: a line of anchors that nobody signed does not hide it."""
    file = anchors_of(folder / "t.sqlite")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    with sqlite3.connect(folder / "t.sqlite") as db:
        (half,) = db.execute("SELECT max(n) / 2 FROM log").fetchone()
        db.execute("DELETE FROM log WHERE n > ?", (half,))
        (digest,) = db.execute("SELECT hash FROM log WHERE n = 7").fetchone()
    with pytest.raises(OutsideError, match="is missing"):
        go_on(folder)
    forged = {**lines[-1], "record": 7, "hash": digest, "signature": "ab"}
    file.write_text(file.read_text("utf-8") + canonical(forged) + "\n", "utf-8")
    with pytest.raises(OutsideError, match="is missing"):
        go_on(folder)


# --- what no signature covers is not believed ----------------------------------------------------


def last_checkpoint(folder: Path) -> dict[str, Any]:
    """Return the newest checkpoint of the log."""
    bodies = (json.loads(record.body) for record in read_log(folder / "t.sqlite"))
    return [content["desk"] for content in bodies if "desk" in content][-1]


def behind(folder: Path, *contents: Mapping[str, object]) -> None:
    """Write records behind the last, as somebody does who can write the file and has no key."""
    with sqlite3.connect(folder / "t.sqlite") as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        for content in contents:
            n += 1
            head = write_record(db, n, head, content)


def swap_winners(folder: Path) -> None:
    """Attack (a): a checkpoint in which every result has gone to the other hand."""
    text = json.dumps(last_checkpoint(folder))
    swapped = {"punto": "banco", "banco": "punto"}
    text = re.sub('"winner": "(punto|banco)"', lambda m: f'"winner": "{swapped[m[1]]}"', text)
    behind(folder, {"desk": json.loads(text)})


def empty_holds(folder: Path) -> None:
    """Attack (b): a checkpoint that knows of no legal hold."""
    desk = last_checkpoint(folder)
    desk["line"]["register"].pop("holds")
    behind(folder, {"desk": desk})


def unseal(folder: Path) -> None:
    """Attack (c): a checkpoint by which nobody has signed yet, and then a forged pruning."""
    desk = last_checkpoint(folder)
    desk["line"].pop("register")
    behind(folder, {"desk": desk})
    forge_pruning(folder)


def add_fact(folder: Path) -> None:
    """Attack (d): a plain event more."""
    fact = {"is": "Recorded", "at": NOON, "kind": "job_run", "subject": "", "detail": "x"}
    behind(folder, {"event": {**fact, "by": "Ann", "role": ""}, "said": None})


def add_run(folder: Path) -> None:
    """Attack (e): a checkpoint behind the beginning of a run of another version."""
    begun = Started(NOON + 9 * DAY_MS, "b9", "9.9", (), IDENTITY)
    with opened(folder) as journal:
        published = messages_digest(map(message_line, advance(journal.session, begun).messages))
    behind(folder, {"event": event_to_json(begun), "said": published})
    swap_winners(folder)


ATTACKS = [swap_winners, empty_holds, unseal, add_fact, add_run]


@pytest.fixture(name="held")
def _held(folder: Path) -> Path:
    """Give the log with a coup under legal hold in its newest checkpoint, stopped in order."""
    with opened(folder) as journal:
        at = journal.table.clock + 1000
        journal.start(at, "b2", (), IDENTITY)
        shoe = journal.table.shoe.name
        journal.take([KeepEvidence(at, "Cy", Role.SURVEILLANCE, shoe, 1, reason="claim 17")])
        journal.take(list(play(2, seed=5, start=at + 1000)))
        journal.stop(journal.table.clock)
    assert "holds" in last_checkpoint(folder)["line"]["register"]
    return folder


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_behind_a_run_that_was_stopped_is_believed(
    held: Path, attack: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever appended it: the reader does not go on, audit and replay name the record."""
    assert audit(held) == 0
    attack(held)
    log = str(held / "t.sqlite")
    assert audit(held) == 3
    assert main(["audit", log]) == 3
    assert main(["replay", log, "--check"]) == 3
    assert "record" in capsys.readouterr().err
    with pytest.raises(OutsideError, match="was changed"):
        go_on(held)
    assert audit(held) == 3, "and the start has repaired nothing"


@pytest.mark.parametrize("attack", ATTACKS)
def test_signature_taken_out_makes_no_room_for_a_forgery(
    held: Path, attack: Callable[[Path], None]
) -> None:
    """With the last signature and the end of the run cut off, the anchors say what is missing."""
    with sqlite3.connect(held / "t.sqlite") as db:
        db.execute("DELETE FROM log WHERE n >= (SELECT max(n) - 1 FROM log)")
    if attack is not add_run:  # which asks a reader
        attack(held)
    assert audit(held) == 3
    with pytest.raises(OutsideError, match="is not the one that was signed"):
        go_on(held)


@pytest.fixture(name="killed")
def _killed(folder: Path) -> Path:
    """Give the log of a run that was killed ten records behind its last signature."""
    with opened(folder) as journal:
        journal.start(journal.table.clock + 1000, "b2", (), IDENTITY)
        journal.take(list(play(2, seed=5, start=journal.table.clock + 1000)))
        journal.take([TimePassed(journal.table.clock + n) for n in range(10)])
    return folder


def add_log(folder: Path) -> None:
    """Attack (f): the beginning of another log: time far ahead, no legal hold, another's key."""
    mallory = Person("Mallory", '{"roles":["inspector"],"key":"00"}')
    register = Register(users=(mallory,), time=10**15, allowance=10**15)
    begun = LogBegun(NOON + 9 * DAY_MS, "b9", "0" * 64, 9, "0" * 64, 10**6, (), register)
    behind(folder, {"event": event_to_json(begun), "said": None})


def add_user(folder: Path) -> None:
    """Attack (g): somebody who may give orders, and an order that bears their signature."""
    mallory = Credential.new("Mallory")
    fields = {"by": "Mallory", "role": "inspector", "shoe": "s1", "coup": 1, "reason": "mine"}
    at = NOON + 9 * DAY_MS
    signed = mallory.sign("casino/chaos/table/1/cmd/release_evidence", fields, at)
    entry = canonical({"roles": ["inspector"], "key": mallory.public})
    release = ReleaseEvidence(at, "Mallory", Role.INSPECTOR, "s1", 1, reason="mine")
    order = {"name": "release_evidence", "fields": signed}
    with opened(folder) as journal:
        session = advance(journal.session, Recorded(at, Fact.USER, "Mallory", entry)).session
    (reply,) = advance(session, release).messages
    published = messages_digest([message_line(reply)])
    with sqlite3.connect(folder / "t.sqlite") as db:
        row = (reply.seq, reply.topic, reply.payload, reply.qos, reply.retain, message_sum(reply))
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", row)
    behind(
        folder,
        {"event": event_to_json(Recorded(at, Fact.USER, "Mallory", entry)), "said": None},
        {"event": event_to_json(release), "said": published, "order": order},
    )


def add_deletion(folder: Path) -> None:
    """Attack (h): the reader's word that pictures went for their age, which somebody took away."""
    gone = Recorded(NOON + 9 * DAY_MS, Fact.EVIDENCE_DELETED, "age", '["2023-11-14/a.jpg"]')
    behind(folder, {"event": event_to_json(gone), "said": None})


@pytest.mark.parametrize("attack", [swap_winners, unseal, add_run, add_log, add_user, add_deletion])
def test_checkpoint_behind_a_run_that_was_killed_is_not_believed(
    killed: Path, attack: Callable[[Path], None]
) -> None:
    """Checkpoints, prunings, beginnings, and what the reader knows, are signed as they are written.

    Also before a crash; without the key an audit can tell what stands in a wrong place.
    """
    assert audit(killed) == 0
    attack(killed)
    assert audit(killed) == 3
    alone = main(["replay", str(killed / "t.sqlite"), "--check"])
    assert alone == (0 if attack in (add_user, add_deletion) else 3)
    with pytest.raises(OutsideError, match="was changed"):
        go_on(killed)


TAIL = {"event": event_to_json(TimePassed(NOON + 9 * DAY_MS)), "said": None}
GONE = {"first": 1, "last": 5, "since": 0, "until": 1, "why": "age", "keep_days": 1}


@pytest.mark.parametrize(
    "more",
    [
        {"pruned": [[1, 5, "0" * 64]]}, {"pruned": []}, {"went": GONE},
        {"pruned": [], "went": GONE},
        {"log": {"site": "x"}}, {"desk": {}}, {"order": None}, {"order": {}}, {"x": 1},
        {"said": "0" * 64},
    ],
)  # fmt: skip
def test_nothing_else_stands_beside_an_event_behind_the_last_signature(
    killed: Path, more: dict[str, object]
) -> None:
    """What a reader that was killed cannot have left is not gone on from: it would be signed."""
    behind(killed, {**TAIL, **more})
    assert audit(killed) == (0 if "order" in more else 3)  # this log names nobody's key
    with pytest.raises(OutsideError, match="was changed"):
        go_on(killed)


def test_record_that_is_written_in_another_way_is_not_gone_on_from(killed: Path) -> None:
    """Spaces, escapes, a name twice: what a search of the text would not see."""
    text = canonical({"n": 0, **TAIL})
    with sqlite3.connect(killed / "t.sqlite") as db:
        n, head = db.execute("SELECT n, hash FROM log ORDER BY n DESC LIMIT 1").fetchone()
        body = text.replace('"n":0', f'"n":7, "n":{n + 1}')
        db.execute("INSERT INTO log VALUES (?, ?, ?)", (n + 1, body, chain_hash(head, body)))
    with pytest.raises(OutsideError, match="not written as a reader writes it"):
        go_on(killed)


def test_signature_by_another_key_behind_the_last_is_refused_and_not_published(
    killed: Path,
) -> None:
    """With its message in the outbox, as if the reader had signed with a key that nobody knows."""
    with opened(killed) as journal:
        number, head = journal._store.head
        log_id, clock = journal._store.hash_of(0), journal.table.clock
        forged = Anchored(clock, log_id, number, head, "s3", "stop", "ab" * 8, "00" * 64)
        (message,) = advance(journal.session, forged).messages
    published = messages_digest([message_line(message)])
    behind(killed, {"event": event_to_json(forged), "said": published})
    assert audit(killed) == 3
    with pytest.raises(OutsideError, match="always signed"):
        go_on(killed)


def test_user_who_is_added_while_a_table_runs_is_signed_at_once(killed: Path) -> None:
    """What is refused behind a signature is never left so by a reader that is killed."""
    with opened(killed) as journal:
        at = journal.table.clock
        journal.start(at, "b3", (), IDENTITY)
        journal.take([Recorded(at, Fact.USER, "Cy", '{"key":"00"}')])
    go_on(killed)


def test_order_that_nobody_signed_is_not_taken_over(killed: Path) -> None:
    """After a crash an order counts only with the signature of its giver."""
    with opened(killed) as journal:
        at = journal.table.clock
        journal.start(at, "b3", (), IDENTITY)
        journal.take([Recorded(at, Fact.USER, "Cy", '{"key":"00"}')])
    order = event_to_json(KeepEvidence(at, "Cy", Role.SURVEILLANCE, "s1", 1, reason="r"))
    behind(killed, {"event": order, "said": None})
    with pytest.raises(OutsideError, match="the order was signed by nobody"):
        go_on(killed)


def test_what_was_not_signed_before_a_crash_is_recorded_and_reported(killed: Path) -> None:
    """The next run takes it over, says in a record which it was, and raises an alert."""
    records = list(read_log(killed / "t.sqlite"))
    assert audit(killed) == 0
    go_on(killed)
    bodies = [json.loads(record.body) for record in read_log(killed / "t.sqlite")]
    events = [content["event"] for content in bodies if "event" in content]
    (fact,) = [event for event in events if event.get("kind") == "unsigned_kept"]
    reported = json.loads(fact["detail"])
    assert reported == {"first": len(records) - 10, "last": len(records) - 1}
    assert [event["code"] for event in events if event["is"] == "Noticed"] == ["UNSIGNED"]
    assert audit(killed) == 0
    go_on(killed)
    again = [record.body for record in read_log(killed / "t.sqlite")]
    assert sum('"unsigned_kept"' in body for body in again) == 1


def test_log_that_nobody_signed_is_not_signed_over_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever puts an unsigned log in the place of a signed one, or gives a key later, is noticed.

    The reader says in a record which records it found so, raises an alert, and the audit says it.
    """
    with journal_of(tmp_path / "t.sqlite", 1, publish=False) as journal:
        journal.start(NOON, "b1", ())
        journal.stop(NOON + 1000)
    last = len(list(read_log(tmp_path / "t.sqlite"))) - 1
    make_keys(tmp_path / "key")
    go_on(tmp_path)
    bodies = "".join(record.body for record in read_log(tmp_path / "t.sqlite"))
    assert bodies.count('"code":"UNSIGNED"') == 1
    assert audit(tmp_path) == 0
    assert f"records 1 to {last} were signed afterwards" in capsys.readouterr().out
    go_on(tmp_path)
    again = "".join(record.body for record in read_log(tmp_path / "t.sqlite"))
    assert again.count("unsigned_kept") == 1


def test_signed_log_is_not_continued_without_its_key(folder: Path) -> None:
    """A key taken out of the table file leaves no stretch that nobody signs."""
    with pytest.raises(ConfigurationError, match="is signed by key"):
        journal_of(folder / "t.sqlite", 1, publish=False)
