"""What a display knows of one table: the newest message of each topic, and how fresh it is.

Subscribes through the broker with a display's rights; drops repeats and forgets what the broker
cleared. Knows nothing of browsers, and has no way into the reader.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.reasoncodes import ReasonCode

from vision.edge.mqtt_link import (
    KEEPALIVE_S,
    Endpoint,
    explain_error,
    explain_refusal,
    new_client,
)

PUBLIC = ("status", "shoe", "coup/live", "coup/result", "roads", "health")
ALERTS = ("alert", "alert/+")
# A last will bears the number of the moment when it was left with the broker: always take these.
UNNUMBERED = ("status", "health")
RETRY_S = 0.5
PAYLOAD_LIMIT = 256 * 1024
KEPT_RESULTS = 120

Payload = dict[str, Any]
Listener = Callable[[str, Payload | None], None]


class Feed:
    """The state of one table as told by its broker; safe to use from several threads."""

    def __init__(self, endpoint: Endpoint, prefix: str, *, alerts: bool = False) -> None:
        """Prepare a feed of the topics under `prefix` (`casino/SITE/table/TABLE/`)."""
        self.alerts = alerts
        self._endpoint = endpoint
        self._prefix = prefix
        self._topics = PUBLIC + (ALERTS if alerts else ())
        self._state: dict[str, Payload] = {}
        self._listeners: set[Listener] = set()
        self._mutex = threading.Lock()
        self._closing = threading.Event()
        self._connected = threading.Event()
        self._heard_s = time.monotonic()
        self._complaint = ""
        self._client: paho.Client | None = None
        self._thread = threading.Thread(target=self._run, name="board-feed", daemon=True)

    def start(self) -> None:
        """Begin to connect, and keep trying for as long as it takes."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the broker."""
        self._closing.set()
        client = self._client
        if client is not None:
            client.disconnect()
        if self._thread.is_alive():
            self._thread.join(timeout=3.0)

    @property
    def connected(self) -> bool:
        """Whether the broker is connected."""
        return self._connected.is_set()

    @property
    def complaint(self) -> str:
        """Why there is no connection, for people; empty when there is one."""
        return "" if self.connected else self._complaint

    def silent_s(self) -> float:
        """Return the seconds since the reader last said something."""
        return time.monotonic() - self._heard_s

    def subscribe(self, listener: Listener) -> dict[str, Payload]:
        """Return the state and tell `listener` of every change from then on.

        It is called from another thread with the topic, and None where a topic was cleared.
        """
        with self._mutex:
            self._listeners.add(listener)
            return dict(self._state)

    def unsubscribe(self, listener: Listener) -> None:
        """Stop telling `listener`."""
        with self._mutex:
            self._listeners.discard(listener)

    # --- the feed's own thread ---------------------------------------------------------------

    def _run(self) -> None:
        while not self._closing.is_set():
            self._client = client = self._new_client()
            try:
                client.connect(self._endpoint.host, self._endpoint.port, KEEPALIVE_S)
                client.loop_forever(retry_first_connection=False)
            except (OSError, ValueError) as error:
                self._complaint = explain_error(error, self._endpoint)
            self._connected.clear()
            self._closing.wait(RETRY_S)

    def _new_client(self) -> paho.Client:
        client = new_client(self._endpoint, f"shoe-reader-board-{os.getpid()}-{id(self):x}")
        client.on_connect = self._on_connect
        client.on_disconnect = lambda *_: self._connected.clear()
        client.on_message = lambda _client, _data, message: self._on_message(message)
        return client

    def _on_connect(
        self, client: paho.Client, _data: object, _flags: object, code: ReasonCode, _: object
    ) -> None:
        if code.is_failure:
            self._complaint = explain_refusal(code, self._endpoint)
            return
        self._connected.set()
        self._heard_s = time.monotonic()
        client.subscribe([(self._prefix + topic, 1) for topic in self._topics])

    def _on_message(self, message: paho.MQTTMessage) -> None:
        topic = message.topic.removeprefix(self._prefix)
        if not message.retain:
            self._heard_s = time.monotonic()
        if not message.payload:
            self._tell(topic, None)
            return
        payload = _parsed(message.payload)
        if payload is None:
            return
        known = self._state.get(_key(topic, payload))
        if topic in UNNUMBERED or _is_news(known, payload):
            self._tell(topic, payload)

    def _tell(self, topic: str, payload: Payload | None) -> None:
        with self._mutex:
            if payload is None:
                self._state.pop(topic, None)
            else:
                self._keep(topic, payload)
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener(topic, payload)

    def _keep(self, topic: str, payload: Payload) -> None:
        self._state[_key(topic, payload)] = payload
        if topic != "coup/result":
            return
        results = [key for key in self._state if key.startswith("coup/result#")]
        shoe = payload.get("shoe")
        stale = [key for key in results if self._state[key].get("shoe") != shoe]
        for key in stale or results[:-KEPT_RESULTS]:
            del self._state[key]


def _key(topic: str, payload: Payload) -> str:
    """Return the place of a message: results and raised alerts each have their own."""
    if topic == "coup/result":
        return f"{topic}#{payload.get('coup')}"
    if topic == "alert":
        return f"{topic}#{payload.get('id')}"
    return topic


def _is_news(known: Payload | None, payload: Payload) -> bool:
    """Whether a message is newer than the known one; a new run may begin its count again."""
    if known is None or known.get("boot") != payload.get("boot"):
        return True
    try:
        return int(payload["seq"]) > int(known["seq"])
    except (KeyError, TypeError, ValueError):
        return True


def _parsed(data: bytes | bytearray) -> Payload | None:
    """Return the JSON object of a message; None when it is none, or too long to be one of ours."""
    if len(data) > PAYLOAD_LIMIT:
        return None
    try:
        payload = json.loads(data)
    except ValueError:
        return None
    return payload if isinstance(payload, dict) else None
