"""Displays of a cluster are told at once what its brokers keep waiting; nodes share the load."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.chaos.proxy import Proxy
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import wait_for
from tests.mqtt.test_addresses import LIVE
from tests.mqtt.test_publisher import PREFIX, WILL
from tests.seen import out
from tests.storage.test_log import HEADER, entry
from vision.board.feed import Feed
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import Address, new_client
from vision.mqtt.publisher import Bulk, Publisher
from vision.storage.log import Store
from vision.wire.messages import Message

HERE = "127.0.0.1"
SOON_S = 2.5  # well before the reader leaves a broker that acknowledges nothing (4 s)


def say(store: Store, seq: int) -> None:
    """Write what a board shows of a running coup, and what it may not know."""
    messages = [
        Message(PREFIX + topic, json.dumps({**LIVE, "seq": number}).encode(), 1, True, number)
        for number, topic in ((seq, "coup/live"), (seq + 1, "card"))
    ]
    store.append([entry(out(seq, seq), *messages)])


def test_display_receives_at_once_what_a_broker_keeps_waiting(tmp_path: Path) -> None:
    """Copies of what is public, at another node; none while messages get through."""
    heard: list[str] = []
    with (
        EmbeddedBroker(0) as first,
        EmbeddedBroker(0) as second,
        Store(tmp_path / "t.sqlite", HEADER) as store,
    ):
        wire = Proxy(first.port)
        node = Address(HERE, second.port)
        watcher = new_client(endpoint_at(port=second.port), "watcher")
        watcher.on_message = lambda _c, _d, message: heard.append(message.topic)
        watcher.connect(HERE, second.port)
        watcher.subscribe(f"{PREFIX}copy/#", 1)
        watcher.loop_start()
        feed = Feed(endpoint_at(port=second.port, others=(node,)), {"7": PREFIX}, ("coup/live",))
        feed.start()
        reader = endpoint_at(port=wire.port, others=(node,))
        publisher = Publisher(reader, store, will=WILL, bulk=Bulk(1_000_000))
        publisher.start()
        wait_for(lambda: publisher.connected and feed.connections == 2)
        say(store, 1)
        publisher.wake()
        wait_for(lambda: store.depth() == 0)
        time.sleep(0.6)
        assert not heard
        wire.frozen.set()
        say(store, 3)
        publisher.wake()
        wait_for(lambda: [u.payload["seq"] for u in feed._states["7"] if u.payload] == [3], SOON_S)
        assert store.depth() == 2, "the messages themselves still wait"
        wait_for(lambda: heard)
        assert set(heard) == {f"{PREFIX}copy/coup/live"}
        publisher.stop(drain_s=0)
        feed.stop()
        watcher.disconnect()
        watcher.loop_stop()
        wire.close()


def test_each_node_has_a_connection_again_when_all_were_started_again_in_turn(
    tmp_path: Path,
) -> None:
    """The next death does not find all at one node."""
    with (
        EmbeddedBroker(0) as first,
        EmbeddedBroker(0) as second,
        Store(tmp_path / "t.sqlite", HEADER) as store,
    ):
        ports = (first.port, second.port)
        cluster = endpoint_at(port=ports[0], others=(Address(HERE, ports[1]),))
        feed = Feed(cluster, {"7": PREFIX}, ("coup/live",))
        publisher = Publisher(cluster, store, will=WILL, bulk=Bulk(1_000_000))
        for part in (publisher, feed):
            part.start()
        wait_for(lambda: publisher.connected and feed.connections == 2)
        second.stop()
        with EmbeddedBroker(ports[1]):
            first.stop()
            wait_for(lambda: nodes(publisher, feed) == {ports[1]}, 20)
            with EmbeddedBroker(ports[0]):
                wait_for(lambda: nodes(publisher, feed) == {*ports}, 20)
                for part in (publisher, feed):
                    part.stop()


def nodes(publisher: Publisher, feed: Feed) -> set[int]:
    """Return the ports of the nodes at which the connections are that are up."""
    channels = [channel._endpoint.port for channel in publisher._channels if channel.is_up]
    return {*channels, *(link._endpoint.port for link in feed._links if link.is_up)}
