"""Two logs of one table are one history, or it is said where they part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.seen import out
from tests.table_log import clean, write_export, write_log
from vision import cli
from vision.audit.continuity import pair_words
from vision.errors import OutsideError
from vision.record.facts import Fact, Recorded
from vision.storage.log_reader import read_log


def taken_over(log: Path, after: int, digest: str = "") -> Recorded:
    """Return the record of a takeover after that record."""
    wanted = digest or next(r.hash for r in read_log(log) if r.number == after)
    detail = {"after": after, "boot": "b", "hash": wanted, "term": 2}
    return Recorded(clean().events[-1].at, Fact.TAKEN_OVER, "pc-b", json.dumps(detail))


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Give the log of a reader that died, and that of the one which went on."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_log(tmp_path / "a.sqlite", clean().events)
    write_export(first, read_log(tmp_path / "a.sqlite"))
    number = max(record.number for record in read_log(first))
    events = [*clean().events, taken_over(first, number), out(clean().events[-1].at, 27, 6)]
    write_log(tmp_path / "b.sqlite", events)
    write_export(second, read_log(tmp_path / "b.sqlite"))
    return first, second


def test_log_of_a_reader_that_died_is_the_beginning_of_the_others(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says how much both have, and when who went on."""
    assert cli.main(["audit", str(logs[0]), "--pair", str(logs[1])]) == 0
    told = capsys.readouterr().out
    assert "one history" in told
    assert "2 more in the longer" in told
    assert "term 2: pc-b went on after record" in told


def test_two_histories_are_told_apart_at_the_first_record(logs: tuple[Path, Path]) -> None:
    """A reader that went on by itself is found."""
    records = list(read_log(logs[1]))
    other = [*records[:5], *(r for r in read_log(logs[0]) if r.number > 5)]
    with pytest.raises(OutsideError, match="record 5 differs between the two logs"):
        list(pair_words(records, other))


def test_takeover_that_names_another_record_is_found(tmp_path: Path) -> None:
    """Whoever went on without the other's last record cannot hide it."""
    write_log(tmp_path / "a.sqlite", clean().events)
    fact = taken_over(tmp_path / "a.sqlite", 3, digest="0" * 64)
    write_log(tmp_path / "b.sqlite", [*clean().events, fact])
    records = list(read_log(tmp_path / "b.sqlite"))
    with pytest.raises(OutsideError, match="whose hash is another"):
        list(pair_words(records, records))
