"""The cluster's rights by role are those of mosquitto, and its files are made from one."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from tests.floor.cluster import MAKE, NATS_SERVER, Cluster
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mosquitto_house import ROLES, TABLE, TOPICS
from tests.mqtt.mqtt_tools import wait_for
from tests.mqtt.test_mosquitto_rights import MAY_READ, MAY_WRITE
from vision.errors import OutsideError
from vision.floor.pair.house_store import HouseAccount, HouseStore, OvertakenError
from vision.mqtt.endpoint import Endpoint, new_client, probe

FLOOR = Path(__file__).parents[2] / "deploy" / "floor"
CERTIFICATES = Path(__file__).parents[2] / "deploy" / "mosquitto" / "certificates.sh"

needs_nats = pytest.mark.skipif(NATS_SERVER is None, reason="needs nats-server")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give a node of its own with TLS, and a user of each role."""
    folder = tmp_path_factory.mktemp("house")
    certs = folder / "certs"
    words = ["sh", str(CERTIFICATES), str(folder / "authority"), str(certs)]
    subprocess.run([*words, "localhost", "127.0.0.1"], check=True, capture_output=True)
    users = {role: f"{role}:1" if role == "reader" else role for role in ROLES}
    cluster = Cluster(folder, users=users, certs=str(certs), only="a")
    with cluster:
        yield cluster


def endpoint(house: Cluster, role: str) -> Endpoint:
    """Return the node, as that user."""
    who = {"username": role, "password": house.passwords[role]}
    return endpoint_at(host="localhost", port=house.port, tls_ca=f"{house.certs}/ca.crt", **who)


class Member:
    """A client of a role."""

    def __init__(self, house: Cluster, role: str) -> None:
        self.heard: set[str] = set()
        self._granted: dict[int, Any] = {}
        where = endpoint(house, role)
        self.client = new_client(where, f"test-{role}-{time.monotonic_ns()}")
        self.client.on_message = lambda _c, _d, message: self.heard.add(message.topic)
        self.client.on_subscribe = lambda _c, _d, mid, codes, _p: self._granted.update({mid: codes})
        self.client.connect(where.host, where.port)
        self.client.loop_start()
        wait_for(self.client.is_connected)

    def may_subscribe(self, topic: str) -> bool:
        """Whether the server lets it subscribe to that topic."""
        _, mid = self.client.subscribe(topic, 1)
        wait_for(lambda: mid in self._granted)
        assert mid is not None
        return not self._granted[mid][0].is_failure

    def close(self) -> None:
        """Hang up."""
        self.client.disconnect()
        self.client.loop_stop()


@needs_nats
@pytest.mark.mosquitto
@pytest.mark.parametrize("role", ROLES)
def test_role_reads_and_writes_what_it_may_and_nothing_else(house: Cluster, role: str) -> None:
    """The same topics as at mosquitto, from the same files of roles."""
    member, watcher = Member(house, role), Member(house, "surveillance")
    assert {topic for topic in TOPICS if member.may_subscribe(TABLE + topic)} == MAY_READ[role]
    assert not member.may_subscribe("$MQTT/sub/#"), "it could listen to what others are sent"
    assert not member.may_subscribe("#")
    assert watcher.may_subscribe(TABLE + "#")
    for topic in TOPICS:
        member.client.publish(TABLE + topic, b"1", 1).wait_for_publish(5)
    wait_for(lambda: len(watcher.heard) >= len(MAY_WRITE[role]))
    time.sleep(0.1)
    assert {topic.removeprefix(TABLE) for topic in watcher.heard} == MAY_WRITE[role]
    for each in (member, watcher):
        each.close()


@needs_nats
@pytest.mark.mosquitto
def test_node_admits_only_who_has_the_password(house: Cluster) -> None:
    """A wrong one, and nobody's name, are told apart from a broker that is not there."""
    probe(endpoint(house, "board"))
    ca = f"{house.certs}/ca.crt"
    for who in ({}, {"username": "board", "password": "wrong"}):
        with pytest.raises(OutsideError, match="refused us"):
            probe(endpoint_at(host="localhost", port=house.port, tls_ca=ca, **who))


def test_example_of_a_floor_makes_files_that_only_their_owner_reads(tmp_path: Path) -> None:
    """As the manual says; passwords are kept at the next run."""
    command = [sys.executable, str(FLOOR / "make_cluster.py"), str(FLOOR / "floor.example.toml")]
    for _ in range(2):
        subprocess.run([*command, str(tmp_path)], check=True)
        found = {path.name: path.stat().st_mode & 0o77 for path in tmp_path.iterdir()}
        assert set(found) == {"a.conf", "b.conf", "c.conf", "users.conf", "passwords"}
        assert (found["users.conf"], found["passwords"]) == (0, 0)
        assert (tmp_path / "passwords").read_text("utf-8").count(":") == 8


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"site": "a.b"}, "no dots"),
        ({"nodes": {"a": {"host": "x"}, "b": {"host": "y"}}}, "three"),
        ({"users": {"r": "king"}}, "roles are board, desk"),
        ({"users": {"r": "reader"}}, "name the table"),
        ({"users": {"r": "reader:a.b"}}, "no dots"),
    ],
)
def test_floor_that_makes_no_sense_is_reported(
    change: dict[str, Any], reported: str, tmp_path: Path
) -> None:
    """No file is written of a cluster that would not work."""
    nodes = {name: {"host": name} for name in "abc"}
    floor = {"site": "house", "nodes": nodes, "users": {}, **change}
    with pytest.raises(MAKE["FloorError"], match=reported):
        MAKE["write"](floor, tmp_path)
    assert not list(tmp_path.glob("*.conf"))


@needs_nats
@pytest.mark.mosquitto
@pytest.mark.parametrize("role", ROLES)
def test_account_of_mqtt_hears_nothing_at_the_port_of_nats(house: Cluster, role: str) -> None:
    """What others are sent passes there: an account of a board is refused."""
    with pytest.raises(NatsError):
        asyncio.run(connect_as(house, role))


@needs_nats
@pytest.mark.mosquitto
def test_account_of_a_store_cannot_hear_what_others_are_sent(house: Cluster) -> None:
    """It may use the store of its table, and that is all."""
    faults: list[Exception] = []

    async def listen() -> None:
        async def note(error: Exception) -> None:
            faults.append(error)

        client = await connect_as(house, "reader-store", note)
        for subject in ("$MQTT.sub.>", "$MQTT.msgs.>", ">", "casino.>"):
            await client.subscribe(subject)
        await client.flush()
        await asyncio.sleep(0.3)
        await client.close()

    asyncio.run(listen())
    assert len(faults) == 4
    assert all("permissions violation" in str(fault).lower() for fault in faults)


async def connect_as(
    house: Cluster, name: str, note: Callable[[Exception], Awaitable[None]] | None = None
) -> Client:
    """Connect to the port of NATS clients."""
    return await nats.connect(
        house.servers.replace("nats://127.0.0.1", "tls://localhost"),
        user=name,
        password=house.passwords[name],
        tls=ssl.create_default_context(cafile=f"{house.certs}/ca.crt"),
        allow_reconnect=False,
        max_reconnect_attempts=0,
        error_cb=note,
    )


@needs_nats
@pytest.mark.mosquitto
def test_reader_of_a_pair_may_use_the_store_of_its_table_and_no_other(
    house: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records and lease of table 1 with the rights of its reader; those of table 2 are refused."""
    monkeypatch.setattr("vision.floor.pair.house_store.START_S", 4.0)
    server = house.servers.replace("nats://127.0.0.1", "tls://localhost")
    who = (1, "reader-store", house.passwords["reader-store"], f"{house.certs}/ca.crt")
    own = HouseStore(HouseAccount((server,), "house.1", *who))
    own.open()
    assert own.append(b"first", 0).result(5) == 1
    with pytest.raises(OvertakenError):
        own.append(b"of another", 0).result(5)
    assert own.read(0) == (1, b"first")
    revision = own.put_lease(b"a", 0)
    assert own.lease() == (b"a", revision)
    assert own._bucket is not None
    own._wait(own._bucket.delete(own._account.key))
    assert own.lease() == (b"", revision + 1), "deleted, it is written again over the mark"
    assert own.put_lease(b"b", revision + 1) == revision + 2
    own.close()
    with pytest.raises(OutsideError, match="cannot be used"):
        HouseStore(HouseAccount((server,), "house.2", *who)).open()
