"""Signing while a table runs: nobody without the key takes records out, and no old copy runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.chaos.shoe import NOON, play
from tests.chaos.table import journal_of
from vision.app.journal import Journal
from vision.cli import main
from vision.errors import OutsideError
from vision.game.events import Event
from vision.record.codec import canonical
from vision.storage.anchors import anchors_of, make_keys
from vision.storage.log import write_record
from vision.storage.log_reader import read_log
from vision.storage.retention import DAY_MS

IDENTITY = "1d" * 32


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a signing key and the log of three shoes, signed."""
    folder = tmp_path_factory.mktemp("signed")
    make_keys(folder / "key")
    with opened(folder) as journal:
        journal.start(NOON, "b1", (), IDENTITY)
        for events in batched(play(150), 60):
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
        marks = [n for (n,) in db.execute("SELECT n FROM segment ORDER BY n")]
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
    assert "were taken out by somebody who has not the key" in capsys.readouterr().err
    with pytest.raises(OutsideError, match="nobody signed that"):
        go_on(folder)


def test_forged_pruning_is_found_however_the_log_goes_on(folder: Path) -> None:
    """Even a reader that did not look (its anchors were lost) makes no forgery good."""
    forge_pruning(folder)
    anchors_of(folder / "t.sqlite").unlink()
    go_on(folder)
    with opened(folder) as journal:
        journal.start(NOON + 9 * DAY_MS, "b3", (), IDENTITY)
        for event in play(1, start=NOON + 9 * DAY_MS):
            journal.take([event])
        journal.stop(journal.table.clock)
    assert audit(folder) == 3


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
        said = {"event": {**event, "number": n, "hash": head}, "said": None}
        write_record(db, n + 1, head, said)
    assert audit(folder) == 3
    with pytest.raises(OutsideError, match="nobody signed that"):
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
    assert "no record was changed, taken out, put in or moved, but for what was pruned" in out
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
        db.execute("DELETE FROM segment WHERE n > ?", (half,))
        (digest,) = db.execute("SELECT hash FROM log WHERE n = 7").fetchone()
    with pytest.raises(OutsideError, match="is missing"):
        go_on(folder)
    forged = {**lines[-1], "record": 7, "hash": digest, "signature": "ab"}
    file.write_text(file.read_text("utf-8") + canonical(forged) + "\n", "utf-8")
    with pytest.raises(OutsideError, match="is missing"):
        go_on(folder)
