"""Behind a proxy that speaks TLS: who asks, whose pages they are, and what a cookie is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board.hall import Hall, opened
from vision.config.table import load
from vision.errors import ConfigurationError

PUBLIC = "https://boards.example"
EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


def through(address: str) -> dict[str, str]:
    """Return what the proxy adds to a request of a page that came from an address."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https", "Origin": PUBLIC}


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    """Serve boards for a proxy on this machine."""
    board = {"public_url": PUBLIC, "proxies": ("127.0.0.1",)}
    with opened(tmp_path_factory.mktemp("house"), board=board) as found:
        yield found


def test_order_and_log_out_work_through_a_proxy(hall: Hall) -> None:
    """What a page of the public address sends is taken, and what another site's page sends not."""
    with hall.client(headers=through("203.0.113.5")) as client:
        answer = hall.log_in(client, "Ann")
        client.headers["Cookie"] = answer.headers["set-cookie"].split(";")[0]
        assert client.post("api/order/7/free_hand", json={"coup": 1}).status_code == 200
        other = client.post("logout", headers={"Origin": "https://elsewhere.example"})
        assert other.status_code == 403
        assert client.post("logout").status_code == 200


def test_cookie_and_pages_are_for_tls_only(hall: Hall) -> None:
    """A browser sends the session over TLS only, and never comes in clear again."""
    with hall.client(headers=through("203.0.113.6")) as client:
        cookies = hall.log_in(client, "Cy").headers.get_list("set-cookie")
        assert all(cookie.startswith("__Host-") for cookie in cookies)
        assert all("; secure" in cookie.lower() for cookie in cookies)
        assert client.get("login").headers["strict-transport-security"] == "max-age=31536000"


def test_wrong_tries_of_one_browser_keep_no_other_out(hall: Hall) -> None:
    """Each address behind the proxy has its own allowance."""
    with hall.client(headers=through("203.0.113.7")) as client:
        tries = [client.post("login", json={"name": f"x{n}", "password": "y"}) for n in range(21)]
        assert tries[-1].status_code == 429
    with hall.client(headers=through("203.0.113.8")) as client:
        assert hall.log_in(client, "Bo").status_code == 200


def test_address_that_a_stranger_claims_is_not_believed(tmp_path: Path) -> None:
    """Who is not the proxy is who they are, whatever they write into a request."""
    board = {"public_url": PUBLIC, "proxies": ("192.0.2.1",)}
    with opened(tmp_path, board=board) as hall, hall.client() as client:
        tries = [
            client.post(
                "login", json={"name": f"x{n}", "password": "y"}, headers=through(f"203.0.113.{n}")
            ).status_code
            for n in range(21)
        ]
    assert tries[-1] == 429


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('public_url = "https://b.example"', "one is set without the other"),
        ('proxies = ["192.0.2.1"]', "one is set without the other"),
        ('public_url = "https://b.example"\nproxies = ["inside"]', "is no IP address"),
        ('public_url = "http://b.example"\nproxies = ["192.0.2.1"]', "public_url"),
    ],
)
def test_settings_of_a_proxy_that_are_half_are_refused(
    tmp_path: Path, lines: str, words: str
) -> None:
    """The message names the keys and the cure."""
    file = tmp_path / "table.toml"
    text = EXAMPLE.read_text("utf-8")
    assert "[board]\n" in text
    file.write_text(text.replace("[board]\n", f"[board]\n{lines}\n"), "utf-8")
    with pytest.raises(ConfigurationError, match=words):
        load(file)
