"""Logs that earlier versions wrote are opened, verified, replayed to the same bytes, and go on.

`old_logs/0.1.0.sqlite` was written by version 0.1.0: two runs of nine coups in shoes of four,
signed, the first shoes pruned, the last 41 messages unsent.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from tests.chaos.shoe import play
from tests.chaos.table import journal_of
from vision.cli import main
from vision.record.chain import LOG_VERSION
from vision.storage.log_reader import read_log

OLD = Path(__file__).with_name("old_logs")
VERSION = "0.1.0"
# SHA-256 of the messages that version 0.1.0 gives when it replays its log.
REPLAYED = "9e43191a82e779a7cb0dd54cbc7b81152f886695a8bf20630805ef7d5b10c4be"


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    """Give a copy of the log."""
    return Path(shutil.copy(OLD / f"{VERSION}.sqlite", tmp_path / "t.sqlite"))


def audit(log: Path) -> int:
    """Audit it with its key and its anchors."""
    words = ["--public-key", str(OLD / f"{VERSION}.pub")]
    return main(["audit", str(log), *words, "--anchors", str(OLD / f"{VERSION}.anchors.jsonl")])


def test_old_log_is_verified_and_its_prunings_are_told(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an earlier version did not sign is said, not refused."""
    assert audit(log) == 0
    out = capsys.readouterr().out
    assert "every one good" in out
    assert "PRUNED: records 1 to" in out
    assert "NOT PROVEN: the prunings of records" in out


def test_old_log_replays_to_the_same_bytes(log: Path, tmp_path: Path) -> None:
    """Every message is as that version says it."""
    assert main(["replay", str(log), "--check"]) == 0
    assert main(["replay", str(log), "--messages", str(tmp_path / "m.jsonl")]) == 0
    assert hashlib.sha256((tmp_path / "m.jsonl").read_bytes()).hexdigest() == REPLAYED


def test_old_log_goes_on(log: Path) -> None:
    """It is taken up from its checkpoint, and no record of it is changed."""
    before = list(read_log(log))
    with journal_of(log, 1) as journal:
        pending = len(journal._store.pending(0, 1000))
        assert pending == 41
        journal.take(list(play(3, seed=3, start=journal.table.clock + 1000)))
    assert list(read_log(log))[: len(before)] == before
    assert audit(log) == 3, "the stretch that goes on is not signed by that key"
    assert main(["audit", str(log)]) == 0
    assert main(["replay", str(log), "--check"]) == 0


def test_format_of_records_is_the_one_of_the_old_logs(log: Path) -> None:
    """The number of the format stands in record 0; it rises only when old logs cannot be read."""
    assert f'"version":{LOG_VERSION}' in next(read_log(log)).body
