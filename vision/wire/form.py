"""What a consumer believes: the form of each message, and whose count where two readers stand by.

A message is one JSON object whose fields have the form of the published schemas, within bounds that
every database, header and browser can take. One odd message costs itself only, so whoever reads
messages comes here first. Fields may be missing, and ones that are not known yet may be there, so
that a consumer lives with readers that are older or newer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

import fastjsonschema

Payload = dict[str, Any]
Check = Callable[[Payload], object]

# Bytes of a message, far above the longest of the contract (the roads of a shoe); a longer message
# is not a reader's and is dropped unread.
MESSAGE_LIMIT = 256 * 1024
# Objects and lists within each other; the contract has four. Deeper ones end in the recursion limit
# of whoever writes them out again.
DEPTH_LIMIT = 16
WHOLE_LIMIT = 2**53 - 1  # of a number in any payload: beyond, JavaScript does not count exactly
# What PostgreSQL keeps in no text, and what is no UTF-8: NUL and half of a surrogate pair.
UNTEXT = re.compile("[\0\ud800-\udfff]")
# Schemas of topics with an id below them; "" for pictures, which are no JSON.
LEVELS = {"alert": "alert_id", "evidence": "", "clip": ""}


class FormError(ValueError):
    """The bytes are no message of the contract; the words say in what."""


def message_of(table: str, topic: str, data: bytes | bytearray) -> Payload:
    """Return the content of a message on a topic below the prefix of a table; FormError."""
    content = json_object(data)
    first, _, rest = topic.partition("/")
    schema = LEVELS[first] if rest and first in LEVELS else topic.replace("/", "_")
    try:
        _compiled(schema)(content)
    except fastjsonschema.JsonSchemaValueException as error:
        raise FormError(str(error.message)) from error
    if content.get("table", table) != table:
        raise FormError("table: not that of its topic")
    return content


def json_object(data: bytes | bytearray, limit: int = MESSAGE_LIMIT) -> Payload:
    """Return the JSON object of some bytes; FormError where it is none or out of bounds.

    A number without a fraction comes as a whole one, however it was written.
    """
    if len(data) > limit:
        raise FormError(f"longer than {limit} bytes")
    try:
        content = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_named_once,
            parse_int=_whole,
            parse_float=_number,
            parse_constant=_no_number,
        )
    except FormError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormError("it is no JSON in UTF-8") from error
    if not isinstance(content, dict):
        raise FormError("it is no JSON object")
    _demand_bounds(content, DEPTH_LIMIT)
    return content


def _named_once(pairs: list[tuple[str, Any]]) -> Payload:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise FormError("it names a field twice")
    return fields


def _whole(text: str) -> int:
    # Python reads no more digits than its limit; fewer than twenty are always read.
    number = int(text) if len(text) < len(str(WHOLE_LIMIT)) + 2 else WHOLE_LIMIT + 1
    if abs(number) > WHOLE_LIMIT:
        raise FormError(f"a number beyond {WHOLE_LIMIT}")
    return number


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or abs(number) > WHOLE_LIMIT:
        raise FormError(f"a number beyond {WHOLE_LIMIT}")
    return int(number) if number.is_integer() else number


def _no_number(text: str) -> None:
    raise FormError(f"{text} is no JSON")


def _demand_bounds(value: object, depth: int) -> None:
    if isinstance(value, str):
        if UNTEXT.search(value):
            raise FormError("a text with NUL or half of a surrogate pair")
    elif isinstance(value, dict | list):
        if not depth:
            raise FormError("nested too deep")
        parts = chain(value, value.values()) if isinstance(value, dict) else value
        for part in parts:
            _demand_bounds(part, depth - 1)


@cache
def _schemas() -> dict[str, str]:
    folder = files("vision") / "schemas"
    return {path.name: path.read_text("utf-8") for path in folder.iterdir()}


@cache
def _compiled(name: str) -> Check:
    """Return the check of a schema; what no schema is published for may say what it likes."""
    text = _schemas().get(f"{name}.json")
    if text is None:
        return lambda _content: None
    content: dict[str, Any] = json.loads(text)
    content.pop("required", None)
    content.pop("$id", None)  # an address that nothing is fetched from
    content["$schema"] = "http://json-schema.org/draft-07/schema#"
    check: Check = fastjsonschema.compile(content)
    return check


# --- whose messages count -------------------------------------------------------------------------


# Says whether the signature of a term (`term_proof`) is one that counts.
Proves = Callable[[int, str], bool]


@dataclass(slots=True)
class Term:
    """The newest proven term of a table, on any topic, and the lowest number seen with it.

    A message of an older term counts only if it has a number of its own and that number is lower:
    it was published before the takeover, and is sent again by who speaks now. All else of an older
    term is of a reader that has been overtaken: its last will, or what its connection let out late.
    """

    number: int = 0
    since: int = 0

    def admits(self, term: int, seq: int, *, counted: bool) -> bool:
        """Whether a message counts, whose term is proven; take note of the term.

        `counted`: the number is its own, and not that of the last counted message.
        """
        if term < self.number:
            return counted and seq < self.since
        if term > self.number:
            self.number, self.since = term, seq + (not counted)
        elif counted:
            self.since = min(self.since, seq)
        return True
