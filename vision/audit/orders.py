"""Hold an order of the log against the key that its giver had then, and against what was done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vision.game.commands import Command
from vision.record.codec import EVENTS, event_from_json
from vision.wire.commands import read_command, signed_text
from vision.wire.session import TableSession


def is_ordered(content: Mapping[str, Any]) -> bool:
    """Whether a record holds an order, or an event to which only an order can have given rise."""
    kind = EVENTS.get(str(content.get("event", {}).get("is")))
    return "order" in content or (kind is not None and issubclass(kind, Command))


def order_fault(session: TableSession, content: Mapping[str, Any]) -> str:
    """Return what is wrong with the order of a record, "" where it is as it was signed.

    `session` is the one before it, with the users as they were at that moment.
    """
    if "order" not in content:
        return "was signed by nobody"
    try:
        name, fields = str(content["order"]["name"]), content["order"]["fields"]
        entry = session.register.entry_of(fields["key"])
        if not entry:
            return f"was signed by {fields['key']!r}, who was no user then"
        topic = f"{session.stream.prefix}cmd/{name}"
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(json.loads(entry)["key"]))
        key.verify(bytes.fromhex(fields["sig"]), signed_text(topic, fields))
        event = event_from_json(content["event"])
        ordered, _ = read_command(name, fields, event.at)
    except InvalidSignature:
        return "does not bear the signature of the key that counted then"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"is not one that can be signed ({error})"
    return "" if ordered == event else "is not what was done"
