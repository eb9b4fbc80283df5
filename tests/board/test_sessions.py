"""Sessions end when what they rest on ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD
from tests.browser.voice import wait_for
from vision.board.login.passwords import PasswordEntry, load_passwords, save_password
from vision.board.login.sessions import Sessions
from vision.cli import main

ACCOUNT = PasswordEntry(hash="of a password")


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks."""
    with opened(tmp_path) as found:
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
    assert (ended.by, "how to log in" in ended.detail) == ("Ann", True)


def test_sessions_are_ended_by_the_command(hall: Hall) -> None:
    """An administrator ends one person's sessions, or all."""
    with hall.client("Ann") as ann, hall.client("Bo") as bo:
        assert users(hall, "log-out", "Ann") == 0
        assert ann.get("me").status_code == 401
        assert bo.get("me").status_code == 200
        for nobody in ("Bob", "desk-1"):
            assert users(hall, "log-out", nobody) == 2
            assert nobody not in load_passwords(hall.passwords)
        assert users(hall, "log-out") == 0
        assert bo.get("me").status_code == 401
    wait_for(lambda: len(hall.recorded("session_ended")) == 2)


# --- what a cookie is ---


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self) -> float:
        """Return its time."""
        return self.now


def test_session_ends_by_age_and_by_idleness() -> None:
    """A log-in lasts so long at most, and not beyond so long without anything done."""
    ends: list[tuple[str, str]] = []
    clock = Clock()
    sessions = Sessions(
        idle_s=600, length_s=1000, ended=lambda one, why: ends.append((one.name, why)), clock=clock
    )
    bo = sessions.open("Bo", "dealer", ACCOUNT)
    for passed in (500, 999):
        clock.now = 1_000.0 + passed
        assert sessions.find(bo.id) == bo
    clock.now = 2_000.0
    assert sessions.find(bo.id) is None
    cy = sessions.open("Cy", "surveillance", ACCOUNT)
    clock.now += 599
    assert sessions.find(cy.id, touch=False) == cy
    clock.now += 1
    assert sessions.find(cy.id) is None
    assert sessions.find(cy.id) is None
    assert [name for name, _ in ends] == ["Bo", "Cy"], "each end is reported once"


def test_session_that_nobody_asks_for_ends_with_the_next_log_in() -> None:
    """Who went away without logging out does not stay in the memory of the server."""
    ends: list[str] = []
    clock = Clock()
    sessions = Sessions(
        idle_s=600, length_s=1000, ended=lambda one, _why: ends.append(one.name), clock=clock
    )
    sessions.open("Bo", "dealer", ACCOUNT)
    clock.now += 600
    sessions.open("Cy", "surveillance", ACCOUNT)
    assert ends == ["Bo"]


def test_session_that_has_ended_stays_so() -> None:
    """A cookie that was stolen before the log-out is worth nothing."""
    sessions = Sessions(idle_s=600, length_s=1000)
    session = sessions.open("Bo", "dealer", ACCOUNT)
    sessions.end(session)
    assert sessions.find(session.id) is None


def test_cookie_of_nobody_is_no_session() -> None:
    """Neither a guess, nor one changed by a letter, of another server, or purpose."""
    sessions = Sessions(idle_s=600, length_s=1000)
    session = sessions.open("Bo", "dealer", ACCOUNT)
    other = Sessions(idle_s=600, length_s=1000).open("Bo", "dealer", ACCOUNT)
    changed = session.id[:-1] + ("A" if session.id[-1] != "A" else "B")
    for odd in ("", "guess", "\u00e4", changed, other.id):
        assert sessions.find(odd) is None, odd
    assert sessions.find(session.id) == session
    assert session.id not in repr(session)
    assert ACCOUNT.hash not in repr(session)


def test_each_log_in_has_a_cookie_of_its_own(hall: Hall) -> None:
    """What a browser had before counts for nothing: a session cannot be given to somebody."""
    with hall.client("Ann") as ann, hall.client() as bo:
        (own,) = [one for one in ann.cookies.jar if not one.name.endswith("-device")]
        bo.cookies.set(own.name, own.value or "", domain=own.domain, path=own.path)
        hall.log_in(bo, "Bo")
        assert bo.get("me").json()["name"] == "Bo"
        assert ann.get("me").json()["name"] == "Ann"


# --- a proxy that knows who people are ---

PROXY = {"identity_header": "X-Forwarded-User"}


def test_header_of_the_proxy_opens_a_session(tmp_path: Path) -> None:
    """Who is named is in, recorded, and out as soon as another is named; no password is taken."""
    with opened(tmp_path, desk=PROXY) as hall, hall.client() as client:
        client.headers["X-Forwarded-User"] = "Ann"
        entered = client.get("login?next=/desk")
        assert (entered.status_code, entered.headers["location"]) == (303, "/desk")
        cookie = entered.headers["set-cookie"].lower()
        assert "samesite=lax" in cookie, "a browser comes from the page of another site"
        assert "httponly" in cookie
        assert client.get("me").json()["role"] == "inspector"
        assert client.get("login?next=//elsewhere.example").headers["location"] == "/desk"
        for other in ({"X-Forwarded-User": "Bo"}, {"X-Forwarded-User": ""}):
            assert client.get("me", headers=other).status_code == 401
        assert client.post("login", json={"name": "Bo", "password": PASSWORD}).status_code == 405
        wait_for(lambda: [one.by for one in hall.recorded("SignIn")] == ["Ann"])
        for nobody in ("Zed", "desk-1", ""):
            named = client.get("login", headers={"X-Forwarded-User": nobody})
            assert named.status_code == 403, nobody


@pytest.mark.parametrize("header", [(), ("Ann", "Ann")], ids=["elsewhere", "twice"])
def test_header_from_elsewhere_or_twice_is_not_believed(
    tmp_path: Path, header: tuple[str, ...]
) -> None:
    """Who comes past the proxy, or through one that lets their own header through, is nobody."""
    where = {} if header else {"identity_from": "192.0.2.7"}
    with opened(tmp_path, desk={**PROXY, **where}) as hall, hall.client() as client:
        headers = [("x-forwarded-user", name) for name in header or ("Ann",)]
        assert client.get("login", headers=headers).status_code == 403


def test_header_is_nothing_where_no_proxy_is_set(hall: Hall) -> None:
    """By default a header names nobody."""
    with hall.client() as client:
        assert client.get("me", headers={"X-Forwarded-User": "Ann"}).status_code == 401
        assert client.get("login", headers={"X-Forwarded-User": "Ann"}).status_code == 200


def test_forwarded_address_of_a_browser_is_not_that_of_the_proxy(tmp_path: Path) -> None:
    """Who stands at the other end counts, not what is forwarded of who stands behind."""
    board = {"public_url": "https://boards.example", "proxies": ("127.0.0.1",)}
    desk = {**PROXY, "identity_from": "192.0.2.7"}
    with opened(tmp_path, desk=desk, board=board) as hall, hall.client() as client:
        headers = {"X-Forwarded-User": "Ann", "X-Forwarded-For": "192.0.2.7"}
        assert client.get("login", headers=headers).status_code == 403
