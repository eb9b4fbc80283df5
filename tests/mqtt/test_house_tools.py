"""With the broker configured as in `deploy/mosquitto`, our own tools and the reader get along."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.config.test_table import table_file
from tests.mqtt.mosquitto_house import EVERYONE, PASSWORD, House
from tests.mqtt.mqtt_tools import HAS_CLIENTS, MOSQUITTO, Listener, listening, wait_for
from tests.table_log import NOON, clean
from vision import cli
from vision.app.journal import Journal
from vision.app.run_log import Destinations
from vision.board.feed import Feed
from vision.clock import now_ms
from vision.config.table import TableConfig, load
from vision.mqtt.endpoint import new_client, probe
from vision.wire.messages import PREFIX

TABLE = PREFIX.format(site="house", table="1")

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(not HAS_CLIENTS or MOSQUITTO is None, reason="needs mosquitto"),
]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Give a mosquitto with the configuration of `deploy`."""
    house = House(tmp_path)
    with house.server:
        yield house


@pytest.fixture
def config(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableConfig:
    """Give the settings of a table whose reader and whose orders have accounts of their own."""
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    users = tmp_path / "users.json"
    words = ["users", "add", "Ann", "--role", "inspector", "--file", str(users)]
    assert cli.main(words) == 0
    account = {"username": "reader", "password_env": "READER_PASSWORD"}
    orders = {"username": "supervisor", "password_env": "READER_PASSWORD", "users": str(users)}
    found = load(table_file(tmp_path))
    broker = {
        "kind": "external",
        "host": ("localhost",),
        "port": house.port,
        "tls_ca": str(house.ca),
    }
    return found.model_copy(
        update={
            "site": "house",
            "table": "1",
            "broker": found.broker.model_copy(update={**broker, **account}),
            "orders": found.orders.model_copy(update=orders),
        }
    )


@contextmanager
def reading(config: TableConfig, log: Path) -> Iterator[Journal]:
    """Give a journal that takes orders as they come; a coup has been dealt."""
    done = threading.Event()
    with Journal(config, Destinations(log)) as journal:
        journal.start(NOON, "b1", ())
        journal.take(clean().events[1:])

        def serve() -> None:
            while not done.wait(0.02):
                journal.take(journal.link.orders(now_ms()))

        thread = threading.Thread(target=serve)
        thread.start()
        wait_for(lambda: journal.figures(NOON)["connected"] and not journal._store.depth())
        try:
            yield journal
        finally:
            done.set()
            thread.join()


def states(listener: Listener) -> list[str]:
    """Return what `status` has said of the reader."""
    return [payload["state"] for payload in listener.payloads("/status")]


def test_tools_with_the_readers_account_do_not_throw_it_out(
    house: House, config: TableConfig, tmp_path: Path
) -> None:
    """`check` and a board with the same table file leave the reader online."""
    with (
        reading(config, tmp_path / "t.sqlite") as journal,
        listening(house.port, TABLE + "status", *house.access(EVERYONE[0])) as listener,
    ):
        probe(house.endpoint("reader"))
        feed = Feed(house.endpoint("reader"), {"1": TABLE}, ("status",))
        feed.start()
        time.sleep(2.0)
        feed.stop()
        assert journal.figures(NOON)["connected"]
        assert "offline" not in states(listener)


def test_nobody_can_come_under_a_name_that_throws_the_reader_out(
    house: House, config: TableConfig, tmp_path: Path
) -> None:
    """Its client id is neither its user name nor made of what is known of the table."""
    with reading(config, tmp_path / "t.sqlite") as journal:
        for name in ("reader", "shoe-reader-casino-house-table-1", "shoe-reader-1"):
            client = new_client(house.endpoint("board"), name)
            client.connect("localhost", house.port)
            client.loop_start()
            time.sleep(0.3)
            client.disconnect()
            client.loop_stop()
        assert journal.figures(NOON)["connected"]


def test_order_is_taken_through_the_broker_as_shipped(
    config: TableConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`shoe-reader order` comes by the account of [orders], and is answered."""
    monkeypatch.setattr("vision.commands.order.load", lambda _path: config)
    words = ["order", "table.toml", "void_coup", "coup=1", "role=inspector"]
    with reading(config, tmp_path / "t.sqlite") as journal:
        assert cli.main([*words, "--key", str(tmp_path / "Ann.key")]) == 0
        assert journal.table.done[0].void
