"""Other people's MQTT programs, for the tests of the link: Debian's mosquitto and its clients."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
HAS_CLIENTS = (
    shutil.which("mosquitto_sub") is not None and shutil.which("mosquitto_pub") is not None
)


# A block of ports for each worker of pytest, below those that Linux gives to connections (32768
# and up): a port stays free between the question and the server that takes it.
FIRST_PORT, BLOCK = 20_000, 1_000
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_block = range(FIRST_PORT + BLOCK * _worker, FIRST_PORT + BLOCK * (_worker + 1))
_ports = itertools.chain.from_iterable(itertools.repeat(random.sample(_block, BLOCK)))


def free_port() -> int:
    """Return a port that nothing listens on, and that no other worker is given."""
    return next(port for port in _ports if not _is_taken(port))


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until the condition holds; AssertionError when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


class Listener:
    """A foreign client (mosquitto_sub) and what it has heard: topic, retained, payload."""

    def __init__(self, port: int, topic: str, *options: str) -> None:
        # With -d it says when it is subscribed, with stdbuf at once.
        command = [
            "stdbuf",
            "-oL",
            "mosquitto_sub",
            "-d",
            "-p",
            str(port),
            "-t",
            topic,
            "-q",
            "1",
            *options,
        ]
        self.heard: list[tuple[str, bool, str]] = []
        self.subscribed = threading.Event()
        self._process = subprocess.Popen(
            [*command, "-F", '{"topic":"%t","retain":%r,"payload":%p}'],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("Subscribed"):
                self.subscribed.set()
            if not line.startswith('{"topic"'):
                continue
            reported = json.loads(line.replace('"payload":}', '"payload":null}'))
            payload = "" if reported["payload"] is None else json.dumps(reported["payload"])
            self.heard.append((reported["topic"], bool(reported["retain"]), payload))

    def payloads(self, topic_end: str) -> list[Any]:
        """Return the payloads heard on topics that end so; None for an empty one."""
        found = [payload for topic, _, payload in self.heard if topic.endswith(topic_end)]
        return [json.loads(payload) if payload else None for payload in found]

    def stop(self) -> None:
        """End the client."""
        self._process.kill()
        self._process.wait()
        self._thread.join(5)


@contextlib.contextmanager
def listening(port: int, topic: str, *options: str) -> Iterator[Listener]:
    """Give a foreign client that is subscribed."""
    listener = Listener(port, topic, *options)
    try:
        assert listener.subscribed.wait(10), "the broker does not let it subscribe"
        yield listener
    finally:
        listener.stop()


class Mosquitto:
    """A real mosquitto on a free port, with the configuration lines given."""

    def __init__(self, folder: Path, *lines: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self._config = folder / f"mosquitto-{self.port}.conf"
        self.configure(*(lines or ("listener PORT 127.0.0.1", "allow_anonymous true")))
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, *lines: str) -> None:
        """Write its configuration, for the next start."""
        self._config.write_text("\n".join(lines).replace("PORT", str(self.port)) + "\n")

    def start(self) -> None:
        """Start it and wait until all its ports answer."""
        self._process = subprocess.Popen(
            [str(MOSQUITTO), "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "mosquitto ended"
        text = self._config.read_text("utf-8")
        ports = re.findall(r"^listener (\d+)", text, re.MULTILINE)
        return all(_listens(int(port)) for port in ports)

    def stop(self, *, in_order: bool = False) -> None:
        """Kill it, as a power cut would, or let it save what it knows."""
        if self._process is not None:
            if in_order:
                self._process.terminate()
            else:
                self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
