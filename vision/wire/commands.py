"""Orders from people: the payload of `cmd/{name}` to an input event, or a refusal with a reason.

Suspicious: whatever the bytes are, the answer is an order or words. Only form is checked here: who
signed is for `vision.access.command_gate`, whether the order makes sense for the rules. The request
of a consumer for messages that it has missed is read here too; they come with the bytes that they
had, under `replay/public/` or `replay/restricted/`, so that the broker's access list can tell them
apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vision.game.commands import Command
from vision.game.events import BetsClosed, Event, ResultEntered, ShoeEnded
from vision.record.codec import EVENTS, canonical, record_from_json
from vision.record.facts import REPORTED_BY_DESKS, Recorded
from vision.wire.form import FormError, json_object
from vision.wire.messages import Message, snake

# Limits of one order, many times what the longest order needs; a tighter one refuses honest orders,
# a looser one lets a flood cost more memory and log.
PAYLOAD_LIMIT = 16 * 1024  # bytes
FIELD_LIMIT = 24  # fields
TEXT_LIMIT = 200  # characters of a text
NUMBER_LIMIT = 1_000_000  # of a number in an order: coups, cards, points are far below
TOPIC_LEVEL = re.compile(r"[A-Za-z0-9._-]{1,64}")
FIELD_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
# A second person who vouches for the order: name, role, whose key signs, and the signature.
SECOND = ("second", "second_role", "second_key", "second_sig")
# What vouches for an order: the first four stand in every payload.
PROOF = ("key", "nonce", "sig", "time", *SECOND)

Fields = dict[str, Any]

HOUSE_INPUTS: tuple[type[Event], ...] = (BetsClosed, ShoeEnded, ResultEntered)
# Inputs to which the rules give no reply; whoever writes them to the log answers.
UNANSWERED: tuple[type[Event], ...] = (*HOUSE_INPUTS, Recorded)
RECORD = "record"  # the order by which a desk reports a fact
# Why an order was refused that is good, and is sent again unchanged.
TOO_MANY = "too many orders wait to be carried out; give it again later"

# What may stand after `cmd/`: every order, and what the house says of itself.
COMMANDS: dict[str, type[Event]] = {
    snake(name): kind
    for name, kind in EVENTS.items()
    if kind in HOUSE_INPUTS or (issubclass(kind, Command) and not kind.__subclasses__())
} | {RECORD: Recorded}


class RefusedError(ValueError):
    """The payload is not an order; `ref` is the sender's own number for it, where it has one."""

    def __init__(self, why: str, ref: str = "") -> None:
        super().__init__(why)
        self.ref = ref


def order_fields(payload: bytes) -> Fields:
    """Return the fields of a payload: one flat JSON object in UTF-8, no name twice.

    Texts print and have at most TEXT_LIMIT characters, numbers are whole and from 0 on.
    RefusedError with the reason.
    """
    try:
        fields = json_object(payload, PAYLOAD_LIMIT)
    except FormError as error:
        raise RefusedError(f"this is no order: {error}") from error
    if not all(map(FIELD_NAME.fullmatch, fields)):
        raise RefusedError("a field's name is small letters, digits and '_', at most 32")
    if len(fields) > FIELD_LIMIT:
        raise RefusedError(f"the payload has more than {FIELD_LIMIT} fields")
    for key, value in fields.items():
        why = _fault(value)
        if why:
            raise RefusedError(f"{key}: {why}", "" if _fault(ref_of(fields)) else ref_of(fields))
    return fields


def ref_of(fields: Fields) -> str:
    """Return the sender's own number for an order, "" where it has none."""
    ref = fields.get("ref", "")
    return ref if isinstance(ref, str) else ""


def signed_text(topic: str, fields: Mapping[str, object]) -> bytes:
    """Return what the signature of an order is made over: its topic, a line feed, its fields.

    The fields are canonical JSON without the signatures: so one is good for one table, one order,
    and that of a second person is made over the same text as the first.
    """
    signed = {key: value for key, value in fields.items() if key not in ("sig", "second_sig")}
    return f"{topic}\n{canonical(signed)}".encode()


def read_command(name: str, fields: Fields, at: int) -> Event:
    """Return the event that an order asks for; RefusedError with the reason.

    The fields are those of the order, what vouches for it may be among them; those with a default
    may be left out. `at` is the time of arrival.
    """
    kind = COMMANDS.get(name)
    if kind is None:
        raise RefusedError(f"there is no order of that name; there are {', '.join(COMMANDS)}")
    own = {key: value for key, value in fields.items() if key not in PROOF}
    try:
        _check(own)
        if kind in UNANSWERED and own.pop("ref", "") != ref_of(fields):
            raise ValueError("ref: not a text")
        event: Event = record_from_json(kind, own, at=at)
        if isinstance(event, Recorded) and event.kind not in REPORTED_BY_DESKS:
            raise ValueError(f"kind: {event.kind} is not for a desk to report")
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return event


def _fault(value: object) -> str:
    """Return why no order can have that value, "" where one can."""
    if isinstance(value, str):
        good = len(value) <= TEXT_LIMIT and value.isprintable()
        return "" if good else f"more than {TEXT_LIMIT} characters, or some that do not print"
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return "" if value >= 0 else "not a number from 0 on"
    return "neither a text, a whole number, true, false nor null"


def _check(fields: Fields) -> None:
    for key, value in fields.items():
        if isinstance(value, int) and value > NUMBER_LIMIT:
            raise ValueError(f"{key}: not a number from 0 to {NUMBER_LIMIT}")
    if fields.get("by") == "":
        raise ValueError("by: empty; an order needs the name of who gives it")
    # The name of a shoe becomes part of topics.
    if "shoe" in fields and not TOPIC_LEVEL.fullmatch(str(fields["shoe"])):
        raise ValueError("shoe: use 1 to 64 letters, digits, '-', '_' or '.'")


# --- requests for missed messages -----------------------------------------------------------------

REPLAY = "replay"
NOT_STORED = "not all of these messages are kept any more"  # why a table refuses a range
RANGE_LIMIT = 1000  # messages in one request: some ten coups; a consumer asks again for more
PUBLIC = ("status", "shoe", "coup/live", "coup/result", "roads")
COPY = "copy"  # the level below which displays of a cluster get copies of what waits there
RANGE_FIELDS = {"first", "last", "ref", "by", *PROOF}


def read_range(fields: Mapping[str, Any], newest: int) -> tuple[int, int]:
    """Return the first and last `seq` asked for; RefusedError with the reason.

    `newest` is the last `seq` published.
    """
    unknown = sorted(set(fields) - RANGE_FIELDS)
    if unknown:
        raise RefusedError(f"{unknown[0]}: no such field in this order")
    first, last = fields.get("first"), fields.get("last")
    if type(first) is not int or type(last) is not int:
        raise RefusedError("first, last: the numbers of two messages are needed")
    if not 0 < first <= last:
        raise RefusedError("first, last: not a range of message numbers")
    if last > newest:
        raise RefusedError(f"last: the newest message is {newest}")
    if last - first >= RANGE_LIMIT:
        raise RefusedError(f"at most {RANGE_LIMIT} messages at a time")
    return first, last


def again(message: Message, prefix: str) -> Message:
    """Return the message under its topic for replays; `prefix` begins every topic of the table."""
    topic = message.topic.removeprefix(prefix)
    side = "public" if topic in PUBLIC else "restricted"
    return message._replace(topic=f"{prefix}{REPLAY}/{side}/{topic}", retain=False)
