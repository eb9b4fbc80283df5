"""Three nats-servers on this machine, as `deploy/floor` sets them up; nodes can be killed."""

from __future__ import annotations

import contextlib
import json
import runpy
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from tests.chaos.proxy import Proxy
from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import free_port, wait_for
from vision.mqtt.endpoint import Address, Endpoint

NATS_SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
MAKE = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "floor" / "make_cluster.py"))
NAMES = ("a", "b", "c")
HERE = "127.0.0.1"
START_S = 40.0  # a cluster that starts on a loaded machine elects its leaders within


@dataclass
class Node:
    """One server of the cluster."""

    name: str
    client: int = field(default_factory=free_port)
    mqtt: int = field(default_factory=free_port)
    cluster: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None


class Cluster:
    """Three nodes; the routes of the last go over wires that can be cut.

    Whoever gives no name comes as one who may do everything, unless `users` (name: role) are given.
    """

    def __init__(
        self,
        folder: Path,
        *,
        users: dict[str, str] | None = None,
        certs: str = "",
        only: str = "",
    ) -> None:
        """Write the configuration below `folder`; with `only` there is no other node than that."""
        self.folder = folder
        self.nodes = {name: Node(name) for name in NAMES}
        last = self.nodes[NAMES[-1]]
        self._into = Proxy(last.cluster)
        self._out = {name: Proxy(self.nodes[name].cluster) for name in NAMES[:-1]}
        floor: dict[str, Any] = {"site": "house", "certs": certs, "nodes": {}}
        floor |= {"users": users} if users else {"anybody": "everyone"}
        for name, node in self.nodes.items():
            ports = {"client": node.client, "mqtt": node.mqtt, "cluster": node.cluster}
            store = str(folder / f"store-{name}")
            floor["nodes"][name] = {"host": HERE, "listen": HERE, "store": store, **ports}
        if only:
            self.nodes = {only: self.nodes[only]}
            floor["nodes"] = {only: floor["nodes"][only]}
        for name in NAMES[:-1] if not only else ():
            others = [self.nodes[other].cluster for other in NAMES[:-1] if other != name]
            routes = [f"{HERE}:{port}" for port in (*others, self._into.port)]
            floor["nodes"][name]["routes"] = routes
        if not only:
            floor["nodes"][last.name] |= {
                "routes": [f"{HERE}:{proxy.port}" for proxy in self._out.values()],
                "advertise": f"{HERE}:{self._into.port}",
            }
        MAKE["write"](floor, folder)
        lines = (folder / "passwords").read_text("utf-8").splitlines()
        self.passwords = dict(line.split(":", 1) for line in lines)
        self.certs = certs

    @property
    def port(self) -> int:
        """The MQTT port of the first node."""
        return self.nodes[NAMES[0]].mqtt

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The MQTT addresses of all nodes."""
        return tuple(Address(HERE, node.mqtt) for node in self.nodes.values())

    @property
    def servers(self) -> str:
        """The addresses of all nodes for a NATS client."""
        return ",".join(f"nats://{HERE}:{node.client}" for node in self.nodes.values())

    def endpoint(self, *, first: int = 0, **changes: Any) -> Endpoint:
        """Return the cluster as a client has it in its settings, beginning with that node."""
        found = self.addresses
        turned = (*found[first:], *found[:first])
        return endpoint_at(host=HERE, port=turned[0].port, others=turned[1:], **changes)

    def start(self, *names: str) -> None:
        """Start these nodes, or all, and wait until they serve MQTT clients."""
        for name in names or self.nodes:
            self._launch(self.nodes[name])
        for name in names or self.nodes:
            wait_for(partial(self.serves, name), START_S)

    def _launch(self, node: Node) -> None:
        log = (self.folder / f"{node.name}.log").open("ab")
        command = [str(NATS_SERVER), "-c", str(self.folder / f"{node.name}.conf")]
        node.process = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()

    def serves(self, name: str) -> bool:
        """Whether a node accepts an MQTT client, for which its cluster needs a leader."""
        node = self.nodes[name]
        assert node.process is None or node.process.poll() is None, f"node {name} ended"
        hello = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x0a\x00\x01" + b"p"
        with contextlib.suppress(OSError), socket.create_connection((HERE, node.mqtt), 1) as wire:
            if self.certs:
                return True
            wire.settimeout(3)
            wire.sendall(hello)
            return wire.recv(4)[:2] == b"\x20\x02"
        return False

    def kill(self, name: str) -> None:
        """Kill a node, as a power cut would."""
        self._end(self.nodes[name], signal.SIGKILL)

    def stop(self, name: str) -> None:
        """End a node in order."""
        self._end(self.nodes[name], signal.SIGTERM)

    @staticmethod
    def _end(node: Node, number: int) -> None:
        if node.process is not None:
            node.process.send_signal(signal.SIGCONT)
            node.process.send_signal(number)
            node.process.wait(30)
            node.process = None

    def freeze(self, name: str) -> None:
        """Stop a node's process without anybody being told."""
        process = self.nodes[name].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen node go on."""
        process = self.nodes[name].process
        assert process is not None
        process.send_signal(signal.SIGCONT)

    def split(self) -> None:
        """Part the last node from the others: nothing passes between, and messages go nowhere."""
        for proxy in (self._into, *self._out.values()):
            proxy.frozen.set()

    def heal(self) -> None:
        """Join the last node with the others again."""
        for proxy in (self._into, *self._out.values()):
            proxy.frozen.clear()
            proxy.cut()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            self._end(node, signal.SIGKILL)
        for proxy in (self._into, *self._out.values()):
            proxy.close()


def main() -> None:
    """Run a cluster below a folder until interrupted; print where its nodes listen."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with Cluster(folder) as cluster:
        for node in cluster.nodes.values():
            print(f"node {node.name}: mqtt {HERE}:{node.mqtt} nats {HERE}:{node.client}")
        print(
            "hosts", json.dumps([f"{host}:{port}" for host, port in cluster.addresses]), flush=True
        )
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
