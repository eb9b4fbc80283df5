"""What a consumer that has missed messages may ask for, and under which topics it gets them.

Pure. A message said again has the bytes it had; what the public may know comes under
`replay/public/`, all else under `replay/restricted/`, so that the broker's access list can tell
them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vision.wire.commands import RefusedError
from vision.wire.messages import Message

REPLAY = "replay"
RANGE_LIMIT = 1000
PUBLIC = ("status", "shoe", "coup/live", "coup/result", "roads")
FIELDS = {"first", "last", "ref", "by"}


def read_range(fields: Mapping[str, Any], newest: int) -> tuple[int, int]:
    """Return the first and last `seq` asked for; RefusedError with the reason.

    `newest` is the last `seq` said.
    """
    ref = fields["ref"] if isinstance(fields.get("ref"), str) else ""
    unknown = sorted(set(fields) - FIELDS)
    if unknown:
        raise RefusedError(f"{unknown[0]}: no such field in this order", ref)
    first, last = fields.get("first"), fields.get("last")
    if type(first) is not int or type(last) is not int:
        raise RefusedError("first, last: the numbers of two messages are needed", ref)
    if not 0 < first <= last:
        raise RefusedError("first, last: not a range of message numbers", ref)
    if last > newest:
        raise RefusedError(f"last: the newest message is {newest}", ref)
    if last - first >= RANGE_LIMIT:
        raise RefusedError(f"at most {RANGE_LIMIT} messages at a time", ref)
    return first, last


def again(message: Message, prefix: str) -> Message:
    """Return the message under its topic for replays; `prefix` begins every topic of the table."""
    topic = message.topic.removeprefix(prefix)
    side = "public" if topic in PUBLIC else "restricted"
    return replace(message, topic=f"{prefix}{REPLAY}/{side}/{topic}", retain=False)
