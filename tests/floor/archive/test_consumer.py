"""The archive's connection to a cluster: a node that tells nothing is left for another."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from paho.mqtt.client import MQTTMessage

from tests.floor.archive.test_writer import PREFIX
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import PLAYS, said
from vision.floor.archive.consumer import AT_ONCE, Consumer
from vision.floor.archive.database import open_archive
from vision.floor.archive.writer import Writer
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import Address, new_client


def test_archive_leaves_a_node_that_is_parted_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two brokers that know nothing of each other are as a cluster that is parted."""
    monkeypatch.setattr("vision.floor.archive.consumer.SILENT_S", 0.5)
    writer = Writer(open_archive(str(tmp_path / "archive.sqlite")))
    with EmbeddedBroker(0, 0) as parted, EmbeddedBroker(0, 0) as node:
        others = (Address("127.0.0.1", node.port),)
        consumer = Consumer(endpoint_at(port=parted.port, others=others), "house", writer)
        thread = threading.Thread(target=consumer.run, daemon=True)
        thread.start()
        table = new_client(endpoint_at(port=node.port), "table")
        table.connect("127.0.0.1", node.port)
        table.loop_start()
        for message in said(PLAYS["clean"]().events):
            topic = f"{PREFIX}{message.topic.split('/', 4)[4]}"
            table.publish(topic, message.payload, 1, message.retain).wait_for_publish(5)
        wait_for(lambda: writer.counts["written"], 20)
        consumer.stop()
        thread.join(10)
        table.disconnect()
        table.loop_stop()


class Flood:
    """A broker that sends without end; `loop` is paho's."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.sent = 0

    def loop(self, _timeout: float) -> int:
        """Deliver a message more."""
        self.sent += 1
        self._consumer._deliver(message_on(PREFIX + "coup/result", self.sent))
        return 0


def message_on(topic: str, mid: int) -> MQTTMessage:
    """Return a message as paho gives it."""
    message = MQTTMessage(mid, topic.encode())
    message.payload, message.qos = b"x" * 300_000, 1
    return message


def test_no_more_is_read_than_is_written_at_once(tmp_path: Path) -> None:
    """The broker keeps the rest: what waits for the database has a bound."""
    writer = Writer(open_archive(str(tmp_path / "archive.sqlite")))
    consumer = Consumer(endpoint_at(port=1), "house", writer)
    flood = Flood(consumer)
    assert consumer._read(flood)  # type: ignore[arg-type]
    assert len(consumer._batch) == flood.sent == AT_ONCE


def test_message_on_an_odd_topic_ends_no_connection(tmp_path: Path) -> None:
    """What is below no table is nobody's."""
    consumer = Consumer(
        endpoint_at(port=1), "house", Writer(open_archive(str(tmp_path / "archive.sqlite")))
    )
    consumer._deliver(message_on("casino/house", 1))
    assert not consumer._batch
