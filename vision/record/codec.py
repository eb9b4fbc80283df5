"""Events as JSON objects and back, without loss.

Pure. The form follows the dataclasses of `vision.game.events` and `orders`: one object with the
event's name under `is` and its fields under theirs; cards are text (`As`), slots and enums their
names. It must not know what an event means.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from vision.game import commands, events
from vision.game.cards import DECK, Card
from vision.game.events import Event
from vision.record.proofs import Anchored, EvidenceKept

EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (*vars(events).values(), *vars(commands).values())
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
} | {kind.__name__: kind for kind in (EvidenceKept, Anchored)}

CARDS = {str(card): card for card in DECK}


def event_to_json(event: Event) -> dict[str, object]:
    """Return the event as a JSON object: `is` (its name), then its fields."""
    fields: dict[str, object] = {}
    for name, hint in FIELDS[type(event)].items():
        value = getattr(event, name)
        # A whole number where a fraction may stand would come back as another text.
        fields[name] = float(value) if hint is float else to_json(value)
    return {"is": type(event).__name__, **fields}


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Return the event that the object describes; ValueError naming what does not fit."""
    fields = dict(data)
    name = fields.pop("is", None)
    if name not in EVENTS:
        raise ValueError(f"'{name}' is no event")
    kind = EVENTS[name]
    hints = FIELDS[kind]
    if fields.keys() != hints.keys():
        raise ValueError(f"{name} has the fields {', '.join(hints)}, not {', '.join(fields)}")
    values: Any = {key: _from_json(value, hints[key], key) for key, value in fields.items()}
    return kind(**values)


def to_json(value: object) -> object:
    """Return a value of the game as JSON: cards as text, enums by name or word, tuples as lists."""
    if isinstance(value, Card):
        return str(value)
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, frozenset | set):
        return [to_json(item) for item in sorted(value)]
    return value


def _fields(kind: type[Event]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


FIELDS = {kind: _fields(kind) for kind in EVENTS.values()}


def _from_json(value: object, hint: Any, key: str) -> object:
    if get_origin(hint) in (Union, types.UnionType):
        if value is None:
            return None
        hint = next(choice for choice in get_args(hint) if choice is not types.NoneType)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_from_json(item, get_args(hint)[0], key) for item in value)
    if hint is Card and isinstance(value, str):
        if value not in CARDS:
            raise ValueError(f"{key}: '{value}' is no card; write them as As, Td, 9h")
        return CARDS[value]
    if isinstance(hint, type) and issubclass(hint, Enum) and isinstance(value, str):
        words = {str(to_json(member)): member for member in hint}
        if value not in words:
            raise ValueError(f"{key}: '{value}' is none of {', '.join(words)}")
        return words[value]
    if hint is float and type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]  # a number, as just seen
    if type(value) is hint:
        return value
    raise ValueError(f"{key}: {value!r} is not what this field holds")
