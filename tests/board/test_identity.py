"""Guessing passwords, second factors, and what a flood of log-ins costs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pyotp
import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD
from tests.browser.voice import wait_for
from vision.board.login.identity import Identities
from vision.board.login.passwords import (
    STEP_S,
    PasswordBook,
    change_account,
    load_passwords,
    step_of,
    use_code,
)
from vision.cli import main
from vision.errors import OutsideError

BOARD = {"public_url": "https://boards.example", "proxies": ("127.0.0.1",)}


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks behind a proxy, so that a test can come from many addresses."""
    with opened(tmp_path, board=BOARD) as found:
        yield found


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks without a proxy."""
    with opened(tmp_path) as found:
        yield found


def try_in(hall: Hall, address: str, body: dict[str, Any]) -> httpx.Response:
    """Try to log in from an address."""
    headers = {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
    with hall.client(headers=headers) as client:
        return client.post("login", json=body)


def test_wrong_tries_elsewhere_keep_nobody_out_of_a_device_they_have_used(hall: Hall) -> None:
    """Five wrong tries of a stranger lock the name, but not where its person has been before."""
    ann = {"name": "Ann", "password": PASSWORD}
    first = try_in(hall, "192.0.2.1", ann)
    device = next(c for c in first.headers.get_list("set-cookie") if "-device=" in c).split(";")[0]
    for number in range(5):
        wrong = try_in(hall, f"203.0.113.{number}", {**ann, "password": "no such words"})
        assert wrong.status_code == 401
    assert try_in(hall, "192.0.2.9", ann).status_code == 429
    headers = {"X-Forwarded-For": "192.0.2.1", "Cookie": device}
    with hall.client(headers=headers) as client:
        assert client.post("login", json=ann).status_code == 200
        assert client.post("login", json={**ann, "name": "Bo"}).status_code == 200


def test_device_of_one_person_is_none_of_anothers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cookie is for one name, from this server, for half a year."""

    def identities(secret: bytes) -> Identities:
        book: Any = None
        return Identities(book, book, secret=secret, used_codes=Path("none"), two_factors=())

    ours = identities(b"s" * 32)
    cookie = ours.new_device("Ann")
    assert ours.device("Ann", cookie)
    assert not ours.device("Bo", cookie)
    assert not identities(b"t" * 32).device("Ann", cookie)
    assert not any(ours.device("Ann", odd) for odd in ("", ".", "1.2.3", cookie[:-1], "ä.ö.ü"))
    later = time.time() + 183 * 86_400
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    assert not ours.device("Ann", cookie)


def test_checks_of_passwords_run_one_at_a_time(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve log-ins at once never hash two passwords side by side; the boards answer meanwhile."""
    running, most, mutex = [0], [0], threading.Lock()
    knows = PasswordBook.knows

    def counted(self: PasswordBook, name: str, password: str) -> bool:
        with mutex:
            running[0] += 1
            most[0] = max(most[0], running[0])
        try:
            time.sleep(0.05)
            return knows(self, name, password)
        finally:
            with mutex:
                running[0] -= 1

    monkeypatch.setattr(PasswordBook, "knows", counted)
    wrong = {"name": "nobody", "password": "no such words"}
    with ThreadPoolExecutor(12) as threads:
        tries = [threads.submit(try_in, hall, f"203.0.113.{n}", {**wrong, "name": f"x{n}"})
                 for n in range(12)]  # fmt: skip
        with hall.client() as client:
            assert client.get("tables").status_code == 200
        statuses = sorted(one.result().status_code for one in tries)
    assert most[0] == 1
    assert set(statuses) <= {401, 429}


def test_tries_that_are_refused_are_logged_and_recorded(
    hall: Hall, caplog: pytest.LogCaptureFixture
) -> None:
    """Refusals without a try are logged too, and the tables' logs hear once whose name it was."""
    for number in range(12):
        try_in(hall, f"203.0.113.{number % 2}", {"name": "Ann", "password": f"guess {number}"})
    assert any("not tried" in record.getMessage() for record in caplog.records)
    wait_for(lambda: hall.recorded("sign_in_locked"))
    (locked,) = hall.recorded("sign_in_locked")
    assert (locked.subject, "too many tries, from 203.0.113." in locked.detail) == ("Ann", True)


def test_name_that_is_nobodys_is_kept_nowhere(hall: Hall, caplog: pytest.LogCaptureFixture) -> None:
    """People type passwords into the field of the name: such a text is not written down."""
    secret = "my own secret words"
    assert try_in(hall, "203.0.113.1", {"name": secret, "password": "x"}).status_code == 401
    wait_for(lambda: hall.recorded("sign_in_refused"))
    assert "203.0.113.1" in hall.recorded("sign_in_refused")[0].detail
    assert secret not in str(hall.reader.events) + caplog.text


@pytest.mark.parametrize(("password", "status"), [("\ud800", 400), ("a" * 5000, 401), ("\0", 400)])
def test_password_that_nobody_can_have_is_refused(hall: Hall, password: str, status: int) -> None:
    """Odd characters are answered, not failed at."""
    with hall.client() as client:
        answer = client.post(
            "login",
            content=json.dumps({"name": "Ann", "password": password}),
            headers={"Content-Type": "application/json"},
        )
    assert answer.status_code == status


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity", '"\\ud800"'])
def test_order_with_a_value_that_json_has_not_is_answered(plain: Hall, number: str) -> None:
    """An order that cannot be signed is refused with a reason."""
    with plain.client("Ann") as client:
        content = f'{{"coup": 1, "reason": {number}}}'
        answer = client.post("api/order/7/free_hand", content=content)
    assert answer.status_code == 200
    assert answer.json()["accepted"] is False
    assert answer.json()["why"]


def test_failure_of_the_program_is_logged_with_its_place(
    plain: Hall, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect of a page is answered with 500 and stands in the log."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("vision.board.desk.history.History.search", fail)
    with plain.client("Ann") as client:
        assert client.get("api/search").status_code == 500
    assert "a defect of the program" in caplog.text
    assert "ZeroDivisionError" in caplog.text


# --- second factor ---


def enrol(hall: Hall, name: str) -> str:
    """Give somebody a second factor; return its secret."""
    secret = pyotp.random_base32()
    change_account(hall.passwords, name, lambda old: replace(old, secret=secret))
    return secret


def test_second_factor_is_asked_for_and_each_code_counts_once(hall: Hall) -> None:
    """Password alone does not do, a wrong code neither; a right one does once."""
    secret = enrol(hall, "Ann")
    body = {"name": "Ann", "password": PASSWORD}
    with hall.client() as client:
        first = client.post("login", json=body)
        assert (first.status_code, first.json()["ask"]) == (401, "code")
        assert client.post("login", json={**body, "code": "000000"}).status_code == 401
        code = pyotp.TOTP(secret).now()
        assert client.post("login", json={**body, "code": code}).status_code == 200
        assert client.post("login", json={**body, "code": code}).status_code == 401
    failed = lambda: [e for e in hall.recorded("SignIn") if not e.accepted]  # noqa: E731
    wait_for(lambda: len(failed()) == 2)


def test_role_that_needs_a_second_factor_lets_nobody_in_without(tmp_path: Path) -> None:
    """Who has none set up is told how; other roles go on as before."""
    with opened(tmp_path, desk={"second_factor": ("inspector",)}) as hall, hall.client() as client:
        refused = hall.log_in(client, "Ann")
        assert (refused.status_code, "second-factor NAME" in refused.text) == (403, True)
        assert hall.log_in(client, "Bo").status_code == 200
        secret = enrol(hall, "Ann")
        code = pyotp.TOTP(secret).now()
        assert hall.log_in(client, "Ann", code=code).status_code == 200


def test_used_codes_are_known_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A code looked over somebody's shoulder is worth nothing, whatever is restarted."""
    secret, path, now = pyotp.random_base32(), tmp_path / "used.json", [1_000_000.0]
    monkeypatch.setattr("vision.board.login.passwords.time.time", lambda: now[0])
    code = pyotp.TOTP(secret).at(1_000_000)
    assert use_code(path, "Ann", secret, code)
    assert not use_code(path, "Ann", secret, code)
    assert use_code(path, "Bo", secret, code)
    assert path.stat().st_mode & 0o777 == 0o600
    later = pyotp.TOTP(secret).at(1_000_000 + STEP_S)
    assert use_code(path, "Ann", secret, f"{later[:3]} {later[3:]}")
    now[0] += 999
    assert not any(use_code(path, "Ann", secret, odd) for odd in (later, "", "\ud800", "0"))
    path.write_text("{", "utf-8")
    with pytest.raises(OutsideError, match="could be used twice"):
        use_code(path, "Ann", secret, later)


def test_second_factor_is_set_up_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret is shown as a QR code and as text, and counts once its first code was right."""
    file = ["--file", str(tmp_path / "users.json")]
    main(["users", "add", "Ann", "--role", "inspector", "--through-desk", *file])
    assert main(["users", "second-factor", "Ann", *file]) == 2
    monkeypatch.setattr("sys.stdin", _Typed(lambda: f"{PASSWORD}\n"))
    main(["users", "password", "Ann", *file])
    capsys.readouterr()

    def code() -> str:
        shown = capsys.readouterr().out
        secret.append(shown.split("type the secret in: ")[1].split()[0])
        return pyotp.TOTP(secret[0]).now() + "\n"

    secret: list[str] = []
    monkeypatch.setattr("sys.stdin", _Typed(lambda: "000000\n"))
    assert main(["users", "second-factor", "Ann", *file]) == 2
    assert not load_passwords(tmp_path / "passwords.json")["Ann"].secret
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", _Typed(code))
    assert main(["users", "second-factor", "Ann", *file]) == 0
    stored = load_passwords(tmp_path / "passwords.json")["Ann"]
    assert stored.secret == secret[0]
    assert step_of(stored.secret, pyotp.TOTP(stored.secret).now(), time.time())
    main(["users", "list", *file])
    assert "second factor" in capsys.readouterr().out


class _Typed:
    """An input at which somebody types what a function says."""

    def __init__(self, line: Any) -> None:
        self._line = line

    def isatty(self) -> bool:
        """Say that nobody sees what is typed."""
        return False

    def readline(self) -> str:
        """Return the line that is typed."""
        text: str = self._line()
        return text
