"""Connections that do nothing, or do it slowly, keep nobody from the boards."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from tests.board.hall import Hall, opened
from tests.browser.voice import wait_for
from vision.board import server as connections
from vision.board.server import network_of

# A process of its own that holds connections with half a request line, as an attacker would.
HOLD = """
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for _ in range(int(sys.argv[2])):
    one = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    one.send(b"GET / HT")
    held.append(one)
    time.sleep(0.001)  # else the kernel drops some, and they wait seconds for another try
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks with the descriptors that a process has by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        with opened(tmp_path) as found:
            yield found
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def port_of(hall: Hall) -> int:
    """Return the port of the board server."""
    return int(hall.url.rsplit(":", 1)[1].strip("/"))


def test_idle_connections_by_the_thousand_keep_nobody_out(hall: Hall) -> None:
    """While 1,100 connections are held, boards and desk answer; afterwards too."""
    command = [sys.executable, "-c", HOLD, str(port_of(hall)), "1100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attacker:
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == "held\n"
        try:
            with httpx.Client(base_url=hall.url, timeout=5) as client:
                assert client.get("").status_code == 200
                assert hall.log_in(client, "Ann").status_code == 200
                assert client.get("desk").status_code == 200
        finally:
            attacker.kill()
    with hall.client() as client:
        assert client.get("").status_code == 200


def test_request_whose_head_does_not_end_is_cut_off(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a head, or a second half one, holds a connection for seconds only."""
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    whole = b"GET /tables HTTP/1.1\r\nHost: x\r\n\r\n"
    for sent in (b"", b"GET / HT", whole + b"GET / HT"):
        with socket.create_connection(("127.0.0.1", port_of(hall)), 30) as one:
            one.sendall(sent)
            with suppress(ConnectionResetError):  # TimeoutError: it is held
                while one.recv(65536):
                    pass


def test_body_that_does_not_come_is_not_waited_for(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log-in of which only the head comes is refused."""
    monkeypatch.setattr("vision.board.web.BODY_S", 0.5)
    head = (
        b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 99\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", port_of(hall)), 5) as one:
        one.sendall(head)
        assert one.recv(65536).startswith(b"HTTP/1.1 400")


def test_address_with_too_many_open_boards_is_refused_and_no_other(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Busy connections do not give way, but one address gets no more of them than its share."""
    monkeypatch.setattr(connections, "FROM_ONE", 5)
    with ExitStack() as opened_streams:
        for _ in range(5):
            client = opened_streams.enter_context(httpx.Client(base_url=hall.url, timeout=5))
            stream = opened_streams.enter_context(client.stream("GET", "events/7"))
            assert stream.status_code == 200
        with pytest.raises(httpx.HTTPError), httpx.Client(base_url=hall.url, timeout=5) as one:
            one.get("tables")
    with hall.client() as client:
        assert client.get("tables").status_code == 200


def test_public_boards_leave_places_for_the_desks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many public boards are open, who logs in is served; a closed one makes room."""
    monkeypatch.setattr("vision.board.web.STREAMS", 3)
    with opened(tmp_path) as hall, ExitStack() as streams, hall.client("Ann") as client:
        browsers = [streams.enter_context(httpx.Client(base_url=hall.url)) for _ in range(4)]
        for browser in browsers[:3]:
            assert streams.enter_context(browser.stream("GET", "events/7")).status_code == 200
        assert browsers[3].get("events/7").status_code == 503
        assert client.get("desk").status_code == 200
        browsers[0].close()
        wait_for(lambda: is_open(browsers[3]))


def is_open(browser: httpx.Client) -> bool:
    """Whether a browser gets the stream of a public board."""
    with browser.stream("GET", "events/7") as stream:
        return stream.status_code == 200


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_network_counts_as_one_address(address: str, network: str) -> None:
    """A house that is given a /64 has no allowance for each of its addresses."""
    assert network_of(address) == network
