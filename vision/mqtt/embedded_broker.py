"""An MQTT broker inside the program, for the demo and for a single machine.

It runs amqtt in a thread with its own event loop and listens on loopback only, without passwords:
who can reach it is already on this machine. A house with more than one machine uses mosquitto; see
`deploy/mqtt.md`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from typing import Any, Self

from amqtt.broker import Broker
from amqtt.contexts import BrokerConfig, ListenerConfig, ListenerType
from amqtt.errors import BrokerError

from vision.errors import OutsideError

HOST = "127.0.0.1"
# Seconds that the start and the end may take; each takes well under one, and a slow machine more.
START_S = 10.0
STOP_S = 10.0
# Seconds that messages which have come in may take to be passed on before the broker stops, and how
# often in a row (10 ms apart) nothing must wait. Less, and the last results of a run are lost.
SETTLE_S = 3.0
CALM_TRIES = 3
CALM_EVERY_S = 0.01


class EmbeddedBroker:
    """An MQTT 3.1.1 broker on loopback; port 0 takes a free one, whose number `port` then has."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._broker: _Broker | None = None
        self._thread = threading.Thread(target=self._run, name="embedded-broker", daemon=True)

    def start(self) -> None:
        """Start, and return when the port answers; OutsideError when it is taken."""
        for name in ("amqtt", "transitions"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._thread.start()
        if not self._ready.wait(START_S):
            raise OutsideError(f"the embedded broker did not start within {START_S:.0f} s")
        if self._failure is not None:
            raise OutsideError(
                f"the embedded broker cannot use port {self.port} of {HOST}: {self._failure}; stop "
                "the program that holds it (ss -ltnp names it), or set [broker] port to another, "
                'or use that broker with [broker] kind = "external"'
            ) from self._failure

    def stop(self) -> None:
        """Close the listeners and every connection, and wait for it; a second call does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._open())
        except (BrokerError, OSError) as error:
            self._failure = error
        finally:
            self._ready.set()
        if self._failure is None:
            self._loop.run_forever()
        if self._broker is not None:
            self._loop.run_until_complete(self._broker.close())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _open(self) -> None:
        address = f"{HOST}:{self.port}"
        configuration = BrokerConfig(
            listeners={"default": ListenerConfig(type=ListenerType.TCP, bind=address)},
            # Named, because the default set logs every packet and publishes $SYS topics.
            plugins={"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        )
        self._broker = _Broker(configuration, loop=self._loop)
        await self._broker.start()
        self.port = self._broker.port()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Snapshot(dict[str, Any]):
    """A dict that may change during an iteration over it.

    amqtt iterates over its subscriptions with pauses between, and fails with "dictionary changed
    size during iteration" when a display subscribes meanwhile.
    """

    def __iter__(self) -> Iterator[str]:
        return iter(list(super().keys()))

    def items(self) -> Any:
        return list(super().items())


class _Broker(Broker):  # type: ignore[misc]  # amqtt ships without types
    """amqtt's broker with work-arounds for the defects that matter here (seen in 0.12.1)."""

    def __init__(self, config: BrokerConfig, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(config, loop=loop)
        self._subscriptions = _Snapshot()

    def port(self) -> int:
        (listener,) = self._servers["default"].instance.sockets
        return int(listener.getsockname()[1])

    async def close(self) -> None:
        """Shut down everything that has been started, of a half-started broker too."""
        if self.transitions.state == "started":
            await self._settle()
            await self.shutdown()
        else:
            for server in self._servers.values():
                await server.close_instance()

    async def _settle(self) -> None:
        # amqtt acknowledges a message before it has passed it on, and drops the rest at shutdown:
        # the last results of a run would not reach the displays.
        deadline = self._loop.time() + SETTLE_S
        calm = 0
        while calm < CALM_TRIES and self._loop.time() < deadline:
            calm = 0 if self._is_busy() else calm + 1
            await asyncio.sleep(CALM_EVERY_S)

    def _is_busy(self) -> bool:
        # Whether a client has acknowledged does not count: amqtt misses an acknowledgement that
        # comes at once, and waits 5 s for it.
        sessions = [session for session, _ in self.sessions.values()]
        waiting = any(not session.delivered_message_queue.empty() for session in sessions)
        unsent = any(
            message.publish_packet is None
            for session in sessions
            for message in session.inflight_out.values()
        )
        return waiting or unsent or not self._broadcast_queue.empty()

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Any
    ) -> None:
        # On each connection amqtt sends the retained messages of every client's subscriptions.
        holders = self._subscriptions.get(subscription[0], [])
        if any(holder.client_id == session.client_id for holder, _ in holders):
            await super()._publish_retained_messages_for_subscription(subscription, session)
