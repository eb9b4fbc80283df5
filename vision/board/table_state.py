"""What a display remembers of one table: the newest message of each place, and nothing older.

Pure. Drops repeats and late messages, forgets what was cleared, and keeps one place for each
result and each alert. Knows nothing of brokers or browsers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Payload = dict[str, Any]
# What a display keeps of a message; None for what it is not to know.
Reduce = Callable[[str, Payload], Payload | None]

KEPT_RESULTS = 150
KEPT_PLACES = 2000
# A last will bears the number of the moment when it was left with the broker: always take these.
UNNUMBERED = ("status", "health")
# Told, but not kept: they say what happened, not how things stand.
PASSING = ("cmd/reply", "card", "alert", "evidence")


@dataclass(frozen=True, slots=True)
class Told:
    """A message as browsers get it; `payload` is None where the place was cleared."""

    table: str
    topic: str
    payload: Payload | None

    @property
    def place(self) -> str:
        """Where it belongs on a display: a later message of the same place replaces it."""
        return place_of(self.topic, self.payload or {})

    @property
    def text(self) -> str:
        """The message as JSON."""
        content = {"table": self.table, "topic": self.topic, "payload": self.payload}
        return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Mark:
    """How new the last message of a place was."""

    boot: object
    seq: object
    at: str

    def is_before(self, other: _Mark) -> bool:
        """Whether the other is newer; runs are told apart by their time, numbers count in one."""
        if self.boot != other.boot:
            return self.at <= other.at
        if isinstance(self.seq, int) and isinstance(other.seq, int):
            return self.seq < other.seq
        return True


@dataclass(slots=True)
class Memory:
    """One table as a display knows it."""

    table: str
    reduce: Reduce = field(default=lambda _topic, payload: payload)
    _state: dict[str, Told] = field(default_factory=dict)
    _marks: dict[str, _Mark] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Told]:
        return iter(tuple(self._state.values()))

    def take(self, topic: str, payload: Payload | None) -> Told | None:
        """Take a message; return what a display is to be told, None where it is no news."""
        if payload is None:
            self._state.pop(topic, None)
            return Told(self.table, topic, None)
        place = place_of(topic, payload)
        mark = _Mark(payload.get("boot"), payload.get("seq"), str(payload.get("at", "")))
        known = self._marks.get(place)
        if known is not None and topic not in UNNUMBERED and not known.is_before(mark):
            return None
        reduced = self.reduce(topic, payload)
        if reduced is None:
            return None
        told = Told(self.table, topic, reduced)
        self._marks.pop(place, None)
        self._marks[place] = mark
        self._forget_oldest()
        if topic not in PASSING:
            self._state.pop(place, None)
            self._state[place] = told
            self._forget(told)
        return told

    def _forget(self, told: Told) -> None:
        """Keep the results of one shoe only, and no more places than a display can show."""
        if told.topic == "coup/result" and told.payload is not None:
            places = [place for place in self._state if place.startswith("coup/result#")]
            shoe = told.payload.get("shoe")
            others = [p for p in places if (self._state[p].payload or {}).get("shoe") != shoe]
            for place in others or places[:-KEPT_RESULTS]:
                self._drop(place)

    def _forget_oldest(self) -> None:
        """Forget what passed before what stands: an alert may be open for longer than a shoe."""
        if len(self._marks) > KEPT_PLACES:
            passing = (place for place in self._marks if place.split("#")[0] in PASSING)
            alerts = (place for place in self._marks if place.startswith("alert/"))
            oldest = next(passing, None) or next(alerts, None)
            if oldest is not None:
                self._drop(oldest)

    def _drop(self, place: str) -> None:
        self._state.pop(place, None)
        self._marks.pop(place, None)


def place_of(topic: str, payload: Payload) -> str:
    """Return the place of a message: each result, raised alert and card step has its own."""
    if topic == "coup/result":
        return f"{topic}#{payload.get('coup')}"
    if topic == "alert":
        return f"{topic}#{payload.get('id')}"
    if topic == "card":
        return f"{topic}#{payload.get('order')}#{payload.get('event')}"
    if topic == "evidence":
        return f"{topic}#{payload.get('topic')}"
    if topic == "cmd/reply":
        return f"{topic}#{payload.get('seq')}#{payload.get('ref')}"
    return topic


def parsed(data: bytes | bytearray, limit: int) -> Payload | None:
    """Return the JSON object of a message; None when it is none, or too long to be one of ours."""
    if len(data) > limit:
        return None
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None
