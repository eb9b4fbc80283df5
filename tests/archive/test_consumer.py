"""The archive's connection to a cluster: a node that tells nothing is left for another."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.archive.test_writer import PREFIX
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import wait_for
from tests.table_log import PLAYS, said
from vision.archive.consumer import Consumer
from vision.archive.database import open_archive
from vision.archive.writer import Writer
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import Address, new_client


def test_archive_leaves_a_node_that_is_parted_from_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two brokers that know nothing of each other are as a cluster that is parted."""
    monkeypatch.setattr("vision.archive.consumer.SILENT_S", 0.5)
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
        wait_for(lambda: writer.counts.written, 20)
        consumer.stop()
        thread.join(10)
        table.disconnect()
        table.loop_stop()
