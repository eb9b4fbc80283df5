"""What the contract asks of a broker, of mosquitto, of the embedded one and of a cluster alike."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paho.mqtt.client as paho
import pytest

from tests.floor.cluster import NATS_SERVER, Cluster
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import HAS_CLIENTS, MOSQUITTO, Listener, Mosquitto, listening, wait_for
from tests.seen import out
from tests.storage.test_log import HEADER, entry
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import Endpoint, new_client
from vision.mqtt.publisher import Bulk, Publisher
from vision.storage.log import Store
from vision.wire.messages import Message

MOST_BYTES = 4_000_000

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(
        not HAS_CLIENTS or MOSQUITTO is None or NATS_SERVER is None,
        reason="needs mosquitto and nats-server",
    ),
]


@dataclass(frozen=True)
class Brokers:
    """Where a table comes to the broker, and the port at which everybody else does."""

    kind: str
    table: Endpoint
    port: int


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give a cluster of three nodes."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(params=["embedded", "mosquitto", "cluster"])
def brokers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Brokers]:
    """Give each kind of broker; tables and displays of a cluster come to different nodes."""
    if request.param == "embedded":
        with EmbeddedBroker(0) as embedded:
            yield Brokers("embedded", endpoint_at(port=embedded.port), embedded.port)
    elif request.param == "mosquitto":
        with Mosquitto(tmp_path) as mosquitto:
            yield Brokers("mosquitto", endpoint_at(port=mosquitto.port), mosquitto.port)
    else:
        cluster: Cluster = request.getfixturevalue("cluster")
        yield Brokers("cluster", cluster.endpoint(), cluster.nodes["b"].mqtt)


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    """Return the topics of a table of this test's own."""
    name = request.node.name.replace("[", "-").replace("]", "")
    return f"casino/house/table/{name[-40:]}/"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty log."""
    with Store(tmp_path / "t.sqlite", HEADER) as opened:
        yield opened


def write(store: Store, topic: str, seq: int, *, retain: bool = False, empty: bool = False) -> None:
    """Write a step with one message, that tells its number."""
    payload = b"" if empty else f"{seq}".encode()
    store.append([entry(out(seq, seq), Message(topic, payload, 1, retain, seq))])


def link(brokers: Brokers, store: Store, prefix: str, secret: str = "") -> Publisher:
    """Return a link that has begun to connect."""
    will = Message(prefix + "status", b'{"state":"offline"}', 1, True, 0)
    publisher = Publisher(brokers.table, store, will=will, bulk=Bulk(MOST_BYTES), secret=secret)
    publisher.start()
    return publisher


def wait_until_heard(brokers: Brokers, prefix: str, listener: Listener) -> None:
    """Wait until the nodes of a cluster have told each other of a subscription."""
    client = new_client(brokers.table, "probe")
    client.connect(brokers.table.host, brokers.table.port)
    client.loop_start()
    wait_for(client.is_connected)

    def is_heard() -> bool:
        client.publish(prefix + "probe", b"0", 1)
        time.sleep(0.05)
        return bool(listener.payloads("probe"))

    wait_for(is_heard)
    client.disconnect()
    client.loop_stop()


def test_messages_of_a_topic_arrive_in_order(brokers: Brokers, store: Store, prefix: str) -> None:
    """Each number once, as it was written."""
    with listening(brokers.port, prefix + "#") as listener:
        wait_until_heard(brokers, prefix, listener)
        for seq in range(1, 100):
            write(store, prefix + "card", seq)
        publisher = link(brokers, store, prefix)
        wait_for(lambda: store.depth() == 0, 20)
        wait_for(lambda: len(listener.payloads("card")) >= 99, 20)
        assert listener.payloads("card") == list(range(1, 100))
        publisher.stop()


def test_later_display_receives_what_stands_and_not_what_was_cleared(
    brokers: Brokers, store: Store, prefix: str
) -> None:
    """Retained messages; an empty one takes a topic back, at every node of a cluster in the end."""
    write(store, prefix + "roads", 1, retain=True)
    write(store, prefix + "alert/a1", 2, retain=True)
    write(store, prefix + "roads", 3, retain=True)
    write(store, prefix + "alert/a1", 4, retain=True, empty=True)
    publisher = link(brokers, store, prefix)
    wait_for(lambda: store.depth() == 0, 20)

    def told() -> list[tuple[str, str]]:
        with listening(brokers.port, prefix + "#") as listener:
            time.sleep(0.5)
            return [(topic, text) for topic, retained, text in listener.heard if retained]

    wait_for(lambda: told() == [(prefix + "roads", "3")], 30)
    publisher.stop()


def test_reader_that_comes_again_ends_its_old_connection_before_it_speaks(
    brokers: Brokers, store: Store, tmp_path: Path, prefix: str
) -> None:
    """The will of the connection that hangs comes first, and `online` stands in the end."""
    write(store, prefix + "status", 1, retain=True)
    hanging = new_client(brokers.table, "shoe-reader-x")
    hanging.will_set(prefix + "status", b'{"state":"offline"}', 1, retain=True)
    hanging.connect(brokers.table.host, brokers.table.port)
    hanging.loop_start()
    wait_for(hanging.is_connected)
    with listening(brokers.port, prefix + "status") as listener:
        time.sleep(0.5)
        again = new_client(brokers.table.turned(), "shoe-reader-x")
        again.connect(brokers.table.turned().host, brokers.table.turned().port)
        again.loop_start()
        wait_for(again.is_connected, 20)
        again.publish(prefix + "status", b'{"state":"online"}', 1, retain=True)
        wait_for(lambda: {"state": "online"} in listener.payloads("status"))
        hanging.loop_stop()
        time.sleep(0.5)
        assert listener.payloads("status")[-1] == {"state": "online"}
    with listening(brokers.port, prefix + "status") as later:
        wait_for(lambda: later.payloads("status") == [{"state": "online"}])
    again.disconnect()
    again.loop_stop()


def test_will_is_reported_and_stands_when_a_reader_vanishes(brokers: Brokers, prefix: str) -> None:
    """A reader whose machine dies is offline for displays that come later, too."""
    dying = new_client(brokers.table, "dying")
    dying.will_set(prefix + "status", b'{"state":"offline"}', 1, retain=True)
    dying.connect(brokers.table.host, brokers.table.port)
    dying.loop_start()
    wait_for(dying.is_connected)
    with listening(brokers.port, prefix + "status") as listener:
        time.sleep(0.5)
        wire = dying.socket()
        assert isinstance(wire, socket.socket)
        dying.loop_stop()
        wire.shutdown(socket.SHUT_RDWR)
        wait_for(lambda: listener.payloads("status") == [{"state": "offline"}])
    with listening(brokers.port, prefix + "status") as later:
        wait_for(lambda: later.heard)
        assert later.heard == [(prefix + "status", True, '{"state": "offline"}')]


def test_session_keeps_what_its_consumer_missed(brokers: Brokers, prefix: str) -> None:
    """A consumer with a session gets what was published while it was away, from any node."""
    if brokers.kind == "embedded":
        pytest.skip("the embedded broker keeps nothing for who is away: it is for one machine")
    heard: list[bytes] = []
    subscribed = threading.Event()
    endpoint = endpoint_at(port=brokers.port)

    def connected(at: Endpoint) -> paho.Client:
        client = new_client(at, f"archive-{brokers.kind}", keeps=True)
        client.on_message = lambda _c, _d, message: heard.append(bytes(message.payload))
        client.connect(at.host, at.port)
        client.loop_start()
        wait_for(client.is_connected)
        return client

    client = connected(endpoint)
    client.on_subscribe = lambda *_: subscribed.set()
    client.subscribe(prefix + "#", 1)
    assert subscribed.wait(20)
    client.disconnect()
    client.loop_stop()
    publisher = new_client(brokers.table, "p")
    publisher.connect(brokers.table.host, brokers.table.port)
    publisher.loop_start()
    for number in range(20):
        publisher.publish(prefix + "card", f"{number}", 1).wait_for_publish(10)
    client = connected(brokers.table)
    wait_for(lambda: len(heard) >= 20)
    assert heard == [f"{number}".encode() for number in range(20)]
    for each in (client, publisher):
        each.disconnect()
        each.loop_stop()


def test_largest_picture_arrives_whole(brokers: Brokers, prefix: str) -> None:
    """A clip of [broker] max_message_kb."""
    heard: list[int] = []
    display = new_client(endpoint_at(port=brokers.port), "display")
    display.on_message = lambda _c, _d, message: heard.append(len(message.payload))
    display.connect("127.0.0.1", brokers.port)
    display.loop_start()
    display.subscribe(prefix + "#", 1)
    time.sleep(1)
    sender = new_client(brokers.table, "sender")
    sender.connect(brokers.table.host, brokers.table.port)
    sender.loop_start()
    sender.publish(prefix + "clip/c1", b"x" * MOST_BYTES, 1).wait_for_publish(20)
    wait_for(lambda: heard == [MOST_BYTES], 20)
    for each in (display, sender):
        each.disconnect()
        each.loop_stop()


def test_order_reaches_its_table_and_an_old_one_does_not(
    brokers: Brokers, store: Store, prefix: str
) -> None:
    """Orders are handed over as they come; a retained one is old."""
    where = ["-p", str(brokers.port), "-q", "1"]
    old = ["mosquitto_pub", *where, "-r", "-t", prefix + "cmd/void_coup", "-m", "old"]
    subprocess.run(old, check=True, timeout=20)
    publisher = link(brokers, store, prefix)
    wait_for(lambda: publisher.connected, 20)
    time.sleep(1)
    fresh = ["mosquitto_pub", *where, "-t", prefix + "cmd/confirm", "-m", json.dumps({"coup": 1})]
    subprocess.run(fresh, check=True, timeout=20)
    got = publisher.next_request(10)
    assert got is not None
    assert (got.name, json.loads(got.payload)) == ("confirm", {"coup": 1})
    publisher.stop()
