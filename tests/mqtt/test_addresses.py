"""A broker of several addresses: when one is lost, the next is used, and nothing is lost."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.table import config_of
from tests.config.test_table import table_file
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import wait_for
from tests.mqtt.test_publisher import PREFIX, WILL, say
from tests.storage.test_log import HEADER
from vision.board.feed import Feed
from vision.board.table_state import TableState
from vision.config.table import BrokerSection, load
from vision.errors import ConfigurationError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import Address, endpoint_of, new_client
from vision.mqtt.publisher import Bulk, Publisher
from vision.storage.log import Store

HAND: dict[str, Any] = {"cards": [], "points": None}
LIVE = {
    "schema": 1, "table": "7", "boot": "b", "at": "2026-01-01T00:00:00.000Z", "shoe": "s1",
    "coup": 1, "punto": HAND, "banco": HAND, "expected": [], "complete": False, "free": False,
}  # fmt: skip


@pytest.fixture
def brokers() -> Iterator[tuple[EmbeddedBroker, EmbeddedBroker]]:
    """Give two brokers."""
    with EmbeddedBroker(0) as first, EmbeddedBroker(0) as second:
        yield first, second


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("broker", [("broker", 1883)]),
        (["a", "b:99", "192.0.2.7"], [("a", 1883), ("b", 99), ("192.0.2.7", 1883)]),
        (["[2001:db8::7]:99", "2001:db8::7"], [("2001:db8::7", 99), ("2001:db8::7", 1883)]),
    ],
)
def test_hosts_of_a_table_file(host: object, wanted: list[tuple[str, int]]) -> None:
    """One host as ever, or a list, each with a port of its own if it has one."""
    endpoint = endpoint_of(BrokerSection.model_validate({"host": host}))
    assert [(node.host, node.port) for node in endpoint.each()] == wanted


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"host": "broker"}, True),
        ({"host": ["127.0.0.1", "192.0.2.7:99"]}, True),
        ({"host": ["localhost", "127.0.0.2", "::1"]}, False),
        ({"host": "broker", "tls_ca": "system"}, False),
        ({"host": "broker", "insecure": True}, False),
        ({"host": "broker", "password_env": ""}, False),
    ],
)
def test_password_leaves_this_machine_by_tls_or_by_leave(
    settings: dict[str, object], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever connects is refused in words where somebody on the network could read it."""
    monkeypatch.setenv("SECRET", "a password")
    given = {"username": "reader-7", "password_env": "SECRET", **settings}
    broker = BrokerSection.model_validate(given)
    if refused:
        with pytest.raises(ConfigurationError, match="in clear"):
            endpoint_of(broker)
    else:
        assert endpoint_of(broker).username == "reader-7"


@pytest.mark.parametrize("host", ["a b", "user@a", "http://a", "a:port", ""])
def test_host_that_is_none_is_reported(host: str, tmp_path: Path) -> None:
    """With the key and the cure, before anything starts."""
    file = table_file(tmp_path)
    text = file.read_text("utf-8")
    assert 'kind = "external"' in text
    text = re.sub(r'(\[broker\][^[]*?host = )"[^"]*"', rf'\1["{host}"]', text)
    assert f'["{host}"]' in text
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=r"broker\.host"):
        load(file)


def test_messages_go_by_the_next_address_when_one_is_lost(
    brokers: tuple[EmbeddedBroker, EmbeddedBroker], tmp_path: Path
) -> None:
    """The second broker has what the first had not acknowledged, and all that came after."""
    first, second = brokers
    heard: list[str] = []
    display = new_client(endpoint_at(port=second.port), "display")
    display.on_message = lambda _c, _d, message: heard.append(message.payload.decode())
    display.connect("127.0.0.1", second.port)
    display.loop_start()
    display.subscribe(f"{PREFIX}card", 1)
    endpoint = endpoint_at(port=first.port, others=(Address("127.0.0.1", second.port),))
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        publisher = Publisher(endpoint, store, will=WILL, bulk=Bulk(1_000_000))
        publisher.start()
        wait_for(lambda: publisher.connected)
        say(store, range(1, 10))
        publisher.wake()
        wait_for(lambda: store.depth() == 0)
        first.stop()
        say(store, range(10, 20))
        publisher.wake()
        wait_for(lambda: store.depth() == 0)
        publisher.stop()
    wait_for(lambda: len(heard) >= 10)
    assert heard[-10:] == [f"{number}" for number in range(10, 20)]
    display.disconnect()
    display.loop_stop()


def test_board_hears_a_table_that_is_at_another_node_than_one_of_its_two(
    brokers: tuple[EmbeddedBroker, EmbeddedBroker],
) -> None:
    """Two brokers that know nothing of each other are as a cluster that is parted."""
    ports = [broker.port for broker in brokers]
    others = (Address("127.0.0.1", ports[1]),)
    feed = Feed(endpoint_at(port=ports[0], others=others), {"7": PREFIX}, ("coup/live",))
    feed.start()
    wait_for(lambda: feed.connections >= 2)
    time.sleep(0.3)
    for seq, port in enumerate((ports[0], ports[1], ports[0], ports[1]), start=1):
        client = new_client(endpoint_at(port=port), f"table-{seq}")
        client.connect("127.0.0.1", port)
        client.loop_start()
        content = {**LIVE, "seq": seq}
        client.publish(f"{PREFIX}coup/live", json.dumps(content), 1).wait_for_publish(5)
        client.disconnect()
        client.loop_stop()
    wait_for(lambda: [u.payload["seq"] for u in feed._states["7"] if u.payload] == [4])
    feed.stop()
    assert feed.dropped == 0


def test_message_of_an_older_term_is_ignored_and_counted() -> None:
    """The last will of a reader that hung does not make the one that took over offline."""
    state = TableState("7", proves=lambda _term, _proof: True)
    content = {"boot": "b2", "seq": 9, "at": "2026-01-01T00:00:00.000Z", "term": 2}
    assert state.take("status", {**content, "state": "online"}) is not None
    old = {**content, "boot": "b1", "seq": 12, "term": 1, "state": "offline"}
    assert state.take("status", old) is None
    assert [update.payload["state"] for update in state if update.payload] == ["online"]
    assert state.outdated == 1
    assert state.take("coup/live", old) is None, "the term is the table's, not the topic's"
    before = {**old, "seq": 8}
    assert state.take("coup/live", before) is not None, "it was said before the takeover"
    assert state.take("health", {**before, "fps": 15}) is None, "its number is not its own"
    assert state.outdated == 3


def test_term_that_nobody_signed_moves_nothing() -> None:
    """Whatever somebody makes up, and with a proof of another term: each true message is taken."""
    state = TableState("7", proves=lambda term, proof: proof == f"k:{term}")
    true = {"boot": "b", "at": "2026-01-01T00:00:00.000Z", "term": 1, "term_proof": "k:1"}
    for seq in range(1, 5):
        for forged in ({**true, "term": 2}, {**true, "term": 99}, {**true, "term_proof": ""}):
            assert state.take("coup/live", {**forged, "seq": 99}) is None
            assert state.take("health", {**forged, "seq": 99}) is None
        assert state.take("coup/live", {**true, "seq": seq}) is not None
    assert state.outdated == 24


def test_reader_of_one_broker_has_two_connections(tmp_path: Path) -> None:
    """What a single broker sees of a reader is as ever: two connections."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        endpoint = endpoint_of(config_of(1883).broker)
        publisher = Publisher(endpoint, store, will=WILL, bulk=Bulk(1_000_000))
        assert len(publisher._channels) == 2
