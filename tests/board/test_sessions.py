"""Sessions end when what they rest on ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD
from tests.browser.voice import wait_for
from tests.mqtt.mqtt_tools import free_port
from vision.board.login.passwords import save_password
from vision.cli import main


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks whose sessions are kept in a file."""
    with opened(tmp_path, board={"port": free_port()}) as found:
        yield found


def users(hall: Hall, *words: str) -> int:
    """Run the command on the house's files."""
    return main(["users", *words, "--file", str(hall.folder / "users.json")])


def test_new_password_ends_the_sessions_of_the_old_one(hall: Hall) -> None:
    """Who had the old password is out at once, and the log says why."""
    with hall.client("Ann") as client, hall.client("Bo") as other:
        save_password(hall.passwords, "Ann", PASSWORD + " anew")
        assert client.get("me").status_code == 401
        assert other.get("me").status_code == 200
    wait_for(lambda: hall.recorded("session_ended"))
    ended = hall.recorded("session_ended")[0]
    assert (ended.by, "password" in ended.detail) == ("Ann", True)


def test_sessions_are_listed_and_ended_by_the_command(
    hall: Hall, capsys: pytest.CaptureFixture[str]
) -> None:
    """An administrator sees who is logged in, and ends one person's sessions or all."""
    with hall.client("Ann") as ann, hall.client("Bo") as bo:
        users(hall, "sessions")
        told = capsys.readouterr().out.splitlines()
        assert [line.split(" since ")[0] for line in told] == ["Ann as inspector", "Bo as dealer"]
        assert all(line.endswith("from 127.0.0.1") for line in told)
        assert users(hall, "log-out", "Ann") == 0
        assert "1 session ended" in capsys.readouterr().out
        assert ann.get("me").status_code == 401
        assert bo.get("me").status_code == 200
        users(hall, "log-out")
        assert bo.get("me").status_code == 401
    wait_for(lambda: len(hall.recorded("session_ended")) == 2)


def test_taking_the_file_away_logs_everybody_out_for_good(hall: Hall) -> None:
    """As the manual says: without a restart, and the next log-in brings no old session back."""
    with hall.client("Ann") as ann:
        next(hall.folder.glob("sessions-*.json")).unlink()
        assert ann.get("me").status_code == 401
        with hall.client("Bo") as bo:
            assert bo.get("me").status_code == 200
            assert ann.get("me").status_code == 401
