"""The archive's connection to a cluster: a node that tells nothing is left for another."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.floor.archive.test_writer import PREFIX
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import PLAYS, said
from vision.floor.archive.consumer import AT_ONCE, WAITING_LIMIT, Consumer
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


def test_what_waits_for_the_database_has_a_bound(tmp_path: Path) -> None:
    """Of `health` the newest of each table waits; of the rest so many, then the broker keeps it."""
    writer = Writer(open_archive(str(tmp_path / "archive.sqlite")))
    consumer = Consumer(endpoint_at(port=1), "house", writer)
    for number in range(3 * WAITING_LIMIT):
        for topic in ("health", "coup/result"):
            message = SimpleNamespace(
                topic=PREFIX + topic, payload=b"x" * 300_000, retain=False, mid=number, qos=1
            )
            consumer._deliver(0, message)  # type: ignore[arg-type]
    assert consumer._queue.qsize() == WAITING_LIMIT
    assert len(consumer._health) == 1
    assert len(consumer._batch()) <= AT_ONCE + 1


def test_message_on_an_odd_topic_ends_no_connection(tmp_path: Path) -> None:
    """What is below no table is nobody's."""
    consumer = Consumer(
        endpoint_at(port=1), "house", Writer(open_archive(str(tmp_path / "archive.sqlite")))
    )
    odd = SimpleNamespace(topic="casino/house", payload=b"", retain=False, mid=1, qos=1)
    consumer._deliver(0, odd)  # type: ignore[arg-type]
    assert consumer._queue.empty()
