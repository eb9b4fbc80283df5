"""A log run again says the same, byte for byte."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.make_replays import REPLAYS
from tests.schemas import check
from tests.table_log import PLAYS, header, interrupted, said, write_export, write_log
from vision.cli import main
from vision.errors import ConfigurationError
from vision.game.events import Event
from vision.record.chain import record_line
from vision.record.codec import GENESIS, seal
from vision.storage.log import Store
from vision.storage.log_reader import read_log
from vision.wire.messages import message_line

GOLDEN = sorted(REPLAYS.glob("*.jsonl"))


def replay(*words: str | Path) -> int:
    """Run the command."""
    return main(["replay", *map(str, words)])


def test_every_play_has_a_golden_log() -> None:
    """The golden logs are those of the plays."""
    assert {path.stem for path in GOLDEN} == set(PLAYS)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_log_gives_what_it_published(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every message of a golden log is, byte for byte, what it was when it was written."""
    assert replay(path, "--check") == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", PLAYS)
def test_every_message_of_a_play_keeps_to_the_contract(name: str) -> None:
    """Schemas hold and numbers rise by one in real plays, not only in examples."""
    messages = said(PLAYS[name]().events)
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    for message in messages:
        check(message)


@pytest.mark.parametrize("name", PLAYS)
def test_replay_of_a_run_is_the_same_byte_for_byte(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Log, export and messages file of a run agree."""
    log, file = tmp_path / "t.sqlite", tmp_path / "said.jsonl"
    events = [event for event in PLAYS[name]().events if getattr(event, "boot", "b1") == "b1"]
    write_log(log, events, file)
    export = tmp_path / "t.jsonl"
    write_export(export, read_log(log))
    for source in (log, export):
        assert replay(source, "--check") == 0
        capsys.readouterr()
        assert replay(source) == 0
        assert capsys.readouterr().out == file.read_text(encoding="utf-8")


def split(events: list[Event], at: int) -> tuple[list[Event], list[Event]]:
    """Cut a list in two."""
    return events[:at], events[at:]


def test_restart_at_any_event_says_the_same(tmp_path: Path) -> None:
    """Numbers go on and nothing is said twice or otherwise, wherever the power was cut."""
    events = interrupted().events
    whole = tmp_path / "whole.sqlite"
    desk = write_log(whole, events)
    bodies = [record.body for record in read_log(whole)]
    for at in range(0, len(events), 7):
        log = tmp_path / f"{at}.sqlite"
        for part in split(events, at):
            last = write_log(log, part)
        assert last == desk
        assert [record.body for record in read_log(log)] == bodies


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Give the log of the play without faults, and the file of what was said."""
    path = tmp_path / "t.sqlite"
    write_log(path, PLAYS["clean"]().events, tmp_path / "said.jsonl")
    return path


def rewritten(path: Path, old: str, new: str) -> Path:
    """Write a log anew with another text in it and a chain that holds, as a forger would."""
    previous, lines = GENESIS, []
    for number, record in enumerate(read_log(path)):
        content = json.loads(record.body.replace(old, new))
        del content["n"]
        forged = seal(number, previous, content)
        previous = forged.hash
        lines.append(record_line(forged))
    forgery = path.with_name("forged.jsonl")
    forgery.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return forgery


def test_check_finds_another_card_in_a_log_with_a_good_chain(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card changed by someone who makes the chain anew no longer leads to what was said."""
    forgery = rewritten(log, '"9c"', '"2c"')
    for command in (["audit", str(forgery)], ["replay", str(forgery), "--check"]):
        assert main(command) == 3
        assert "gives other messages" in capsys.readouterr().err


def test_log_of_before_is_refused_with_what_to_do(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command reads it as if it were one of today, or takes it for one that was changed."""
    old = rewritten(log, '"version":"1.1"}', '"version":1}')
    older = tmp_path / "older.sqlite"
    with closing(sqlite3.connect(log)) as db, closing(sqlite3.connect(older)) as copy:
        db.backup(copy)
        first = next(iter(read_log(old)))
        copy.execute("UPDATE log SET body = ?, hash = ? WHERE n = 0", (first.body, first.hash))
        copy.commit()
    for path in (old, older):
        for command in (["audit", str(path)], ["replay", str(path)]):
            assert main(command) == 2
            assert "keep it with the program that wrote it" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="log of version 1, "):
        Store(older, header())


@pytest.mark.parametrize(
    ("old", "new"),
    [('"is":"CoupSeen"', '"is":"CoupFelt"'), ('"dealing":"face-up"', '"dealing":"sideways"'),
     ('"site"', '"place"'), ("[deal]", "[dealt]")],
    ids=["event", "dealing", "header", "rules"],
)  # fmt: skip
def test_log_that_is_not_understood_names_the_record(
    log: Path, old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no reader of this form of log can have written breaks it there."""
    for command in ("audit", "replay"):
        assert main([command, str(rewritten(log, old, new))]) == 3
        assert "is not understood" in capsys.readouterr().err


def test_replay_of_a_broken_chain_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that was changed is not replayed beyond the change."""
    export = tmp_path / "t.jsonl"
    write_export(export, read_log(log))
    export.write_text(export.read_text("utf-8").replace("9c", "8c", 1), encoding="utf-8")
    assert replay(export) == 3
    assert "chain is broken at record" in capsys.readouterr().err


def test_replay_of_a_missing_log_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is created for a log that is not there."""
    assert replay(tmp_path / "none.sqlite") == 3
    assert "none.sqlite" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_line_of_a_message_reads_back() -> None:
    """Each line is one message, and reads back."""
    for message in itertools.islice(said(PLAYS["clean"]().events), 20):
        assert json.loads(message_line(message))["topic"] == message.topic
