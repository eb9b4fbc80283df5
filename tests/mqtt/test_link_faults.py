"""Whatever a broker does with one message, the others arrive; and people hear of it."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chaos.table import journal_of
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import HAS_CLIENTS, MOSQUITTO, Mosquitto, listening, wait_for
from tests.seen import out
from tests.storage.test_log import HEADER, entry
from vision.game.events import ShoeStarted
from vision.mqtt.publisher import Bulk, Publisher
from vision.storage.log import Store
from vision.wire.messages import Message

PREFIX = "casino/house/table/7/"
WILL = Message(PREFIX + "status", b'{"state":"offline"}', 1, True, 0)
NOON = 1_700_000_000_000
LIMIT = 200_000  # bytes of a packet that the broker of these tests takes
LARGE, SMALL = 300_000, 20_000
CONNACK, PUBLISH, SUBSCRIBE, PINGREQ, PUBACK = 0x20, 0x30, 0x80, 0xC0, 0x40

real = pytest.mark.skipif(not HAS_CLIENTS or MOSQUITTO is None, reason="needs mosquitto")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty log."""
    with Store(tmp_path / "t.sqlite", HEADER) as opened:
        yield opened


def filled(message: Message) -> Message:
    """Return the message as it is sent: a picture has as many bytes as its announcement says."""
    if "/evidence/" not in message.topic or not message.payload:
        return message
    size = json.loads(message.payload)["size"]
    return message._replace(payload=b'"' + b"x" * (size - 2) + b'"')


def write(store: Store, level: str, seq: int, *, retain: bool = False, **content: object) -> None:
    """Write a step with one message."""
    payload = json.dumps({"seq": seq, **content}).encode()
    message = Message(PREFIX + level, payload, 1, retain, seq)
    store.append([entry(out(seq, seq), message)])


def write_picture(store: Store, name: str, seq: int, size: int, alert: str | None = None) -> None:
    """Write a picture and its announcement; they take two numbers."""
    topic = f"evidence/{name}"
    for number, where in ((seq, topic), (seq + 1, "evidence")):
        write(store, where, number, topic=topic, size=size, alert=alert)


@contextmanager
def linked(port: int, store: Store, most_bytes: int = 4_000_000) -> Iterator[Publisher]:
    """Give a link that sends pictures of any size."""
    endpoint = endpoint_at(port=port)
    publisher = Publisher(endpoint, store, will=WILL, bulk=Bulk(most_bytes, filled))
    publisher.start()
    try:
        yield publisher
    finally:
        publisher.stop(drain_s=0.5)


@pytest.mark.mosquitto
@real
def test_picture_above_the_brokers_limit_keeps_nothing_waiting(
    store: Store, tmp_path: Path
) -> None:
    """Results go on, the next pictures too; the large one is announced with its hash, and told."""
    lines = ("listener PORT 127.0.0.1", "allow_anonymous true", f"max_packet_size {LIMIT}")
    with (
        Mosquitto(tmp_path, *lines) as server,
        listening(server.port, PREFIX + "coup/result") as results,
    ):
        write_picture(store, "large", 1, LARGE)
        write_picture(store, "small", 3, SMALL)
        write(store, "coup/result", 5, retain=True)
        with linked(server.port, store) as publisher:
            wait_for(lambda: results.payloads("coup/result"), 3)
            wait_for(lambda: store.depth() == 0, 20)
            assert publisher.set_aside() == [("evidence/large", LARGE)]
            write(store, "coup/result", 6, retain=True)
            publisher.wake()
            wait_for(lambda: store.depth() == 0)


@pytest.mark.mosquitto
@real
def test_picture_above_the_configured_limit_is_never_sent(store: Store, tmp_path: Path) -> None:
    """The connection does not end once: the broker's limit is known."""
    lines = ("listener PORT 127.0.0.1", "allow_anonymous true", f"max_packet_size {LIMIT}")
    with Mosquitto(tmp_path, *lines) as server, listening(server.port, PREFIX + "#") as listener:
        write_picture(store, "large", 1, LARGE)
        with linked(server.port, store, most_bytes=LIMIT - 1000) as publisher:
            wait_for(lambda: store.depth() == 0)
            assert publisher.set_aside() == [("evidence/large", LARGE)]
            wait_for(lambda: listener.payloads("/evidence"))  # the last of the two
            assert listener.payloads("evidence/large") == [None]
            assert [reported["size"] for reported in listener.payloads("/evidence")] == [LARGE]


@pytest.mark.mosquitto
@real
def test_alert_comes_after_the_picture_that_it_names(store: Store, tmp_path: Path) -> None:
    """The contract has the picture first, though it has a connection of its own."""
    with Mosquitto(tmp_path) as server, listening(server.port, PREFIX + "#") as listener:
        for number in range(20):
            write_picture(store, f"c{number}", 2 * number + 1, SMALL)
        write_picture(store, "a1", 41, 3_000_000, alert="a1")
        named = ["evidence/a1", "evidence/c19"]
        write(store, "alert", 43, id="a1", evidence=named)
        write(store, "alert/a1", 44, retain=True, id="a1", evidence=named)
        with linked(server.port, store):
            wait_for(lambda: store.depth() == 0, 20)
            wait_for(lambda: listener.payloads("alert/a1"))
        topics = [topic.removeprefix(PREFIX) for topic, _, _ in listener.heard]
    raised = topics.index("alert")
    assert max(topics.index(name) for name in named) < raised < topics.index("alert/a1")


class Mute:
    """A server that accepts connections and speaks MQTT only as far as it is told to."""

    def __init__(self, answers: Callable[[int], bytes]) -> None:
        """Answer each packet, given its first byte, with those bytes."""
        self._answers = answers
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.accepted = 0
        self.published: list[bytes] = []
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                wire, _ = self._server.accept()
            except OSError:
                return
            self.accepted += 1
            self._open.append(wire)
            threading.Thread(target=self._serve, args=(wire,), daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        stream = wire.makefile("rb")
        try:
            while head := stream.read(1):
                size, shift = 0, 0
                while True:
                    digit = stream.read(1)[0]
                    size |= (digit & 127) << shift
                    shift += 7
                    if digit < 128:
                        break
                body = stream.read(size)
                if head[0] & 0xF0 == PUBLISH:
                    self.published.append(body[2 : 2 + int.from_bytes(body[:2])])
                wire.sendall(self._answers(head[0] & 0xF0))
        except (OSError, IndexError):
            return

    def close(self) -> None:
        """Cut everything."""
        for wire in (self._server, *self._open):
            wire.close()


def test_server_that_takes_the_connection_and_says_nothing_is_complained_of(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that hangs looks like one that is there; it is left, tried again, and told."""
    monkeypatch.setattr("vision.mqtt.endpoint.CONNECT_S", 0.5)
    server = Mute(lambda _head: b"")
    write(store, "coup/result", 1)
    with linked(server.port, store) as publisher:
        wait_for(lambda: "does not answer as an MQTT broker" in publisher.complaint, 5)
        wait_for(lambda: server.accepted > 2, 5)
    server.close()


def test_broker_that_acknowledges_nothing_is_left_and_reported(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers signs of life, so only the missing acknowledgement shows that it is stuck."""
    monkeypatch.setattr("vision.mqtt.channel.ACKNOWLEDGE_S", 0.5)
    monkeypatch.setattr("vision.mqtt.publisher.LATE_S", 1.0)

    def answer(head: int) -> bytes:
        known = {0x10: b"\x20\x02\x00\x00", SUBSCRIBE & 0xF0: b"\x90\x03\x00\x01\x01"}
        return known.get(head, b"\xd0\x00" if head == PINGREQ else b"")

    server = Mute(answer)
    write(store, "coup/result", 1)
    with linked(server.port, store) as publisher:
        wait_for(lambda: server.published.count(PREFIX.encode() + b"coup/result") > 1, 8)
        wait_for(publisher.fault, 5)
        assert "No messages have got through" in publisher.fault()
        assert store.depth() == 1
    server.close()


def test_messages_that_wait_for_no_broker_are_reported(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is down is a fault once messages have waited; without messages it is none."""
    monkeypatch.setattr("vision.mqtt.publisher.LATE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    with linked(port, store) as publisher:
        time.sleep(1.0)
        assert publisher.fault() == ""
        write(store, "coup/result", 1)
        wait_for(publisher.fault, 5)
        assert "refused" in publisher.fault()


@pytest.mark.mosquitto
@real
def test_broker_that_takes_both_connections_for_one_still_gets_the_results(
    store: Store, tmp_path: Path
) -> None:
    """One configured as for an earlier version: the boards stay up, and people hear what to do."""
    passwords = tmp_path / "passwords"
    make = ["mosquitto_passwd", "-b", "-c", str(passwords), "reader", "pw"]
    subprocess.run(make, check=True, capture_output=True)
    passwords.chmod(0o644)
    tmp_path.chmod(0o755)
    lines = ("user root", "listener PORT 127.0.0.1", f"password_file {passwords}")
    with Mosquitto(tmp_path, *lines, "use_username_as_clientid true") as server:
        endpoint = endpoint_at(port=server.port, username="reader", password="pw")
        publisher = Publisher(endpoint, store, will=WILL, bulk=Bulk(4_000_000, filled))
        publisher.start()
        wait_for(lambda: "use_username_as_clientid" in publisher.complaint, 20)
        write(store, "coup/result", 1)
        publisher.wake()
        wait_for(lambda: store.depth() == 0)
        for _ in range(20):
            assert publisher.connected
            time.sleep(0.1)
        publisher.stop(drain_s=0.5)


def test_link_fault_is_an_alert_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LINK is in the log, and goes to the house as soon as it can hear."""
    monkeypatch.setattr("vision.mqtt.publisher.LATE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    with journal_of(tmp_path / "t.sqlite", port) as journal:
        journal.start(NOON, "b1", ())
        journal.take([ShoeStarted(NOON, "s1")])
        wait_for(lambda: journal.take(journal.reports(NOON)), 5)
        codes = [raised.alert.code for raised in journal.table.alerts]
        assert codes == ["LINK"]
