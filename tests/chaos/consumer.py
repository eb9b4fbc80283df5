"""A consumer as the contract asks for one: takes everything, drops repeats on each topic."""

from __future__ import annotations

import json
import threading
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

UNCOUNTED = ("status", "health", "cmd/reply")
OF_THE_RUN = ("boot", "seq")


class Consumer:
    """What one client of the broker has taken, in order; it comes back after every outage.

    With `only` it keeps but the messages of that topic.
    """

    def __init__(self, port: int, prefix: str, only: str = "") -> None:
        self._only = only
        self.taken: list[tuple[str, dict[str, Any]]] = []
        self.replayed: list[tuple[str, bytes]] = []
        self.replies: list[dict[str, Any]] = []
        self.seqs: set[int] = set()
        self.repeats = 0
        self._last: dict[str, int] = {}
        self._prefix = prefix
        self._up = threading.Event()
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id="chaos-consumer", clean_session=False
        )
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = self._on_connect
        self._client.on_message = self._on_message
        self._client.on_subscribe = lambda *_: self._up.set()
        self._client.connect_async("127.0.0.1", port, 5)
        self._client.loop_start()

    def await_up(self) -> None:
        """Wait until subscribed."""
        assert self._up.wait(20)

    def ask(self, first: int, last: int) -> None:
        """Ask for messages once more."""
        text = json.dumps({"first": first, "last": last, "ref": f"{first}"})
        self._client.publish(f"{self._prefix}cmd/replay", text, 1)

    def results(self) -> list[dict[str, Any]]:
        """Return every result taken, without what is of the run alone."""
        return self.of("coup/result")

    def of(self, topic: str) -> list[dict[str, Any]]:
        """Return the payloads taken on a topic, without what is of the run alone."""
        found = sorted((payload for name, payload in self.taken if name == topic), key=_seq)
        return [without_run(payload) for payload in found]

    def missing(self, newest: int = 0) -> list[int]:
        """Return the numbers that never came, up to the newest as `health` tells it."""
        return sorted(set(range(1, max({newest, *self.seqs}) + 1)) - self.seqs)

    def close(self) -> None:
        """Hang up."""
        self._client.disconnect()
        self._client.loop_stop()

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe(f"{self._prefix}#", 1)

    def _on_message(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        topic = message.topic.removeprefix(self._prefix)
        if not message.payload or (topic.startswith("cmd/") and topic != "cmd/reply"):
            return
        if topic.startswith("copy/"):
            return  # for displays only
        payload = json.loads(message.payload)
        if topic == "cmd/reply":
            self.replies.append(payload)
        elif topic.startswith("replay/"):
            self.replayed.append((topic, bytes(message.payload)))
            self._fill(topic.split("/", 2)[2], payload)
        else:
            self._take(topic, payload)

    def _take(self, topic: str, payload: dict[str, Any]) -> None:
        seq = payload["seq"]
        if topic not in UNCOUNTED and seq <= self._last.get(topic, 0):
            self.repeats += 1
            return
        self._last[topic] = max(seq, self._last.get(topic, 0))
        self._keep(topic, payload)

    def _fill(self, topic: str, payload: dict[str, Any]) -> None:
        if payload["seq"] not in self.seqs:
            self._keep(topic, payload)

    def _keep(self, topic: str, payload: dict[str, Any]) -> None:
        if self._only in ("", topic):
            self.seqs.add(payload["seq"])
            self.taken.append((topic, payload))


def _seq(payload: dict[str, Any]) -> int:
    return int(payload["seq"])


def without_run(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload without the fields that name the run and the place in it."""
    return {key: value for key, value in payload.items() if key not in OF_THE_RUN}
