"""systemd hears that the reader is ready, alive and stopping, and ends one that hangs."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from vision.app.watchdog import Watchdog


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Give the socket on which systemd would listen."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(str(tmp_path / "notify"))
        wire.setblocking(False)
        yield wire


def heard(wire: socket.socket) -> list[bytes]:
    """Return what has been reported."""
    found = []
    while True:
        try:
            found.append(wire.recv(100))
        except BlockingIOError:
            return found


def test_reports_come_as_often_as_systemd_wants(manager: socket.socket) -> None:
    """Three times within the limit while the loop goes round, and no more."""
    now = [0.0]
    environment = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "3000000"}
    watchdog = Watchdog(environment, lambda: now[0])
    watchdog.ready()
    for _ in range(70):
        watchdog.alive()
        now[0] += 0.05
    watchdog.stopping()
    assert heard(manager) == [b"READY=1", *[b"WATCHDOG=1"] * 4, b"STOPPING=1"]


def test_nothing_is_reported_where_nobody_asks(manager: socket.socket, tmp_path: Path) -> None:
    """A reader started by hand is not watched; one whose manager is gone goes on."""
    Watchdog({}).ready()
    watchdog = Watchdog({"NOTIFY_SOCKET": manager.getsockname()})
    watchdog.alive()
    assert heard(manager) == []
    Watchdog({"NOTIFY_SOCKET": str(tmp_path / "gone"), "WATCHDOG_USEC": "1000"}).alive()
