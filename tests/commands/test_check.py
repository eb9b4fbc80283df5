"""`check` tells a person what is wrong with a table and how its reader is doing."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.config.test_table import table_file
from vision.access.users import User, Users, save_users
from vision.commands.check import (
    STALE_S,
    _clock,
    _health,
    _log,
    _models,
    _orders,
    _store,
)
from vision.config.table import TableConfig, load
from vision.errors import OutsideError
from vision.metrics.counters import Metrics, SightCounts, serve_figures
from vision.storage.anchors import make_keys


def config_of(folder: Path, **sections: dict[str, object]) -> TableConfig:
    """Return the example's settings with some of their sections changed."""
    config = load(table_file(folder))
    changed = {
        name: getattr(config, name).model_copy(update=values) for name, values in sections.items()
    }
    return config.model_copy(update=changed)


class Reader:
    """A reader that said something a while ago."""

    def __init__(self, age_s: float) -> None:
        link = {"outbox": 3, "outbox_age_s": 7.5, "connected": False, "orders_refused": 2}
        sight = SightCounts(blind=True, canary_failures=1)
        self.health = {**Metrics(lambda: sight, frames=9).health(), **link}
        self.health_at_s = time.monotonic() - age_s


def test_health_of_a_running_reader_is_reported_in_words(tmp_path: Path) -> None:
    """How often it looks, and whether it is blind."""
    with serve_figures(Reader(0), "127.0.0.1", 0, {}) as port:
        reported = " ".join(_health(config_of(tmp_path, metrics={"port": port})))
    assert "frames a second" in reported
    assert "blind now" in reported


def test_health_of_a_reader_that_hangs_is_a_fault(tmp_path: Path) -> None:
    """Figures that have grown old are not told as if they were now."""
    with (
        serve_figures(Reader(STALE_S + 5), "127.0.0.1", 0, {}) as port,
        pytest.raises(OutsideError, match=r"published nothing for \d\d s"),
    ):
        list(_health(config_of(tmp_path, metrics={"port": port})))


def test_health_without_a_port_or_a_reader_is_no_fault(tmp_path: Path) -> None:
    """Who has set up no figures, or runs no reader yet, is told so."""
    assert "no [metrics] port" in next(_health(config_of(tmp_path)))
    assert "no reader runs" in next(_health(config_of(tmp_path, metrics={"port": 1})))


def test_orders_tells_who_may_give_them(tmp_path: Path) -> None:
    """Without a users file the cure is told; with one, how many there are."""
    assert "shoe-reader users add" in next(_orders(config_of(tmp_path)))
    path = tmp_path / "users.json"
    desk = User(roles=("dealer",), key="0" * 64, may_act_for=True)
    save_users(path, Users(users={"Cy": User(roles=("dealer",)), "desk": desk}))
    reported = next(_orders(config_of(tmp_path, orders={"users": str(path)})))
    assert "2 users, 1 of them desks" in reported


def test_clock_is_reported(tmp_path: Path) -> None:
    """Whatever the kernel says comes out in words."""
    assert next(_clock(config_of(tmp_path)))


def test_log_that_nobody_signs_is_reported(tmp_path: Path) -> None:
    """Signing is off until somebody makes a key: the check says what that means, and the cure."""
    reported = " ".join(_log(config_of(tmp_path, log={"path": str(tmp_path / "t.sqlite")})))
    assert "NOT SIGNED" in reported
    assert "shoe-reader log keys make" in reported
    make_keys(tmp_path / "key")
    signed: dict[str, object] = {
        "path": str(tmp_path / "t.sqlite"),
        "signing_key": str(tmp_path / "key"),
    }
    reported = " ".join(_log(config_of(tmp_path, log=signed)))
    assert "ANCHORS ON THE LOG'S DISK" in reported
    assert "NOT SIGNED" not in reported
    shared = Path("/dev/shm/anchors.jsonl")
    if shared.parent.is_dir() and shared.parent.stat().st_dev != tmp_path.stat().st_dev:
        reported = " ".join(_log(config_of(tmp_path, log={**signed, "anchors": str(shared)})))
        assert "ANCHORS" not in reported


def test_models_say_how_fast_this_machine_is(tmp_path: Path) -> None:
    """Whoever buys a machine for a table learns how many pictures a second it looks at."""
    (line,) = _models(config_of(tmp_path))
    assert re.search(r"the test picture is read, [1-9]\d* such pictures a second$", line)


@contextmanager
def nats_server(greeting: bytes) -> Iterator[str]:
    """Serve one connection as a nats-server does that greets like this; give its address."""

    def serve(listener: socket.socket) -> None:
        wire, _ = listener.accept()
        with wire, wire.makefile("rb") as lines:
            wire.sendall(greeting)
            for line in lines:
                if line.startswith(b"PING"):
                    wire.sendall(b"PONG\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(5)


def test_nats_server_that_lets_us_in_is_named(tmp_path: Path) -> None:
    """Whoever sets up a pair of readers learns that each server of the store answers."""
    with nats_server(b'INFO {"server_id":"N","version":"2.11.15"} \r\n') as server:
        assert list(_store(config_of(tmp_path, standby={"servers": (server,)}))) == [
            f"nats://{server} let us in"
        ]


def test_nats_server_that_is_none_or_away_is_a_fault(tmp_path: Path) -> None:
    """The port of another service is told from a server that is not there."""
    with (
        nats_server(b"SSH-2.0-OpenSSH_9.2\r\n") as server,
        pytest.raises(OutsideError, match="cannot be used: nats: "),
    ):
        list(_store(config_of(tmp_path, standby={"servers": (server,)})))
    with pytest.raises(OutsideError, match="cannot be used: "):
        list(_store(config_of(tmp_path, standby={"servers": (server,)})))
