"""A whole desk as JSON and back, without loss: the checkpoints of a log.

Pure. The form follows the types of `vision.game.coup.state`: an object of the fields that differ
from their defaults. What the log's header says already (rules, names) is left out. A field added
later with a default does no harm; anything else that does not fit is refused, never guessed.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from vision.game.cards import Card
from vision.game.coup.state import Table
from vision.record.codec import CARDS, to_json
from vision.wire.messages import Line
from vision.wire.session import Desk

FROM_HEADER = ("site", "table", "profile", "betting")
Shape = dict[str, tuple[Any, Any]]  # a field's type and default


def desk_to_json(desk: Desk) -> dict[str, object]:
    """Return the desk as a JSON object."""
    line, table = _fields(desk.line), _fields(desk.table)
    return {"line": _without(line, FROM_HEADER), "table": _without(table, ["rules"])}


def desk_from_json(data: Mapping[str, Any], start: Desk) -> Desk:
    """Return the desk that the object describes; `start` is the one before the log's first event.

    ValueError when it does not fit the types of this version.
    """
    known = {name: getattr(start.line, name) for name in FROM_HEADER}
    try:
        line = _record(Line, _without(data["line"], FROM_HEADER), **known)
        table = _record(Table, _without(data["table"], ["rules"]), rules=start.table.rules)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is not a desk of this version: {error!r}") from error
    return Desk(table, line)


def _without(fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@cache
def _shape(kind: Any) -> Shape:
    """Return the fields of a named tuple or dataclass; the default is `...` where there is none."""
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        fields = (field for field in dataclasses.fields(kind) if field.compare)
        defaults = {field.name: field.default for field in fields}
        gone = dataclasses.MISSING
        return {n: (hints[n], ... if value is gone else value) for n, value in defaults.items()}
    own: Any = kind
    return {name: (hints[name], own._field_defaults.get(name, ...)) for name in own._fields}


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _fields(value: Any) -> dict[str, object]:
    kind: Any = type(value)
    shape = _shape(kind).items()
    given = ((name, getattr(value, name), default) for name, (_, default) in shape)
    return {name: _plain(one) for name, one, default in given if one != default}


def _plain(value: Any) -> object:
    kind: Any = type(value)
    if _is_record(kind) and not isinstance(value, Card):
        return _fields(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return to_json(value)


def _record(kind: Any, data: Mapping[str, Any], **given: object) -> Any:
    shape = _shape(kind)
    wrong = set(data) - set(shape) or {
        name for name in shape if shape[name][1] is ... and name not in {*data, *given}
    }
    if wrong:
        raise ValueError(f"{kind.__name__} differs in the field {min(wrong)}")
    read = {name: _reader(shape[name][0])(value) for name, value in data.items()}
    return kind(**read, **given)


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that reads a value of that type from JSON."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        choice = _reader(next(one for one in inner if one is not types.NoneType))
        return lambda value: None if value is None else choice(value)
    if origin is frozenset:
        member = _reader(inner[0])
        return lambda value: frozenset(map(member, value))
    if origin is tuple and inner[-1] is ...:
        item = _reader(inner[0])
        return lambda value: tuple(map(item, value))
    if origin is tuple:
        items = [_reader(one) for one in inner]
        return lambda value: tuple(read(one) for read, one in zip(items, value, strict=True))
    if hint is Card:
        return lambda value: CARDS[value]
    if issubclass(hint, Enum):
        words = {str(to_json(member)): member for member in hint}
        return lambda value: words[value]
    if _is_record(hint):
        return lambda value: _record(hint, value)
    return lambda value: _scalar(value, hint)


def _scalar(value: Any, hint: type) -> Any:
    if type(value) is hint:
        return value
    if hint is float and type(value) is int:
        return float(value)
    raise ValueError(f"{value!r} is no {hint.__name__}")
