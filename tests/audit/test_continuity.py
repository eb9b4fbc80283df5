"""A message that was never said is found, before it is told again and in every audit."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.chaos.shoe import play
from tests.chaos.table import journal_of
from vision.cli import main
from vision.errors import OutsideError
from vision.storage.log import MESSAGES, messages_from
from vision.wire.messages import Message, message_sum


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the log of two shoes, with all messages unsent, as after a time without a broker."""
    folder = tmp_path_factory.mktemp("made")
    with journal_of(folder / "t.sqlite", 1) as journal:
        journal.link._publisher = None
        journal.take(list(play(75)))
    return folder


@pytest.fixture(name="log")
def _log(made: Path, tmp_path: Path) -> Path:
    """Give a copy of that log."""
    return Path(shutil.copytree(made, tmp_path / "log")) / "t.sqlite"


def forge(log: Path, seq: int, old: str, new: str) -> None:
    """Change a message as somebody does who can write the file and knows its form."""
    with sqlite3.connect(log) as db:
        (row,) = db.execute(f"{MESSAGES} WHERE seq = ?", (seq,)).fetchall()
        (published,) = messages_from([row], log)
        payload = published.payload.replace(old.encode(), new.encode())
        assert payload != published.payload
        forged = Message(published.topic, payload, published.qos, published.retain, published.seq)
        db.execute(
            "UPDATE message SET payload = ?, sum = ? WHERE seq = ?",
            (payload, message_sum(forged), seq),
        )


def result_of(log: Path, coup: int) -> int:
    """Return the number of the message that published the result of a coup of the last shoe."""
    with sqlite3.connect(log) as db:
        rows = db.execute(
            "SELECT seq FROM message WHERE topic LIKE '%coup/result' "
            "AND CAST(payload AS TEXT) LIKE ? ORDER BY seq DESC",
            (f'%"coup":{coup},%',),
        ).fetchall()
    return int(rows[0][0])


def test_log_as_it_was_written_is_good(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every message is what was said, and the reader goes on."""
    assert main(["audit", str(log)]) == 0
    assert "are as the log has them" in capsys.readouterr().out
    assert main(["replay", str(log), "--check"]) == 0
    journal_of(log, 1).close()


@pytest.mark.parametrize("coup", [5, 2])
def test_forged_result_is_found_and_never_reported(
    log: Path, coup: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The winner of a result changed with a fresh sum: audit, replay and the reader refuse it."""
    seq = result_of(log, coup)
    forge(log, seq, '"coup":', '"coup": ')
    assert main(["audit", str(log)]) == 3
    assert f"message {seq} on casino/chaos/table/1/coup/result" in capsys.readouterr().err
    assert main(["replay", str(log), "--check"]) == 3
    with pytest.raises(OutsideError, match=f"message {seq} "):
        journal_of(log, 1)


def test_result_that_nobody_published_is_found(log: Path) -> None:
    """A row put in behind the last, or one that stands in the place of another."""
    with sqlite3.connect(log) as db:
        (last,) = db.execute("SELECT max(seq) FROM message").fetchone()
        reported = Message("casino/chaos/table/1/coup/result", b"{}", 1, True, last + 1)
        row = (
            reported.seq,
            reported.topic,
            reported.payload,
            reported.qos,
            reported.retain,
            message_sum(reported),
        )
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT OR REPLACE INTO standing VALUES (?, ?)", (reported.topic, reported.seq))
    assert main(["audit", str(log)]) == 3
    with pytest.raises(OutsideError, match="was changed"):
        journal_of(log, 1)


def test_old_result_made_to_stand_again_is_found(log: Path) -> None:
    """A true message of earlier is not the one that stands."""
    with sqlite3.connect(log) as db:
        db.execute("DELETE FROM unsent")
        db.execute(
            "UPDATE standing SET seq = ? WHERE topic LIKE '%coup/result'", (result_of(log, 2),)
        )
    assert main(["audit", str(log)]) == 3
    with pytest.raises(OutsideError, match="stands"):
        journal_of(log, 1)
