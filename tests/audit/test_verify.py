"""An audit finds any single change, and says which record is the first bad one."""

from __future__ import annotations

import random
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.access.signing import tampered
from tests.storage.growth import write_shoes
from tests.table_log import PLAYS, write_export, write_log
from vision.cli import main
from vision.game.events import Started
from vision.storage.log_reader import read_log
from vision.wire.messages import iso


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a log of a play with a fault."""
    path = tmp_path_factory.mktemp("log") / "t.sqlite"
    write_log(path, PLAYS["overdraw"]().events)
    return path


def audit(*words: str | Path) -> int:
    """Run the command."""
    return main(["audit", *map(str, words)])


def test_good_log_passes_and_says_what_it_holds(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Table, events, times and the last hash are told."""
    assert audit(log) == 0
    out = capsys.readouterr().out
    last = list(read_log(log))[-1]
    assert "table 7 of house" in out
    assert f"{last.number} events, 2023-11-14T22:13:20.000Z to " in out
    assert last.hash in out


def test_audit_names_every_installation_that_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever audits sees since when the table is read by another program or other weights."""
    first, *events = PLAYS["clean"]().events
    assert isinstance(first, Started)
    at = events[-1].at
    runs = [Started(at, boot, "1.0", (), name * 64) for boot, name in (("b2", "a"), ("b3", "b"))]
    write_log(tmp_path / "t.sqlite", [replace(first, identity="a" * 64), *events, *runs])
    assert audit(tmp_path / "t.sqlite") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "installation" in line]
    assert [line[:29] for line in lines] == [f"from {iso(first.at)}", f"from {iso(at)}"]
    assert ["a" * 64 in lines[0], "b" * 64 in lines[1]] == [True, True]


def test_export_holds_the_same_records(log: Path, tmp_path: Path) -> None:
    """The records as JSON lines pass the same audit."""
    export = tmp_path / "1.jsonl"
    write_export(export, read_log(log))
    assert audit(export) == 0
    assert list(read_log(export)) == list(read_log(log))


@pytest.mark.parametrize("seed", range(50))
def test_any_single_change_is_found_at_its_record(
    log: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One record touched anywhere: the audit fails and names it."""
    records, first_bad = tampered(list(read_log(log)), random.Random(seed))
    export = tmp_path / "t.jsonl"
    write_export(export, records)
    assert audit(export) == 3
    words = re.search(r"chain is broken at record (\d+)", capsys.readouterr().err)
    assert words is not None
    assert int(words[1]) == first_bad


def test_change_in_the_database_is_found(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card changed with an SQLite tool is found."""
    copy = tmp_path / "t.sqlite"
    copy.write_bytes(log.read_bytes())
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE log SET body = replace(body, '\"4h\"', '\"5h\"') WHERE n = 14")
    assert audit(copy) == 3
    assert "record 14" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not the header"),
        (b"hello\n", "record 0: is not a record"),
        (b"\xff\xfe\x00\n", "record 0: is not a record"),
        (b"SQLite format 3\x00" + b"\x00" * 4096, "log"),
    ],
    ids=["empty", "text", "binary", "database"],
)
def test_file_that_is_no_log_is_explained(
    tmp_path: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file is, the answer is a sentence and exit code 3."""
    path = tmp_path / "x"
    path.write_bytes(content)
    assert audit(path) == 3
    assert words in capsys.readouterr().err


def test_missing_log_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that is not there is named."""
    assert audit(tmp_path / "none.sqlite") == 3
    assert "none.sqlite" in capsys.readouterr().err


# --- from a former audit on ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def shoes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a log of four shoes, with a checkpoint at the beginning of each."""
    path = tmp_path_factory.mktemp("shoes") / "t.sqlite"
    write_shoes(path, 4)
    return path


def ended(log: Path, number: int = -1) -> str:
    """Return what an audit that ended with that record prints for the next one."""
    record = list(read_log(log))[number]
    return f"{record.number}:{record.hash}"


def test_audit_since_verifies_the_new_part_and_says_where_to_begin_next(
    shoes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It begins at the last checkpoint before that record, and prints what the next one needs."""
    assert audit(shoes) == 0
    whole = capsys.readouterr().out
    assert f"--since {ended(shoes)}" in whole
    middle = list(read_log(shoes))[-8].number
    assert audit(shoes, "--since", ended(shoes, middle)) == 0
    part = capsys.readouterr().out
    first = int(re.findall(r"records (\d+) to", part)[0])
    assert 0 < first <= middle
    assert re.findall(r"messages: (\d+) are", part) != re.findall(r"messages: (\d+) are", whole)
    assert f"--since {ended(shoes)}" in part


@pytest.mark.parametrize("which", ["before", "after"])
def test_audit_since_finds_a_change_on_either_side(
    shoes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    """A log made again up to the known hash, or changed after it, does not pass."""
    copy = tmp_path / "t.sqlite"
    copy.write_bytes(shoes.read_bytes())
    known = list(read_log(shoes))[-8]
    number = known.number if which == "before" else known.number + 2
    with sqlite3.connect(copy) as db:
        db.execute("UPDATE log SET hash = ? WHERE n = ?", ("0" * 64, number))
    assert audit(copy, "--since", f"{known.number}:{known.hash}") == 3
    assert f"record {number}" in capsys.readouterr().err


def test_audit_since_a_record_that_is_gone_is_refused(
    shoes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that ends before the former audit did was cut; what is no record is explained."""
    assert audit(shoes, "--since", f"99999:{'0' * 64}") == 3
    assert "record 99999, with which the former audit ended, is missing" in capsys.readouterr().err
    assert audit(shoes, "--since", "7") == 2
    assert "NUMBER:HASH" in capsys.readouterr().err
