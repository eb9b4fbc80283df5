"""Two logs of one table are one history, or it is said where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seen import out
from tests.table_log import clean, write_export, write_log
from vision import cli
from vision.storage.log_reader import read_log


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Give the log of a reader that died, and that of the one which went on."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_log(tmp_path / "a.sqlite", clean().events)
    write_export(first, read_log(tmp_path / "a.sqlite"))
    write_log(tmp_path / "b.sqlite", [*clean().events, out(clean().events[-1].at, 27, 6)])
    write_export(second, read_log(tmp_path / "b.sqlite"))
    return first, second


def ended(log: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the words by which the next audit begins where that of a log ended."""
    assert cli.main(["audit", str(log)]) == 0
    found = next(line for line in capsys.readouterr().out.splitlines() if "--since" in line)
    return found[found.index("--since") :].split()


def test_log_of_a_reader_that_died_is_the_beginning_of_the_others(
    logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The longer log holds the record with which the shorter ends, and so all before it."""
    assert cli.main(["audit", str(logs[1]), *ended(logs[0], capsys)]) == 0


def test_two_histories_are_distinguished(
    logs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that went on by itself is found."""
    other = [*clean().events[:-1], out(clean().events[-1].at, 27, 6)]
    write_log(tmp_path / "c.sqlite", [*other, *clean().events[-1:]])
    assert cli.main(["audit", str(tmp_path / "c.sqlite"), *ended(logs[0], capsys)]) == 3
    assert "is not the record with which the former audit ended" in capsys.readouterr().err
