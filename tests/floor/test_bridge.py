"""Two mosquittos and the bridge of `deploy/floor/bridge`: what a small house has when one dies."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import paho.mqtt.client as paho
import pytest

from tests.mqtt.mosquitto_house import PASSWORD, TABLE, House
from tests.mqtt.mqtt_tools import MOSQUITTO, wait_for
from tests.seen import out
from tests.storage.test_log import HEADER, entry
from vision.mqtt.endpoint import Address, Endpoint, new_client
from vision.mqtt.publisher import Bulk, Publisher
from vision.storage.log import Store
from vision.wire.messages import Message

BRIDGE = Path(__file__).parents[2] / "deploy" / "floor" / "bridge" / "first.conf"
WILL = Message(f"{TABLE}status", b'{"state":"offline"}', 1, True, 0)

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.skipif(MOSQUITTO is None, reason="needs mosquitto"),
]


class Pair(NamedTuple):
    """The two brokers of a house."""

    first: House
    second: House

    def endpoint(self, name: str) -> Endpoint:
        """Return both, as that user, the first one first."""
        others = (Address("localhost", self.second.port),)
        return replace(self.first.endpoint(name), others=others)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Set both up as the comments in the file say; one certificate names both."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    found = Pair(House(folders[0]), House(folders[1], certs=folders[0] / "certs"))
    who = f"{folders[1]}/passwords"
    subprocess.run(["mosquitto_passwd", "-b", who, "bridge", PASSWORD], check=True)
    with (folders[1] / "acl").open("a") as acl:
        acl.write("\nuser bridge\ntopic readwrite casino/#\n")
    text = BRIDGE.read_text("utf-8")
    for old, new in (
        ("broker-b.house.example:8883", f"localhost:{found.second.port}"),
        ("remote_password PASSWORD", f"remote_password {PASSWORD}"),
        ("/etc/mosquitto/certs/ca.crt", str(found.first.ca)),
    ):
        assert old in text
        text = text.replace(old, new)
    for house, more in ((found.first, text), (found.second, "")):
        plain = house.configuration().replace("persistence true", "persistence false")
        house.server.configure("user root", plain, more)
    with found.second.server, found.first.server:
        yield found


class Table:
    """A table that says numbers on one retained topic."""

    def __init__(self, store: Store, endpoint: Endpoint) -> None:
        self.publisher = Publisher(endpoint, store, will=WILL, bulk=Bulk(1_000_000))
        self._store, self._seq = store, 0
        self.publisher.start()

    def say(self) -> int:
        """Say the next number; return it when a broker has it."""
        self._seq += 1
        content = {"boot": "b", "seq": self._seq, "at": "2026-01-01T00:00:00.000Z"}
        message = Message(f"{TABLE}roads", json.dumps(content).encode(), 1, True, self._seq)
        self._store.append([entry(out(self._seq, self._seq), message)])
        self.publisher.wake()
        wait_for(lambda: self._store.depth() == 0, 20)
        return self._seq


class Display:
    """A display at one of the brokers, and the number that it has last been told."""

    def __init__(self, house: House, name: str) -> None:
        self.told = 0
        self.client = new_client(house.endpoint("board"), name)
        self.client.on_message = lambda _client, _data, message: self._take(message)
        self.client.on_connect = lambda client, *_: client.subscribe(f"{TABLE}roads", 1)
        self.client.connect("localhost", house.port)
        self.client.loop_start()

    def _take(self, message: paho.MQTTMessage) -> None:
        self.told = json.loads(message.payload)["seq"]

    def has(self, number: int) -> None:
        """Wait until it has been told that number, and hang up."""
        wait_for(lambda: self.told == number, 20)
        self.client.disconnect()
        self.client.loop_stop()


def test_either_of_two_bridged_brokers_may_die_and_come_back(pair: Pair, tmp_path: Path) -> None:
    """Displays of both sides are told what stands, before, meanwhile and after."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        table = Table(store, pair.endpoint("reader"))
        number = table.say()
        for house in pair:
            Display(house, "before").has(number)
        for dying, other in (pair, (pair.second, pair.first)):
            dying.server.stop(in_order=True)
            number = table.say()
            Display(other, "meanwhile").has(number)
            dying.server.start()
            Display(dying, "back").has(number)
            Display(other, "stayed").has(number)
            number = table.say()
            for house in pair:
                Display(house, "after").has(number)
        table.publisher.stop()
