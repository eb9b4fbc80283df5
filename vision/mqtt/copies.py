"""Copies of what the public may know, for displays, while the brokers of a cluster keep it waiting.

A cluster that elects a leader (nats-server 2.9: 4 to 9 s) takes no message of QoS 1, and until then
nothing behind it on the same connection. Copies go over connections of their own to other nodes, at
QoS 0 and not retained, which waits for nobody, under topics of their own: who must have everything
ignores them, and displays take what is newer than what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vision.mqtt.lanes import IN_FLIGHT, Load, Outbox, Parcel
from vision.wire.commands import COPY, PUBLIC
from vision.wire.messages import Message


def copy_of(message: Message, prefix: str) -> Message:
    """Return the copy of a message of the table whose topics begin with `prefix`."""
    topic = message.topic.removeprefix(prefix)
    return replace(message, topic=f"{prefix}{COPY}/{topic}", qos=0, retain=False)


class CopySource:
    """What one connection for copies sends: each public message once, while `is_stuck`."""

    def __init__(self, outbox: Outbox, prefix: str, is_stuck: Callable[[], bool]) -> None:
        self._outbox = outbox
        self._prefix = prefix
        self._is_stuck = is_stuck
        self._read_to = 0

    def next(self, load: Load) -> Parcel | None:
        """Return the next copy, `None` where messages get through or all have been copied."""
        if load.messages >= IN_FLIGHT or not self._is_stuck():
            return None
        while found := self._outbox.pending(self._read_to, IN_FLIGHT):
            for message in found:
                self._read_to = message.seq
                if message.topic.removeprefix(self._prefix) in PUBLIC:
                    return Parcel(copy_of(message, self._prefix), message.payload)
        return None

    def acknowledge(self, messages: Sequence[Message]) -> None:
        """Do nothing: the message itself is still to come."""

    def lost(self, messages: Sequence[Message]) -> None:
        """Do nothing: a later one says more."""

    def is_idle(self) -> bool:
        """Return that nobody waits for a copy."""
        return True
