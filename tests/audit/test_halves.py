"""An audit by two processes finds what an audit by one finds, and says it in the same words."""

from __future__ import annotations

import shutil
import sqlite3
from functools import cache
from pathlib import Path

import pytest

from tests.audit.fuzz_logs import mutate
from tests.audit.test_orders import ANN, Wire
from tests.chaos.shoe import NOON, play
from tests.chaos.table import config_of
from vision.access.users import User, Users, save_users
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.audit import continuity
from vision.audit.continuity import audit_in_halves, audit_to, folded_behind
from vision.audit.verify import Found, Trust, audit
from vision.cli import main
from vision.clock import DAY_MS
from vision.errors import ShoeReaderError
from vision.record.chain import BrokenChainError
from vision.storage.anchors import load_public, make_keys
from vision.storage.log_reader import CheckpointMark, Rows, Walk, checkpoints, read_log

MUTATIONS = 50


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a signed log of fourteen shoes of a week, with orders; the first have been pruned."""
    folder = tmp_path_factory.mktemp("halves")
    make_keys(folder / "key")
    users = folder / "users.json"
    save_users(users, Users(users={"Ann": User(roles=("inspector",), key=ANN.public)}))
    config = config_of(1, signing_key=str(folder / "key"), keep_days=2, messages_days=1)
    orders = config.orders.model_copy(update={"users": str(users)})
    config = config.model_copy(update={"orders": orders})
    with Journal(config, Destinations(folder / "t.sqlite", publish=False)) as journal:
        journal.start(NOON, "b1", ())
        wire = Wire(journal)
        for seed in range(7):
            journal._retention._elapsed._asked_s -= 86_400  # as if a day had passed
            journal.take(list(play(4, seed=seed, a_shoe=2, start=NOON + seed * DAY_MS)))
            wire.give("void_coup", ANN, coup=2, reason="bet dispute")
            assert wire.carry_out(journal.table.clock) == (1, 0)
    return folder


@pytest.fixture(name="log")
def _log(made: Path, tmp_path: Path) -> Path:
    """Give a copy of it."""
    return Path(shutil.copytree(made, tmp_path / "t")) / "t.sqlite"


def trust_of(log: Path) -> Trust:
    """Return the trust in the key of the log."""
    return Trust((load_public(log.with_name("key.pub")),))


def serial(log: Path) -> tuple[Found, int, int]:
    """Audit by one process."""
    rows = Rows(log)
    found = audit(read_log(log), trust_of(log), walk=Walk(rows=rows))
    return found, rows.good, rows.unproven


def in_parts(log: Path, mark: CheckpointMark) -> tuple[Found, int, int]:
    """Audit in two parts, one after the other."""
    found, rows = audit_to(log, trust_of(log), mark, cache(lambda: folded_behind(log, mark)))
    return found, rows.good, rows.unproven


def test_both_halves_find_what_the_whole_finds_at_whatever_checkpoint(log: Path) -> None:
    """Signatures, orders, prunings and messages: all that an audit finds is the same."""
    whole = serial(log)
    assert len(whole[0].orders) > 1
    assert whole[0].gaps
    marks = [*checkpoints(log)]
    assert len(marks) > 4
    for mark in marks:
        assert in_parts(log, mark) == whole, mark


def test_no_change_passes_in_halves_that_does_not_pass_whole(log: Path) -> None:
    """Whatever is changed wherever: halves find it good only where the whole does."""
    marks = [*checkpoints(log)]
    good, same = log.read_bytes(), 0
    for seed in range(MUTATIONS):
        log.write_bytes(good)
        if not mutate(seed, log):
            continue
        try:
            halved = in_parts(log, marks[1 + seed % 4])
        except (BrokenChainError, ShoeReaderError):
            continue
        assert halved == serial(log), seed
        same += 1
    assert same < MUTATIONS / 2


def test_two_processes_say_the_same_words_as_one(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a good log, of a record changed in either half, and of one whose message is gone."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    good = log.read_bytes()
    records = [record.number for record in read_log(log)]
    for number in (0, records[9], records[-9]):
        log.write_bytes(good)
        if number:
            _forge(log, number)
        words = []
        for least in (0, 10**9):
            monkeypatch.setattr(continuity, "LEAST", least)
            code = main(["audit", str(log), "--public-key", str(log.with_name("key.pub"))])
            words.append((code, capsys.readouterr()))
        assert words[0] == words[1]
        assert words[0][0] == (3 if number else 0)
        monkeypatch.setattr(continuity, "LEAST", 0)
        assert (audit_in_halves(log, trust_of(log)) is None) == bool(number)


def _forge(log: Path, number: int) -> None:
    """Take a record's last character out."""
    with sqlite3.connect(log) as db:
        db.execute("UPDATE log SET body = substr(body, 1, length(body) - 1) WHERE n = ?", (number,))
