"""A review of access says of each name when it was last used, from the logs alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.table_log import NOON, Play, write_log
from vision.access.users import User, Users, save_users
from vision.cli import main
from vision.clock import DAY_MS
from vision.commands import users as command
from vision.game.commands import CallInspector, SignIn
from vision.game.events import Event, Role
from vision.record.codec import canonical
from vision.record.facts import Fact, Recorded

PEOPLE = {name: User(roles=("inspector",)) for name in ("Ann", "Ben", "Cid", "Dee")}


def staff(at: int, name: str, *, gone: bool = False) -> Recorded:
    """Return the fact that the users file has somebody, or has them no more."""
    return Recorded(at, Fact.USER, name, "" if gone else canonical({"roles": ["inspector"]}))


def table(path: Path, *events: Event) -> str:
    """Write a table's log."""
    write_log(path, [*Play().begin().events, *events])
    return str(path)


def review(folder: Path, capsys: pytest.CaptureFixture[str], *logs: str) -> dict[str, str]:
    """Return what the command says of each name."""
    save_users(folder / "users.json", Users(users=PEOPLE))
    assert main(["users", "review", *logs, "--file", str(folder / "users.json")]) == 0
    return {
        line.split(maxsplit=1)[0].strip(":"): line for line in capsys.readouterr().out.splitlines()
    }


def test_review_says_when_each_was_last_used_and_who_sleeps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By all tables together: a log-in here and an order there are the same person's."""
    monkeypatch.setattr(command, "now_ms", lambda: NOON + 100 * DAY_MS)
    late = NOON + 50 * DAY_MS
    one = table(
        tmp_path / "1.sqlite",
        *(staff(NOON, name) for name in ("Ann", "Ben", "Cid", "Eve")),
        SignIn(NOON + 1, "Ann", Role.INSPECTOR),
        SignIn(late, "Cid", Role.INSPECTOR, accepted=False),
        staff(late, "Eve", gone=True),
    )
    two = table(
        tmp_path / "2.sqlite", CallInspector(late, "Ann", Role.INSPECTOR), staff(late, "Dee")
    )
    said = review(tmp_path, capsys, one, two)
    assert "log-in 2023-11-14" in said["Ann"]
    assert "order 2024-01-03" in said["Ann"]
    assert "DORMANT" not in said["Ann"]
    assert "DORMANT" in said["Ben"]
    assert "log-in never (1 refused since)" in said["Cid"]
    assert "DORMANT" in said["Cid"], "a refused log-in is not a use"
    assert "user since 2024-01-03" in said["Dee"]
    assert "DORMANT" not in said["Dee"], "who came lately had no time to use it"
    assert "is no user; removed 2024-01-03" in said["Eve"]


def test_review_of_a_changed_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log whose chain does not hold says nothing about anybody."""
    path = tmp_path / "1.sqlite"
    log = table(path, SignIn(NOON, "Ann", Role.INSPECTOR))
    save_users(tmp_path / "users.json", Users(users=PEOPLE))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE log SET body = replace(body, 'Ann', 'Ben') WHERE body LIKE '%Ann%'")
    assert main(["users", "review", log, "--file", str(tmp_path / "users.json")]) == 3
    assert "1.sqlite" in capsys.readouterr().err
