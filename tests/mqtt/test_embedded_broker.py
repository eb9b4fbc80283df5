"""The embedded broker as foreign clients see it."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from tests.mqtt.mqtt_tools import HAS_CLIENTS, listening, wait_for
from vision.errors import OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker

foreign = pytest.mark.skipif(not HAS_CLIENTS, reason="needs mosquitto-clients")


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """Give a running broker on free ports."""
    with EmbeddedBroker(0) as running:
        yield running


def publish(port: int, topic: str, payload: str, *options: str) -> None:
    """Publish with mosquitto_pub, QoS 1."""
    command = ["mosquitto_pub", "-p", str(port), "-t", topic, "-m", payload, "-q", "1", *options]
    subprocess.run(command, check=True, timeout=10)


def client_of(port: int, name: str, **options: str) -> paho.Client:
    """Return a paho client connected to the port."""
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id=name, **options)  # type: ignore[arg-type]
    client.connect("127.0.0.1", port)
    client.loop_start()
    wait_for(client.is_connected)
    return client


@foreign
def test_messages_reach_a_foreign_client_in_order(broker: EmbeddedBroker) -> None:
    """Debian's client receives every message once, in the order of publishing."""
    with listening(broker.port, "a/#") as listener:
        publisher = client_of(broker.port, "p")
        for n in range(200):
            publisher.publish("a/b", str(n), qos=1)
        wait_for(lambda: len(listener.heard) >= 200)
        publisher.disconnect()
        publisher.loop_stop()
        assert listener.payloads("a/b") == list(range(200))


@foreign
def test_retained_message_reaches_a_later_client_and_can_be_cleared(broker: EmbeddedBroker) -> None:
    """A display that comes later is told what stands; a cleared topic tells nothing."""
    publish(broker.port, "t/status", '"online"', "-r")
    publish(broker.port, "t/alert", '"raised"', "-r")
    publish(broker.port, "t/alert", "", "-r")
    with listening(broker.port, "t/#") as listener:
        wait_for(lambda: listener.heard)
        time.sleep(0.1)
        assert listener.heard == [("t/status", True, '"online"')]


def test_last_will_is_reported_and_kept_when_a_client_vanishes(broker: EmbeddedBroker) -> None:
    """A reader that dies is reported offline, also to those who ask later."""
    heard: list[tuple[bytes, bool]] = []
    early = client_of(broker.port, "early")
    early.on_message = lambda _c, _d, m: heard.append((bytes(m.payload), m.retain))
    early.subscribe("t/status", 1)
    dying = paho.Client(CallbackAPIVersion.VERSION2, client_id="dying")
    dying.will_set("t/status", b"offline", 1, retain=True)
    dying.connect("127.0.0.1", broker.port)
    dying.loop_start()
    wait_for(dying.is_connected)
    sock = dying.socket()
    assert isinstance(sock, socket.socket)
    dying.loop_stop()
    sock.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: heard == [(b"offline", False)])
    later = client_of(broker.port, "later")
    later.on_message = lambda _c, _d, m: heard.append((bytes(m.payload), m.retain))
    later.subscribe("t/status", 1)
    wait_for(lambda: heard[1:] == [(b"offline", True)])
    for client in (early, later):
        client.disconnect()
        client.loop_stop()


def test_new_client_hears_nothing_it_did_not_ask_for(broker: EmbeddedBroker) -> None:
    """Retained messages go to those who subscribed, not to whoever connects."""
    first = client_of(broker.port, "first")
    first.subscribe("t/#", 1)
    first.publish("t/secret", b"x", 1, retain=True).wait_for_publish(5)
    heard: list[str] = []
    second = paho.Client(CallbackAPIVersion.VERSION2, client_id="second")
    second.on_message = lambda _c, _d, m: heard.append(m.topic)
    second.connect("127.0.0.1", broker.port)
    second.loop_start()
    second.subscribe("other", 1)
    time.sleep(0.3)
    assert heard == []
    for client in (first, second):
        client.disconnect()
        client.loop_stop()


@foreign
def test_stop_passes_on_what_has_come_in(broker: EmbeddedBroker) -> None:
    """The last results of a run reach the displays although the broker stops right after."""
    with listening(broker.port, "a/#") as listener:
        publisher = client_of(broker.port, "p")
        last = [publisher.publish("a/b", str(n), qos=1) for n in range(300)][-1]
        last.wait_for_publish(10)
        broker.stop()
        wait_for(lambda: len(listener.heard) >= 300)
        publisher.loop_stop()


def test_taken_port_is_named_with_the_cure() -> None:
    """The port, who holds it and the key to change are said."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(OutsideError, match=rf"port {port} of .*\[broker\] port"):
            EmbeddedBroker(port).start()


def test_second_broker_of_a_port_is_explained_and_the_first_ends_once() -> None:
    """A broker whose port is taken leaves the first alone; its port is free after the end."""
    broker = EmbeddedBroker(0)
    broker.start()
    port = broker.port
    with pytest.raises(OutsideError):
        EmbeddedBroker(port).start()
    broker.stop()
    broker.stop()
    with EmbeddedBroker(port) as again:
        assert again.port == port


def test_listens_on_loopback_only(broker: EmbeddedBroker) -> None:
    """From another address of this machine there is nothing to reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        outside = probe.getsockname()[0]
    if outside.startswith("127."):
        pytest.skip("this machine has no other address")
    with socket.socket() as knock:
        knock.settimeout(2)
        assert knock.connect_ex((outside, broker.port)) != 0
