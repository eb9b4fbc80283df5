"""Messages: what the house is told, and in which words.

Pure: happenings in, messages out. It knows the topics and the fields of the contract
(`deploy/mqtt.md`) and nothing of brokers, files or clocks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One MQTT message; an empty payload on a retained topic clears it.

    `seq` orders the messages of a table and is the key of the outbox.
    """

    topic: str
    payload: bytes
    qos: int
    retain: bool
    seq: int


def message_line(message: Message) -> str:
    """Return the message as one JSON object without a line end; an empty payload is null."""
    payload = message.payload.decode() or "null"
    retain = "true" if message.retain else "false"
    topic = message.topic  # names of site and table are restricted, so it needs no escapes
    return f'{{"topic":"{topic}","payload":{payload},"qos":{message.qos},"retain":{retain}}}'
