"""What the log writes: values as JSON, without loss and back, in records of a hash each.

These are events and, in checkpoints, the state. The form follows the type hints. Cards are text,
slots and other whole-number enumerations their names, the rest their words, tuples and sets lists.
A dataclass or named tuple is an object of its fields: all of them for an event, only those that
differ from their defaults in a checkpoint. What does not fit the types is refused.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from vision.game import commands, events
from vision.game.cards import DECK, Card
from vision.game.events import Event
from vision.game.rules import Profile
from vision.record.facts import Anchored, EvidenceKept, LogBegun, Recorded

EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (*vars(events).values(), *vars(commands).values())
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
} | {kind.__name__: kind for kind in (EvidenceKept, Anchored, LogBegun, Recorded)}

CARDS = {str(card): card for card in DECK}
_TEXTS = tuple(CARDS)  # by class number
_PLAIN = frozenset((int, str, bool, float, type(None)))  # what is JSON as it is


_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: object) -> str:
    """Return the one JSON text for a value: sorted keys, no spaces, UTF-8, no NaN."""
    return _CANONICAL.encode(value)


def rules_hash(profile: Profile) -> str:
    """Return the SHA-256 (hex) of what a profile says, whatever its file is called or comments on.

    It travels in messages and in the header of a log: every field, enumerations by name.
    """
    content = {"rules": _hashed(profile.rules), "betting": _hashed(profile.betting)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _hashed(value: Any) -> object:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_hashed(item) for item in value]
    if is_record(type(value)):
        names = (field.name for field in fields_of(type(value)))
        return {name: _hashed(getattr(value, name)) for name in names}
    return value


# --- records -------------------------------------------------------------------------------------

GENESIS = "0" * 64  # the hash before record 0


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the log: its number from 0, its canonical JSON body and its chain hash."""

    number: int
    body: str
    hash: str


def chain_hash(previous: str, body: str) -> str:
    """Return the SHA-256 (64 hex digits) over the previous hash and this body."""
    return sha256(f"{previous}\n{body}".encode()).hexdigest()


def messages_digest(lines: Iterable[str]) -> str:
    """Return the SHA-256 (64 hex digits) over the messages of an event, a line each."""
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def seal(number: int, previous: str, content: Mapping[str, object]) -> Record:
    """Make record `number` that follows the record whose hash is `previous`."""
    body = canonical({"n": number, **content})
    return Record(number, body, chain_hash(previous, body))


def event_to_json(event: Event) -> dict[str, object]:
    """Return the event as a JSON object: `is` (its name), then its fields."""
    content: dict[str, object] = {"is": type(event).__name__}
    for field in fields_of(type(event)):
        content[field.name] = _field_to_json(field, getattr(event, field.name))
    return content


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Return the event that the object describes; ValueError naming what does not fit."""
    given = dict(data)
    name = given.pop("is", None)
    if name not in EVENTS:
        raise ValueError(f"'{name}' is no event")
    kind: Any = EVENTS[name]
    names = _readers(kind)
    if given.keys() != names.keys():
        raise ValueError(f"{name} has the fields {', '.join(names)}, not {', '.join(given)}")
    event: Event = record_from_json(kind, given)
    return event


# --- any value ------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a record: its name, its type, its default (`...`: none)."""

    name: str
    hint: Any
    default: Any


def fields_of(kind: Any) -> tuple[Field, ...]:
    """Return the fields of a dataclass or named tuple in the order in which they are written."""
    return _fields_of(kind)  # mypy takes no type for a key of a cache


@cache
def _fields_of(kind: Any) -> tuple[Field, ...]:
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        compared = (field for field in dataclasses.fields(kind) if field.compare)
        defaults = {field.name: field.default for field in compared}
        gone = dataclasses.MISSING
        return tuple(
            Field(name, hints[name], ... if default is gone else default)
            for name, default in defaults.items()
        )
    return tuple(
        Field(name, hints[name], kind._field_defaults.get(name, ...)) for name in kind._fields
    )


def is_record(kind: Any) -> bool:
    """Whether a type is written as an object of its fields."""
    return kind is not Card and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


def to_json(value: Any) -> object:
    """Return a value as JSON; a record as its fields that differ from their defaults."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    writer = _writer(kind)
    return value if writer is None else writer(value)


@cache
def _writer(kind: Any) -> Callable[[Any], object] | None:
    """Return the function that makes JSON of a value of that type, `None` where it is JSON."""
    if issubclass(kind, Card):
        return lambda card: _TEXTS[card.index]
    if issubclass(kind, IntEnum):
        return attrgetter("_name_")  # as `name` and `value`, which are functions of Python
    if issubclass(kind, Enum):
        return attrgetter("_value_")
    if is_record(kind):
        return record_to_json
    if issubclass(kind, tuple | list):
        return lambda value: [to_json(item) for item in value]
    if issubclass(kind, frozenset | set):
        return lambda value: [to_json(item) for item in sorted(value)]
    return None


def record_to_json(record: Any, *, without: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the fields of a dataclass or named tuple that differ from their defaults.

    `without` names fields to leave out.
    """
    given = (
        (field, getattr(record, field.name))
        for field in fields_of(type(record))
        if field.name not in without
    )
    return {
        field.name: _field_to_json(field, value) for field, value in given if value != field.default
    }


def _field_to_json(field: Field, value: Any) -> object:
    """Return a field as JSON; a whole number where a fraction may stand would be another text."""
    return float(value) if field.hint is float else to_json(value)


def record_from_json(kind: Any, data: Mapping[str, Any], **given: object) -> Any:
    """Return the record that the object describes, with the `given` values of fields left out.

    ValueError naming the field that is unknown, missing or of another type.
    """
    readers = _readers(kind)
    values: dict[str, Any] = {**given}
    for name, value in data.items():
        if name in given or name not in readers:
            raise ValueError(f"{name}: no such field in {kind.__name__}")
        try:
            values[name] = readers[name](value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    for field in fields_of(kind) if len(values) < len(readers) else ():
        if field.default is ... and field.name not in values:
            raise ValueError(f"{field.name}: missing in {kind.__name__}")
    return kind(**values)


@cache
def _readers(kind: Any) -> dict[str, Callable[[Any], Any]]:
    return {field.name: _reader(field.hint) for field in fields_of(kind)}


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that reads a value of that type from JSON; ValueError if it is not."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        choice = _reader(next(kind for kind in inner if kind is not types.NoneType))
        return lambda value: None if value is None else choice(value)
    if origin is frozenset:
        member = _reader(inner[0])
        return lambda value: frozenset(map(member, _typed(value, list)))
    if origin is tuple and inner[-1] is ...:
        item = _reader(inner[0])
        return lambda value: tuple(map(item, _typed(value, list)))
    if origin is tuple:
        items = [_reader(kind) for kind in inner]
        return lambda value: tuple(
            read(v) for read, v in zip(items, _typed(value, list), strict=True)
        )
    if hint is Card:
        return lambda value: _word(CARDS, value, "is no card; write them as As, Td, 9h")
    if issubclass(hint, Enum):
        words = {str(to_json(member)): member for member in hint}
        return lambda value: _word(words, value, f"is none of {', '.join(words)}")
    if is_record(hint):
        return lambda value: record_from_json(hint, _typed(value, dict))
    return lambda value: value if type(value) is hint else _typed(value, hint)


def _word(words: Mapping[str, Any], value: Any, why: str) -> Any:
    if _typed(value, str) not in words:
        raise ValueError(f"'{value}' {why}")
    return words[value]


def _typed(value: Any, hint: type) -> Any:
    if type(value) is hint:
        return value
    if hint is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r} is not what this field holds")
