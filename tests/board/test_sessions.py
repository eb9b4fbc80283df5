"""Sessions end when what they rest on ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD
from tests.browser.voice import wait_for
from tests.mqtt.mqtt_tools import free_port
from vision.board.login.identity import Devices
from vision.board.login.passwords import load_passwords, save_password
from vision.board.login.sessions import Sessions
from vision.cli import main
from vision.errors import OutsideError


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

SECRET = b"s" * 64


class Clock:
    """The time of day, set by hand, of sessions and of the signatures of their cookies."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1_000_000.0
        patch.setattr(time, "time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give a clock that stands."""
    return Clock(monkeypatch)


def made(path: Path | None = None, secret: bytes = SECRET) -> Sessions:
    """Return the sessions of a server that has just started."""
    return Sessions(secret, idle_s=600, length_s=1000, path=path)


def test_session_ends_by_age_and_by_idleness(clock: Clock) -> None:
    """A log-in lasts so long at most, and not beyond so long without anything done."""
    told: list[tuple[str, str]] = []
    ended = lambda session, why: told.append((session.name, why))  # noqa: E731
    sessions = Sessions(SECRET, idle_s=600, length_s=1000, ended=ended)
    cookie, _ = sessions.open("Bo", "dealer")
    for at in (500, 999):
        clock.now = 1_000_000.0 + at
        assert sessions.find(cookie)
    clock.now = 1_001_000.0
    assert sessions.find(cookie) is None
    idle, _ = sessions.open("Cy", "surveillance")
    clock.now += 599
    assert sessions.find(idle, touch=False)
    clock.now += 1
    assert sessions.find(idle) is None
    assert sessions.find(idle) is None
    assert [name for name, _ in told] == ["Bo", "Cy"], "each end is told once"


def test_clock_set_back_past_a_log_in_ends_it(clock: Clock) -> None:
    """A cookie from the time to come is none."""
    sessions = made()
    cookie, _ = sessions.open("Bo", "dealer")
    clock.now -= 10
    assert sessions.find(cookie) is None


def test_activity_outlives_a_restart_of_the_server(clock: Clock, tmp_path: Path) -> None:
    """The cookie is signed anew while its person is active, and goes on where it was left."""
    before = made(tmp_path / "ended.json")
    cookie, session = before.open("Bo", "dealer", proof="p")
    assert before.renewed(cookie, session) == ""
    clock.now += 500
    renewed = before.renewed(cookie, session)
    clock.now += 300
    after = made(tmp_path / "ended.json")
    assert after.find(renewed) == session
    assert made(tmp_path / "ended.json").find(cookie) is None, "idle for 800 s by this one"
    clock.now += 300
    assert after.find(renewed) is None, "its whole time is over"


def test_session_that_has_ended_stays_so(tmp_path: Path) -> None:
    """A cookie that was stolen before the log-out is worth nothing, after a restart too."""
    path = tmp_path / "ended.json"
    before = made(path)
    cookie, session = before.open("Bo", "dealer")
    before.end(session)
    assert cookie not in path.read_text("utf-8")
    assert path.stat().st_mode & 0o777 == 0o600
    assert before.find(cookie) is None
    assert before.renewed(cookie, session) == ""
    assert made(path).find(cookie) is None
    path.write_text("[1]", "utf-8")
    with pytest.raises(OutsideError, match="that was ended could go on"):
        made(path)


def test_cookie_of_nobody_is_no_session(tmp_path: Path) -> None:
    """Neither a guess, nor one changed by a letter, of another house, server, or purpose."""
    sessions = made(tmp_path / "ended-1.json")
    cookie, session = sessions.open("Bo", "dealer")
    others = [
        made(tmp_path / "ended-1.json", b"t" * 64).open("Bo", "dealer")[0],
        made(tmp_path / "ended-2.json").open("Bo", "dealer")[0],
        Devices(SECRET).cookie("Bo"),
        sessions.csrf(session),
    ]
    changed = [cookie[:place] + "A" + cookie[place + 1 :] for place in (0, 40, len(cookie) - 9)]
    for odd in ("", "guess", "ä", cookie + "A", *others, *changed):
        assert odd == cookie or sessions.find(odd) is None, odd
    assert sessions.find(cookie) == session


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
