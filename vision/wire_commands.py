"""Orders from people: the payload of `cmd/{name}` to an input event, or a refusal with a reason.

Pure, and suspicious: whatever the bytes are, the answer is an order or words. It checks form only;
whether the order makes sense at the table is for the rules to say.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from vision.game.events import (
    BetsClosed,
    Command,
    Event,
    ResultEntered,
    ShoeEnded,
)
from vision.wire_codec import EVENTS, FIELDS, event_from_json
from vision.wire_payloads import snake

PAYLOAD_LIMIT = 16 * 1024
TEXT_LIMIT = 200
NUMBER_LIMIT = 1_000_000
TOPIC_LEVEL = re.compile(r"[A-Za-z0-9._-]{1,64}")

HOUSE_INPUTS: tuple[type[Event], ...] = (BetsClosed, ShoeEnded, ResultEntered)

# What may stand after `cmd/`: every order, and what the house says of itself.
COMMANDS: dict[str, type[Event]] = {
    snake(name): kind
    for name, kind in EVENTS.items()
    if kind in HOUSE_INPUTS or (issubclass(kind, Command) and not kind.__subclasses__())
}


class RefusedError(ValueError):
    """The payload is no order; `ref` is the sender's own number for it, if one could be read."""

    def __init__(self, why: str, ref: str = "") -> None:
        super().__init__(why)
        self.ref = ref


def read_command(name: str, payload: bytes, at: int) -> tuple[Event, str]:
    """Return the event that an order asks for, and its `ref`; RefusedError with the reason.

    The payload is a JSON object with the fields of the order; those with a default may be left
    out. `at` is the time of arrival.
    """
    kind = COMMANDS.get(name)
    if kind is None:
        raise RefusedError(f"there is no order of that name; there are {', '.join(COMMANDS)}")
    fields = _object(payload)
    ref = fields["ref"] if isinstance(fields.get("ref"), str) else ""
    try:
        _check(fields)
        if kind in HOUSE_INPUTS and fields.pop("ref", ref) != ref:
            raise ValueError("ref: not a text")
        event = event_from_json({**_complete(kind, fields), "is": kind.__name__, "at": at})
    except ValueError as error:
        raise RefusedError(str(error), ref if len(ref) <= TEXT_LIMIT else "") from error
    return event, ref


def _object(payload: bytes) -> dict[str, Any]:
    if len(payload) > PAYLOAD_LIMIT:
        raise RefusedError(f"the payload is longer than {PAYLOAD_LIMIT} bytes")
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise RefusedError("the payload is not JSON in UTF-8") from error
    if not isinstance(fields, dict):
        raise RefusedError("the payload is not a JSON object")
    return fields


def _check(fields: dict[str, Any]) -> None:
    for key, value in fields.items():
        if isinstance(value, str) and (len(value) > TEXT_LIMIT or not value.isprintable()):
            raise ValueError(f"{key}: more than {TEXT_LIMIT} characters, or some that do not print")
        if isinstance(value, int) and not 0 <= value <= NUMBER_LIMIT:
            raise ValueError(f"{key}: not a number from 0 to {NUMBER_LIMIT}")
    if fields.get("by") == "":
        raise ValueError("by: empty; an order needs the name of who gives it")
    # The name of a shoe becomes part of topics.
    if "shoe" in fields and not TOPIC_LEVEL.fullmatch(str(fields["shoe"])):
        raise ValueError("shoe: use 1 to 64 letters, digits, '-', '_' or '.'")


def _complete(kind: type[Event], fields: dict[str, Any]) -> dict[str, Any]:
    own = dataclasses.fields(kind)
    unknown = [key for key in fields if key not in FIELDS[kind] or key == "at"]
    if unknown:
        raise ValueError(f"{unknown[0]}: no such field in this order")
    missing = [
        field.name
        for field in own
        if field.default is dataclasses.MISSING and field.name not in {*fields, "at"}
    ]
    if missing:
        raise ValueError(f"{missing[0]}: missing")
    defaults = {field.name: field.default for field in own if field.name not in fields}
    return {**defaults, **fields}
