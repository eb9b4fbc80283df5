"""Who gets in, for how long, and where to: the log-in of the desks, without a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD, PEOPLE, house_of_people, with_desk
from tests.browser.voice import Reader, table_config, wait_for
from tests.table_log import overdraw, write_log
from vision.access.users import load_users, save_users
from vision.board.host.boards import Boards, address_of
from vision.board.login.identity import TRIES_OF_NAME
from vision.board.login.passwords import PasswordBook, load_passwords, save_password
from vision.board.rights import MAY_ORDER
from vision.board.web import Throttle
from vision.cli import main
from vision.config.table import BoardSection
from vision.errors import ConfigurationError
from vision.game.commands import SignIn, SignOut, TakeArchive
from vision.game.fold.commands import ORDERS
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.wire.messages import snake

ROLES = ("dealer", "inspector", "surveillance", "engineer")


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    """Serve desks of a table at which a card too many was given."""
    with opened(tmp_path_factory.mktemp("house")) as found:
        found.reader.play(overdraw().events[:24])
        yield found


# Every way to what is not public, and what each role is answered: page or path, then by role.
TRIES: dict[tuple[str, str], tuple[int, int, int, int, int]] = {
    # method, path: nobody, dealer, inspector, surveillance, engineer
    ("GET", "desk"): (303, 303, 200, 200, 303),
    ("GET", "dealer"): (303, 200, 200, 303, 303),
    ("GET", "dealer/7"): (303, 200, 200, 303, 303),
    ("GET", "me"): (401, 200, 200, 200, 200),
    ("GET", "api/history/7"): (401, 403, 200, 200, 403),
    ("GET", "api/history/7/s1"): (401, 403, 200, 200, 403),
    ("GET", "api/history/7/none"): (401, 403, 404, 404, 403),
    ("GET", "api/search"): (401, 403, 200, 200, 403),
    ("GET", "api/media/7/evidence/x"): (401, 403, 404, 404, 403),
    ("GET", "api/media/7/coup/live"): (401, 403, 404, 404, 403),
    ("GET", "setup"): (303, 303, 303, 303, 200),
    ("GET", "api/export/7/s1/2"): (401, 403, 503, 503, 403),
    ("GET", "api/export/7/s1/x"): (404, 404, 404, 404, 404),
    ("POST", "api/order/7/nothing"): (401, 404, 404, 404, 404),
    ("POST", "api/order/8/confirm"): (401, 404, 404, 404, 404),
    ("POST", "api/order/7/sign_in"): (401, 404, 404, 404, 404),
    ("POST", "api/order/7/replay"): (401, 404, 404, 404, 404),
    ("GET", "api/order/7/confirm"): (404, 404, 404, 404, 404),
}


@pytest.fixture(scope="module")
def clients(hall: Hall) -> Iterator[dict[str, httpx.Client]]:
    """Give a browser of nobody's and one of each role."""
    with ExitStack() as opened:
        names: dict[str, str] = {"nobody": ""}
        names |= {role: name for name, role in PEOPLE.items()}
        yield {who: opened.enter_context(hall.client(name)) for who, name in names.items()}


@pytest.mark.parametrize(("method", "path"), TRIES, ids=lambda part: part)
def test_route_answers_each_role_what_it_may(
    clients: dict[str, httpx.Client], method: str, path: str
) -> None:
    """Nobody and no wrong role gets past the log-in, at any route."""
    wanted = dict(zip(clients, TRIES[method, path], strict=True))
    assert {role: one.request(method, path).status_code for role, one in clients.items()} == wanted


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", MAY_ORDER)
def test_order_is_turned_away_at_the_server_from_a_wrong_role(
    clients: dict[str, httpx.Client], name: str, role: str
) -> None:
    """An order that a role may not give does not even leave the server."""
    if role not in MAY_ORDER[name]:
        answer = clients[role].post(f"api/order/7/{name}", json={"coup": 2})
        assert (answer.status_code, "not for the role" in answer.json()["why"]) == (403, True)


def test_rights_at_the_server_are_those_of_the_game() -> None:
    """The desk offers every order of the rules, but for what the server gives itself."""
    own = {snake(kind.__name__) for kind in (SignIn, SignOut, TakeArchive)}
    assert set(MAY_ORDER) == {snake(kind.__name__) for kind in ORDERS} - own
    assert MAY_ORDER["void_coup"] == {"inspector"}


def test_order_that_no_page_of_ours_sends_is_refused(hall: Hall) -> None:
    """Another site cannot make a logged-in browser give orders, whatever it hides of itself."""
    with hall.client("Bo") as client:
        own = client.headers.pop("Origin")
        for origin in ({}, {"Origin": "null"}, {"Origin": "https://elsewhere.example"},
                       {"Origin": own.replace("http:", "https:")}):  # fmt: skip
            answer = client.post("api/order/7/confirm", json={"coup": 2}, headers=origin)
            assert answer.status_code == 403
            assert client.post("logout", headers=origin).status_code == 403
        assert client.post("logout", headers={"Origin": own}).status_code == 200


def test_order_is_given_in_the_name_of_who_is_logged_in(hall: Hall) -> None:
    """Whatever a browser says of itself, the name and role are those of the session."""
    with hall.client("Cy") as client:
        fields = {"coup": 2, "by": "Ann", "role": "inspector", "reason": "to look at"}
        answer = client.post("api/order/7/hold_result", json=fields)
        assert answer.json() == {"accepted": True, "why": ""}
    hold = next(event for event in hall.reader.events if type(event).__name__ == "HoldResult")
    assert (getattr(hold, "by", ""), getattr(hold, "role", "")) == ("Cy", "surveillance")


def test_order_that_is_malformed_is_answered(hall: Hall) -> None:
    """Strange fields get a reason, not a crash; too long a body counts as none."""
    with hall.client("Ann") as client:
        for fields in ({"coup": -1}, {"coup": 2, "x": 1}, {"coup": [1]}, {"reason": "a" * 300}, {}):
            answer = client.post("api/order/7/void_coup", json=fields)
            assert answer.json()["accepted"] is False
            assert answer.json()["why"]
        long = client.post("api/order/7/void_coup", content=b"[" * 100_000)
        assert long.json()["accepted"] is False


def test_log_in_and_out_stand_in_the_log(hall: Hall) -> None:
    """Who came, who left, and who was turned away is in the table's log by name."""
    before = len(hall.reader.events)
    with hall.client("Di") as client:
        assert client.post("logout").status_code == 200
        assert client.get("me").status_code == 401
    with hall.client() as client:
        answer = client.post("login", json={"name": "Di", "password": "not the words"})
        assert (answer.status_code, answer.json()["why"]) == (401, "wrong name or password")
    kinds = (SignIn, SignOut)
    reported = lambda: [one for one in hall.reader.events[before:] if isinstance(one, kinds)]  # noqa: E731
    wait_for(lambda: len(reported()) == 3)
    published = [(type(one).__name__, one.by, getattr(one, "accepted", True)) for one in reported()]
    assert published == [("SignIn", "Di", True), ("SignOut", "Di", True), ("SignIn", "Di", False)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "Nobody", "password": PASSWORD}, 401),
        ({"name": "desk-1", "password": PASSWORD}, 401),
        ({"name": "", "password": ""}, 400),
        ({"name": ["Bo"], "password": PASSWORD}, 400),
    ],
    ids=["unknown", "a-desk", "empty", "no-text"],
)
def test_log_in_of_whom_nobody_knows_is_refused(
    hall: Hall, body: dict[str, Any], status: int
) -> None:
    """Only a person with a password gets in."""
    with hall.client() as client:
        assert client.post("login", json=body).status_code == status
        assert not client.cookies


def test_log_in_by_a_form_of_another_site_is_refused(hall: Hall) -> None:
    """What is not JSON is no log-in: a foreign form can send nothing else unasked."""
    with hall.client() as client:
        answer = client.post("login", data={"name": "Bo", "password": PASSWORD})
        assert answer.status_code == 415


def test_removed_user_is_out_at_once(hall: Hall) -> None:
    """A session ends when its user is taken out of the users file, and works again after."""
    users = load_users(hall.folder / "users.json")
    with hall.client("Bo") as client:
        save_users(hall.folder / "users.json", users.without("Bo"))
        assert client.get("me").status_code == 401
        save_users(hall.folder / "users.json", users)


def test_cookie_cannot_be_read_or_sent_across(hall: Hall) -> None:
    """The session's cookie is for this site and for no script."""
    with hall.client() as client:
        answer = client.post("login", json={"name": "Cy", "password": PASSWORD})
        cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_wrong_passwords_have_to_wait(hall: Hall) -> None:
    """After some wrong tries a name has to wait, with the right password too."""
    wrong = {"name": "Eve", "password": "x" * 12}
    with hall.client() as client:
        answers = [client.post("login", json=wrong) for _ in range(6)]
    assert [one.status_code for one in answers] == [401] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) == round(TRIES_OF_NAME[1])


def test_throttle_forgets_after_its_time() -> None:
    """So many times in so many seconds; each key by itself."""
    now = [0.0]
    throttle = Throttle(2, 10, clock=lambda: now[0])
    for _ in range(2):
        assert throttle.allows("a")
        throttle.count("a")
    assert not throttle.allows("a")
    assert throttle.allows("b")
    now[0] = 10
    assert throttle.allows("a")


def test_passwords_are_kept_as_argon2id_for_their_owner_alone(tmp_path: Path) -> None:
    """The file holds no password and nobody else may read it; a faulty one lets nobody in."""
    users, _ = house_of_people(tmp_path)
    path = tmp_path / "passwords.json"
    assert PASSWORD not in path.read_text("utf-8")
    assert all(one.hash.startswith("$argon2id$") for one in load_passwords(path).values())
    assert path.stat().st_mode & 0o777 == 0o600
    people = PasswordBook(users, path)
    assert people.knows("Bo", PASSWORD)
    assert not people.knows("Bo", PASSWORD + " ")
    with pytest.raises(ConfigurationError, match="10 to 200 characters"):
        save_password(path, "Bo", "short")
    path.chmod(0o644)
    assert not people.knows("Bo", PASSWORD)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_passwords(path)


def test_users_password_is_set_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A password is set for somebody who is a user, and goes with the user."""
    file = ["--file", str(tmp_path / "users.json")]
    assert main(["users", "add", "Bo", "--role", "dealer", "--through-desk", *file]) == 0
    reading, writing = os.pipe()
    os.write(writing, f"{PASSWORD}\n".encode())
    os.close(writing)
    with os.fdopen(reading) as typed:
        monkeypatch.setattr("sys.stdin", typed)
        assert main(["users", "password", "Bo", *file]) == 0
    assert PasswordBook(tmp_path / "users.json", tmp_path / "passwords.json").knows("Bo", PASSWORD)
    assert main(["users", "password", "Nobody", *file]) == 2
    assert main(["users", "remove", "Bo", *file]) == 0
    assert load_passwords(tmp_path / "passwords.json") == {}
    assert PASSWORD not in capsys.readouterr().out


def test_desk_set_up_by_half_is_refused(tmp_path: Path) -> None:
    """Without users there is no desk, and without TLS none that others could listen to."""
    users, key = house_of_people(tmp_path)
    whole = with_desk(table_config(1), users, key)
    half = whole.model_copy(update={"orders": table_config(1).orders})
    with pytest.raises(ConfigurationError, match=r"\[orders\] users"):
        Boards([half], BoardSection())
    with pytest.raises(ConfigurationError, match=r"unencrypted.*certificate"):
        Boards([whole], BoardSection(host="0.0.0.0"))


def test_archive_of_a_coup_is_taken_and_proves_itself(tmp_path: Path) -> None:
    """For a dispute the desk gives the coup's part of the log, which the audit then verifies.

    Who took it stands in the log.
    """
    users, key = house_of_people(tmp_path)
    log = tmp_path / "table.sqlite"
    write_log(log, overdraw().events)
    with EmbeddedBroker(0) as broker:
        config = with_desk(table_config(broker.port), users, key)
        config = config.model_copy(update={"log": config.log.model_copy(update={"path": str(log)})})
        reader = Reader(broker.port, "7", users)
        with Boards([config], address_of(config)) as boards, httpx.Client(timeout=30) as client:
            client.post(f"{boards.server.url}login", json={"name": "Cy", "password": PASSWORD})
            answer = client.get(f"{boards.server.url}api/export/7/s1/2")
            reported = lambda: [one for one in reader.events if isinstance(one, TakeArchive)]  # noqa: E731
            wait_for(reported, 30)
        reader.hang_up()
    assert [(one.by, one.role, one.shoe, one.coup) for one in reported()] == [
        ("Cy", "surveillance", "s1", 2)
    ]
    assert answer.status_code == 200, answer.text
    archive = tmp_path / "dispute.zip"
    archive.write_bytes(answer.content)
    assert main(["audit", str(archive)]) == 0
